"""The parser on everything hypothesis can think of: it reads, or it refuses with faults; and digests are canonical."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution_lib.errors import ObservationError
from attribution_lib.observation_parse import parse_observation
from attribution_lib.parsing.canonical import canonical_json
from attribution_lib.parsing.entries import canonical_entries
from attribution_lib.parsing.typed import TypedEntries, read_typed_body, read_typed_lines

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_STAMP = st.just("2026-06-01T00:00:00Z")
_JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), _TEXT
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXT, inner, max_size=4)),
    max_leaves=15,
)
_ENTRY = st.one_of(
    _TEXT,
    st.fixed_dictionaries(
        {"line": _TEXT},
        optional={
            "rank": st.integers(0, 1000),
            "node": st.sampled_from(["n1", "n2"]),
            "ts": st.just("2026-06-01T00:00:00Z"),
        },
    ),
)
_PLAIN = st.fixed_dictionaries(
    {"line": _TEXT | st.sampled_from(['}, {"line": "', "},{", "]}", '"entry_timeseries": [', "\\", "a\nb"])},
    optional={"rank": st.integers(0, 9), "node": st.sampled_from(["n1", "n2"]), "ts": _STAMP},
)
_LAYOUTS: list[dict[str, Any]] = [{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]


@given(_JSON)
def test_any_json_is_read_or_refused_with_faults(value: Any) -> None:
    for body in (value, {"source": "applog", "format": "json", "entry_timeseries": value}):
        try:
            parse_observation(json.dumps(body).encode())
        except ObservationError as error:
            assert error.faults  # noqa: PT017 -- most inputs are refused, some are not


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_faults(raw: bytes) -> None:
    for content_type in ("application/json", "application/x-ndjson"):
        with pytest.raises(ObservationError):
            parse_observation(raw, content_type=content_type)


@given(st.lists(_ENTRY, max_size=10))
def test_lines_come_out_as_they_went_in(entries: list[Any]) -> None:
    head = {"source": "applog", "format": "json"}
    ndjson = "\n".join(json.dumps(item) for item in (head, *entries)).encode()
    read = parse_observation(json.dumps({**head, "entry_timeseries": entries}).encode())
    assert list(read.entries.lines) == [entry if isinstance(entry, str) else entry["line"] for entry in entries]
    assert parse_observation(ndjson, content_type="application/x-ndjson") == read


@given(st.lists(_ENTRY, max_size=6))
def test_the_fast_canonical_form_of_entries_is_the_canonical_form(entries: list[Any]) -> None:
    assert b"".join(canonical_entries(entries)) == canonical_json(entries)


@given(
    entries=st.lists(_PLAIN, min_size=1, max_size=8),
    piece=st.integers(0, 40),
    layout=st.sampled_from(_LAYOUTS),
    header_first=st.booleans(),
)
def test_entries_decoded_piece_by_piece_are_those_of_the_whole(
    entries: list[Any], piece: int, layout: dict[str, Any], *, header_first: bool
) -> None:
    head = {"source": "applog", "stream": 'a "b": [1], {"line": "x"}]'}
    listed = {"entry_timeseries": entries}
    body = json.dumps({**head, **listed} if header_first else {**listed, **head}, **layout).encode()
    ndjson = "\n".join(map(json.dumps, entries)).encode()
    read = read_typed_body(body, piece=piece)
    assert read is not None
    assert read[0] == head
    for typed in (read[1], read_typed_lines(ndjson, piece=piece)):
        _is_read_as(typed, entries)


@pytest.mark.parametrize("gap", ["", " ", "\r\n\t"])
def test_a_list_that_begins_with_a_bare_line_is_left_to_the_general_reader(gap: str) -> None:
    body = f'{{"source":"applog","format":"text","entry_timeseries":[{gap}"bare",{{"line":"x"}}]}}'.encode()
    assert read_typed_body(body) is None
    assert parse_observation(body).text == b"bare\nx\n"


def _is_read_as(typed: TypedEntries, entries: list[Any]) -> None:
    canonical = bytearray()
    assert typed.read(canonical.extend)
    assert bytes(canonical) == canonical_json(entries)
    columns, distinct = typed.by_key()
    assert columns["line"] == [entry["line"] for entry in entries]
    for key, column in columns.items():
        assert column == [entry.get(key) for entry in entries]
        assert key == "line" or distinct[key] - {None} == {entry[key] for entry in entries if key in entry}


@given(_JSON)
def test_the_canonical_form_says_the_same_and_is_its_own_canonical_form(value: Any) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@given(_JSON)
def test_the_canonical_form_of_a_value_is_the_same_alone_and_within_a_list(value: Any) -> None:
    assert canonical_json([value]) == b"[" + canonical_json(value) + b"]"


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers()))
def test_the_canonical_form_of_a_plain_object_is_the_same_alone_and_within_a_list(value: dict[str, Any]) -> None:
    assert canonical_json([value]) == b"[" + canonical_json(value) + b"]"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (5.0, "5"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.5e-9, "-1.5e-9"),
        (0.1, "0.1"),
        (333333333.33333329, "333333333.3333333"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9007199254740994, "9007199254740994"),
        (2**60, "1152921504606847000"),
    ],
)
def test_numbers_are_written_as_ecmascript_does(number: float, text: str) -> None:
    assert canonical_json(number) == text.encode()


@given(_FINITE)
def test_numbers_read_back_as_themselves(number: float) -> None:
    assert math.isclose(float(canonical_json(number)), number, rel_tol=0, abs_tol=0)


def test_members_sort_by_utf_16_and_strings_escape_the_least() -> None:
    value = {"\u20ac": 1, "\r": 2, "\U0001f600": 3, "\ufb33": 4, "1": 5, "\u0080": '\u001f"\\/\u007f é'}
    assert canonical_json(value).decode() == (
        '{"\\r":2,"1":5,"\u0080":"\\u001f\\"\\\\/\u007f é","\u20ac":1,"\U0001f600":3,"\ufb33":4}'
    )
