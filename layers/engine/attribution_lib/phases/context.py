"""The lines around a line: what a reader of the root wants to see without opening the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_lib.phases.accumulate import Segment
    from attribution_lib.text.lines import TextBuffer

__all__ = ["ContextReader"]

_LINES = 5
_WALKED = 4 * _LINES
"""Empty segments included (CRLF leaves one after each line), as in ``TextBuffer.before``."""
_BYTES = 512
_SHARED_TEXTS = 256
_NEAR = 1_536
"""Where the lines around a hit usually all lie; one slice of this is cheaper than ten steps from line to line."""


@dataclass(slots=True)
class ContextReader:
    """Up to five lines with text on either side of a segment, each cut to 512 bytes."""

    buffer: TextBuffer
    _texts: dict[bytes, str] = field(default_factory=dict)
    _last: tuple[Segment, tuple[tuple[str, ...], tuple[str, ...]]] = field(default=((-1, -1), ((), ())))
    """The last answer: several rules hit one line."""

    def around(self, segment: Segment) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The lines before and after, in reading order."""
        if segment != self._last[0]:
            self._last = segment, self._around(*segment)
        return self._last[1]

    def _around(self, start: int, end: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        data = self.buffer.data
        above = data[max(start - _NEAR, 0) : max(start - 1, 0)].split(b"\n")[start > _NEAR :]
        below = data[end + 1 : end + _NEAR].split(b"\n")[: -1 if end + _NEAR < len(data) else None]
        before = self._shared([text for text in above[-_WALKED:] if text][-_LINES:])
        after = self._shared([text for text in below[:_WALKED] if text][:_LINES])
        if len(before) < _LINES and start > _NEAR:
            before = self._decoded(self.buffer.before(start, _LINES))
        if len(after) < _LINES and end + _NEAR < len(data):
            after = self._decoded(self.buffer.after(end, _LINES))
        return before, after

    def _decoded(self, segments: list[Segment]) -> tuple[str, ...]:
        data = self.buffer.data
        return self._shared([data[start : min(end, start + _BYTES)] for start, end in segments])

    def _shared(self, segments: list[bytes]) -> tuple[str, ...]:
        """Decoded and cut; neighbouring hits get the same strings, since each line is in the context of ten others."""
        known = self._texts
        texts = []
        for segment in segments:
            raw = segment[:_BYTES]
            text = known.get(raw)
            if text is None:
                if len(known) >= _SHARED_TEXTS:
                    known.clear()
                text = known[raw] = raw.decode("utf-8", "replace")
            texts.append(text)
        return tuple(texts)
