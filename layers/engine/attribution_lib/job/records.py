"""Checks of the objects inside the ``job`` object: rank placements, allocation failure, established cancellation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attribution_lib.fields import FieldChecker
from attribution_lib.job.model import ExecutionCancellation, RankPlacement, SchedulerFailure
from attribution_lib.rfc3339 import instant_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_allocation_failure", "read_cancellation", "read_ranks"]

_RANK_KEYS = ("rank", "local_rank", "node", "gpu_uuid", "pci")
_FAILURE_KEYS = ("allocation_id", "state", "failed_node", "source", "time")
_CANCELLATION_KEYS = ("record_id", "cancelled_by", "time")
_MAX_RANK = 2_000_000


def read_ranks(check: FieldChecker, value: Any, address: str) -> tuple[RankPlacement, ...]:
    """Where ranks ran, sorted by rank; a rank that is placed twice is a fault."""
    if not isinstance(value, list | tuple):
        check.fault(address, f"{type(value).__name__} given", "a list of objects")
        return ()
    placed: dict[int, RankPlacement] = {}
    for index, item in enumerate(value):
        place = f"{address}[{index}]"
        rank = _rank(check, item, place)
        if rank is None:
            continue
        if rank.rank in placed:
            check.fault(f"{place}.rank", f"rank {rank.rank} is placed twice", "one entry a rank")
        placed[rank.rank] = rank
    return tuple(placed[number] for number in sorted(placed))


def _rank(check: FieldChecker, value: Any, address: str) -> RankPlacement | None:
    fields = _object(check, value, _RANK_KEYS, ("rank", "node"), address)
    number = _optional(fields, "rank", lambda item, at: check.integer(item, at, highest=_MAX_RANK), address)
    node = _optional(fields, "node", check.node, address)
    local = _optional(fields, "local_rank", lambda item, at: check.integer(item, at, highest=_MAX_RANK), address)
    uuid = _optional(fields, "gpu_uuid", check.text, address)
    pci = _optional(fields, "pci", check.text, address)
    return None if number is None or node is None else RankPlacement(number, node, local, uuid, pci)


def read_allocation_failure(check: FieldChecker, value: Any, address: str) -> SchedulerFailure | None:
    """The allocation's failure; its identity, state, source and reporting time are required."""
    fields = _object(check, value, _FAILURE_KEYS, ("allocation_id", "state", "source", "time"), address)
    allocation = _optional(fields, "allocation_id", check.filled_text, address)
    state = _optional(fields, "state", check.filled_text, address)
    failed = _optional(fields, "failed_node", check.node, address)
    source = _optional(fields, "source", check.filled_text, address)
    time = _optional(fields, "time", lambda item, at: _established(check, item, at, value), address)
    if allocation is None or state is None or source is None or time is None:
        return None
    return SchedulerFailure(allocation, state, failed, source, time)


def read_cancellation(check: FieldChecker, value: Any, address: str) -> ExecutionCancellation | None:
    """The established cancellation; record id, canceller and an aware time are required."""
    fields = _object(check, value, _CANCELLATION_KEYS, _CANCELLATION_KEYS, address)
    record = _optional(fields, "record_id", check.filled_text, address)
    by = _optional(fields, "cancelled_by", check.filled_text, address)
    time = _optional(fields, "time", lambda item, at: _established(check, item, at, value), address)
    return None if record is None or by is None or time is None else ExecutionCancellation(record, by, time)


def _established(check: FieldChecker, value: Any, address: str, holder: Any) -> int | None:
    """A time that must carry its offset even in a case folder; a dataclass may hold µs already."""
    if dataclasses.is_dataclass(holder) and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hasattr(value, "utcoffset") and value.utcoffset() is not None:
        return instant_of(value)
    return FieldChecker(check.names, None, check.faults).instant(value, address)


def _object(
    check: FieldChecker, value: Any, known: tuple[str, ...], required: tuple[str, ...], address: str
) -> dict[str, Any]:
    """An object's fields without nulls; its missing and unknown keys are faults."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {name: getattr(value, name, None) for name in known}
    if not isinstance(value, Mapping):
        check.fault(address, f"{type(value).__name__} given", "an object with " + ", ".join(known))
        return {}
    check.unknown_keys(value, known, address)
    for key in required:
        if value.get(key) is None:
            check.fault(f"{address}.{key}", "missing", "a value: this field is required")
    return {str(key): item for key, item in value.items() if item is not None}


def _optional(fields: Mapping[str, Any], key: str, reader: Callable[[Any, str], Any], address: str) -> Any:
    return reader(fields[key], f"{address}.{key}") if key in fields else None
