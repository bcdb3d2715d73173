"""Bytes of the wire → ``Observation``: strictly, with all faults at once, and fast enough for whole log files.

Two layouts. As ``application/json`` one object, ``{"source", "format", …, "entry_timeseries": […]}``. As
``application/x-ndjson`` the first line is that object without ``entry_timeseries`` and each further line one entry.
Log entries (formats ``text`` and ``json`` alike) are bare strings or ``{"line", "ts"?, "node"?, "rank"?}``; entries of
``prometheus_matrix`` are ``{"metric", "values"}``. A null is an absent field; any other key is refused.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from attribution_lib.bulk import collector_paused
from attribution_lib.errors import Fault, ObservationError
from attribution_lib.fields import FieldChecker
from attribution_lib.observation import LogEntries, MetricSeries, Observation, ObservationFormat
from attribution_lib.parsing.canonical import canonical_json
from attribution_lib.parsing.entries import canonical_entries, columns_of_types, read_entries
from attribution_lib.parsing.header import ENTRIES_KEY, Header, read_header
from attribution_lib.parsing.limits import DEFAULT_LIMITS, Limits, unpack
from attribution_lib.parsing.matrix import read_matrix
from attribution_lib.parsing.typed import TypedEntries, read_typed_body, read_typed_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from hashlib import _Hash as Hash

__all__ = ["Limits", "parse_matrix", "parse_observation", "parse_upload"]

_NDJSON = "x-ndjson"
_AN_ENTRY = "UTF-8 JSON (RFC 8259), one entry a line: a plain line of text goes in quotes"
_EXPECTED = dict.fromkeys(("body", "line 1", "object"), "UTF-8 JSON (RFC 8259)")
"""By address; every other one is a further line of NDJSON."""
_OWN_LINE = " at line 1 column "
"""Of what was parsed, not of the body: the address says which line that is."""


def parse_observation(
    body: bytes, *, content_type: str = "application/json", limits: Limits = DEFAULT_LIMITS
) -> Observation:
    """The observation of a request body (gzip is recognised by its magic bytes).

    ``digest`` is the SHA-256 of the canonical JSON (RFC 8785) of source, format, stream, first_line, node, rank, start,
    end and entry_timeseries, absent ones at their defaults; it is the ``observation_id`` where none is given. Raises
    ``ObservationError`` with the first 20 faults, ``ObservationTooLargeError`` for a body over ``inline_bytes``.
    """
    data = unpack(body, limits.inline_bytes)
    with collector_paused():
        ndjson = _NDJSON in content_type
        typed = _read_typed_ndjson(data) if ndjson else read_typed_body(data)
        observation = None if typed is None else _build_typed(*typed, limits)
        if observation is not None:
            return observation
        if ndjson:
            return _build(*_read_ndjson(data), limits)
        fields = _object(_json(data, "body"), "body")
        return _build(fields, fields.pop(ENTRIES_KEY, None), limits)


def parse_upload(
    header: Mapping[str, Any], body: bytes, *, limits: Limits = DEFAULT_LIMITS, digest: str = ""
) -> Observation:
    """The observation of an uploaded object, or of one part of it, whose header came apart from it.

    Format ``text``: the body is the raw text. ``json``: one entry a line. ``prometheus_matrix``: a JSON array. A
    ``digest`` that is known already is taken as it is, which saves a third of the time.
    """
    data = unpack(body, limits.upload_bytes)
    check = FieldChecker(limit=limits.faults)
    read = read_header(header, check)
    if ENTRIES_KEY in header:
        check.fault(ENTRIES_KEY, "given beside an uploaded object", "one of the two")
    if read is None or check.faults:
        raise ObservationError(check.faults)
    if read.format is ObservationFormat.TEXT:
        digest = digest or sha256(canonical_json(read.canonical()) + b"\n" + data).hexdigest()
        return _observation(read, digest, text=data)
    with collector_paused():
        matrix = read.format is ObservationFormat.PROMETHEUS_MATRIX
        return _build(header, _json(data, "object") if matrix else _json_lines(data, 1), limits, digest)


def parse_matrix(value: Any, *, limits: Limits = DEFAULT_LIMITS) -> list[MetricSeries]:
    """The series of a parsed matrix: an array of series, or a whole reply of Prometheus' query API around it."""
    if isinstance(value, dict) and isinstance(value.get("data"), dict):
        value = value["data"].get("result")
    check = FieldChecker(limit=limits.faults)
    if not isinstance(value, list):
        check.wrong_type("matrix", value, "a JSON array of series")
        raise ObservationError(check.faults)
    series = read_matrix(value, check, limits)
    if check.faults:
        raise ObservationError(check.faults)
    return series


def _build_typed(fields: Mapping[str, Any], entries: TypedEntries, limits: Limits) -> Observation | None:
    """The observation of typed entries; None when anything is wrong with it."""
    check = FieldChecker(limit=limits.faults)
    header = read_header(fields, check)
    if header is None or check.faults or header.format is ObservationFormat.PROMETHEUS_MATRIX:
        return None
    digest, after = _begin_digest(header)
    if not entries.read(digest.update) or not 0 < len(entries) <= limits.entries:
        return None
    columns = columns_of_types(*entries.by_key())
    if columns is None:
        return None
    digest.update(after)
    return _log_observation(header, columns, digest.hexdigest())


def _build(fields: Mapping[str, Any], entries: Any, limits: Limits, digest: str = "") -> Observation:
    check = FieldChecker(limit=limits.faults)
    header = read_header(fields, check)
    if not isinstance(entries, list):
        if entries is None:
            check.fault(ENTRIES_KEY, "missing", "a list of entries")
        else:
            check.wrong_type(ENTRIES_KEY, entries, "a list of entries")
    elif header is not None and header.format is ObservationFormat.PROMETHEUS_MATRIX:
        series = read_matrix(entries, check, limits)
        if not check.faults:
            return _observation(header, digest or _digest(header, [canonical_json(entries)]), series=series)
    elif header is not None:
        columns = read_entries(entries, check, limits)
        if not check.faults:
            return _log_observation(header, columns, digest or _digest(header, canonical_entries(entries)))
    raise ObservationError(check.faults)


def _log_observation(header: Header, columns: LogEntries, digest: str) -> Observation:
    """Format text with nothing but lines becomes text; entries that carry more are kept as entries."""
    if header.format is ObservationFormat.TEXT and not (columns.stamps or columns.nodes or columns.ranks):
        text = "\n".join(columns.lines).encode() + b"\n" if columns.lines else b""
        return _observation(header, digest, text=text)
    return _observation(header, digest, layout=ObservationFormat.JSON, entries=columns)


def _observation(  # noqa: PLR0913 -- one argument per kind of body; all but two are keyword-only
    header: Header,
    digest: str,
    *,
    layout: ObservationFormat | None = None,
    text: bytes = b"",
    entries: LogEntries | None = None,
    series: Sequence[MetricSeries] = (),
) -> Observation:
    return Observation(
        source=header.source,
        format=layout or header.format,
        observation_id=header.observation_id or digest,
        stream=header.stream,
        first_line=header.first_line,
        start=header.start,
        end=header.end,
        node=header.node,
        rank=header.rank,
        text=text,
        entries=entries or LogEntries(),
        series=series,
        digest=digest,
    )


def _digest(header: Header, entries: Iterable[bytes]) -> str:
    """SHA-256 of the canonical object."""
    digest, after = _begin_digest(header)
    for piece in entries:
        digest.update(piece)
    digest.update(after)
    return digest.hexdigest()


def _begin_digest(header: Header) -> tuple[Hash, bytes]:
    """The digest up to the entries, and what follows them: they sort between ``end`` and ``first_line``."""
    before = canonical_json({"end": header.canonical()["end"]})[:-1]
    after = canonical_json({key: value for key, value in header.canonical().items() if key != "end"})[1:]
    return sha256(before + b',"%s":' % ENTRIES_KEY.encode()), b"," + after


def _read_typed_ndjson(data: bytes) -> tuple[dict[str, Any], TypedEntries]:
    head, _, rest = data.partition(b"\n")
    return _object(_json(head, "line 1"), "line 1"), read_typed_lines(rest)


def _read_ndjson(data: bytes) -> tuple[dict[str, Any], list[Any]]:
    head, _, rest = data.partition(b"\n")
    fields = _object(_json(head, "line 1"), "line 1")
    if ENTRIES_KEY in fields:
        raise ObservationError([Fault("line 1", ENTRIES_KEY, "given in the first line", "one entry a line after it")])
    return fields, _json_lines(rest, 2)


def _json_lines(data: bytes, first: int) -> list[Any]:
    """One value a line; blank lines are skipped. Read as one array, and line by line only to say where a fault is."""
    body = data.strip(b"\r\n\t ")
    if not body:
        return []
    try:
        values: list[Any] = from_json(
            b"[" + body.replace(b"\n", b",") + b"]", allow_inf_nan=False, cache_strings="keys"
        )
    except ValueError:
        values = []
    # A line end inside a string would have been taken for a comma: then there are fewer values than lines.
    if len(values) == body.count(b"\n") + 1:
        return values
    lines = data.split(b"\n")
    return [_json(line, f"line {number}") for number, line in enumerate(lines, first) if line.strip()]


def _json(data: bytes, address: str) -> Any:
    try:
        return from_json(data, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        if "recursion limit" in str(error):
            raise ObservationError(
                [Fault(address, "", "nested too deeply", f"at most {DEFAULT_LIMITS.depth} levels")]
            ) from error
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as wrong:
            problem = f"is not UTF-8: {wrong.reason} at byte {wrong.start + 1}"
        else:
            problem = f"is not JSON: {str(error).replace(_OWN_LINE, ' at column ')}"
        raise ObservationError([Fault(address, "", problem, _EXPECTED.get(address, _AN_ENTRY))]) from error


def _object(value: Any, address: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ObservationError([Fault(address, "", f"{type(value).__name__} given", "a JSON object")])
