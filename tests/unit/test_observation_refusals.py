"""Bodies of the wire that are refused: each fault has its address, and the limits are met exactly."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from attribution_lib.errors import ObservationError, ObservationTooLargeError
from attribution_lib.observation_parse import Limits, parse_observation
from observation_kit import body


def faults(raw: bytes, content_type: str = "application/json", **options: Any) -> list[str]:
    with pytest.raises(ObservationError) as caught:
        parse_observation(raw, content_type=content_type, **options)
    return [fault.address for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("fields", "addresses"),
    [
        ({"source": ...}, ["source"]),
        ({"source": "dmesg"}, ["source"]),
        ({"format": "xml"}, ["format"]),
        ({"format": "prometheus_matrix"}, ["format"]),
        ({"source": "node_metrics"}, ["format"]),
        ({"colour": 1, "sauce": 2}, ["colour", "sauce"]),
        ({"stream": 5}, ["stream"]),
        ({"first_line": 0}, ["first_line"]),
        ({"first_line": True}, ["first_line"]),
        ({"rank": -1}, ["rank"]),
        ({"node": "a b"}, ["node"]),
        ({"observation_id": "a/b"}, ["observation_id"]),
        ({"start": "2026-06-01T03:00:00"}, ["start"]),
        ({"start": "2026-06-01T03:00:00Z", "end": "2026-06-01T02:00:00Z"}, ["end"]),
        ({"entry_timeseries": ...}, ["entry_timeseries"]),
        ({"entry_timeseries": "one line"}, ["entry_timeseries"]),
        ({"entry_timeseries": ["a", 5]}, ["entry_timeseries[1]"]),
        ({"entry_timeseries": [{"line": 5}]}, ["entry_timeseries[0].line"]),
        ({"entry_timeseries": [{}]}, ["entry_timeseries[0].line"]),
        ({"entry_timeseries": ["a", {"line": "a", "time": 5}]}, ["entry_timeseries[1].time"]),
        ({"entry_timeseries": [{"line": "a", "rank": "3"}]}, ["entry_timeseries[0].rank"]),
        ({"entry_timeseries": [{"line": "a", "rank": True}]}, ["entry_timeseries[0].rank"]),
        ({"entry_timeseries": [{"line": "a", "node": ""}]}, ["entry_timeseries[0].node"]),
    ],
)
def test_faults_name_their_field(fields: dict[str, Any], addresses: list[str]) -> None:
    assert faults(body(**fields)) == addresses


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-06-01T03:14:02",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-06-01T24:00:00Z",
        "2026-06-01T03:14:02Z\n",
        "yesterday",
        "",
        "1780283642",
        "1780283642000",
        "1780283642000000",
        1780283642000000000,
        ["2026-06-01T03:14:02Z"],
    ],
)
def test_stamps_that_are_none_are_refused(stamp: object) -> None:
    good = {"line": "a", "ts": "2026-06-01T03:14:02Z"}
    assert faults(body(entry_timeseries=[good, {"line": "b", "ts": stamp}])) == ["entry_timeseries[1].ts"]


@pytest.mark.parametrize(
    ("series", "address"),
    [
        ({"metric": {"gpu": "0"}, "values": []}, "entry_timeseries[0].metric.__name__"),
        ({"metric": {"__name__": "x", "gpu": 0}, "values": []}, "entry_timeseries[0].metric.gpu"),
        ({"metric": {"__name__": "x"}}, "entry_timeseries[0].values"),
        ({"metric": {"__name__": "x"}, "values": [[1, "1"], [2]]}, "entry_timeseries[0].values[1]"),
        ({"metric": {"__name__": "x"}, "values": [["1", "1"]]}, "entry_timeseries[0].values[0]"),
        ({"metric": {"__name__": "x"}, "values": [[1, "1_0"]]}, "entry_timeseries[0].values[0]"),
        ({"metric": {"__name__": "x"}, "values": [[1, None]]}, "entry_timeseries[0].values[0]"),
        ({"metric": {"__name__": "x"}, "values": [[1767225600000, "1"]]}, "entry_timeseries[0].values[0]"),
        ({"metric": {"__name__": "x"}, "value": [1, "1"], "values": []}, "entry_timeseries[0].value"),
        ("x{} 1", "entry_timeseries[0]"),
    ],
)
def test_faulty_series_name_their_place(series: object, address: str) -> None:
    assert faults(body(source="node_metrics", format="prometheus_matrix", entry_timeseries=[series])) == [address]


def test_only_the_first_twenty_faults_are_listed() -> None:
    assert len(faults(body(entry_timeseries=[5] * 1000))) == 20
    assert len(faults(body(source="node_metrics", format="prometheus_matrix", entry_timeseries=[5] * 1000))) == 20


@pytest.mark.parametrize(
    ("raw", "address"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"null", "body"),
        (b'{"source": NaN}', "body"),
        (b'{"source": "\xff"}', "body"),
        (b'{"source": "\\ud800"}', "body"),
        (b"\x1f\x8bjunk", "body"),
        (gzip.compress(b"{}")[:-4], "body"),
        (b'{"a":' * 100_000, "body"),
        (b'{"entry_timeseries":' + b"[" * 100_000, "body"),
    ],
)
def test_what_is_no_json_object_is_refused(raw: bytes, address: str) -> None:
    assert faults(raw) == [address]


def test_values_nested_deeper_than_any_field_are_refused() -> None:
    deep: Any = "x"
    for _ in range(17):
        deep = [deep]
    assert faults(body(entry_timeseries=[deep])) == ["entry_timeseries[0]"]
    assert faults(body(deep=deep)) == ["deep"]


@pytest.mark.parametrize(
    ("rest", "address"),
    [
        (b'"a"\n{"line":}\n', "line 3"),
        (b'"a"\n\n"b\nc"\n', "line 4"),
        (b'"a" "b"\n', "line 2"),
        (b'"a", "b"\n', "line 2"),
        (b'["a"\n"b"]\n', "line 2"),
    ],
)
def test_faulty_ndjson_names_its_line(rest: bytes, address: str) -> None:
    head = b'{"source":"applog","format":"json"}\n'
    assert faults(head + rest, "application/x-ndjson") == [address]


def test_the_first_ndjson_line_holds_no_entries() -> None:
    assert faults(body(), "application/x-ndjson") == ["line 1"]


def test_the_limit_of_entries_is_met_exactly() -> None:
    limits = Limits(entries=3)
    assert len(parse_observation(body(entry_timeseries=["a"] * 3), limits=limits).entries.lines) == 3
    assert faults(body(entry_timeseries=["a"] * 4), limits=limits) == ["entry_timeseries"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_limit_of_bytes_is_met_exactly_packed_or_not(pack: Any) -> None:
    raw = body(entry_timeseries=["x" * 1000])
    parse_observation(pack(raw), limits=Limits(inline_bytes=len(raw)))
    with pytest.raises(ObservationTooLargeError, match=f"at most {len(raw) - 1}"):
        parse_observation(pack(raw), limits=Limits(inline_bytes=len(raw) - 1))


def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    with pytest.raises(ObservationTooLargeError):
        parse_observation(bomb, limits=Limits(inline_bytes=1_000_000))
