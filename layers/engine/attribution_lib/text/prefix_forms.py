"""What a prefix form is: one pattern, what it tells, and where it may stand.

A form is data. Its pattern's groups named like a field of :class:`Draft` fill that field; groups of a stamp fragment
(see ``stamps``) are read by ``stamp``. The outermost statement wins, except that a better clock replaces a worse one
and a host's name replaces its address.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from attribution_lib.events.event import Clock
from attribution_lib.observation import Source
from attribution_lib.text.hosts import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.text.stamps import Stamp

__all__ = [
    "ANYWHERE",
    "APPLOG",
    "DIGITS",
    "LETTERS",
    "LOWER",
    "NOT_SYSLOG",
    "SYSTEM",
    "Draft",
    "Form",
    "FormTable",
    "Forms",
    "form",
    "table_of",
]

DIGITS = "0123456789"
LOWER = "abcdefghijklmnopqrstuvwxyz"
LETTERS = LOWER + LOWER.upper()

ANYWHERE = frozenset(Source)
SYSTEM = frozenset({Source.SYSLOG, Source.SCHEDULER})
APPLOG = frozenset({Source.APPLOG})
NOT_SYSLOG = frozenset(Source) - {Source.SYSLOG}

_NONE = Clock.NONE
_CLOCKS = {Clock.NONE: 0, Clock.UPTIME: 1, Clock.YEARLESS: 2, Clock.LOCAL: 3, Clock.UTC: 4}
_TEXT_FIELDS = frozenset({"node", "device", "program"})
_FIELDS = _TEXT_FIELDS | {"rank", "task", "local_rank", "pid", "repeated", "group_rank"}


class Draft:
    """What the prefixes read so far said; fields as in ``prefixes.Prefix``."""

    # One is made a line, and of its fields few are ever set: the others stay those of the class.
    timestamp: int | None = None
    clock: Clock = _NONE
    node: str | None = None
    rank: int | None = None
    task: int | None = None
    local_rank: int | None = None
    device: str | None = None
    pid: int | None = None
    program: str | None = None
    repeated: int | None = None
    group_rank: int | None = None
    """The rank a process group's own tag gives, which is global only for the default group."""
    forms: int = 0
    """How many forms were read."""
    settled: bool = False
    """Whether no form fits what comes next."""

    def __init__(self, source: Source, *, program: str | None = None) -> None:
        self.source = source
        if program is not None:
            self.program = program

    def set_stamp(self, stamp: Stamp | None) -> None:
        """Takes a stamp whose clock says more than the one there is."""
        if stamp is not None and _CLOCKS[stamp[1]] > _CLOCKS[self.clock]:
            self.timestamp, self.clock = stamp

    def set_node(self, node: str) -> None:
        """Takes a host's name; an address gives way to a name that follows (Ray's ip=, then NCCL's host)."""
        if self.node is None or (is_address(self.node) and not is_address(node)):
            self.node = node

    def standing(self) -> tuple[str | None, bool, bool, bool]:
        """All that decides, after a first form, which forms are accepted of a text that comes next."""
        return (self.program, self.clock is _NONE, self.task is None, self.rank is None)

    @property
    def labelled(self) -> bool:
        """True once something inside the message's own line was read: a launcher's label cannot follow."""
        return self.task is not None or self.rank is not None or self.program is not None

    @property
    def stamped(self) -> bool:
        """True once a time was read."""
        return self.clock is not _NONE


@dataclass(frozen=True)
class Form:
    """One understood shape of a prefix."""

    name: str
    starts: str
    """The characters it can begin with."""
    then: str
    """Where that is a bracket: the characters that can follow; empty for any."""
    pattern: str
    """Over ASCII."""
    stamp: Callable[[re.Match[str]], Stamp | None] | None = None
    accept: Callable[[re.Match[str], Draft], bool] | None = None
    """Vetoes a match that only looks like this form."""
    sources: frozenset[Source] = ANYWHERE
    peek: bool = False
    """The facts are read but the text belongs to the message: parsing ends in front of it."""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when a line first begins like this form: of a hundred forms, evidence has a few."""
        return re.compile(self.pattern, re.ASCII)

    @cached_property
    def fields(self) -> tuple[tuple[str, int], ...]:
        """The groups of ``regex`` that fill a field, and their numbers."""
        return tuple((name, at) for name, at in self.regex.groupindex.items() if name in _FIELDS)

    def apply(self, match: re.Match[str], draft: Draft) -> None:
        """Writes what a match says into the draft."""
        draft.forms += 1
        if self.stamp is not None:
            draft.set_stamp(self.stamp(match))
        for name, group in self.fields:
            value = match[group]
            if value is None:
                continue
            if name == "node":
                draft.set_node(value)
            elif getattr(draft, name) is None:
                setattr(draft, name, value if name in _TEXT_FIELDS else int(value))


def form(  # noqa: PLR0913 - the parts of a form, all but three by keyword
    name: str,
    starts: str,
    pattern: str,
    *,
    then: str = "",
    stamp: Callable[[re.Match[str]], Stamp | None] | None = None,
    accept: Callable[[re.Match[str], Draft], bool] | None = None,
    sources: frozenset[Source] = ANYWHERE,
    peek: bool = False,
) -> Form:
    """A form of a pattern over ASCII."""
    return Form(name, starts, then, pattern, stamp, accept, sources, peek)


_Match = Callable[[str, int], "re.Match[str] | None"]
FormTable = dict[Source, dict[str, "Forms"]]
_FOLLOWERS = [chr(code) for code in range(32, 127)]
_NAME = re.compile(r"\(\?P<(\w+)>")
_REFERENCE = re.compile(r"\(\?P=(\w+)\)")
_WORTHWHILE = 1_024
"""Joining the patterns of one place takes milliseconds, as long as trying them one by one on so many lines."""


class Forms:
    """Forms in their order of trial, and which of them is the first that fits."""

    __slots__ = ("_earlier", "_forms", "_joined", "_last", "_places", "_tried", "_usual", "_worthwhile")

    def __init__(self, forms: tuple[Form, ...], *, worthwhile: int = _WORTHWHILE) -> None:
        self._forms = forms
        self._worthwhile = worthwhile
        self._joined: _Match | None = None
        self._places: dict[int, int] = {}
        """Where a group that ends an alternative of the joined pattern: which form that is."""
        self._tried = 0
        self._last = -1
        self._earlier: dict[int, _Match | None] = {}
        """One pattern of all forms before a form, if there are any: made once."""
        self._usual: tuple[Form, _Match | None] | None = None
        """The form that was found twice running, and what must not match for it to be the first."""

    def first(self, line: str, start: int, draft: Draft) -> tuple[Form, re.Match[str]] | None:
        """The form that the text at ``start`` has, with its match; None when it has none."""
        if self._joined is None:
            self._tried += 1
            if self._tried <= self._worthwhile:
                return self._one_by_one(line, start, draft, 0)
            self._joined, self._places = _joined(self._forms)
        if self._usual is not None:
            form, earlier = self._usual
            match = form.regex.match(line, start)
            fits = match is not None and (form.accept is None or form.accept(match, draft))
            if match is not None and fits and (earlier is None or earlier(line, start) is None):
                return form, match
        found = self._joined(line, start)
        if found is None:
            return None
        place = self._places[found.lastindex or 0]
        if place == self._last:
            if place not in self._earlier:
                self._earlier[place] = _joined(self._forms[:place])[0] if place else None
            self._usual = self._forms[place], self._earlier[place]
        self._last = place
        return self._one_by_one(line, start, draft, place)

    def _one_by_one(self, line: str, start: int, draft: Draft, index: int) -> tuple[Form, re.Match[str]] | None:
        for form in self._forms[index:]:
            match = form.regex.match(line, start)
            if match is not None and (form.accept is None or form.accept(match, draft)):
                return form, match
        return None


def _joined(forms: tuple[Form, ...]) -> tuple[_Match, dict[int, int]]:
    """One pattern of all: its first alternative that matches is the first form whose pattern does, by its group."""
    joined = re.compile("|".join(_alternative(form.pattern, at) for at, form in enumerate(forms)), re.ASCII)
    return joined.match, {group: int(name[1:]) for name, group in joined.groupindex.items() if name[0] == "f"}


def _alternative(pattern: str, index: int) -> str:
    """A form's pattern for use among others: its groups without names, but for those it refers to, and ``f{index}``."""
    needed = set(_REFERENCE.findall(pattern))
    plain = _NAME.sub(lambda found: f"(?P<n{index}_{found[1]}>" if found[1] in needed else "(?:", pattern)
    own = _REFERENCE.sub(lambda found: f"(?P=n{index}_{found[1]})", plain)
    return f"(?:{own})(?P<f{index}>)"


def table_of(forms: Iterable[Form]) -> FormTable:
    """The forms by source and key, in the order given: the first that fits is taken."""
    found: dict[Source, dict[str, tuple[Form, ...]]] = {source: {} for source in Source}
    for each in forms:
        for start in each.starts:
            keys = [start + character for character in each.then or _FOLLOWERS] if start == "[" else [start]
            for source in each.sources:
                for key in keys:
                    found[source][key] = (*found[source].get(key, ()), each)
    shared: dict[tuple[int, ...], Forms] = {}
    return {
        source: {key: shared.setdefault(tuple(map(id, forms)), Forms(forms)) for key, forms in keys.items()}
        for source, keys in found.items()
    }
