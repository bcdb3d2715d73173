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


Context = tuple[tuple[str, ...], tuple[str, ...]]
"""The lines before, and the lines after."""


@dataclass(slots=True)
class ContextReader:
    """Up to five lines with text on either side of a segment, each cut to 512 bytes."""

    buffer: TextBuffer
    _texts: dict[bytes, str] = field(default_factory=dict)
    _segment: Segment = (-1, -1)
    _last: Context = ((), ())
    """The last answer: several rules hit one line, and most of what is around it is around the next line too."""
    _here: str | None = None
    """The line itself, where it was among those around the one before."""
    _reach: int = -1
    """Where the last line below ends; -1 where a side has empty lines, or was not looked at whole."""

    def around(self, segment: Segment) -> Context:
        """The lines before and after, in reading order."""
        if segment != self._segment:
            start, end = segment
            if self._reach < 0 or start != self._segment[1] + 1 or not self._slide():
                self._last, self._here = self._around(start, end), None
            self._segment = segment
        return self._last

    def _slide(self) -> bool:
        """Go on to the next line: one line leaves each side and one comes; False where that one is empty."""
        data, (before, after) = self.buffer.data, self._last
        start = self._reach + 1
        coming: tuple[str, ...] = ()
        if start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            if start == end:
                return False
            coming, self._reach = (data[start : min(end, start + _BYTES)].decode("utf-8", "replace"),), end
        leaving = self._shared([data[slice(*self._segment)]]) if self._here is None else (self._here,)
        self._here = after[0] if after else None
        self._last = (*before, *leaving)[-_LINES:], (*after[1:], *coming)
        return True

    def _around(self, start: int, end: int) -> Context:
        data = self.buffer.data
        above = data[max(start - _NEAR, 0) : max(start - 1, 0)].split(b"\n")[start > _NEAR :]
        below = data[end + 1 : end + _NEAR].split(b"\n")
        if end + _NEAR < len(data) or not below[-1]:
            below.pop()  # cut off, or nothing: the text's last line has an end
        first, last = start <= _NEAR, end + _NEAR >= len(data)
        upper, lower = above[-_LINES:], below[:_LINES]
        if all(upper) and all(lower) and (first or len(upper) == _LINES) and (last or len(lower) == _LINES):
            self._reach = end + sum(map(len, lower)) + len(lower)
            return _at_once(upper), _at_once(lower)
        self._reach = -1
        before = self._shared([text for text in above[-_WALKED:] if text][-_LINES:])
        after = self._shared([text for text in below[:_WALKED] if text][:_LINES])
        if len(before) < _LINES and not first:
            before = self._decoded(self.buffer.before(start, _LINES))
        if len(after) < _LINES and not last:
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


def _at_once(lines: list[bytes]) -> tuple[str, ...]:
    """Whole lines at once, which is half the work, where none is to be cut."""
    if not lines or max(map(len, lines)) > _BYTES:
        return tuple([line[:_BYTES].decode("utf-8", "replace") for line in lines])
    return tuple(b"\n".join(lines).decode("utf-8", "replace").split("\n"))
