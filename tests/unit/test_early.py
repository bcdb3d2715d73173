"""The engine's own early steps: clocks, places, the window, other jobs, staged rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.attributor import Attributor
from attribution_lib.observation import LogEntries, MetricSeries, Observation, ObservationFormat, Source
from attribution_lib.taxonomy import Outcome
from engine_kit import applog, engine_of, job, syslog, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

MAPPING_RULES = r"""
[[extractor]]
name = "RankHost"
match_re = 'rank (?P<r>\d+) runs on (?P<host>\S+)'
emit = { type = "mapping", payload = { kind = "rank_host", rank = "{r}", host = "{host}" } }
[[extractor]]
name = "BootTime"
match_re = 'btime (?P<epoch>\d+)'
emit = { type = "boot" }
[[symptom]]
name = "Job killed"
outcome = "scheduler_system"
rank = 800
scope = "job"
docs = "x"
[[extractor]]
name = "Killed"
match_re = 'killing JobId=(?P<job_id>\d+)'
key = ["job_id"]
emit = { type = "bad_node", symptom = "Job killed" }
sources = ["scheduler", "syslog"]
[[symptom]]
name = "Stopped by its limit"
outcome = "time_limit"
rank = 230
scope = "job"
teardown = true
docs = "x"
[[extractor]]
name = "StopOfJob"
match_re = 'JOB (?P<job_id>\d+)\S* .*CANCELLED'
key = ["job_id"]
emit = { type = "stop", symptom = "Stopped by its limit" }
[[metric_extractor]]
name = "Hot"
metric = "gpu_temperature"
reduce = "max"
op = ">"
value = 200
emit = { type = "bad_node", symptom = "Part broke" }
"""
WINDOW = {"start": "2026-06-01T03:00:00Z", "end": "2026-06-01T04:00:00Z"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    return engine_of(tmp_path_factory.mktemp("rules"), MAPPING_RULES)


def root_time(engine: RuleEngine, observation: Observation, **fields: Any) -> str | None:
    verdict = verdict_of(engine, observation, **fields)
    return verdict.root_cause.timestamp if verdict.root_cause else None


def test_a_stamp_without_zone_is_read_in_the_jobs_timezone(engine: RuleEngine) -> None:
    line = applog("2026-06-01 05:30:00,000 CODE RAISED")
    assert root_time(engine, line, timezone="Europe/Berlin", **WINDOW) == "2026-06-01T03:30:00.000000Z"


def test_a_stamp_without_year_takes_the_year_nearest_the_window(engine: RuleEngine) -> None:
    line = syslog("Dec 31 23:59:58 n1 kernel: PART BROKE")
    window = {"start": "2026-12-31T23:00:00Z", "end": "2027-01-01T01:00:00Z"}
    assert root_time(engine, line, **window) == "2026-12-31T23:59:58.000000Z"


def test_repeats_across_new_year_keep_their_order(engine: RuleEngine) -> None:
    lines = syslog("Jan  1 00:00:01 n1 kernel: PART BROKE", "Dec 31 23:59:58 n1 kernel: PART BROKE")
    window = {"start": "2026-12-31T23:00:00Z", "end": "2027-01-01T01:00:00Z"}
    assert root_time(engine, lines, **window) == "2026-12-31T23:59:58.000000Z"


def test_without_a_window_the_year_comes_from_the_nearest_dated_entry(engine: RuleEngine) -> None:
    lines = syslog("Jun  1 03:00:00 n1 kernel: PART BROKE", "2024-06-01T03:00:05Z n1 kernel: DRIVER HUNG")
    verdict = verdict_of(engine, lines)
    assert {row.first_seen for row in verdict.symptoms} == {
        "2024-06-01T03:00:00.000000Z",
        "2024-06-01T03:00:05.000000Z",
    }


def test_nothing_dated_leaves_a_yearless_stamp_without_time(engine: RuleEngine) -> None:
    assert root_time(engine, syslog("Jun  1 03:00:00 n1 kernel: PART BROKE")) is None


def test_uptime_needs_a_boot_time_and_is_no_time_without(engine: RuleEngine) -> None:
    assert root_time(engine, syslog("[  100.000000] PART BROKE", node="n1")) is None
    lines = syslog("btime 1780279200", "[  100.000000] PART BROKE", node="n1")
    assert root_time(engine, lines) == "2026-06-01T02:01:40.000000Z"


def test_an_entry_stamp_beats_the_lines_own(engine: RuleEngine) -> None:
    entries = LogEntries(lines=["2026-06-01T09:09:09Z CODE RAISED"], stamps=["2026-06-01T03:00:01Z"])
    observation = Observation(Source.APPLOG, ObservationFormat.JSON, entries=entries)
    assert root_time(engine, observation) == "2026-06-01T03:00:01.000000Z"


def test_a_rank_is_placed_by_what_the_log_taught(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("rank 3 runs on n2", "[rank3]: PART BROKE"))
    assert [row.node for row in verdict.bad_nodes] == ["n2"]


def test_a_rank_with_two_hosts_takes_the_nearest_earlier_mapping_of_its_stream(engine: RuleEngine) -> None:
    lines = ("rank 3 runs on n1", "[rank3]: PART BROKE", "rank 3 runs on n2")
    assert [row.node for row in verdict_of(engine, applog(*lines)).bad_nodes] == ["n1"]


def test_the_jobs_own_placement_beats_learnt_ones(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("rank 3 runs on n1", "[rank3]: PART BROKE"), ranks=[{"rank": 3, "node": "n2"}])
    assert [row.node for row in verdict.bad_nodes] == ["n2"]


def test_a_single_node_job_places_node_events_on_its_node(engine: RuleEngine) -> None:
    assert [row.node for row in verdict_of(engine, applog("PART BROKE"), nodes=["n1"]).bad_nodes] == ["n1"]
    assert verdict_of(engine, applog("PART BROKE")).bad_nodes == []


def test_fully_qualified_names_are_the_same_node(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, syslog("2026-06-01T03:05:00Z n2.cluster.example kernel: PART BROKE"))
    assert [row.node for row in verdict.bad_nodes] == ["n2"]


def test_what_lies_outside_the_window_is_not_this_jobs_failure(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, syslog("2026-05-20T03:05:00Z n2 kernel: PART BROKE"), **WINDOW)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.evidence.outside_window == 1
    assert verdict.chain == []


def test_series_outside_the_window_are_counted_like_lines(engine: RuleEngine) -> None:
    labels = {"__name__": "gpu_temperature", "Hostname": "n1"}
    times = {"0": 1780282800, "1": 1780369200}
    series = [MetricSeries({**labels, "gpu": gpu}, [(at * 1_000_000, 95.0)]) for gpu, at in times.items()]
    matrix = Observation(Source.NODE_METRICS, ObservationFormat.PROMETHEUS_MATRIX, stream="m.json", series=series)
    assert verdict_of(engine, matrix, **WINDOW).evidence.outside_window == 1


def test_a_row_that_began_before_the_window_starts_at_its_first_line_inside(engine: RuleEngine) -> None:
    lines = syslog("2026-05-20T03:05:00Z n2 kernel: PART BROKE", "2026-06-01T03:05:00Z n2 kernel: PART BROKE")
    verdict = verdict_of(engine, lines, **WINDOW)
    assert verdict.root_cause is not None
    assert (verdict.root_cause.line_num, verdict.root_cause.timestamp) == (2, "2026-06-01T03:05:00.000000Z")


def test_facts_that_arrive_late_move_the_window(engine: RuleEngine) -> None:
    with Attributor(job(start=WINDOW["start"]), engine) as attributor:
        attributor.ingest(syslog("2026-06-02T03:05:00Z n2 kernel: PART BROKE"))
        assert attributor.attribute().outcome is Outcome.GPU_HARDWARE
        attributor.update_job(job(**WINDOW))
        assert attributor.attribute().outcome is Outcome.UNKNOWN


def test_a_scheduler_line_that_names_another_job_is_at_most_interesting(engine: RuleEngine) -> None:
    def text(number: int) -> Observation:
        return Observation(Source.SCHEDULER, stream="scheduler.log", text=f"killing JobId={number}\n".encode())

    assert verdict_of(engine, text(4711)).outcome is Outcome.SCHEDULER_SYSTEM
    assert verdict_of(engine, text(4712)).outcome is Outcome.UNKNOWN


def test_a_system_log_line_that_names_another_job_decides_nothing(engine: RuleEngine) -> None:
    lines = syslog("n1 kernel: killing JobId=4712", "n1 kernel: killing JobId=4711")
    verdict = verdict_of(engine, lines)
    assert verdict.root_cause is not None
    assert verdict.root_cause.line_num == 2
    assert verdict_of(engine, syslog("n1 kernel: killing JobId=4712")).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("job_id", ["4711_3", "4711+1", "trainer-0"])
def test_jobs_that_nodes_know_by_another_number_keep_their_system_log(engine: RuleEngine, job_id: str) -> None:
    lines = syslog("n1 kernel: killing JobId=4715")
    assert verdict_of(engine, lines, job_id=job_id).outcome is Outcome.SCHEDULER_SYSTEM


STOP = "*** JOB {} ON node-0001 CANCELLED AT 2026-06-01T03:00:00 DUE TO TIME LIMIT ***"


def _stop_shown(engine: RuleEngine, observation: Observation) -> str | None:
    root = verdict_of(engine, observation, nodes=["node-0001"], job_id="812").root_cause
    return root.evidence if root and root.symptom == "Stopped by its limit" else None


def test_a_stop_line_of_another_job_in_the_nodes_system_log_is_not_this_jobs_end(engine: RuleEngine) -> None:
    assert _stop_shown(engine, syslog(STOP.format(811))) is None
    assert _stop_shown(engine, syslog(STOP.format(812))) == STOP.format(812)


def test_a_foreign_number_in_the_jobs_own_output_counts_for_nothing_beside_its_own(engine: RuleEngine) -> None:
    assert _stop_shown(engine, applog(STOP.format(811))) == STOP.format(811)
    assert _stop_shown(engine, applog(STOP.format(811), STOP.format("812.0"))) == STOP.format("812.0")


def test_a_staged_rule_is_counted_and_decides_nothing(tmp_path: Path) -> None:
    engine = engine_of(
        tmp_path,
        "[[extractor]]\nname = 'New'\nstatus = 'staged'\nmatch_re = 'NEW THING'\n"
        "emit = { type = 'bad_node', symptom = 'Part broke' }\n",
    )
    verdict = verdict_of(engine, applog("NEW THING", "NEW THING", node="n1"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.engine.staged_hits == {"New": 2}
    assert verdict.symptoms == []
