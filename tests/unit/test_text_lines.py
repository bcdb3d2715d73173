from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from attribution_lib.text.lines import MAX_SEGMENT, from_entries, normalise

if TYPE_CHECKING:
    from collections.abc import Callable


def segments(data: bytes) -> list[bytes]:
    return data.split(b"\n")


def seconds(work: Callable[[], object]) -> float:
    """Of CPU, the best of three: other people's processes are no finding."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def test_clean_text_is_not_even_copied() -> None:
    raw = b"first\nsecond\n"
    buffer = normalise(raw)
    assert buffer.data is raw
    assert (buffer.lines, buffer.bytes, buffer.truncated_lines) == (2, 13, 0)


def test_an_unfinished_last_line_counts() -> None:
    assert normalise(b"first\nsecond").lines == 2
    assert normalise(b"").lines == 0


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (b"\x1b[31mRuntimeError\x1b[0m: boom", b"RuntimeError: boom"),
        (b"\x1b[1;38;5;196mred\x1b[K", b"red"),
        (b"\x1b[?25l\x1b[2A\x1b[2Ktqdm", b"tqdm"),
        (b"\x1b]0;title\x07text", b"text"),
        (b"\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", b"link"),
        (b"\x1bP1$r0m\x1b\\text", b"text"),
        (b"\x1b(B\x1b[mtext", b"text"),
        (b"\x1b7text\x1b8", b"text"),
        (b"text\x1b", b"text"),
        (b"\x1b\x1b[31mtext", b"text"),
        (b"\x1b[\x1b[31mtext", b"text"),
        (b"\x1b]no end\ntext", b"no end\ntext"),
        (b"\x1b[31\nm", b"\nm"),
    ],
)
def test_ansi_sequences_go_and_text_stays(raw: bytes, clean: bytes) -> None:
    assert normalise(raw).data == clean


def test_nul_bytes_go_and_invalid_utf8_is_replaced_only_when_decoded() -> None:
    buffer = normalise(b"a\x00b\xff\n")
    assert buffer.data == b"ab\xff\n"
    assert buffer.decode(0, 3) == "ab\ufffd"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(encoding: str) -> None:
    raw = "RuntimeError: x\n".encode(encoding)
    raw = raw if encoding != "utf-16-be" else b"\xfe\xff" + raw
    assert normalise(raw).data == b"RuntimeError: x\n"


JOURNAL = b'{"_HOSTNAME":"n1","MESSAGE":%b,"PRIORITY":"3"}'


@pytest.mark.parametrize("shape", [b"[%b]", b"[ %b ]"])
@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"\x1b[31mNVRM: Xid\x1b[0m", '"NVRM: Xid"'),
        (b'two "words" \\ and\nlines', r'"two \"words\" \\ and\nlines"'),
        ("Wärme".encode(), '"Wärme"'),
        (b"broken \xff\x00", '"broken \ufffd"'),
    ],
)
def test_a_message_that_a_journal_wrote_as_bytes_is_its_text(shape: bytes, said: bytes, text: str) -> None:
    raw = JOURNAL % (shape % b",".join(b"%d" % byte for byte in said))
    assert normalise(raw).data == JOURNAL % text.encode()


@pytest.mark.parametrize("other", [b"[]", b"[300]", b"[1,x]", b"[[1]]", b'["a"]'])
def test_other_arrays_stay_as_they_are(other: bytes) -> None:
    assert normalise(JOURNAL % other).data == JOURNAL % other


def test_progress_segments_share_the_number_of_their_line() -> None:
    buffer = normalise(b"one\n10%\r20%\rError: x\r\nthree\n", first_line=41)
    assert segments(buffer.data) == [b"one", b"10%", b"20%", b"Error: x", b"", b"three", b""]
    offsets = [buffer.data.index(word) for word in (b"one", b"10%", b"20%", b"Error", b"three")]
    assert buffer.line_numbers(offsets) == [41, 42, 42, 42, 43]
    assert buffer.lines == 3


def test_line_numbers_go_on_from_call_to_call_and_also_backwards() -> None:
    buffer = normalise(b"a\nb\nc\nd\n")
    assert buffer.line_numbers([0, 4]) == [1, 3]
    assert buffer.line_numbers([6]) == [4]
    assert buffer.line_numbers([2]) == [2]
    assert buffer.lines == 4


def test_a_segment_is_found_around_any_of_its_offsets() -> None:
    buffer = normalise(b"first\nsecond\rthird")
    assert buffer.segment(0) == (0, 5)
    assert buffer.segment(5) == (0, 5)
    assert buffer.segment(8) == (6, 12)
    assert buffer.segment(15) == (13, 18)


def test_neighbours_are_the_segments_with_text() -> None:
    buffer = normalise(b"a\r\nb\r\nc\r\nd\r\ne\r\n")
    start, end = buffer.segment(buffer.data.index(b"c"))
    assert [buffer.decode(*place) for place in buffer.before(start, 5)] == ["a", "b"]
    assert [buffer.decode(*place) for place in buffer.before(start, 1)] == ["b"]
    assert [buffer.decode(*place) for place in buffer.after(end, 5)] == ["d", "e"]
    assert [buffer.decode(*place) for place in buffer.after(end, 1)] == ["d"]


def test_neighbours_do_not_walk_through_miles_of_empty_lines() -> None:
    buffer = normalise(b"far\n" + b"\n" * 1000 + b"here\n" + b"\n" * 1000 + b"far\n")
    start, end = buffer.segment(buffer.data.index(b"here"))
    assert buffer.before(start, 5) == []
    assert buffer.after(end, 5) == []


def test_a_segment_over_the_cap_loses_its_tail_and_nothing_else() -> None:
    raw = b"before\n" + b"x" * (MAX_SEGMENT + 5) + b"\nexact\n" + b"y" * MAX_SEGMENT + b"\nafter\n"
    buffer = normalise(raw)
    assert [len(part) for part in segments(buffer.data)] == [6, MAX_SEGMENT, 5, MAX_SEGMENT, 5, 0]
    assert buffer.truncated_lines == 1
    assert buffer.bytes == len(raw)
    assert buffer.lines == 5
    assert buffer.line_numbers([buffer.data.index(b"exact"), buffer.data.index(b"after")]) == [3, 5]


def test_a_progress_bar_of_many_megabytes_is_no_long_line() -> None:
    raw = b"step done 10%\r" * (3 * MAX_SEGMENT // 14) + b"Error\n"
    buffer = normalise(raw)
    assert buffer.truncated_lines == 0
    assert buffer.line_numbers([buffer.data.index(b"Error")]) == [1]


def test_a_cut_segment_keeps_the_progress_segments_after_it() -> None:
    buffer = normalise(b"z" * (2 * MAX_SEGMENT + 9) + b"\rError\n" + b"w" * (MAX_SEGMENT + 1))
    assert [len(part) for part in segments(buffer.data)] == [MAX_SEGMENT, 5, MAX_SEGMENT]
    assert buffer.truncated_lines == 2
    assert buffer.lines == 2


def test_entries_are_numbered_by_their_index_whatever_they_contain() -> None:
    buffer = from_entries(["one", "Traceback\n  File\nKeyError: x\n", "", "four\r50%"], first_line=10)
    assert segments(buffer.data) == [b"one", b"Traceback", b"  File", b"KeyError: x", b"", b"", b"four", b"50%"]
    offsets = [buffer.data.index(word) for word in (b"one", b"Traceback", b"KeyError", b"four", b"50%")]
    assert buffer.line_numbers(offsets) == [10, 11, 11, 13, 13]
    assert buffer.lines == 4
    assert buffer.bytes == len("oneTraceback\n  File\nKeyError: x\nfour\r50%")


def test_entries_may_hold_lone_surrogates_and_any_language() -> None:
    buffer = from_entries(["\ud83d Grüße", "终"])
    assert buffer.decode(*buffer.segment(0)).endswith(" Grüße")
    assert buffer.line_numbers([len(buffer.data) - 1]) == [2]


def test_no_entries_are_no_lines() -> None:
    buffer = from_entries([])
    assert (buffer.lines, buffer.bytes, buffer.data) == (0, 0, b"")


LINE = b"2026-06-01 12:00:00,123 [INFO] step 100 loss 2.871 and text to make this line one hundred bytes long\n"


def test_clean_text_costs_a_few_containment_checks() -> None:
    raw = LINE * (32 * MAX_SEGMENT // len(LINE))
    assert seconds(lambda: normalise(raw)) < 0.05


def test_one_line_of_fifty_megabytes_is_cheap() -> None:
    raw = b"x" * (50 * MAX_SEGMENT)
    assert seconds(lambda: normalise(raw)) < 0.2


@pytest.mark.parametrize("broken", [b"\x1b[", b"\x1b]", b"\x1b[0;", b"\x1b(", b"\x1b", b"\x1bP\x1b["])
def test_broken_ansi_stays_linear(broken: bytes) -> None:
    raw = broken * (MAX_SEGMENT // len(broken))
    assert seconds(lambda: normalise(raw)) < 2
    assert seconds(lambda: normalise(broken + b"0" * (4 * MAX_SEGMENT))) < 1
    assert seconds(lambda: normalise((broken + b"0" * 1000) * 1000)) < 1


def test_many_hits_are_numbered_in_one_pass() -> None:
    buffer = normalise(LINE * 200_000)
    offsets = range(0, len(buffer.data), len(LINE))
    assert seconds(lambda: buffer.line_numbers(offsets)) < 2
    assert buffer.line_numbers([offsets[-1]]) == [200_000]
