"""The lines around a line do not depend on which lines were asked about before it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.phases.context import ContextReader
from attribution_lib.text.lines import normalise

_LINES = st.lists(
    st.one_of(st.sampled_from([b"", b"", b"a", b"\xff line", b"x" * 600, b"y" * 2_000]), st.integers(0, 99)),
    max_size=40,
)


def _segments(data: bytes) -> list[tuple[int, int]]:
    found, start = [], 0
    for line in data.split(b"\n"):
        found.append((start, start + len(line)))
        start += len(line) + 1
    return found


def _plainly(data: bytes, segment: tuple[int, int]) -> tuple[list[str], list[str]]:
    """Of the twenty segments on either side, those with text, at most five."""
    above, below = data[: segment[0]].split(b"\n")[:-1], data[segment[1] + 1 :].split(b"\n")
    before, after = [line for line in above[-20:] if line][-5:], [line for line in below[:20] if line][:5]
    return tuple([line[:512].decode("utf-8", "replace") for line in side] for side in (before, after))  # type: ignore[return-value] # two


@given(_LINES, st.sampled_from([b"\n", b"\r\n"]), st.sampled_from([b"", b"\n"]), st.data())
def test_neighbours_are_the_same_however_one_comes_to_a_line(
    lines: list[bytes | int], line_end: bytes, last: bytes, data: st.DataObject
) -> None:
    written = [b"line %d" % line if isinstance(line, int) else line for line in lines]
    buffer = normalise(line_end.join(written) + last)
    reader = ContextReader(buffer)
    for segment in _segments(buffer.data):
        if segment[0] == segment[1] or not data.draw(st.integers(0, 4)):
            continue
        before, after = reader.around(segment)
        assert (before, after) == ContextReader(buffer).around(segment)
        assert (list(before), list(after)) == _plainly(buffer.data, segment)
