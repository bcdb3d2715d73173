"""Bodies of the wire: what becomes of them, and which of them are the same."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from typing import Any

import pytest

from attribution_lib.errors import ObservationError
from attribution_lib.observation import LogEntries, ObservationFormat, Source
from attribution_lib.observation_parse import parse_matrix, parse_observation, parse_upload
from attribution_lib.parsing.canonical import canonical_json
from observation_kit import body, parse

_SERIES = {
    "metric": {"__name__": "DCGM_FI_DEV_XID_ERRORS", "gpu": "2"},
    "values": [[1767225600, "0"], [1767225660.5, "79"]],
}


def test_entries_become_columns() -> None:
    entries = [
        {"line": "a", "ts": "2026-06-01T03:14:02.5Z", "node": "node-0001", "rank": 3},
        "bare",
        {"line": "c", "ts": "1780283642000000000"},
        {"line": "d", "ts": None, "node": None, "rank": None},
    ]
    assert parse(entry_timeseries=entries).entries == LogEntries(
        lines=["a", "bare", "c", "d"],
        stamps=["2026-06-01T03:14:02.5Z", None, "1780283642000000000", None],
        nodes=["node-0001", None, None, None],
        ranks=[3, None, None, None],
    )


def test_columns_nobody_fills_are_empty() -> None:
    columns = parse(entry_timeseries=[{"line": "a", "ts": None}, {"line": "b"}]).entries
    assert columns == LogEntries(lines=["a", "b"])
    assert parse(entry_timeseries=["a", "b"]).entries == LogEntries(lines=["a", "b"])


def test_all_header_fields_are_read() -> None:
    read = parse(
        observation_id="b1",
        stream="pod/x",
        first_line=101,
        node="node-0001",
        rank=0,
        start="2026-06-01T03:00:00Z",
        end="2026-06-01T04:00:00+01:00",
    )  # fmt: skip -- a row of fields
    assert (read.observation_id, read.stream, read.first_line, read.node, read.rank) == (
        "b1",
        "pod/x",
        101,
        "node-0001",
        0,
    )
    assert read.start == read.end == 1_780_282_800_000_000
    assert (read.source, read.format) == (Source.APPLOG, ObservationFormat.JSON)


def test_a_null_is_an_absent_field() -> None:
    assert parse(observation_id=None, stream=None, node=None, rank=None, start=None, first_line=None) == parse()


def test_bare_lines_of_format_text_become_text() -> None:
    read = parse(format="text", entry_timeseries=["one", {"line": "two"}, ""])
    assert (read.format, read.text) == (ObservationFormat.TEXT, b"one\ntwo\n\n")
    assert parse(format="text").text == b""


def test_entries_of_format_text_that_say_more_stay_entries() -> None:
    read = parse(format="text", entry_timeseries=[{"line": "one", "rank": 1}])
    assert (read.format, read.entries) == (ObservationFormat.JSON, LogEntries(lines=["one"], ranks=[1]))


def test_a_matrix_becomes_series() -> None:
    read = parse(source="node_metrics", format="prometheus_matrix", entry_timeseries=[_SERIES])
    (series,) = read.series
    assert series.labels == _SERIES["metric"]
    assert series.samples == [(1_767_225_600_000_000, 0.0), (1_767_225_660_500_000, 79.0)]


def test_ndjson_and_json_are_the_same_observation() -> None:
    entries = [{"line": "a", "ts": "2026-06-01T03:14:02Z"}, "b\nc, with a comma", {"line": "d", "rank": 1}]
    lines = [
        json.dumps({"source": "applog", "format": "json", "stream": "s"}),
        *(json.dumps(entry) for entry in entries),
    ]
    expected = parse(entry_timeseries=entries, stream="s")
    for text in ("\n".join(lines), "\r\n".join(lines) + "\r\n", "\n\n".join(lines) + "\n\n"):
        read = parse_observation(text.encode(), content_type="application/x-ndjson; charset=utf-8")
        assert (read, read.digest) == (expected, expected.digest)


def test_gzip_is_recognised_by_its_first_bytes() -> None:
    raw = body(entry_timeseries=["a"])
    packed = gzip.compress(raw[:10]) + gzip.compress(raw[10:])
    assert parse_observation(packed) == parse_observation(gzip.compress(raw)) == parse_observation(raw)


def test_the_default_id_is_the_digest_of_the_canonical_body() -> None:
    canonical = (
        '{"end":null,"entry_timeseries":[{"line":"é\\n","node":"n1","rank":2},"b"],"first_line":1,"format":"json",'
        '"node":null,"rank":null,"source":"applog","start":null,"stream":""}'
    )
    read = parse(entry_timeseries=[{"rank": 2, "line": "é\n", "node": "n1"}, "b"])
    assert read.observation_id == read.digest == sha256(canonical.encode()).hexdigest()


def test_the_order_of_keys_and_the_blanks_between_them_do_not_change_the_digest() -> None:
    one = b'{"source":"applog","format":"json","entry_timeseries":[{"line":"a","rank":1}]}'
    two = b'{ "entry_timeseries": [ {"rank": 1, "line": "\\u0061"} ], "format": "json",\n"source": "applog" }'
    assert parse_observation(one).digest == parse_observation(two).digest


@pytest.mark.parametrize(
    "change",
    [
        {"source": "syslog"},
        {"format": "text"},
        {"stream": "x"},
        {"first_line": 2},
        {"node": "n"},
        {"rank": 0},
        {"start": "2026-06-01T03:00:00Z"},
        {"end": "2026-06-01T03:00:00Z"},
        {"entry_timeseries": ["a", "b", ""]},
    ],
)
def test_everything_that_makes_a_batch_another_one_changes_the_digest(change: dict[str, Any]) -> None:
    base = {"entry_timeseries": ["a", "b"]}
    assert parse(**{**base, **change}).digest != parse(**base).digest


def test_a_given_id_does_not_change_the_digest() -> None:
    assert parse(observation_id="mine").digest == parse().digest


@pytest.mark.parametrize(
    "stamp",
    ["2026-06-01T03:14:02Z", "2024-02-29T00:00:00+05:30", "2026-12-31t23:59:59.123456789-08:00", "1780283642123456789"],
)
def test_stamps_of_both_forms_are_kept_as_written(stamp: str) -> None:
    assert parse(entry_timeseries=[{"line": "a", "ts": stamp}]).entries.stamps == [stamp]


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "1e3", "-0", "5"])
def test_every_number_of_prometheus_is_read(text: str) -> None:
    series = {"metric": {"__name__": "x"}, "values": [[1, text]]}
    (read,) = parse(source="node_metrics", format="prometheus_matrix", entry_timeseries=[series]).series
    assert repr(read.samples[0][1]) == repr(float(text))


def test_uploads_are_raw_text_lines_of_entries_or_a_matrix() -> None:
    header = {"source": "applog", "format": "text", "stream": "s"}
    read = parse_upload(header, gzip.compress(b"one\r\ntwo \xff"))
    assert (read.format, read.text, read.stream) == (ObservationFormat.TEXT, b"one\r\ntwo \xff", "s")
    assert read.observation_id == read.digest != parse_upload(header, b"other").digest
    entries = parse_upload({"source": "applog", "format": "json"}, b'"a"\n{"line":"b"}\n')
    assert entries == parse(entry_timeseries=["a", {"line": "b"}])
    metrics = parse_upload({"source": "node_metrics", "format": "prometheus_matrix"}, json.dumps([_SERIES]).encode())
    assert len(metrics.series) == 1
    assert parse_upload({"source": "applog", "format": "json"}, b'"a"\n', digest="known").digest == "known"
    with pytest.raises(ObservationError, match="source"):
        parse_upload({"format": "text"}, b"x")


def test_a_matrix_may_come_in_prometheus_own_reply() -> None:
    reply = {"status": "success", "data": {"resultType": "matrix", "result": [_SERIES]}}
    assert parse_matrix(reply) == parse_matrix([_SERIES])
    for wrong in ({"status": "error"}, "x", None, [5]):
        with pytest.raises(ObservationError):
            parse_matrix(wrong)


@pytest.mark.parametrize(
    "shape",
    [
        lambda number: {"line": str(number), "rank": number},
        lambda number: {"rank": number, "line": str(number)},
        lambda number: {"rank": number, "line": "x"} if number % 2 else {"line": "x", "rank": number},
        lambda number: {"line": "x", "rank": number} if number % 2 else {"line": "x", "node": "n"},
        lambda number: {"node": "n", "line": "x"} if number != 2_500 else {"rank": 1, "line": "x"},
        lambda number: "bare" if number % 3 else {"ts": "2026-06-01T03:14:02Z", "rank": 1, "node": "n", "line": "x"},
    ],
)
def test_many_entries_of_any_shape_have_their_canonical_form_and_columns(shape: Any) -> None:
    entries = [shape(number) for number in range(4_001)]
    read = parse(entry_timeseries=entries)
    whole = {"source": "applog", "format": "json", "stream": "", "first_line": 1, "entry_timeseries": entries}
    absent = dict.fromkeys(("node", "rank", "start", "end"))
    assert read.digest == sha256(canonical_json({**whole, **absent})).hexdigest()
    for index in (0, 1, 2_499, 2_500, 4_000):
        entry = {"line": entries[index]} if isinstance(entries[index], str) else entries[index]
        columns = (read.entries.lines, read.entries.nodes, read.entries.ranks, read.entries.stamps)
        found = [column[index] if column else None for column in columns]
        assert found == [entry.get(key) for key in ("line", "node", "rank", "ts")]


def test_a_byte_that_is_not_utf_8_is_told_with_its_place() -> None:
    header = b'{"source": "applog", "format": "text", "stream": "a"}'
    with pytest.raises(ObservationError, match=r"line 3: is not UTF-8: invalid start byte at byte 4"):
        parse_observation(header + b'\n"fine"\n"ab\xff"', content_type="application/x-ndjson")
