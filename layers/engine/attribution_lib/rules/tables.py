"""Strict reading of one declaration: every key is asked for by name and type, what is left over is a fault.

The same reader serves a TOML table and the options of a Python decorator, so both are held to the same rules.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from attribution_lib.rules.model import Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attribution_lib.rules.faults import FaultLog
    from attribution_lib.rules.toml_lines import TableLines

__all__ = ["TableReader"]

_E = TypeVar("_E", bound=StrEnum)
_MISSING = object()


class TableReader:
    """Typed access to the values of one declaration. A fault is noted, and a neutral value returned, never raised."""

    def __init__(  # noqa: PLR0913 -- a declaration is exactly these facts, all keyword-only
        self,
        *,
        kind: str,
        values: Mapping[str, Any],
        path: str,
        lines: TableLines,
        faults: FaultLog,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind = kind
        self.path = path
        self.faults = faults
        self._values = values
        self._defaults = defaults or {}
        self._lines = lines
        self._asked: set[str] = set()
        name = values.get("name")
        self.name = name if isinstance(name, str) and name else f"[[{kind}]]"

    @property
    def location(self) -> Location:
        """Where the declaration stands."""
        return Location(self.path, self._lines.line)

    def at(self, key: str, index: int | None = None) -> Location:
        """Where a key, or one element of its array, stands."""
        return Location(self.path, self._lines.of(key, index))

    def fault(self, key: str, problem: str, expected: str = "", index: int | None = None) -> None:
        """Note a fault of this declaration under a key."""
        self.faults.add(self.at(key, index), f"{self.name} {key}".strip(), problem, expected)

    def has(self, key: str) -> bool:
        """True when the declaration itself (not the file's defaults) has the key."""
        return key in self._values

    def raw(self, key: str) -> Any:
        """The untouched value of a key, or None; the key counts as known from now on."""
        self._asked.add(key)
        return self._values.get(key, self._defaults.get(key))

    def text(self, key: str, *, default: str | None = None) -> str:
        """A string; required and non-empty unless ``default`` is given."""
        value = self._typed(key, str, default, "a string")
        if value == "" and default is None and key in self._values:
            self.fault(key, "is empty", "a non-empty string")
        return str(value) if value is not None else ""

    def integer(self, key: str, *, default: int | None = None, low: int = 0, high: int | None = None) -> int:
        """An integer within [low, high]."""
        value = self._typed(key, int, default, "an integer")
        if value is None:
            return low
        if value < low or (high is not None and value > high):
            self.fault(key, f"is {value}", f"{low} to {high}" if high is not None else f"at least {low}")
        return int(value)

    def number(self, key: str) -> float:
        """A required number."""
        value = self._typed(key, (int, float), None, "a number")
        return float(value) if value is not None else 0.0

    def flag(self, key: str, *, default: bool) -> bool:
        """A boolean."""
        return bool(self._typed(key, bool, default, "true or false"))

    def texts(self, key: str, *, default: Sequence[str] | None = ()) -> tuple[str, ...]:
        """An array of strings; required when ``default`` is None."""
        value = self._typed(key, (list, tuple), default, "an array of strings")
        if value is None:
            return ()
        for index, item in enumerate(value):
            if not isinstance(item, str) or not item:
                self.fault(key, f"element {index + 1} is {item!r}", "a non-empty string", index)
        return tuple(item for item in value if isinstance(item, str) and item)

    def table(self, key: str, *, required: bool = False) -> dict[str, Any]:
        """An inline table; empty when absent."""
        value = self._typed(key, dict, None if required else {}, "a table { … }")
        return dict(value) if value is not None else {}

    def choice(self, key: str, options: Iterable[str], *, default: str | None = None) -> str:
        """One of a closed set of words; a wrong one is a fault and yields the default or the first option."""
        words = list(options)
        value = self.text(key, default=default)
        if value in words:
            return value
        if key in self._values or key in self._defaults:
            self.fault(key, f"is {value!r}", f"one of {', '.join(words)}")
        return default if default is not None else words[0]

    def member(self, key: str, enum: type[_E], *, default: _E | None = None) -> _E:
        """One member of an enum, by its value."""
        return enum(self.choice(key, [m.value for m in enum], default=None if default is None else default.value))

    def finish(self) -> None:
        """Note every key that nobody asked for."""
        known = ", ".join(sorted(self._asked))
        for key in self._values:
            if key not in self._asked:
                self.fault(key, "unknown key", f"one of {known}")

    def _typed(self, key: str, kind: type | tuple[type, ...], default: Any, expected: str) -> Any:
        self._asked.add(key)
        value = self._values.get(key, self._defaults.get(key, _MISSING))
        if value is _MISSING:
            if default is None:
                self.fault(key, "is missing", expected)
            return default
        wrong_bool = isinstance(value, bool) and kind is not bool
        if wrong_bool or not isinstance(value, kind):
            self.fault(key, f"is {type(value).__name__} {value!r}", expected)
            return default
        return value
