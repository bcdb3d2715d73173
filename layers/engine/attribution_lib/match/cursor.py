"""Walks over the characters of one pattern."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["Cursor", "UnsupportedSyntaxError"]


class UnsupportedSyntaxError(ValueError):
    """The pattern uses a construct that this reader does not know; the message names it."""


class Cursor:
    """A position in a pattern; what cannot be read raises ``UnsupportedSyntaxError`` with the offset."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0

    @property
    def ended(self) -> bool:
        """Whether the whole pattern was read."""
        return self.position >= len(self.pattern)

    def refuse(self, what: str) -> NoReturn:
        """Say what stands here and cannot be read."""
        message = f"{what} at offset {self.position}"
        raise UnsupportedSyntaxError(message)

    def at(self, text: str) -> bool:
        """Whether ``text`` comes next."""
        return self.pattern.startswith(text, self.position)

    def take(self, text: str) -> bool:
        """Read ``text`` if it comes next."""
        if not self.at(text):
            return False
        self.position += len(text)
        return True

    def next(self) -> str:
        """Read one character."""
        if self.ended:
            self.refuse("an unfinished pattern")
        self.position += 1
        return self.pattern[self.position - 1]

    def take_until(self, end: str) -> str:
        """Read up to ``end`` and past it; what stood before it."""
        stop = self.pattern.find(end, self.position)
        if stop < 0:
            self.refuse(f"a missing {end}")
        text = self.pattern[self.position : stop]
        self.position = stop + len(end)
        return text
