from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.events.event import Clock
from attribution_lib.observation import Source
from attribution_lib.text.prefixes import parse_prefix
from attribution_lib.text.stamps import entry_stamp, stamp_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PIECES = [
    "12: ", "[rank3]: ", "[default1]:", "[1,2]<stdout>:", "node-0012: ", "[node-0012] ", "10.0.0.1: ",
    "node-a:1:2 [0] x.cc:1 NCCL WARN ", "[PG ID 0 PG GUID 0(default_pg) Rank 3] ", "[Rank 3] ",
    "[E620 15:34:12.1 a.cpp:1] ", "E0601 03:14:02.1 1 a.cc:1] ", "[2026-06-02T22:10:47.114] ", "99/99 99:99:99 ",
    "2026-06-02 22:10:47,114 ", "9999-99-99 99:99:99 ", "Jan  5 10:11:12 node-a kernel: ", "[ 1.000000] ", "<4>",
    "<4>1 - - - - - - ", "4,1,2,-;", '{"log":"', '{"streams":', "kern  :err   : ", "message repeated 3 times: [ ",
    "(T pid=1, ip=10.0.0.1) ", "ERROR ", "[INFO] ", "- a - INFO - ", "| INFO | ", "srun: error: ", "*** STEP 1.0 ",
    'time="2026-01-05T10:11:12Z" ', "what():  ", "[", "]", ":", " ", "{", '"', "\\", "é", "\ud800", "\uff11\uff12: ",
    "Traceback",
]  # fmt: skip
lines = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join)


@given(lines, st.sampled_from(Source))
def test_any_line_has_a_prefix(line: str, source: Source) -> None:
    prefix = parse_prefix(line, source)
    assert 0 <= prefix.body_start <= len(line)
    assert (prefix.timestamp is None) == (prefix.clock is Clock.NONE)
    assert prefix.repeated >= 0
    assert prefix.node != ""
    assert prefix == parse_prefix(line, source)


@given(lines, st.sampled_from(Source))
def test_a_message_is_not_read_for_facts(line: str, source: Source) -> None:
    """What follows the first unknown word changes nothing."""
    prefix = parse_prefix(f"[rank3]: Unknown, {line}", source)
    assert (prefix.rank, prefix.node, prefix.timestamp, prefix.body_start) == (3, None, None, len("[rank3]: "))


@given(st.binary(max_size=200), st.sampled_from(Source))
def test_any_bytes_that_were_decoded_have_a_prefix(raw: bytes, source: Source) -> None:
    parse_prefix(raw.decode("utf-8", "replace"), source)


@pytest.mark.parametrize(
    "hostile",
    [
        *("[", "[a", "a", "a-", "a.", "1", "1:", "1.", " ", "(a", "[PG ", "- a", "Jan  5 10:11:12 a"),
        *(
            "<4>1 - - - - - [a",
            '{"a":"',
            '{"log":"\\\\',
            '{a="host=',
            'time="2026-01-05T10:11:12Z" a=b ',
            "(T pid=1) [repeated ",
        ),
    ],
)
def test_hostile_lines_cost_linear_time(hostile: str) -> None:
    line = hostile * (200_000 // len(hostile))
    started = time.process_time()
    for source in Source:
        parse_prefix(line, source)
        parse_prefix("node-a " + line, source)
    assert time.process_time() - started < 2


@given(st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", fullmatch=True))
def test_an_entry_stamp_is_a_number_or_a_value_error(text: str) -> None:
    stamp_of(text)
    try:
        micros = entry_stamp(text)
    except ValueError as error:
        micros, message = 0, str(error)
        assert message.startswith("time stamp ")
    assert isinstance(micros, int)


@given(st.datetimes(), st.integers(min_value=-23 * 60, max_value=23 * 60))
def test_an_entry_stamp_equals_the_standard_library_s_reading(civil: datetime, offset: int) -> None:
    moment = civil.replace(tzinfo=timezone(timedelta(minutes=offset)))
    assert entry_stamp(moment.isoformat()) == (moment - EPOCH) // timedelta(microseconds=1)
