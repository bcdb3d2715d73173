"""Verdicts of sessions: caches, tags, changing jobs and rules, what is gone."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import pytest

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation_parse import parse_observation
from attribution_service.attribute import attribute
from attribution_service.errors import NotFoundError, StoreError
from attribution_service.live import stored_session
from attribution_service.model import AttributionStatus
from attribution_service.service import EVERYTHING, Caller
from attribution_service.sessions import delete_session, update_job
from engine_kit import OTHER_RULES, engine_of
from service_kit import World, moto_store

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine


@pytest.fixture
def other_rules(folder: Path) -> RuleEngine:
    """One rule more than the usual ones."""
    return engine_of(folder / "other", OTHER_RULES)


def tag(world: World) -> str:
    return attribute(world.service, EVERYTHING, "s").etag


def test_a_verdict_needs_no_evidence(world: World) -> None:
    world.open()
    verdict = world.verdict()
    assert verdict["based_on"]["batches"] == 0
    assert verdict["root_cause"]["source"] == "scheduler"


def test_a_verdict_is_the_engines_own(world: World) -> None:
    """The same observations through the service and through the library give the same bytes."""
    world.open()
    lines = [("a.log", "x", "PART BROKE"), ("b.log", "CODE RAISED"), ("c.log", "nothing at all")]
    for stream, *entries in lines:
        world.send(*entries, stream=stream)
    job = JobInfoBuilder.from_mapping({"job_id": "4711", "nodes": ["n1", "n2"], "state": "FAILED"}).build()
    with Attributor(job, world.engine) as attributor:
        for stream, *entries in lines:
            fields = {"source": "applog", "format": "text", "stream": stream, "entry_timeseries": entries}
            attributor.ingest(parse_observation(json.dumps(fields).encode()))
        expected = attributor.attribute()
    assert attribute(world.service, EVERYTHING, "s").verdict == expected.model_dump_json(by_alias=True).encode()


def test_the_same_verdict_is_not_made_twice(world: World) -> None:
    world.open()
    world.send("PART BROKE")
    first = attribute(world.service, EVERYTHING, "s")
    second = attribute(world.service, EVERYTHING, "s")
    assert (first.cached, first.spills_read, second.cached) == (False, 1, True)
    assert (first.verdict, first.etag) == (second.verdict, second.etag)


def test_what_was_folded_is_not_read_again(world: World) -> None:
    world.open()
    for number in range(5):
        world.send(f"CODE RAISED {number}", stream=f"{number}.log")
    assert attribute(world.service, EVERYTHING, "s").spills_read == 5
    world.send("PART BROKE")
    assert attribute(world.service, EVERYTHING, "s").spills_read == 1
    assert len(world.listed("attributors/s/")) == 6 + 2 + 1 + 1


@pytest.mark.parametrize("form", ['"{}"', 'W/"{}"', '"x", "{}"', "*", "{}"])
def test_a_known_tag_is_answered_with_not_modified(world: World, form: str) -> None:
    world.open()
    etag = tag(world)
    found = attribute(world.service, EVERYTHING, "s", if_none_match=form.format(etag))
    assert (found.status, found.etag, found.verdict) == (AttributionStatus.NOT_MODIFIED, etag, b"")


def test_an_old_tag_is_answered_with_the_new_verdict(world: World) -> None:
    world.open()
    etag = tag(world)
    update_job(world.service, EVERYTHING, "s", {"state": "CANCELLED"})
    found = attribute(world.service, EVERYTHING, "s", if_none_match=f'"{etag}"')
    assert found.status is AttributionStatus.READY
    assert json.loads(found.verdict)["job"]["state"] == "CANCELLED"
    world.send("PART BROKE")
    assert attribute(world.service, EVERYTHING, "s", if_none_match=f'"{found.etag}"').status is AttributionStatus.READY


def test_a_tag_of_an_earlier_session_of_this_id_is_of_no_use(world: World) -> None:
    world.open(name="first")
    etag = tag(world)
    delete_session(world.service, EVERYTHING, "s")
    world.open(name="second")
    found = attribute(world.service, EVERYTHING, "s", if_none_match=f'"{etag}"')
    assert json.loads(found.verdict)["job"]["name"] == "second"


def test_the_order_of_delivery_does_not_matter(world: World) -> None:
    batches = [("CODE RAISED", "a"), ("PART BROKE", "b"), ("PEER GONE", "c")]
    verdicts = set()
    for name, order in (("s", batches), ("t", batches[::-1])):
        world.open(name)
        for line, stream in order:
            world.send(line, session=name, stream=stream)
            if name == "t":
                world.verdict(name)
        verdicts.add(attribute(world.service, EVERYTHING, name).verdict)
    assert len(verdicts) == 1


def test_bodies_that_were_kept_are_extracted_again_under_other_rules(world: World, other_rules: RuleEngine) -> None:
    world.with_settings(keep_raw=True)
    world.open()
    world.send("x", "LAMP LIT", {"line": "LAMP LIT", "node": "n2", "ts": "2026-05-28T20:00:00Z"}, stream="a.log")
    world.send("LAMP LIT", stream="b.log", first_line=7)
    before = world.verdict()
    world.engine = other_rules
    after = world.verdict()
    assert (before["outcome"], after["outcome"]) == ("unknown", "node_down")
    assert after["diagnostics"] == []
    assert [row["occurrences"] for row in after["symptoms"] if row["symptom"] == "Lamp lit"] == [3]
    assert after["based_on"] == before["based_on"]
    assert after["evidence"] == before["evidence"]
    spills = [key for key in world.listed("attributors/s/") if "/spill/" in key]
    assert len(spills) == 4


def test_the_rules_may_change_back(world: World, other_rules: RuleEngine, engine: RuleEngine) -> None:
    world.with_settings(keep_raw=True)
    world.open()
    world.send("LAMP LIT")
    first = attribute(world.service, EVERYTHING, "s")
    world.engine = other_rules
    world.verdict()
    world.engine = engine
    assert attribute(world.service, EVERYTHING, "s").verdict == first.verdict


def test_a_spill_of_other_rules_is_used_and_said_to_be_stale(world: World, other_rules: RuleEngine) -> None:
    world.open()
    world.send("PART BROKE")
    world.engine = other_rules
    for stream in ("b.log", "c.log"):
        verdict = world.verdict()
        assert verdict["outcome"] == "gpu_hardware"
        assert [(row["rule"], row["count"]) for row in verdict["diagnostics"]] == [("stale_extraction", 1)]
        world.send("another", stream=stream)


def test_a_symptom_that_no_rule_declares_any_more_decides_nothing(
    world: World, other_rules: RuleEngine, engine: RuleEngine
) -> None:
    world.engine = other_rules
    world.open()
    world.send("LAMP LIT")
    assert world.verdict()["outcome"] == "node_down"
    world.engine = engine
    verdict = world.verdict()
    assert verdict["outcome"] == "unknown"
    assert {row["rule"] for row in verdict["diagnostics"]} == {"Lamp", "stale_extraction"}


def test_a_rule_that_raises_while_extracting_is_told_in_every_later_verdict(world: World, folder: Path) -> None:
    python = """
from attribution_lib.rule_api import accumulator_def

@accumulator_def("Bad", "tests", trigger_re="BOOM HERE", sources=("applog",))
def bad(job, captures, line):
    raise ValueError("no")
"""
    world.engine = engine_of(folder / "bad", python=python)
    world.open()
    world.send("BOOM HERE", "next")
    assert [row["rule"] for row in world.verdict()["diagnostics"]] == ["Bad"]


def test_a_session_that_is_gone_has_no_verdict(world: World) -> None:
    for action in (lambda: None, lambda: world.open(ttl=60) and setattr(world, "now", world.now + 60)):
        action()
        with pytest.raises(NotFoundError):
            attribute(world.service, EVERYTHING, "s")


def test_a_foreign_session_has_no_verdict(world: World) -> None:
    world.open(cluster="beta")
    with pytest.raises(NotFoundError):
        attribute(world.service, Caller(frozenset({"alpha"})), "s")


def test_a_snapshot_that_cannot_be_read_is_ignored(world: World) -> None:
    world.open()
    world.send("PART BROKE")
    world.verdict()
    session = stored_session(world.service, "s")
    assert session is not None
    for damage in (b"no zlib", zlib.compress(b"no header"), zlib.compress(b'{"rules_digest":"x","schema":99}\n')):
        world.service.store.objects.put(session.snapshot, damage)
        world.send("more", stream=damage.hex()[:20])
        verdict = world.verdict()
        assert verdict["outcome"] == "gpu_hardware"
        session = stored_session(world.service, "s")
        assert session is not None


def test_a_spill_that_is_gone_for_good_is_an_error_not_a_smaller_verdict(world: World) -> None:
    world.open()
    world.send("PART BROKE")
    for key in world.listed("attributors/s/"):
        if "/spill/" in key:
            world.service.store.objects.delete(key)
    with pytest.raises(StoreError, match="spill"):
        world.verdict()


def test_a_spill_that_this_version_cannot_read_is_extracted_again(world: World) -> None:
    world.with_settings(keep_raw=True)
    world.open()
    world.send("PART BROKE")
    (spill,) = (key for key in world.listed("attributors/s/") if "/spill/" in key)
    world.service.store.objects.put(spill, b"of another age")
    assert world.verdict()["outcome"] == "gpu_hardware"


def test_a_spill_that_nobody_can_read_is_told_and_the_verdict_not_kept(world: World) -> None:
    world.open()
    world.send("PART BROKE")
    (spill,) = (key for key in world.listed("attributors/s/") if "/spill/" in key)
    intact = world.service.store.objects.get(spill)
    world.service.store.objects.put(spill, b"of another age")
    verdict = world.verdict()
    assert [row["rule"] for row in verdict["diagnostics"]] == ["unreadable_extraction"]
    world.service.store.objects.put(spill, intact)
    assert world.verdict()["outcome"] == "gpu_hardware"


def test_a_session_on_s3_and_dynamodb_lives_the_same_life(engine: RuleEngine) -> None:
    with moto_store() as store:
        world = World(store, engine)
        world.open()
        for number in range(20):
            world.send("CODE RAISED", f"line {number}", stream=f"{number}.log")
        update_job(world.service, EVERYTHING, "s", {"reason": "x"})
        found = attribute(world.service, EVERYTHING, "s")
        assert found.spills_read == 20
        assert attribute(world.service, EVERYTHING, "s").cached
        assert attribute(world.service, EVERYTHING, "s", if_none_match=found.etag).status == "not_modified"
        delete_session(world.service, EVERYTHING, "s")
        assert world.listed() == []
