"""Checks of single values from the wire: each returns the checked value, or notes a fault and returns None."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attribution_lib.errors import Fault
from attribution_lib.job.hostlist import MAX_NODES, HostlistError, expand_nodes
from attribution_lib.names import NodeNames
from attribution_lib.rfc3339 import instant_of, parse_instant

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLUSTER_FORM", "ID_FORM", "FieldChecker", "is_identifier", "read_zone"]

ID_FORM = "[A-Za-z0-9][A-Za-z0-9_.:+-]{0,199}"
CLUSTER_FORM = "[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}"
_IDENTIFIER = re.compile(ID_FORM)
_CLUSTER = re.compile(CLUSTER_FORM)
_MACHINE_ZONES = frozenset({"localtime", "posixrules", "Factory"})
"""Zone files whose content depends on the machine that reads them."""


def is_identifier(value: object) -> bool:
    """True for text that may be an id or a part of a storage key."""
    return isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None


def read_zone(name: str) -> tzinfo | None:
    """The IANA time zone of that name; None when there is none."""
    if name in _MACHINE_ZONES:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


@dataclass(slots=True)
class FieldChecker:
    """Collects the faults of one object; addresses read ``job.start`` or ``entry_timeseries[3].ts``."""

    names: NodeNames = field(default_factory=NodeNames)
    zone: tzinfo | None = None
    """Where naive date-times are read; None refuses them."""
    faults: list[Fault] = field(default_factory=list)
    limit: int = 100
    """Faults listed; a list of a million bad ranks is not worth a million messages."""

    def fault(self, address: str, problem: str, expected: str = "") -> None:
        """Note one thing wrong."""
        if len(self.faults) < self.limit:
            self.faults.append(Fault(address, "", problem, expected))

    def unknown_keys(self, value: Mapping[str, Any], known: tuple[str, ...], address: str) -> None:
        """Every key must be a known one."""
        for key in sorted(str(key) for key in value if key not in known):
            self.fault(f"{address}.{key[:100]}", "unknown key", "one of " + ", ".join(known))

    def text(self, value: Any, address: str, *, limit: int = 1024) -> str | None:
        """Free text, kept as given."""
        if not isinstance(value, str):
            self.wrong_type(address, value, "a string")
            return None
        if len(value) > limit:
            self.fault(address, f"{len(value)} characters", f"at most {limit}")
            return None
        if any("\ud800" <= character <= "\udfff" for character in value):
            self.fault(address, "half of a surrogate pair", "valid Unicode")
            return None
        return value

    def filled_text(self, value: Any, address: str) -> str | None:
        """Text that identifies something: not empty."""
        text = self.text(value, address)
        if text is not None and not text.strip():
            self.fault(address, "empty", "a name")
            return None
        return text

    def identifier(self, value: Any, address: str, *, cluster: bool = False) -> str | None:
        """An id or a part of a key."""
        form, pattern = (CLUSTER_FORM, _CLUSTER) if cluster else (ID_FORM, _IDENTIFIER)
        if not isinstance(value, str):
            self.wrong_type(address, value, f"a string matching {form}")
            return None
        if pattern.fullmatch(value) is None:
            self.fault(address, f"{value[:60]!r} is no valid id", form)
            return None
        return value

    def integer(self, value: Any, address: str, *, highest: int, lowest: int = 0) -> int | None:
        """A whole number from ``lowest`` to ``highest``."""
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong_type(address, value, "an integer")
            return None
        if not lowest <= value <= highest:
            self.fault(address, f"{value} is out of range", f"{lowest} to {highest}")
            return None
        return value

    def instant(self, value: Any, address: str) -> int | None:
        """A point in time, as µs UTC: RFC 3339 text or a ``datetime``; naive ones only where a zone is set."""
        if isinstance(value, datetime):
            if value.utcoffset() is None and self.zone is not None:
                value = value.replace(tzinfo=self.zone)
            if value.utcoffset() is not None:
                return instant_of(value)
            self.fault(address, "naive date-time", "a time with its UTC offset, as in 2026-06-01T03:14:02Z")
            return None
        if not isinstance(value, str):
            self.wrong_type(address, value, "an RFC 3339 date-time with an offset")
            return None
        micros = parse_instant(value)
        if micros is None and self.zone is not None:
            micros = _naive_text(value, self.zone)
        if micros is None:
            offset = " with an offset" if self.zone is None else ""
            self.fault(address, f"{value[:60]!r} is no RFC 3339 date-time{offset}", "as in 2026-06-01T03:14:02Z")
        return micros

    def node(self, value: Any, address: str) -> str | None:
        """One node's canonical name."""
        if not isinstance(value, str):
            self.wrong_type(address, value, "a node name")
            return None
        name = self.names.canonical(value)
        if not is_identifier(name):
            self.fault(address, f"{value[:60]!r} is no node name", ID_FORM)
            return None
        return name

    def nodes(self, value: Any, address: str) -> tuple[str, ...]:
        """Canonical names, in the order given, each once; from a list or a host list."""
        if isinstance(value, str):
            found = self._expand(value, address)
        elif isinstance(value, list | tuple):
            found = []
            for index, item in enumerate(value):
                if len(found) > MAX_NODES:
                    break
                if isinstance(item, str) and "[" in item:
                    found.extend(self._expand(item, f"{address}[{index}]"))
                else:
                    found.append((f"{address}[{index}]", item))
        else:
            self.wrong_type(address, value, "a list of node names or a host list")
            return ()
        if len(found) > MAX_NODES:
            self.fault(address, f"more than {MAX_NODES} nodes", f"at most {MAX_NODES}")
            return ()
        named = (self.node(item, place) for place, item in found)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def _expand(self, text: str, address: str) -> list[tuple[str, Any]]:
        try:
            return [(address, name) for name in expand_nodes(text)]
        except HostlistError as error:
            self.fault(address, str(error), "a host list such as node[0001-0128,0200]")
            return []

    def wrong_type(self, address: str, value: Any, expected: str) -> None:
        """Note a value of the wrong kind."""
        kind = "null" if value is None else type(value).__name__
        self.fault(address, f"{kind} given", expected)


def _naive_text(value: str, zone: tzinfo) -> int | None:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    dated_only = len(value) <= len("2026-06-01")
    return None if dated_only or moment.utcoffset() is not None else instant_of(moment.replace(tzinfo=zone))
