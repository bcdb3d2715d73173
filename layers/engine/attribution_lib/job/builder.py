"""The only way to make a ``JobInfo``: every field checked, all faults reported at once, node names made canonical."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any

from attribution_lib.errors import Fault, JobError
from attribution_lib.fields import FieldChecker, read_zone
from attribution_lib.job.model import JobInfo, Scheduler
from attribution_lib.job.records import read_allocation_failure, read_cancellation, read_ranks
from attribution_lib.job.states import read_state
from attribution_lib.names import NodeNames

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

__all__ = ["JOB_KEYS", "JobInfoBuilder", "record_ids"]

_NODE_LABEL_KEYS = ("switch", "rack", "gpu_model")
_MAX_ATTEMPT = 999_999
_MAX_MARGIN = 30 * 86_400
_MAX_LABELS = 1_000
_LONG_TEXT = 8_192


def record_ids(job_id: str, attempt: int) -> tuple[str, ...]:
    """The spellings of a record's id: the job id, or job id and attempt joined by ``:`` or ``.``.

    ``4711_1`` is not among them: in Slurm that is task 1 of array 4711, another record.
    """
    return (job_id, f"{job_id}:{attempt}", f"{job_id}.{attempt}")


class JobInfoBuilder:
    """Takes the fields of one attempt and builds a ``JobInfo``, or raises ``JobError`` naming every faulty field.

    Fields are those of ``JOB_KEYS``. Times are RFC 3339 text or aware ``datetime``; ``nodes`` is a list or a host list;
    ``allocation_failure`` and ``execution_cancellation`` are mappings or the dataclasses of ``job.model``. ``job_id``
    may be left out when ``nodes``, ``start`` and ``end`` are given: it is then ``window-`` and 12 hex digits of a hash.
    """

    def __init__(self, *, names: NodeNames | None = None, **fields: Any) -> None:
        self._names = names or NodeNames()
        self._fields = fields
        self._naive_in_timezone = False
        self._nodes_suffice = False

    @classmethod
    def from_mapping(
        cls,
        mapping: Mapping[str, Any],
        *,
        names: NodeNames | None = None,
        naive_in_timezone: bool = False,
        nodes_suffice: bool = False,
    ) -> JobInfoBuilder:
        """A builder for the ``job`` object of the wire or of a case folder; ``JobError`` when it is no object at all.

        ``naive_in_timezone`` reads times without an offset in ``timezone`` instead of refusing them; ``nodes_suffice``
        makes nodes without a window identity enough. Both are for case folders.
        """
        if not isinstance(mapping, Mapping):
            raise JobError([Fault("job", "", f"{type(mapping).__name__} given", "an object")])
        builder = cls(names=names)
        builder._fields = {str(key): value for key, value in mapping.items()}
        builder._naive_in_timezone = naive_in_timezone
        builder._nodes_suffice = nodes_suffice
        return builder

    def build(self) -> JobInfo:
        """The checked job; ``JobError`` with all faults."""
        fields = {key: value for key, value in self._fields.items() if value is not None}
        check = FieldChecker(self._names)
        check.unknown_keys(self._fields, JOB_KEYS, "job")
        zone = _zone(fields.get("timezone", "UTC"), check)
        check.zone = zone if self._naive_in_timezone else None
        values = {key: _READERS[key](check, fields[key], f"job.{key}") for key in JOB_KEYS if key in fields}
        self._identity(fields, values, check)
        _consistency(values, check)
        if check.faults:
            raise JobError(check.faults)
        reading = read_state(
            values.get("state", ""), reason=values.get("reason", ""), exit_code=values.get("exit_code", "")
        )
        return JobInfo(**values, state_class=reading.state_class, state_listed=reading.listed, names=self._names)

    def _identity(self, fields: Mapping[str, Any], values: dict[str, Any], check: FieldChecker) -> None:
        if "job_id" in fields:
            return
        window = "start" in fields and "end" in fields
        if not fields.get("nodes") or not (window or self._nodes_suffice):
            others = "nodes" if self._nodes_suffice else "nodes with start and end"
            check.fault("job.job_id", "missing", f"a job id, or {others}")
            return
        identity = [values.get("cluster", "default"), sorted(values["nodes"]), values.get("start"), values.get("end")]
        digest = hashlib.sha256(json.dumps(identity, separators=(",", ":")).encode()).hexdigest()
        values["job_id"] = f"window-{digest[:12]}"


def _consistency(values: Mapping[str, Any], check: FieldChecker) -> None:
    """What only several fields together can get wrong."""
    start, end = values.get("start"), values.get("end")
    if start is not None and end is not None and end < start:
        check.fault("job.end", "before job.start", "a window that ends after it starts")
    cancellation = values.get("execution_cancellation")
    job_id = values.get("job_id")
    if cancellation is not None and job_id is not None:
        accepted = record_ids(job_id, values.get("attempt") or 0)
        if cancellation.record_id not in accepted:
            problem = f"{cancellation.record_id[:60]!r} is not this record"
            check.fault("job.execution_cancellation.record_id", problem, " or ".join(accepted))


def _zone(value: Any, check: FieldChecker) -> tzinfo:
    if value == "UTC":
        return UTC
    zone = read_zone(value) if isinstance(value, str) else None
    if zone is None:
        check.fault("job.timezone", f"{str(value)[:60]!r} is no time zone", "an IANA name such as Europe/Berlin")
    return zone or UTC


def _timezone(_check: FieldChecker, value: Any, _address: str) -> str:
    return str(value)  # checked by _zone, which has to run before any time is read


def _attempt(check: FieldChecker, value: Any, address: str) -> int | None:
    return check.integer(value, address, highest=_MAX_ATTEMPT)


def _margin(check: FieldChecker, value: Any, address: str) -> int | None:
    return check.integer(value, address, highest=_MAX_MARGIN)


def _cluster(check: FieldChecker, value: Any, address: str) -> str | None:
    return check.identifier(value, address, cluster=True)


def _long_text(check: FieldChecker, value: Any, address: str) -> str | None:
    return check.text(value, address, limit=_LONG_TEXT)


def _scheduler(check: FieldChecker, value: Any, address: str) -> Scheduler | None:
    if isinstance(value, str) and value in set(Scheduler):
        return Scheduler(value)
    check.fault(address, f"{str(value)[:60]!r} is no known scheduler", "one of " + ", ".join(Scheduler))
    return None


def _labels(check: FieldChecker, value: Any, address: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        check.fault(address, f"{type(value).__name__} given", "an object of strings")
        return {}
    if len(value) > _MAX_LABELS:
        check.fault(address, f"{len(value)} labels", f"at most {_MAX_LABELS}")
        return {}
    labels = {str(key): check.text(item, f"{address}.{key}") for key, item in value.items()}
    return {key: text for key, text in labels.items() if text is not None}


def _node_labels(check: FieldChecker, value: Any, address: str) -> dict[str, dict[str, str]]:
    if not isinstance(value, Mapping):
        check.fault(address, f"{type(value).__name__} given", "an object of objects, one a node")
        return {}
    labels: dict[str, dict[str, str]] = {}
    for key, item in value.items():
        node = check.node(key, f"{address}.{key}")
        of_node = _labels(check, item, f"{address}.{key}")
        check.unknown_keys(of_node, _NODE_LABEL_KEYS, f"{address}.{key}")
        if node is not None:
            labels[node] = of_node
    return labels


_READERS: dict[str, Callable[[FieldChecker, Any, str], Any]] = {
    "job_id": FieldChecker.identifier,
    "attempt": _attempt,
    "cluster": _cluster,
    "scheduler": _scheduler,
    "user": FieldChecker.text,
    "name": FieldChecker.text,
    "partition": FieldChecker.text,
    "labels": _labels,
    "node_labels": _node_labels,
    "state": _long_text,
    "exit_code": FieldChecker.text,
    "reason": _long_text,
    "nodes": FieldChecker.nodes,
    "failed_node": FieldChecker.node,
    "ranks": read_ranks,
    "start": FieldChecker.instant,
    "end": FieldChecker.instant,
    "timezone": _timezone,
    "margin_before": _margin,
    "margin_after": _margin,
    "allocation_failure": read_allocation_failure,
    "execution_cancellation": read_cancellation,
}
"""Every key of the job object with the check that reads it."""

JOB_KEYS = tuple(_READERS)
"""The keys of the ``job`` object, in the order in which their faults are reported."""
