from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.text.lines import from_entries, normalise

PIECES = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\x00",
    b"\x1b",
    b"\x1b[31m",
    b"\x1b]0;t\x07",
    b"[",
    b";",
    b"m",
    b"a",
    b"\xff",
    b"\xc3\xbc",
]
raw_text = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=60).map(b"".join)


def number_of(raw: bytes, marker: bytes) -> int:
    """What a reader counts: line ends before the marker."""
    return raw[: raw.index(marker)].count(b"\n") + 1


@given(raw_text)
def test_any_bytes_become_clean_segments(raw: bytes) -> None:
    buffer = normalise(raw)
    assert not re.search(rb"[\x00\r\x1b]", buffer.data)
    assert normalise(buffer.data).data == buffer.data
    assert buffer.bytes == len(raw)
    assert buffer.lines == raw.count(b"\n") + (buffer.data != b"" and not buffer._numbered.endswith(b"\n"))


@given(raw_text, raw_text, st.integers(min_value=1, max_value=10**9))
def test_numbers_equal_those_of_a_reader_who_counts_line_ends(before: bytes, after: bytes, first_line: int) -> None:
    marker = b"<HIT>"
    raw = before + b"\n" + marker + after
    buffer = normalise(raw, first_line=first_line)
    offset = buffer.data.index(marker)
    assert buffer.line_numbers([offset]) == [first_line + number_of(raw, marker) - 1]


@given(raw_text)
def test_every_offset_has_the_number_of_the_naive_reference(raw: bytes) -> None:
    buffer = normalise(raw)
    ends = [offset for offset, byte in enumerate(buffer._numbered) if byte == 10]
    offsets = list(range(len(buffer.data)))
    naive = [1 + sum(end < offset for end in ends) for offset in offsets]
    assert buffer.line_numbers(offsets) == naive
    assert buffer.line_numbers(offsets[::-1]) == naive[::-1]


@given(raw_text)
def test_segments_tile_the_buffer(raw: bytes) -> None:
    buffer = normalise(raw)
    place, found = 0, []
    while place < len(buffer.data):
        start, end = buffer.segment(place)
        assert start == place
        found.append(buffer.data[start:end])
        place = end + 1
    assert b"\n".join(found) == buffer.data.removesuffix(b"\n")


@given(st.lists(raw_text.map(lambda piece: piece.replace(b"\n", b"")), max_size=8), st.data())
def test_cutting_a_stream_at_line_ends_changes_nothing(lines: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(line + b"\n" for line in lines)
    cut = data.draw(st.integers(min_value=0, max_value=len(lines)))
    head = b"".join(line + b"\n" for line in lines[:cut])
    whole, first, second = normalise(raw), normalise(head), normalise(raw[len(head) :], first_line=1 + cut)
    assert first.data + second.data == whole.data
    assert first.lines + second.lines == whole.lines
    assert first.bytes + second.bytes == whole.bytes
    offsets = range(len(whole.data))
    split = len(first.data)
    assert whole.line_numbers(offsets) == [
        *first.line_numbers(range(split)),
        *second.line_numbers([offset - split for offset in offsets[split:]]),
    ]


@given(st.lists(st.text(alphabet=st.sampled_from("ab \n\r\x00\x1b[mü\ud800終")), max_size=12), st.integers(1, 99))
def test_an_entry_keeps_its_index_whatever_it_contains(entries: list[str], first_line: int) -> None:
    marked = [f"<{index}>{entry}" for index, entry in enumerate(entries)]
    buffer = from_entries(marked, first_line=first_line)
    offsets = [buffer.data.index(f"<{index}>".encode()) for index in range(len(marked))]
    assert buffer.line_numbers(offsets) == [first_line + index for index in range(len(marked))]
    assert buffer.lines == len(entries)
    assert buffer.bytes == sum(len(entry.encode("utf-8", "surrogatepass")) for entry in marked)
