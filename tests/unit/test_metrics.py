"""Metric rules: what fires, where, and from which sample on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.events.folder import Folder
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import MetricSeries, Observation, ObservationFormat, Source
from attribution_lib.phases.metrics import evaluate, summarise
from attribution_lib.rules.emission import compile_emitter
from attribution_lib.rules.model import CatalogTable, Emit, Location, MetricRule, Provenance, Reduce, Scope, SymptomDef
from attribution_lib.rules.registry import GeneratedSymptomRegistry
from attribution_lib.taxonomy import Outcome

if TYPE_CHECKING:
    from attribution_lib.events.event import Event
    from attribution_lib.job.model import JobInfo

_START = 1_780_282_800  # 2026-06-01T03:00:00Z
_HERE = Location("rules/metrics.toml", 1)


def _symptom(name: str) -> SymptomDef:
    return SymptomDef(name, Outcome.GPU_HARDWARE, 900, Scope.DEVICE, _HERE)


REGISTRY = GeneratedSymptomRegistry(
    [_symptom("Hot"), _symptom("XID-79-LOST"), _symptom("XID-63-REMAP"), _symptom("XID-?")]
)
_XIDS = CatalogTable(
    keys=("xid",),
    rows={
        ("79",): {"event": "bad_node", "code": "79", "mnemonic": "LOST"},
        ("63",): {"event": "interesting_node", "code": "63", "mnemonic": "REMAP"},
    },
    default={"event": "bad_node", "symptom": "XID-?"},
)


def rule(reduce: str, op: str, value: float, *, catalog: CatalogTable | None = None, **fields: Any) -> MetricRule:
    emit = Emit("bad_node", "Hot") if catalog is None else Emit("{event}", "XID-{code}-{mnemonic}")
    return MetricRule(
        provenance=Provenance("MetricRule", "author", _HERE),
        metric="m",
        reduce=Reduce(reduce),
        op=op,
        value=value,
        emit=emit,
        catalog=catalog,
        emitter=compile_emitter(emit, REGISTRY, catalog),
        **fields,
    )


def series(*values: float | tuple[float, float], step: float = 60, **labels: str) -> MetricSeries:
    """Samples from the job's start on, ``step`` seconds apart, or (seconds after the start, value)."""
    samples = [value if isinstance(value, tuple) else (index * step, value) for index, value in enumerate(values)]
    names = {"__name__": "m", "Hostname": "node-0003", "gpu": "2", **labels}
    placed = {key: text for key, text in names.items() if text}
    return MetricSeries(placed, [(round((_START + at) * 1_000_000), value) for at, value in samples])


def job(**fields: Any) -> JobInfo:
    window = {"start": "2026-06-01T03:00:00Z", "end": "2026-06-01T04:00:00Z"}
    return JobInfoBuilder(**{"job_id": "1", **window, **fields}).build()


def found(metric_rule: MetricRule, *given: MetricSeries, of: JobInfo | None = None) -> list[Event]:
    folder = Folder()
    for one in given:
        observation = Observation(
            Source.NODE_METRICS, ObservationFormat.PROMETHEUS_MATRIX, stream="node_metrics.json", series=[one]
        )
        folder.add_all(summarise(observation, [metric_rule]))
    return evaluate([metric_rule], folder.events(), of or job(), REGISTRY)


def fired_after(metric_rule: MetricRule, *given: MetricSeries, of: JobInfo | None = None) -> float | None:
    """Seconds after the start at which the rule fired; None when it did not."""
    events = found(metric_rule, *given, of=of)
    assert len(events) <= 1
    if not events:
        return None
    assert events[0].timestamp is not None
    return events[0].timestamp / 1_000_000 - _START


def test_a_finding_is_an_event_with_its_place_and_a_readable_line() -> None:
    (event,) = found(rule("changes", ">", 0, catalog=_XIDS), series(0, 0, 79, 79))
    assert (event.event_type, event.symptom, event.rule) == ("Attribution.node.bad", "XID-79-LOST", "MetricRule")
    assert (event.source, event.stream, event.line_num) == ("node_metrics", "node_metrics.json", None)
    assert (event.node, event.device, event.context_before) == ("node-0003", "2", ())
    assert event.datum == 'm{Hostname="node-0003",gpu="2"} 0 → 79 at 2026-06-01T03:02:00.000000Z'


@pytest.mark.parametrize(
    ("labels", "node", "device"),
    [
        ({}, "node-0003", "2"),
        ({"Hostname": "node-0003.example.com"}, "node-0003", "2"),
        ({"Hostname": "", "node": "node-0007", "gpu": "", "device": "mlx5_0"}, "node-0007", "mlx5_0"),
        ({"Hostname": "", "instance": "node-0008:9400"}, "node-0008", "2"),
        ({"Hostname": "", "instance": "10.0.0.8:9400"}, "10.0.0.8", "2"),
        ({"Hostname": "", "instance": "[fd00::8]:9400"}, "fd00::8", "2"),
        ({"Hostname": "", "gpu": ""}, None, None),
    ],
)
def test_node_and_device_come_from_the_usual_labels(
    labels: dict[str, Any], node: str | None, device: str | None
) -> None:
    (event,) = found(rule("max", ">", 90), series(95, **labels))
    assert (event.node, event.device) == (node, device)


@pytest.mark.parametrize(
    ("reduce", "op", "value", "samples", "seconds"),
    [
        ("max", ">=", 90, (80, 90, 95), 60),
        ("max", ">", 95, (80, 90, 95), None),
        ("max", "<", 10, (5, 3, 9), 0),
        ("max", "<", 10, (5, 30, 9), None),
        ("min", "<", 16, (16, 8, 16), 60),
        ("min", ">", 10, (11, 12), 0),
        ("min", ">", 10, (11, 9), None),
        ("last", "==", 1, (1, 0, 1, 1), 120),
        ("last", "==", 1, (1, 1, 0), None),
        ("last", "!=", 0, (1, 1), 0),
    ],
)
def test_levels_fire_at_the_first_sample_that_fulfils_them(
    reduce: str, op: str, value: float, samples: tuple[float, ...], seconds: float | None
) -> None:
    assert fired_after(rule(reduce, op, value), series(*samples)) == seconds


def test_a_level_with_a_window_must_hold_that_long() -> None:
    low = rule("max", "<", 10, window_seconds=300)
    assert fired_after(low, series(50, *[5] * 10)) == 360
    assert fired_after(low, series(50, 5, 5, 5, 5, 50, 5)) is None


@pytest.mark.parametrize(
    ("value", "samples", "seconds"),
    [
        (0, (3, 3, 4), 120),
        (0, (3, 3, 3), None),
        (0, (3,), None),
        (3, (10, 2, 4), 120),
        (5, (0, 5, 6), 120),
        (10, (100, 104, 3, 8), 180),
    ],
)
def test_increase_counts_steps_and_takes_a_fall_for_a_reset(
    value: float, samples: tuple[float, ...], seconds: float | None
) -> None:
    assert fired_after(rule("increase", ">", value), series(*samples)) == seconds


def test_increase_within_a_window_forgets_what_is_older() -> None:
    fast = rule("increase", ">", 100, window_seconds=300)
    assert fired_after(fast, series(*range(0, 1000, 15))) is None
    assert fired_after(fast, series(0, 15, 30, 45, 120, 140)) == 240
    (event,) = found(fast, series(0, 15, 30, 45, 120, 140))
    assert " 0 → 120 at " in event.datum


def test_samples_further_apart_than_the_window_count_on_average() -> None:
    fast = rule("increase", ">", 100, window_seconds=60)
    assert fired_after(fast, series(0, 450, step=300)) is None
    assert fired_after(fast, series(0, 550, step=300)) == 300


def test_steps_of_all_series_of_a_place_add_up() -> None:
    both = (series(0, 60, port="1"), series(0, 0, 60, port="2"))
    assert fired_after(rule("increase", ">", 100), *both) == 120
    assert fired_after(rule("increase", ">", 100), both[0], series(0, 60, port="2", gpu="3")) is None


def test_changes_are_counted() -> None:
    assert fired_after(rule("changes", ">=", 3), series(0, 1, 1, 0, 1)) == 240
    assert fired_after(rule("changes", ">=", 3), series(0, 1, 1, 0, 0)) is None


@pytest.mark.parametrize(
    ("values", "after"),
    [((1, 1, 0), 120), ((1, 0, 1, 0), 60), ((0, 1, 0), 120), ((0, 0, 0), None), ((0, 1), None), ((0,), None)],
)
def test_a_turn_is_where_a_series_begins_to_fulfil_the_predicate(values: tuple[float, ...], after: int | None) -> None:
    assert fired_after(rule("turns", "==", 0), series(*values)) == after


def test_one_series_of_a_place_is_no_turn_of_another() -> None:
    assert found(rule("turns", "==", 0), series(1, 1, port="1"), series(0, 0, port="2")) == []


def test_a_turn_before_the_job_s_window_is_history() -> None:
    assert found(rule("turns", "==", 0), series((-4000, 1), (-700, 0), (0, 0))) == []


def test_a_stalled_counter_is_found_at_its_last_sample() -> None:
    assert fired_after(rule("increase", "<", 1), series(7, 7, 7)) == 120
    assert fired_after(rule("increase", "<", 1), series(7, 7, 9)) is None
    assert fired_after(rule("increase", "<", 1), series(7)) is None


@pytest.mark.parametrize("reduce", ["changes", "last", "max"])
def test_a_code_that_stood_before_is_not_this_job_s(reduce: str) -> None:
    codes = rule(reduce, ">", 0, catalog=_XIDS)
    assert found(codes, series(79, 79, 79)) == []
    assert found(codes, series((-4000, 0), (-3000, 79), (10, 79), (70, 79))) == []
    assert fired_after(codes, series(79, 79, 63)) == 120


def test_each_code_is_one_event_and_a_cleared_gauge_is_none() -> None:
    events = found(rule("changes", ">", 0, catalog=_XIDS), series(0, 63, 0, 79, 63))
    assert [(event.symptom, event.occurrences) for event in events] == [("XID-63-REMAP", 2), ("XID-79-LOST", 1)]
    assert [event.event_type for event in events] == ["Attribution.node.interesting", "Attribution.node.bad"]


def test_the_last_code_alone_counts_for_last() -> None:
    assert [event.symptom for event in found(rule("last", ">", 0, catalog=_XIDS), series(0, 63, 79))] == ["XID-79-LOST"]


def test_a_code_in_no_row_is_the_default_symptom_with_its_code() -> None:
    (event,) = found(rule("changes", ">", 0, catalog=_XIDS), series(0, 999))
    assert (event.symptom, event.payload["code"]) == ("XID-?", "999")


def test_codes_may_stand_in_a_label() -> None:
    counted = rule("increase", ">", 0, catalog=_XIDS, code_label="xid")
    events = found(counted, series(0, 1, xid="79"), series(4, 4, xid="63"), series(0, 1))
    assert [(event.symptom, event.payload["code"]) for event in events] == [("XID-79-LOST", "79")]


def test_thresholds_may_be_for_some_models_only() -> None:
    hopper = rule("max", ">=", 87, for_models=("H100", "B200"))
    assert found(hopper, series(88)) == []
    assert found(hopper, series(88, modelName="NVIDIA A100-SXM4-80GB")) == []
    assert found(hopper, series(88, modelName="NVIDIA GB200")) == []
    assert len(found(hopper, series(88, modelName="NVIDIA H100 80GB HBM3"))) == 1
    known = job(node_labels={"node-0003": {"gpu_model": "h100"}})
    assert len(found(hopper, series(88, modelName="NVIDIA A100"), of=known)) == 1


def test_labels_choose_the_series_that_a_rule_reads() -> None:
    ports = rule("turns", "==", 0, labels=(("device", ("eth*", "ib*")),))
    assert found(ports, series(1, 0, gpu="", device="veth0a"), series(1, 0)) == []
    assert [event.device for event in found(ports, series(1, 0, gpu="", device="ib0"))] == ["ib0"]


def test_samples_outside_the_job_s_window_decide_nothing() -> None:
    hot = rule("max", ">", 90)
    assert found(hot, series((-4000, 95), (-700, 95), (0, 50))) == []
    assert fired_after(hot, series((-4000, 95), (-500, 95))) == -500
    assert fired_after(hot, series((-4000, 95), (-500, 95)), of=job(start=None)) == -4000


def test_a_constant_stretch_across_the_whole_window_is_seen() -> None:
    hours = [(minute * 60.0, 95.0) for minute in range(-120, 240)]
    assert fired_after(rule("max", ">", 90), series(*hours)) == -600


def test_numbers_that_are_none_are_no_samples() -> None:
    nan, infinity = float("nan"), float("inf")
    assert found(rule("max", ">", 90), series(nan, infinity)) == []
    assert fired_after(rule("increase", ">", 0), series(1, nan, 1, infinity, 2)) == 240


def test_metrics_that_no_rule_reads_are_not_kept() -> None:
    other = Observation(
        Source.NODE_METRICS,
        ObservationFormat.PROMETHEUS_MATRIX,
        series=[MetricSeries({"__name__": "other"}, [(1, 1.0)])],
    )
    assert list(summarise(other, [rule("max", ">", 1)])) == []
