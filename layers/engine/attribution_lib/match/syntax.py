"""Reads the regex syntax of rule patterns into a small tree of byte sets, from which a wider pattern can be derived.

Only what one line can contain matters here: groups lose their names, greedy and lazy repeats are the same, and the
tree may accept more than the pattern (look-around becomes nothing, a back-reference becomes "anything"), never less.
Constructs outside of that raise ``UnsupportedSyntaxError``; the caller then does without the accelerator.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from attribution_lib.match.byteset import ANY, CLASS_ESCAPES, CONTROL_ESCAPES, POSIX_CLASSES, ByteSet, Reading, of, span
from attribution_lib.match.cursor import Cursor, UnsupportedSyntaxError

__all__ = ["Assertion", "Choice", "Node", "Repeat", "Sequence", "UnsupportedSyntaxError", "parse"]


class Assertion(StrEnum):
    """A zero-width test, in the spelling of the accelerator."""

    LINE_START = "^"
    LINE_END = "$"
    WORD_BOUNDARY = r"\b"
    NOT_WORD_BOUNDARY = r"\B"


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other; without parts it matches the empty text."""

    items: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``item`` at least ``low`` and at most ``high`` times (None: without end)."""

    item: Node
    low: int
    high: int | None


Node = ByteSet | Assertion | Sequence | Choice | Repeat

_ANYTHING = Repeat(ANY, 0, None)
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_SIMPLE_ATOMS: dict[str, Node] = {".": ANY, "^": Assertion.LINE_START, "$": Assertion.LINE_END}
_ASSERTION_ESCAPES = {
    "A": Assertion.LINE_START,
    "z": Assertion.LINE_END,
    "Z": Assertion.LINE_END,
    "b": Assertion.WORD_BOUNDARY,
    "B": Assertion.NOT_WORD_BOUNDARY,
}
_LOOK_AROUND = ("=", "!", "<=", "<!")
_MAX_NESTING = 100


def parse(pattern: str, engine: str = "re2") -> Node:
    """The tree of a pattern in the syntax of ``engine`` (``re2`` or ``re``), matched over the bytes of UTF-8 text."""
    reader = _Reader(pattern.encode("utf-8").decode("latin-1"), python=engine == "re")
    tree = reader.choice()
    if not reader.ended:
        reader.refuse("an unmatched ')'")
    return tree


class _Reader(Cursor):
    """Recursive descent over one pattern; every character stands for one byte."""

    def __init__(self, pattern: str, *, python: bool) -> None:
        super().__init__(pattern)
        self.python = python
        self.caseless = False
        self.nesting = 0

    def choice(self) -> Node:
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            self.refuse("too deep a nesting")
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        self.nesting -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def sequence(self) -> Node:
        items: list[Node] = []
        while not (self.ended or self.at("|") or self.at(")")):
            if not self.python and self.take(r"\Q"):
                items.extend(self.quoted())
            else:
                items.append(self.repeated(self.atom()))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def quoted(self) -> list[Node]:
        """Literal text up to the closing escape or the end; a quantifier behind it repeats its last character."""
        closed = self.pattern.find(r"\E", self.position) >= 0
        text = self.take_until(r"\E") if closed else self.pattern[self.position :]
        if not closed:
            self.position = len(self.pattern)
        characters: list[Node] = [self.literal(char) for char in text]
        return [*characters[:-1], *(self.repeated(last) for last in characters[-1:])]

    def literal(self, char: str) -> ByteSet:
        return _literal(char, caseless=self.caseless)

    def atom(self) -> Node:
        char = self.next()
        if char in _SIMPLE_ATOMS:
            return _SIMPLE_ATOMS[char]
        if char in _QUANTIFIERS:
            self.refuse("a quantifier without anything to repeat")
        match char:
            case "(":
                return self.group()
            case "[":
                return self.char_class()
            case "\\":
                return self.escape()
            case _:
                return self.literal(char)

    def group(self) -> Node:
        """After ``(``: a group of any kind, or flags for the rest of the enclosing group."""
        caseless = self.caseless
        ignored = False
        if self.take("?"):
            if self.take("#"):
                self.take_until(")")
                return Sequence()
            if self.take("P="):
                self.take_until(")")
                return _ANYTHING
            ignored = any(self.take(look) for look in _LOOK_AROUND)
            if not ignored and not self.group_opening():
                return Sequence()
        node = self.choice()
        if not self.take(")"):
            self.refuse("a missing ')'")
        self.caseless = caseless
        return Sequence() if ignored else node

    def group_opening(self) -> bool:
        """Read ``P<name>``, ``<name>``, ``>``, ``i-s:`` or ``i)``; False when flags stand alone, without a group."""
        if self.take("P<") or self.take("<"):
            self.take_until(">")
            return True
        if self.take(">"):
            return True
        enabled = True
        while (char := self.next()) not in ":)":
            if char == "-" and enabled:
                enabled = False
            elif char == "i":
                self.caseless = enabled
            elif char not in ("ams" if self.python else "msU"):
                self.refuse(f"an unknown group (?{char}")
        return char == ":"

    def escape(self) -> Node:
        char = self.next()
        if char in _ASSERTION_ESCAPES:
            return _ASSERTION_ESCAPES[char]
        if char in CLASS_ESCAPES:
            return CLASS_ESCAPES[char].widest
        if char == "C":
            return ANY
        if char in "123456789":
            # A back-reference, or an octal number: "anything" covers either.
            while not self.ended and self.pattern[self.position] in "0123456789":
                self.position += 1
            return _ANYTHING
        return self.literal(self.escaped(char))

    def escaped(self, char: str) -> str:
        """After a backslash and ``char``: the one character that they stand for."""
        if char in CONTROL_ESCAPES:
            return chr(CONTROL_ESCAPES[char])
        if char == "x":
            return chr(self.number(self.take_until("}") if self.take("{") else self.next() + self.next(), 16))
        if char == "0":
            digits = char
            while len(digits) < 3 and not self.ended and self.pattern[self.position] in "01234567":  # noqa: PLR2004 -- \012
                digits += self.next()
            return chr(self.number(digits, 8))
        if char.isascii() and char.isalnum():
            self.refuse(f"an unknown escape \\{char}")
        return char

    def number(self, digits: str, base: int) -> int:
        try:
            value = int(digits, base)
        except ValueError:
            self.refuse("a malformed number")
        if value > 0xFF:  # noqa: PLR2004 -- the largest byte
            self.refuse("a number that is no byte")
        return value

    def repeated(self, node: Node) -> Node:
        """``node`` with whatever quantifiers follow it."""
        while (bounds := self.bounds()) is not None:
            node = Repeat(node, *bounds)
            if not self.take("?") and self.python:
                self.take("+")  # possessive: accepts fewer texts
        return node

    def bounds(self) -> tuple[int, int | None] | None:
        """``*``, ``+``, ``?``, ``{2}``, ``{2,}`` or ``{2,5}``; None when no quantifier follows."""
        if not self.ended and self.pattern[self.position] in _QUANTIFIERS:
            return _QUANTIFIERS[self.next()]
        if not self.at("{"):
            return None
        end = self.pattern.find("}", self.position)
        if end < 0:
            return None
        low, comma, high = self.pattern[self.position + 1 : end].partition(",")
        if self.python and comma and not low:
            low = "0"
        if not _is_number(low) or (high and not _is_number(high)):
            return None  # a literal brace
        self.position = end + 1
        return int(low), (int(high) if high else None) if comma else int(low)

    def char_class(self) -> ByteSet:
        """After ``[``. A negated class is the complement of its narrowest reading."""
        negated = self.take("^")
        members = Reading(ByteSet(0), ByteSet(0))
        first = True
        while first or not self.at("]"):
            first = False
            item = self.class_item()
            members = Reading(members.widest | item.widest, members.narrowest | item.narrowest)
        self.take("]")
        if self.caseless:
            members = Reading(members.widest.caseless(), members.narrowest)
        return (members.complement() if negated else members).widest.within_line()

    def class_item(self) -> Reading:
        """One member of a class: a character, a range, an escape or ``[:alpha:]``."""
        if self.at("[:"):
            if self.python:
                self.refuse("a set inside a set")
            return self.posix_class()
        char = self.next()
        if char == "\\":
            char = self.next()
            if char in CLASS_ESCAPES:
                return CLASS_ESCAPES[char]
            if char in "123456789":
                self.refuse("an octal number in a class")
            char = "\b" if char == "b" else self.escaped(char)
        last = char
        if self.at("-") and not self.at("-]"):
            self.next()
            last = self.next()
            if last == "\\":
                last = self.escaped(self.next())
        members = span(ord(char), ord(last))
        return Reading(members, members)

    def posix_class(self) -> Reading:
        self.take("[:")
        negated = self.take("^")
        name = self.take_until(":]")
        if name not in POSIX_CLASSES:
            self.refuse(f"an unknown class [:{name}:]")
        members = POSIX_CLASSES[name].complement() if negated else POSIX_CLASSES[name]
        return Reading(members, members)


@lru_cache(maxsize=512)
def _literal(char: str, *, caseless: bool) -> ByteSet:
    members = of(char.encode("latin-1")).within_line()
    return members.caseless() if caseless else members


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
