"""Metric series: summaries at extraction, events of metric rules at attribution.

Extraction keeps one mergeable summary a series (an ``Attribution.metric`` event) and judges nothing. The predicates run
on the union of all summaries, so how a collector cuts its windows changes nothing.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from attribution_lib.events.event import Clock, Event, EventType, Position
from attribution_lib.events.fold import seed
from attribution_lib.events.series import SERIES_FOLD, summary_of
from attribution_lib.names import NodeNames
from attribution_lib.parsing.matrix import NAME_LABEL
from attribution_lib.phases.metric_predicates import Finding, find, number_text
from attribution_lib.rfc3339 import format_instant
from attribution_lib.rules.emission import emit_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attribution_lib.job.model import JobInfo
    from attribution_lib.observation import Observation
    from attribution_lib.phases.metric_predicates import Window
    from attribution_lib.rules.model import MetricRule
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["evaluate", "series_outside", "summarise"]

_NODE_LABELS = ("Hostname", "node", "instance")
_DEVICE_LABELS = ("gpu", "device")
_MODEL_LABEL = "modelName"
_PORT = re.compile(r":\d{1,5}")
_SECOND = 1_000_000

_Place = tuple[str, str | None, str | None, str]
"""(metric, node, device, code label's value)."""


def summarise(observation: Observation, rules: Iterable[MetricRule]) -> list[Event]:
    """One ``Attribution.metric`` event a series that some rule reads; its payload is the series' summary."""
    wanted: dict[str, list[MetricRule]] = {}
    for rule in rules:
        wanted.setdefault(rule.metric, []).append(rule)
    events: list[Event] = []
    for series in observation.series:
        name = series.labels.get(NAME_LABEL, "")
        if not any(_reads(rule, series.labels) for rule in wanted.get(name, ())):
            continue
        payload = summary_of(series.labels, series.samples)
        if payload["runs"]:
            events.append(_summary_event(observation, name, payload))
    return events


def evaluate(
    rules: Sequence[MetricRule], summaries: Iterable[Event], job: JobInfo, registry: GeneratedSymptomRegistry
) -> list[Event]:
    """The events of every metric rule that holds on these summaries, in a fixed order.

    One a (rule, node, device), and a code where the rule has a catalogue. The timestamp is that of the first sample
    that fulfils the predicate inside the job's window; symptoms that ``registry`` does not know are left out.
    """
    window = _window(job)
    names = (job.names or NodeNames()).of_job(job.nodes)
    by_metric: dict[str, list[Event]] = {}
    for event in summaries:
        by_metric.setdefault(event.payload["labels"][NAME_LABEL], []).append(event)
    found: list[Event] = []
    for rule in rules:
        places = _places(rule, by_metric.get(rule.metric, ()), names)
        for (_, node, device, code), events in sorted(places.items(), key=lambda item: _place_order(item[0])):
            if not _model_fits(rule, node, events, job):
                continue
            for finding in find(rule, [event.payload for event in events], window):
                made = _finding_event(rule, events[finding.series], node, device, finding, code or finding.code)
                if made is not None and made.symptom in registry:
                    found.append(made)
    return found


def series_outside(summaries: Iterable[Event], job: JobInfo) -> int:
    """How many series have no sample inside the job's window: what they tell decides nothing."""
    low, high = _window(job)
    ends = ((event.payload["first"][0], event.payload["last"][0]) for event in summaries)
    return sum((low is not None and last < low) or (high is not None and first > high) for first, last in ends)


def _summary_event(observation: Observation, name: str, payload: dict[str, Any]) -> Event:
    labels = payload["labels"]
    text = _series_text(name, labels)
    first, last = payload["first"][0], payload["last"][0]
    return Event(
        event_type=EventType.METRIC,
        rule=f"metric:{name}",
        source=observation.source.value,
        stream=observation.stream,
        line_num=None,
        timestamp=first,
        clock=Clock.UTC,
        node=_node_label(labels) or observation.node,
        rank=None,
        device=next((labels[label] for label in _DEVICE_LABELS if labels.get(label)), None),
        symptom=None,
        payload=payload,
        datum=text,
        observation_id=observation.observation_id,
        key_fields=(text,),
        fold=SERIES_FOLD,
        first=Position(first, observation.stream, None),
        last=Position(last, observation.stream, None),
        node_declared=True,
    )


def _node_label(labels: Mapping[str, str]) -> str | None:
    """The host that a series is of; ``instance`` loses its port: ``node-0003:9400``, ``[fd00::3]:9400``."""
    for label in _NODE_LABELS:
        value = labels.get(label, "").strip()
        if value:
            host, bracket, rest = value.removeprefix("[").partition("]")
            if bracket and value.startswith("["):
                return host if not rest or _PORT.fullmatch(rest) else value
            name, _, port = value.rpartition(":")
            return name if name and ":" not in name and port.isdigit() else value
    return None


def _series_text(name: str, labels: Mapping[str, str]) -> str:
    pairs = (f'{key}="{_escaped(value)}"' for key, value in sorted(labels.items()) if key != NAME_LABEL)
    return f"{name}{{{','.join(pairs)}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _window(job: JobInfo) -> Window:
    low = None if job.start is None else job.start - job.margin_before * _SECOND
    high = None if job.end is None else job.end + job.margin_after * _SECOND
    return low, high


def _places(rule: MetricRule, events: Iterable[Event], names: NodeNames) -> dict[_Place, list[Event]]:
    """Series by node, device and code, each place's in the order of their labels."""
    places: dict[_Place, list[Event]] = {}
    for event in events:
        if not _reads(rule, event.payload["labels"]):
            continue
        code = ""
        if rule.code_label:
            code = event.payload["labels"].get(rule.code_label, "")
            if not code:
                continue
        node = names.canonical(event.node) if event.node else None
        places.setdefault((rule.metric, node, event.device, code), []).append(event)
    for series in places.values():
        series.sort(key=lambda event: event.datum)
    return places


def _reads(rule: MetricRule, labels: Mapping[str, str]) -> bool:
    return all(any(fnmatchcase(labels.get(name, ""), one) for one in patterns) for name, patterns in rule.labels)


def _place_order(place: _Place) -> tuple[str, ...]:
    return tuple("" if part is None else part for part in place)


def _model_fits(rule: MetricRule, node: str | None, events: Sequence[Event], job: JobInfo) -> bool:
    """Thresholds per hardware model: the job's ``gpu_model`` of the node, else the exporter's own label."""
    if not rule.for_models:
        return True
    model = job.node_labels.get(node or "", {}).get("gpu_model") or events[0].payload["labels"].get(_MODEL_LABEL, "")
    words = _words(model)
    return any(_words(wanted) <= words for wanted in rule.for_models)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.casefold()))


def _finding_event(  # noqa: PLR0913, PLR0917 -- one event's parts; split they would only be passed on together
    rule: MetricRule, series: Event, node: str | None, device: str | None, finding: Finding, code: str
) -> Event | None:
    emitted = emit_code(rule, code)
    if emitted is None:
        return None
    event_type, symptom = emitted
    payload: dict[str, Any] = {"metric": rule.metric, "value": number_text(finding.value)}
    if finding.before is not None:
        payload["before"] = number_text(finding.before)
    if code:
        payload["code"] = code
    event = Event(
        event_type=event_type,
        rule=rule.name,
        source=series.source,
        stream=series.stream,
        line_num=None,
        timestamp=finding.at,
        clock=Clock.UTC,
        node=node,
        rank=None,
        device=device,
        symptom=symptom,
        payload=payload,
        datum=_evidence(series, finding),
        observation_id=series.observation_id,
        occurrences=finding.count,
        node_declared=series.node is not None,
    )
    seed(event)
    event.last = Position(finding.last_at, series.stream, None)
    return event


def _evidence(series: Event, finding: Finding) -> str:
    """What a reader sees: ``DCGM_FI_DEV_XID_ERRORS{Hostname="node-0003",gpu="2"} 0 → 79 at 2026-…Z``."""
    before = "" if finding.before is None else f"{number_text(finding.before)} → "
    return f"{series.datum} {before}{number_text(finding.value)} at {format_instant(finding.at)}"
