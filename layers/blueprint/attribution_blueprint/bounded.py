"""The body of one request on a connection that carries others after it."""

from __future__ import annotations

from typing import Any

__all__ = ["Bounded"]


class Bounded:
    """The rest of one request's body: never a byte of the next request."""

    def __init__(self, stream: Any, length: int) -> None:
        self._stream = stream
        self.left = length

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes of what is left."""
        wanted = self.left if size < 0 else min(size, self.left)
        block: bytes = self._stream.read(wanted) if wanted else b""
        self.left = self.left - len(block) if block else 0
        return block
