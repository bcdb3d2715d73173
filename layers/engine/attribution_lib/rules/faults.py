"""Collecting what is wrong with rule files, so that an author sees every fault of a load at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import Fault, RuleLoadError

if TYPE_CHECKING:
    from attribution_lib.rules.model import Location

__all__ = ["FaultLog"]


class FaultLog:
    """The faults of one load, in the order they were found."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def __len__(self) -> int:
        return len(self._faults)

    def add(self, location: Location | str, subject: str, problem: str, expected: str = "") -> None:
        """Note one fault; the same one found twice is kept once."""
        fault = Fault(str(location), subject, problem, expected)
        if fault not in self._faults:
            self._faults.append(fault)

    def raise_if_any(self) -> None:
        """Raise one ``RuleLoadError`` with every fault, in the order of their addresses; otherwise do nothing."""
        if self._faults:
            raise RuleLoadError(sorted(self._faults, key=_by_address))


def _by_address(fault: Fault) -> tuple[str, int, str]:
    path, _, line = fault.address.rpartition(":")
    return (path, int(line), fault.subject) if line.isdigit() else (fault.address, 0, fault.subject)
