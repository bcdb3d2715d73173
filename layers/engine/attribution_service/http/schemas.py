"""Schemas of what no model of ours describes: the job, observations (parsed from raw bytes), problems, references."""

from __future__ import annotations

from typing import Any

from attribution_lib.fields import CLUSTER_FORM, ID_FORM
from attribution_lib.job.model import Scheduler
from attribution_lib.observation import ObservationFormat, Source

__all__ = ["IDENTIFIER", "WRITTEN"]

_TEXT: dict[str, Any] = {"type": "string"}
_TIME: dict[str, Any] = {"type": "string", "description": "RFC 3339 with an offset"}
IDENTIFIER: dict[str, Any] = {"type": "string", "pattern": f"^{ID_FORM}$"}
_RANK = {"type": "integer", "minimum": 0, "maximum": 2_000_000}
_MARGIN = {"type": "integer", "minimum": 0, "maximum": 30 * 86_400, "description": "Seconds"}


def _object(properties: dict[str, Any], *, required: tuple[str, ...] = (), text: str = "") -> dict[str, Any]:
    made = {"type": "object", "properties": properties, "additionalProperties": False}
    return made | ({"required": list(required)} if required else {}) | ({"description": text} if text else {})


def _texts(text: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": _TEXT, "description": text}


_JOB = _object(
    {
        "job_id": IDENTIFIER | {"description": "Optional when nodes, start and end are given"},
        "attempt": {"type": "integer", "minimum": 0, "maximum": 999_999},
        "cluster": {"type": "string", "pattern": f"^{CLUSTER_FORM}$"},
        "scheduler": {"type": "string", "enum": [known.value for known in Scheduler]},
        "user": _TEXT,
        "name": _TEXT,
        "partition": _TEXT,
        "labels": _texts("Free metadata"),
        "node_labels": {
            "type": "object",
            "additionalProperties": _object({"switch": _TEXT, "rack": _TEXT, "gpu_model": _TEXT}),
        },
        "state": _TEXT | {"description": "As the scheduler says it"},
        "exit_code": _TEXT | {"description": "code:signal"},
        "reason": _TEXT,
        "nodes": {
            "anyOf": [{"type": "array", "items": _TEXT, "maxItems": 20_000}, _TEXT],
            "description": "Names, or a host list such as node[0001-0128,0200]",
        },
        "failed_node": _TEXT,
        "ranks": {
            "type": "array",
            "items": _object(
                {"rank": _RANK, "local_rank": _RANK, "node": _TEXT, "gpu_uuid": _TEXT, "pci": _TEXT},
                required=("rank", "node"),
            ),
        },
        "start": _TIME,
        "end": _TIME,
        "timezone": _TEXT | {"description": "IANA name; of stamps without a zone"},
        "margin_before": _MARGIN,
        "margin_after": _MARGIN,
        "allocation_failure": _object(
            {"allocation_id": _TEXT, "state": _TEXT, "failed_node": _TEXT, "source": _TEXT, "time": _TIME},
            required=("allocation_id", "state", "source", "time"),
        ),
        "execution_cancellation": _object(
            {"record_id": _TEXT, "cancelled_by": _TEXT, "time": _TIME},
            required=("record_id", "cancelled_by", "time"),
        ),
    },
    text="What is known of one attempt of one job",
)
_LOG_ENTRY = _object(
    {
        "line": _TEXT,
        "ts": _TEXT | {"description": "RFC 3339, or epoch nanoseconds as a string"},
        "node": IDENTIFIER,
        "rank": _RANK,
    },
    required=("line",),
)
_SERIES = _object(
    {
        "metric": _texts("Labels, __name__ among them"),
        "values": {"type": "array", "items": {"type": "array", "items": {"anyOf": [{"type": "number"}, _TEXT]}}},
    },
    required=("metric", "values"),
    text="One series of a Prometheus matrix",
)
_OBSERVATION = _object(
    {
        "observation_id": IDENTIFIER | {"description": "Default: SHA-256 of the canonical content"},
        "source": {"type": "string", "enum": [known.value for known in Source]},
        "format": {"type": "string", "enum": [known.value for known in ObservationFormat]},
        "stream": _TEXT,
        "first_line": {"type": "integer", "minimum": 1},
        "start": _TIME,
        "end": _TIME,
        "node": IDENTIFIER,
        "rank": _RANK,
        "entry_timeseries": {
            "type": "array",
            "maxItems": 500_000,
            "items": {
                "anyOf": [
                    _TEXT,
                    {"$ref": "#/components/schemas/LogEntry"},
                    {"$ref": "#/components/schemas/MetricSeries"},
                ]
            },
        },
        "object_key": _TEXT | {"description": "Of an uploaded body, instead of entry_timeseries"},
    },
    required=("source", "format"),
    text="As application/x-ndjson the first line is this without entries, each further line one entry",
)
_PROBLEM = {
    "type": "object",
    "description": "RFC 9457; further members depend on the type",
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "request_id": _TEXT,
        "faults": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": _TEXT, "problem": _TEXT, "expected": _TEXT},
                "required": ["field", "problem"],
            },
        },
        "attributor_id": _TEXT | {"description": "duplicate-session: the session that is open"},
        "receipt": {"$ref": "#/components/schemas/Receipt"},
    },
    "required": ["type", "title", "status", "detail", "request_id"],
    "additionalProperties": True,
}
_PENDING = _object(
    {"status": {"type": "string", "enum": ["pending"]}, "retry_after": {"type": "integer"}},
    required=("status", "retry_after"),
)
_ROWS = {"type": "array", "items": {"type": "object", "additionalProperties": True}}
_RULES = _object(
    {
        "rules_digest": _TEXT,
        "rules": _ROWS,
        "symptoms": _ROWS,
        "metrics": {"type": "array", "items": _TEXT},
    },
    required=("rules_digest", "rules", "symptoms", "metrics"),
)

WRITTEN: dict[str, dict[str, Any]] = {
    "Job": _JOB,
    "LogEntry": _LOG_ENTRY,
    "MetricSeries": _SERIES,
    "Observation": _OBSERVATION,
    "Problem": _PROBLEM,
    "Pending": _PENDING,
    "RulesReference": _RULES,
    "OpenApi": {"type": "object", "additionalProperties": True},
}
"""{name: schema}; a test holds the keys of ``Job`` and ``Observation`` to what the parsers take."""
