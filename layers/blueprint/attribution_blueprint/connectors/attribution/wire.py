"""An observation as the v2 API takes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attribution_lib.observation import ObservationFormat
from attribution_lib.rfc3339 import format_instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.observation import Observation

__all__ = ["NDJSON", "encode", "header_of", "pack"]

NDJSON = "application/x-ndjson"


def header_of(observation: Observation) -> dict[str, Any]:
    """Its fields apart from the entries; absent ones left out."""
    fields = {
        "observation_id": observation.observation_id or None,
        "source": observation.source.value,
        "format": observation.format.value,
        "stream": observation.stream,
        "first_line": observation.first_line,
        "node": observation.node,
        "rank": observation.rank,
        "start": None if observation.start is None else format_instant(observation.start),
        "end": None if observation.end is None else format_instant(observation.end),
    }
    return {name: value for name, value in fields.items() if value is not None}


def encode(observation: Observation) -> bytes:
    """The body of ``POST …/observation`` as NDJSON. Bytes that are not UTF-8 are replaced, as the engine would."""
    rows = [json.dumps(header_of(observation))]
    if observation.format is ObservationFormat.TEXT:
        text = observation.text.decode("utf-8", "replace")
        lines = text.removesuffix("\n").split("\n") if text else []
        rows += [json.dumps(line, ensure_ascii=False) for line in lines]
    elif observation.format is ObservationFormat.JSON:
        rows += _entries(observation)
    else:
        rows += [json.dumps(_series(one.labels, one.samples)) for one in observation.series]
    return "\n".join(rows).encode("utf-8", "replace")


def pack(observation: Observation) -> bytes:
    """As a workflow keeps it between two of its tasks: the header on a line, then text as it is, or rows as NDJSON."""
    if observation.format is not ObservationFormat.TEXT:
        return encode(observation)
    return json.dumps(header_of(observation)).encode() + b"\n" + observation.text


def _entries(observation: Observation) -> Iterator[str]:
    columns = observation.entries
    for number, line in enumerate(columns.lines):
        entry: dict[str, Any] = {"line": line}
        for name, column in (("ts", columns.stamps), ("node", columns.nodes), ("rank", columns.ranks)):
            if column and column[number] is not None:
                entry[name] = column[number]
        yield json.dumps(entry, ensure_ascii=False)


def _series(labels: Any, samples: Any) -> dict[str, Any]:
    return {"metric": dict(labels), "values": [[at / 1e6, _number(value)] for at, value in samples]}


def _number(value: float) -> str:
    """As Prometheus writes it: ``NaN`` and ``+Inf`` are no JSON numbers."""
    return repr(value)
