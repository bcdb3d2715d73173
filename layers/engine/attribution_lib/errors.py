"""Every error this library raises.

    AttributionError
    ├── RuleLoadError        the rule files are refused; lists every fault
    ├── JobError             the job facts are refused; lists every fault
    ├── ObservationError     an observation is refused
    │   └── ObservationTooLargeError   … because of its size
    ├── StoreClosedError     an event store was used after close()
    ├── StoreFormatError     a snapshot or spill that this version cannot read
    └── MatcherError         patterns that no matcher can compile

Each message carries an address (``rules/xid.toml:14 match_re``, ``job.start``), what was expected and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AttributionError",
    "Fault",
    "JobError",
    "MatcherError",
    "ObservationError",
    "ObservationTooLargeError",
    "RuleLoadError",
    "StoreClosedError",
    "StoreFormatError",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one input: where it stands, what is wrong, and what would be right."""

    address: str
    """``rules/xid.toml:14``, ``job.start`` or ``entry_timeseries[3].ts``."""
    subject: str
    """The rule, key or field that the fault is about; empty when the address says it all."""
    problem: str
    expected: str = ""

    def __str__(self) -> str:
        subject = f" {self.subject}" if self.subject else ""
        expected = f"; expected {self.expected}" if self.expected else ""
        return f"{self.address}{subject}: {self.problem}{expected}"


class AttributionError(Exception):
    """Root of the tree: catch this to catch everything the library raises on purpose."""


class _FaultsError(AttributionError):
    """An input refused as a whole, with all its faults at once."""

    headline = "refused"

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__(str(self))

    def __str__(self) -> str:
        count = len(self.faults)
        lines = "\n".join(f"  {fault}" for fault in self.faults)
        return f"{self.headline} ({count} fault{'s' if count != 1 else ''}):\n{lines}"


class RuleLoadError(_FaultsError):
    """Rule files are refused and no engine is built; ``faults`` lists everything found wrong."""

    headline = "rules refused"


class JobError(_FaultsError):
    """Job facts are refused; ``faults`` names every field."""

    headline = "job refused"


class ObservationError(_FaultsError):
    """An observation is refused as a whole; nothing of it was ingested."""

    headline = "observation refused"


class ObservationTooLargeError(ObservationError):
    """An observation is refused because of its size alone; ``size`` None where it was not unpacked to its end."""

    def __init__(self, limit: int, size: int | None = None) -> None:
        self.limit = limit
        self.found = "the body is longer unpacked" if size is None else f"the body has {size} bytes"
        super().__init__([Fault("body", "", self.found, f"at most {limit} bytes")])


class StoreClosedError(AttributionError):
    """An event store or an attributor was used after it was closed."""


class StoreFormatError(AttributionError):
    """A snapshot or spill is damaged, or was written in a form that this version does not read."""


class MatcherError(AttributionError):
    """A pattern cannot be compiled by any matcher."""
