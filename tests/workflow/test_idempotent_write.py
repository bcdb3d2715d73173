"""Writing a verdict as often as it takes: a retry adds nothing, a further run adds a run, counters stay exact."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.verdict import BadNode
from attribution_service.errors import NotFoundError
from attribution_service.model import VerdictKey, VerdictQuery
from attribution_service.result import EnrichedVerdict, enrich_attribution_result
from attribution_service.service import EVERYTHING, Service
from attribution_service.stores.crashing import CrashPlan, InjectedCrashError, crashing_store
from attribution_service.times import day_of, rfc3339
from attribution_service.ulids import new_ulid
from attribution_service.verdict_database import VerdictDatabase
from attribution_service.verdict_items import RunItem, counter_key, node_pk
from attribution_service.verdicts import get_verdict, node_history, query_verdicts, write_verdict
from engine_kit import engine_of
from service_kit import START, fast_folder, local_folder_store
from workflow_kit import fresh_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from attribution_service.ports import ItemTable, Store

STEP = 600
DAY = 86_400
NODES = ("n1", "n2", "n3")


@cache
def plain_verdict() -> EnrichedVerdict:
    """A verdict without evidence, to be copied."""
    job = JobInfoBuilder.from_mapping({"job_id": "1", "nodes": list(NODES), "state": "FAILED"}).build()
    with Attributor(job, engine_of(fast_folder())) as attributor:
        raw = attributor.attribute()
    return enrich_attribution_result(raw, attributor_id="c:1:0", run_id="r", attributed_at=None)


def blaming(nodes: Sequence[str], *, run: str, at: int | None, job_id: str = "1", **job: Any) -> EnrichedVerdict:
    """A verdict that blames these nodes, of a run at this step of the test's day."""
    found = plain_verdict()
    bad = [
        BadNode(node=node, symptoms=["part"], occurrences=1, first_seen=None, last_seen=None, why="") for node in nodes
    ]
    return found.model_copy(
        update={
            "job": {**found.job, "cluster": job.pop("cluster", "c"), "job_id": job_id, "attempt": 0, **job},
            "run_id": run,
            "attributed_at": None if at is None else rfc3339(START + at * STEP),
            "bad_nodes": bad,
            "bad_nodes_total": len(bad),
        }
    )


def service_over(store: Store, now: float = START) -> Service:
    return Service(store, lambda: pytest.fail("no engine is needed"), lambda: now)


def write(store: Store, verdict: EnrichedVerdict, now: float = START) -> int:
    return write_verdict(service_over(store, now), EVERYTHING, verdict).counted_nodes


def counters(store: Store, cluster: str = "c") -> dict[str, int]:
    """{node: failures}, where ``n`` and ``seen`` agree."""
    found = {}
    for node in NODES:
        for item in store.verdicts.query(node_pk(cluster, node), counter_key("")):
            assert item["n"] == len(item.get("seen", ()))
            found[node] = found.get(node, 0) + item["n"]
    return {node: count for node, count in found.items() if count}


def listed(store: Store, cluster: str = "c", **query: Any) -> list[tuple[str, str]]:
    heads = query_verdicts(service_over(store), EVERYTHING, VerdictQuery(cluster=cluster, **query)).verdicts
    return sorted((head.job_id, head.run_id) for head in heads)


def test_a_retry_adds_nothing(store: Store) -> None:
    assert [write(store, blaming(["n1"], run="r1", at=1)) for _ in range(3)] == [1, 0, 0]
    assert counters(store) == {"n1": 1}
    assert listed(store) == listed(store, node="n1") == [("1", "r1")]


def test_a_further_run_adds_a_run_and_counts_the_failure_once(store: Store) -> None:
    for number in range(3):
        write(store, blaming(["n1"], run=f"r{number}", at=number))
    assert counters(store) == {"n1": 1}
    assert listed(store) == listed(store, node="n1") == [("1", "r2")]
    for number in range(3):
        key = VerdictKey(cluster="c", job_id="1", run_id=f"r{number}")
        assert get_verdict(service_over(store), EVERYTHING, key).run_id == f"r{number}"


def test_a_node_that_the_latest_run_does_not_blame_is_not_counted(store: Store) -> None:
    write(store, blaming(["n1", "n2"], run="r1", at=1))
    write(store, blaming(["n2", "n3"], run="r2", at=2))
    assert counters(store) == {"n2": 1, "n3": 1}
    assert node_history(service_over(store), EVERYTHING, "c", NODES) == {"n1": 0, "n2": 1, "n3": 1}
    assert listed(store, node="n1") == []


def test_a_run_that_changes_its_mind_takes_back_what_it_said(store: Store) -> None:
    """It dies after its second verdict is stored, before anything follows from it."""
    write(store, blaming(["n1", "n2"], run="r1", at=1))
    changed = RunItem.of(blaming(["n3"], run="r1", at=1))
    store.verdicts.put(changed.item(store.objects, store.verdicts.get(changed.pk, changed.sk)))
    write(store, changed.verdict)
    assert counters(store) == {"n3": 1}
    assert listed(store, node="n1") == []


def test_an_earlier_run_that_comes_late_moves_no_counter(store: Store) -> None:
    write(store, blaming(["n2"], run="r2", at=2))
    assert write(store, blaming(["n1"], run="r1", at=1)) == 0
    assert counters(store) == {"n2": 1}
    assert listed(store) == [("1", "r2")]


@pytest.mark.parametrize("end", [None, rfc3339(START + 100 * STEP)], ids=["end never known", "end known later"])
def test_a_failure_without_an_end_is_counted_on_one_day_only(store: Store, end: str | None) -> None:
    """What is attributed again after midnight, or once the end is known, is the same failure."""
    job = {"end": None}
    write(store, blaming(["n1"], run="r1", at=None, **job))
    write(store, blaming(["n1"], run="r1", at=None, **job), START + 40 * DAY)
    write(store, blaming(["n1"], run="r2", at=None, end=end), START + 41 * DAY)
    assert counters(store) == {"n1": 1}


def test_attempts_are_failures_of_their_own(store: Store) -> None:
    for attempt in range(3):
        write(store, blaming(["n1"], run="r1", at=1, attempt=attempt))
    assert counters(store) == {"n1": 3}


def test_a_listing_that_a_dying_writer_left_wrong_is_put_right_by_the_next_run(store: Store) -> None:
    """The first writer dies right after its verdict is stored and is never tried again."""
    plan = CrashPlan(0.0)
    dying = crashing_store(store, plan)
    write(dying, blaming(["n1"], run="r1", at=3))
    table = dying.verdicts
    table.delete(node_pk("c", "n1"), "1#000000")
    table.uncount(node_pk("c", "n1"), counter_key(day_of(START)[:7]), f"{day_of(START + 3 * STEP)}:1:0")
    assert counters(store) == {}
    write(store, blaming(["n2"], run="r0", at=1))
    assert counters(store) == {"n1": 1}
    assert listed(store, node="n1") == [("1", "r1")]


def test_a_database_keeps_a_run_in_its_place_when_it_is_written_again(folder: Path) -> None:
    """A retry is no newer run, and what it knows of the job is no newer either."""
    database = VerdictDatabase.open(folder / "v.db")
    first = blaming(["n1"], run="r1", at=1, state="RUNNING", end=None)
    second = blaming(["n2"], run="r2", at=2, state="FAILED", end=rfc3339(START))
    for verdict in (first, second, first, second, first):
        database.append(verdict)
    runs = database.connection.execute("SELECT id, run_id, bad_nodes FROM attribution_run ORDER BY id").fetchall()
    contexts = database.connection.execute("SELECT state, ended_at FROM execution_context").fetchall()
    database.close()
    assert runs == [(1, "r1", '["n1"]'), (2, "r2", '["n2"]')]
    assert contexts == [("FAILED", rfc3339(START))]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["j1", "j2"]),
        st.integers(0, 1),
        st.integers(0, 3),
        st.sets(st.sampled_from(NODES), max_size=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=7,
)
"""(job, attempt, run and its time, nodes it blames, whether its first try is given up)."""


@pytest.mark.parametrize(("kind", "examples"), [("local", 40), ("aws", 6)])
def test_counters_and_listings_are_exact_wherever_a_writer_dies(kind: str, examples: int) -> None:
    """Writers die before and after their writes; a try that is given up at first is taken up again at the end."""
    with fresh_store(kind) as store:

        @settings(max_examples=examples, deadline=None)
        @given(steps=STEPS, seed=st.integers(0, 1 << 30), probability=st.sampled_from([0.05, 0.12]))
        def dying_writers(steps: list[Any], seed: int, probability: float) -> None:
            drill(store, steps, CrashPlan(probability, seed))

        dying_writers()


def drill(store: Store, steps: list[Any], plan: CrashPlan) -> None:
    """All the steps in a cluster of their own."""
    cluster = f"c-{new_ulid(START)}"
    dying = crashing_store(store, plan)
    verdicts: dict[tuple[str, int, int], EnrichedVerdict] = {}
    later: list[Callable[[], object]] = []
    for job_id, attempt, hour, nodes, given_up in steps:
        key = (job_id, attempt, hour)
        verdict = verdicts.setdefault(
            key, blaming(sorted(nodes), run=f"r{hour}", at=hour, job_id=job_id, attempt=attempt, cluster=cluster)
        )
        try:
            write(dying, verdict)
        except InjectedCrashError:
            if given_up:
                later.append(lambda verdict=verdict: write(dying, verdict))
            else:
                insist(lambda verdict=verdict: write(dying, verdict))
    for action in later:
        insist(action)
    check(store, cluster, verdicts)


def insist(action: Callable[[], object]) -> None:
    """Try again until it is through."""
    while True:
        try:
            action()
        except InjectedCrashError:
            continue
        return


def check(store: Store, cluster: str, verdicts: dict[tuple[str, int, int], EnrichedVerdict]) -> None:
    """Everything follows from the latest run of each attempt, and every run can be read."""
    latest = {key[:2]: verdicts[key] for key in sorted(verdicts)}
    expected: dict[str, int] = {}
    for verdict in latest.values():
        for bad in verdict.bad_nodes:
            expected[bad.node] = expected.get(bad.node, 0) + 1
    assert counters(store, cluster) == expected
    assert listed(store, cluster) == sorted((key[0], verdict.run_id) for key, verdict in latest.items())
    for node in NODES:
        blaming_it = [
            (key[0], verdict.run_id)
            for key, verdict in latest.items()
            if node in {bad.node for bad in verdict.bad_nodes}
        ]
        assert listed(store, cluster, node=node) == sorted(blaming_it)
    for (job_id, attempt, _), verdict in verdicts.items():
        key = VerdictKey(cluster=cluster, job_id=job_id, attempt=attempt, run_id=verdict.run_id)
        assert get_verdict(service_over(store), EVERYTHING, key) == verdict


@dataclass
class Interrupted:
    """A table in front of whose call of this number somebody else does their work."""

    inner: ItemTable
    number: int
    work: Callable[[], object]
    calls: int = 0

    def __getattr__(self, name: str) -> Any:
        called = getattr(self.inner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.number:
                self.work()
            return called(*arguments, **named)

        return call


@pytest.mark.parametrize("times", [(1, 2), (2, 1), (1, 1)], ids=["later run", "earlier run", "same run"])
@pytest.mark.parametrize("nodes", [(["n1", "n2"], ["n2", "n3"]), (["n1"], []), ([], ["n1"])], ids=str)
def test_whoever_writes_in_between_is_not_overlooked(
    folder: Path, times: tuple[int, int], nodes: tuple[list[str], list[str]]
) -> None:
    """Another writer comes before each call of a first one in turn: every interleaving that a pause can make."""
    with local_folder_store(folder) as store:
        for number in range(1, 60):
            cluster = f"c{number}"
            pair = [
                blaming(blamed, run=f"r{at}", at=at, attempt=0, cluster=cluster)
                for blamed, at in zip(nodes, times, strict=True)
            ]
            if times[0] == times[1]:
                pair = pair[:1] * 2
            table = Interrupted(store.verdicts, number, lambda other=pair[1]: write(store, other))
            write(replace(store, verdicts=table), pair[0])
            if table.calls < number:
                return
            check(store, cluster, {("1", 0, at): verdict for at, verdict in zip(times, pair, strict=True)})
    pytest.fail("the first writer never came to its end")


def test_writers_of_one_attempt_at_once_agree_on_the_latest(folder: Path) -> None:
    with local_folder_store(folder) as store:
        verdicts = {
            ("1", 0, hour): blaming([NODES[hour % 3], NODES[(hour + 1) % 3]], run=f"r{hour}", at=hour, attempt=0)
            for hour in range(6)
        }
        together = threading.Barrier(6)

        def one(verdict: EnrichedVerdict) -> None:
            together.wait()
            for _ in range(3):
                write(store, verdict)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(one, verdicts.values()))
        check(store, "c", verdicts)


def test_a_verdict_that_was_never_written_is_not_found(store: Store) -> None:
    with pytest.raises(NotFoundError):
        get_verdict(service_over(store), EVERYTHING, VerdictKey(cluster="c", job_id="1"))
