"""What is removed in time, what is kept, and what kept evidence says under other rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.verdict import Verdict
from attribution_service.attribute import attribute
from attribution_service.errors import NotFoundError
from attribution_service.model import VerdictKey, VerdictQuery
from attribution_service.replay import replay
from attribution_service.result import enrich_attribution_result
from attribution_service.retention import Swept, sweep
from attribution_service.service import EVERYTHING, Caller
from attribution_service.sessions import delete_session
from attribution_service.stores.local import open_local
from attribution_service.times import rfc3339
from attribution_service.verdicts import get_verdict, query_verdicts, write_verdict
from engine_kit import engine_of
from service_kit import START, World

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

DAY = 86_400
HOUR = 3_600


@pytest.fixture
def stricter(folder: Path) -> RuleEngine:
    """Rules by which a broken part may as well be the driver's fault."""
    toml = """
[[symptom]]
name = "Driver broke part"
outcome = "gpu_driver"
rank = 950
scope = "node"
docs = "another reading"
[[extractor]]
name = "DriverBroke"
match_re = '''PART BROKE'''
emit = { type = "bad_node", symptom = "Driver broke part" }
"""
    return engine_of(folder / "stricter", toml)


@pytest.fixture
def keeping(world: World) -> World:
    """A service that keeps evidence for thirty days."""
    world.with_settings(evidence_days=30)
    return world


def failed(world: World, name: str, line: str) -> None:
    """A session that was attributed and deleted, as a workflow does it."""
    world.open(name, job_id=name)
    world.send(line, "x", session=name, source="syslog", node="n1")
    world.send("nothing", session=name, stream="b.log")
    world.verdict(name)
    delete_session(world.service, EVERYTHING, name)


def test_an_expired_session_is_swept_an_hour_later(world: World) -> None:
    world.open(ttl=60)
    world.send("PART BROKE")
    world.now += 60 + HOUR
    assert sweep(world.service) == Swept()
    world.now += 1
    assert sweep(world.service) == Swept(sessions=1, objects=2)
    assert world.listed() == []


def test_what_a_crash_left_of_an_older_generation_is_swept(world: World) -> None:
    world.open()
    prefix = world.listed()[0].rpartition("job/")[0]
    delete_session(world.service, EVERYTHING, "s")
    world.service.store.objects.put(f"{prefix}spill/left", b"x")
    world.open(ttl=7 * DAY)
    assert sweep(world.service).objects == 0
    world.now += HOUR + 1
    assert sweep(world.service) == Swept(objects=1)
    assert len(world.listed()) == 1


def test_an_open_session_is_never_swept(world: World) -> None:
    world.open(ttl=7 * DAY)
    world.send("PART BROKE")
    world.now += 7 * DAY - 1
    assert sweep(world.service) == Swept()
    assert world.verdict()["outcome"] == "gpu_hardware"


def test_evidence_outlives_its_session_for_its_days(keeping: World) -> None:
    failed(keeping, "a", "PART BROKE")
    assert len(keeping.listed("evidence/")) == 3
    assert keeping.listed("attributors/") == []
    keeping.now += 37 * DAY
    assert sweep(keeping.service).evidence == 0
    keeping.now += 1
    assert sweep(keeping.service).evidence == 3


def test_old_verdicts_go_with_everything_that_finds_them(world: World) -> None:
    world.with_settings(verdict_days=10)
    for number, days in enumerate((0, 10, 11, 40)):
        name = world.open(f"s{number}", job_id=str(number))
        world.send("PART BROKE", session=name, source="syslog", node="n1")
        raw = Verdict.model_validate_json(attribute(world.service, EVERYTHING, name).verdict)
        at = rfc3339(START - days * DAY)
        long = raw.model_copy(update={"collections": {"big": ["x" * 1000] * 400}})
        verdict = enrich_attribution_result(long, attributor_id=name, run_id="r", attributed_at=at)
        write_verdict(world.service, EVERYTHING, verdict)
    assert sweep(world.service).verdicts == 2
    assert len(world.listed("verdicts/")) == 2
    found = query_verdicts(world.service, EVERYTHING, VerdictQuery(node="n1")).verdicts
    assert [head.job_id for head in found] == ["0", "1"]
    with pytest.raises(NotFoundError):
        get_verdict(world.service, EVERYTHING, VerdictKey(cluster="default", job_id="2"))


def test_items_and_urls_past_their_time_are_dropped_locally(world: World, folder: Path) -> None:
    back_end = open_local(folder / "store", clock=lambda: world.now)
    world.open(ttl=60)
    world.send("x")
    assert back_end.expire(int(world.now)) == 0
    assert back_end.expire(int(world.now) + 60 + HOUR + 1) == 2
    back_end.close()


def test_the_same_rules_change_no_verdict(keeping: World) -> None:
    for name, line in (("a", "PART BROKE"), ("b", "CODE RAISED")):
        failed(keeping, name, line)
    found = list(replay(keeping.service, EVERYTHING, keeping.engine, since=START - DAY))
    assert [(one.name, one.changed, one.problem) for one in found] == [("a", False, ""), ("b", False, "")]


def test_other_rules_show_which_verdicts_would_change_and_how(keeping: World, stricter: RuleEngine) -> None:
    for name, line in (("a", "PART BROKE"), ("b", "CODE RAISED")):
        failed(keeping, name, line)
    first, second = replay(keeping.service, EVERYTHING, stricter, since=START - DAY)
    assert first.changed
    assert first.differences()["outcome"] == ("gpu_hardware", "ambiguous")
    assert first.differences()["symptom"] == ("Part broke", "Driver broke part")
    assert not second.changed


def test_a_replay_stores_nothing(keeping: World, stricter: RuleEngine) -> None:
    failed(keeping, "a", "PART BROKE")
    before = keeping.listed()
    list(replay(keeping.service, EVERYTHING, stricter, since=START - DAY))
    assert keeping.listed() == before


def test_only_what_was_attributed_since_is_replayed(keeping: World) -> None:
    failed(keeping, "a", "PART BROKE")
    keeping.now += 2 * DAY
    failed(keeping, "b", "PART BROKE")
    found = replay(keeping.service, EVERYTHING, keeping.engine, since=int(keeping.now) - DAY)
    assert [one.name for one in found] == ["b"]


def test_only_the_callers_clusters_are_replayed(keeping: World) -> None:
    failed(keeping, "a", "PART BROKE")
    caller = Caller(frozenset({"alpha"}))
    assert list(replay(keeping.service, caller, keeping.engine, since=0)) == []


def test_a_body_that_is_gone_is_said_to_be(keeping: World) -> None:
    failed(keeping, "a", "PART BROKE")
    for key in keeping.listed("evidence/"):
        if not key.endswith("manifest.json"):
            keeping.service.store.objects.delete(key)
    (found,) = replay(keeping.service, EVERYTHING, keeping.engine, since=0)
    assert not found.changed
    assert "not kept any more" in found.problem


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"schema": 1}', b'{"schema": 1, "gist": 5}', b'{"schema": 9}'])
def test_a_manifest_that_cannot_be_read_costs_no_other(keeping: World, left: bytes) -> None:
    failed(keeping, "a", "PART BROKE")
    failed(keeping, "b", "PART BROKE")
    manifest = next(key for key in keeping.listed("evidence/") if key.endswith("manifest.json"))
    keeping.service.store.objects.put(manifest, left)
    found = list(replay(keeping.service, EVERYTHING, keeping.engine, since=0))
    assert [(one.name, one.problem.partition(" is ")[0]) for one in found] == [
        (manifest, "a manifest of kept evidence"),
        ("b", ""),
    ]
    assert [one.name for one in replay(keeping.service, Caller(frozenset({"default"})), keeping.engine, since=0)] == [
        "b"
    ]


def test_metrics_and_entries_are_replayed_too(keeping: World) -> None:
    keeping.open("a", job_id="a")
    series = {"metric": {"__name__": "up", "node": "n1"}, "values": [[1780000000, "1"], [1780000060, "NaN"]]}
    keeping.send(series, session="a", source="node_metrics", format="prometheus_matrix")
    entry = {"line": "PART BROKE", "node": "n2", "ts": "2026-05-28T20:00:00Z", "rank": 3}
    keeping.send(entry, "x\ny", session="a", format="json")
    keeping.verdict("a")
    (found,) = replay(keeping.service, EVERYTHING, keeping.engine, since=0)
    assert (found.changed, found.problem) == (False, "")
    assert found.after is not None
    assert found.after.node == "n2"
