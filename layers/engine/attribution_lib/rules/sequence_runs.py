"""Running one ``[[sequence]]`` through a whole attribution and comparing the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_lib.attributor import Attributor
from attribution_lib.errors import AttributionError
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import LogEntries, MetricSeries, Observation, ObservationFormat, Source
from attribution_lib.taxonomy import sub_domain_of, terminal_state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.sequences import SequenceLine, SequenceSample, SequenceSeries
    from attribution_lib.verdict import Verdict

__all__ = ["run_sequence", "sequence_verdict"]

_EPOCH = 1_780_282_800_000_000
"""2026-06-01T03:00:00Z in µs: when a sequence starts whose job has no start."""
_MICROSECONDS = 1_000_000


def run_sequence(sample: SequenceSample, engine: RuleEngine) -> tuple[str, ...]:
    """What differs between the verdict and the expectation; empty when nothing does."""
    try:
        verdict = sequence_verdict(sample, engine)
    except AttributionError as error:
        return (str(error),)
    return tuple(_differences(sample.expect, verdict, engine))


def sequence_verdict(sample: SequenceSample, engine: RuleEngine) -> Verdict:
    """The verdict over the lines of a sequence; ``AttributionError`` when its job is none."""
    job = JobInfoBuilder.from_mapping(
        {"job_id": "sequence", **sample.job}, naive_in_timezone=True, nodes_suffice=True
    ).build()
    with Attributor(job, engine) as attributor:
        start = job.start if job.start is not None else _EPOCH
        attributor.ingest_batch(_observations(sample.lines, start))
        attributor.ingest_batch(_series(sample.metrics, start))
        return attributor.attribute()


def _observations(lines: Sequence[SequenceLine], start: int) -> Iterator[Observation]:
    streams: dict[tuple[str, str], list[SequenceLine]] = {}
    for line in lines:
        streams.setdefault((line.source, line.stream), []).append(line)
    for (_, stream), found in streams.items():
        source = found[0].source
        if all(line.at is None and line.node is None and line.rank is None for line in found):
            text = "\n".join(line.line for line in found).encode()
            yield Observation(source, stream=stream, text=text + b"\n")
        else:
            entries = LogEntries(
                lines=[line.line for line in found],
                stamps=[_stamp(line.at, start) for line in found],
                nodes=[line.node for line in found],
                ranks=[line.rank for line in found],
            )
            yield Observation(source, ObservationFormat.JSON, stream=stream, entries=entries)


def _series(metrics: Sequence[SequenceSeries], start: int) -> Iterator[Observation]:
    series = [
        MetricSeries(one.labels, [(start + round(at * _MICROSECONDS), float(value)) for at, value in one.samples])
        for one in metrics
    ]
    if series:
        yield Observation(Source.NODE_METRICS, ObservationFormat.PROMETHEUS_MATRIX, stream="metrics", series=series)


def _stamp(at: float | None, start: int) -> str | None:
    """Epoch nanoseconds as text."""
    return None if at is None else str((start + round(at * _MICROSECONDS)) * 1000)


def _differences(expect: Mapping[str, Any], verdict: Verdict, engine: RuleEngine) -> Iterator[str]:
    found = _facts(verdict)
    for key, wanted in expect.items():
        value = found[key]
        if key == "line":
            holds = wanted in (value or "")
        elif key == "symptom":
            holds = _named(wanted, engine) == value
        elif key in ("remaining", "demoted", "discarded", "alternatives", "changed_by"):
            holds = {_named(name, engine) for name in wanted} <= set(value)
        elif key == "collections":
            holds = _holds(wanted, value)
        elif key == "needed_evidence":
            holds = all(any(part in text for text in value) for part in wanted) and bool(wanted) == bool(value)
        elif isinstance(wanted, list):
            holds = sorted(wanted) == sorted(value)
        else:
            holds = wanted == value
        if not holds:
            yield f"{key} is {value!r}, expected {wanted!r}"


def _holds(wanted: Any, value: Any) -> bool:
    """Whether what is wanted stands in the value: tables may hold more, arrays are as long."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(_holds(part, value.get(key)) for key, part in wanted.items())
    if isinstance(wanted, list):
        whole = isinstance(value, list) and len(value) == len(wanted)
        return whole and all(_holds(part, found) for part, found in zip(wanted, value, strict=True))
    return bool(wanted == value)


def _named(name: str, engine: RuleEngine) -> str:
    return engine.registry.get(name).name if name in engine.registry else name


def _facts(verdict: Verdict) -> dict[str, Any]:
    root = verdict.root_cause
    states: dict[str, list[str]] = {"remaining": [], "demoted": [], "discarded": [], "root": []}
    for row in verdict.symptoms:
        states[row.state].append(row.symptom)
    return {
        "outcome": verdict.outcome.value,
        "sub_domain": sub_domain_of(verdict.outcome).value,
        "terminal_state": terminal_state_of(verdict.outcome, failed=verdict.failed).value,
        "confidence": verdict.confidence.value,
        "symptom": root.symptom if root else None,
        "rule": root.rule if root else None,
        "node": root.node if root else None,
        "rank": root.rank if root else None,
        "line": root.evidence if root else None,
        "bad_nodes": [node.node for node in verdict.bad_nodes],
        "interesting_nodes": [node.node for node in verdict.interesting_nodes],
        "remaining": states["remaining"],
        "demoted": states["demoted"],
        "discarded": states["discarded"],
        "alternatives": [alternative.symptom for alternative in verdict.alternatives],
        "collections": dict(verdict.collections),
        "needed_evidence": [f"{row.source} {row.node or 'job'}: {row.why}" for row in verdict.needed_evidence],
        "changed_by": sorted({row.changed_by for row in verdict.symptoms if row.changed_by is not None}),
    }
