"""Run records, over every back end: what a run says of itself while it goes and when it is over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution_service.errors import NotFoundError
from attribution_service.run_records import RowStatus, RunRow, RunState
from attribution_service.run_rows import RunRows
from attribution_service.stores.crashing import CrashPlan, InjectedCrashError, crashing_store
from attribution_service.ulids import new_ulid
from service_kit import START
from workflow_kit import fresh_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_service.ports import Store

RUN = "01J0000000000000000000RUN0"
FOUR = ("attributed", "conflicted", "failed", "succeeded")


class Clock:
    def __init__(self) -> None:
        self.now = float(START)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rows(store: Store, clock: Clock) -> RunRows:
    return RunRows.of(store, clock)


def row(number: int = 1, status: str = "attributed", **fields: Any) -> RunRow:
    fields = {"run_id": RUN, "succeeded": status == "attributed", "sub_domain": "hardware", **fields}
    return RunRow(context=f"c:{number}:0", cluster="c", job_id=str(number), status=RowStatus(status), **fields)


def counts(rows: RunRows) -> dict[str, int]:
    found = rows.summary(RUN).totals
    return {name: getattr(found, name) for name in (*FOUR, "pending")}


def test_a_row_is_read_as_it_was_written(rows: RunRows) -> None:
    written = row(bad_nodes=2, written=["db", "hook"], reason="output hook: away", observations=3, lines=40)
    assert rows.write(written)
    assert rows.row(RUN, "c:1:0") == written
    assert list(rows.rows(RUN)) == [written]
    assert rows.row(RUN, "c:2:0") is None


def test_a_run_is_counted_while_it_goes_and_when_it_is_over(rows: RunRows, clock: Clock) -> None:
    rows.begin(RUN, source="site.toml", runner="in-process")
    assert rows.record(RUN).contexts is None
    rows.expect(RUN, 5, ["eca slurm: not reachable"])
    rows.write(row(1))
    rows.write(row(2, "attributed", succeeded=False, reason="output db: locked"))
    rows.write(row(3, "conflicted", attributor_id="c:3:0"))
    assert counts(rows) == {"attributed": 2, "conflicted": 1, "failed": 0, "succeeded": 1, "pending": 2}
    rows.write(row(4, "failed", reason="open: refused", observations=2))
    rows.write(row(5, "attributed", sub_domain="application", root_symptom="oom", observations=1, lines=9))
    clock.now += 90
    found = rows.end(RUN)
    assert {name: getattr(found.totals, name) for name in FOUR} == {
        "attributed": 3,
        "conflicted": 1,
        "failed": 1,
        "succeeded": 2,
    }
    assert found.totals.contexts == 5
    assert (found.totals.observations, found.totals.lines) == (3, 9)
    assert found.run.state is RunState.ENDED
    assert found.run.errors == ["eca slurm: not reachable"]
    assert found.duration_seconds == 90
    assert found.sub_domains == {"hardware": 2, "application": 1}
    assert found.symptoms == {"oom": 1}
    assert found.reasons == {"output db: locked": 1, "open: refused": 1}


def test_contexts_that_an_interrupted_run_did_not_come_to_are_pending_and_have_not_failed(rows: RunRows) -> None:
    rows.begin(RUN)
    rows.expect(RUN, 3)
    rows.write(row(1))
    found = rows.end(RUN, RunState.INTERRUPTED).totals
    assert (found.attributed, found.failed, found.unreported, found.pending) == (1, 0, 0, 2)


def test_contexts_that_a_run_which_is_over_never_spoke_of_have_failed(rows: RunRows) -> None:
    rows.begin(RUN)
    rows.expect(RUN, 3)
    rows.write(row(1))
    found = rows.end(RUN).totals
    assert (found.attributed, found.failed, found.unreported, found.pending) == (1, 2, 2, 0)


def test_ending_again_changes_nothing(rows: RunRows, clock: Clock) -> None:
    rows.begin(RUN)
    first = rows.end(RUN, RunState.INTERRUPTED).run
    clock.now += 10
    assert rows.end(RUN).run == first


def test_beginning_again_keeps_the_start_and_the_rows(rows: RunRows, clock: Clock) -> None:
    begun = rows.begin(RUN, source="site.toml")
    rows.write(row(1))
    clock.now += 10
    assert rows.begin(RUN, source="site.toml") == begun
    rows.end(RUN, RunState.INTERRUPTED)
    assert rows.begin(RUN) == begun
    assert counts(rows)["attributed"] == 1
    assert [found.run_id for found in rows.latest()] == [RUN]


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "still said to run"])
def test_a_run_that_goes_on_is_that_of_who_carries_it_out_now(rows: RunRows, stopped: bool) -> None:  # noqa: FBT001 -- a parameter of the table
    begun = rows.begin(RUN, source="site.toml", runner="execution-1")
    if stopped:
        rows.end(RUN, RunState.INTERRUPTED)
    moved = rows.begin(RUN, source="site.toml", runner="execution-2")
    assert moved == begun.model_copy(update={"runner": "execution-2"})
    assert rows.begin(RUN) == moved  # by whoever only makes sure that there is a record


@pytest.mark.parametrize(
    ("earlier", "later", "stays"),
    [
        (("attributed", True), ("failed", False), "attributed"),
        (("attributed", True), ("conflicted", False), "attributed"),
        (("attributed", True), ("attributed", False), "attributed"),
        (("attributed", False), ("attributed", True), "attributed"),
        (("failed", False), ("attributed", True), "attributed"),
        (("conflicted", False), ("failed", False), "failed"),
        (("failed", False), ("conflicted", False), "conflicted"),
    ],
    ids=str,
)
def test_a_row_only_gets_better(rows: RunRows, earlier: tuple[str, bool], later: tuple[str, bool], stays: str) -> None:
    rows.begin(RUN)
    for status, succeeded in (earlier, later):
        rows.write(row(1, status, succeeded=succeeded))
    found = rows.row(RUN, "c:1:0")
    assert found is not None
    assert found.status == stays
    assert found.succeeded == (earlier[1] or later[1])
    assert rows.summary(RUN).totals.contexts == 1


def test_runs_share_nothing(rows: RunRows) -> None:
    rows.begin(RUN)
    rows.begin(f"{RUN}2")
    rows.write(row(1))
    assert rows.summary(f"{RUN}2").totals.contexts == 0


def test_the_latest_runs_come_first(rows: RunRows, clock: Clock) -> None:
    for name in ("b", "c", "a"):
        rows.begin(name)
        clock.now += 1
    assert [found.run_id for found in rows.latest(2)] == ["a", "c"]


@pytest.mark.parametrize(
    "action", [RunRows.record, RunRows.summary, RunRows.end, lambda rows, run: rows.expect(run, 1)]
)
def test_a_run_that_never_began_is_said_not_to_be_there(rows: RunRows, action: Callable[[RunRows, str], Any]) -> None:
    with pytest.raises(NotFoundError, match="there is no run 'nothing'"):
        action(rows, "nothing")


def test_many_rows_are_all_counted(rows: RunRows) -> None:
    rows.begin(RUN)
    rows.expect(RUN, 120)
    for number in range(120):
        rows.write(row(number, FOUR[number % 3], reason="x" * 900))
    assert counts(rows) == {"attributed": 40, "conflicted": 40, "failed": 40, "succeeded": 40, "pending": 0}


def test_rows_that_are_written_at_once_are_counted_once(rows: RunRows) -> None:
    rows.begin(RUN)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: rows.write(row(number % 20)), range(160)))
    assert counts(rows)["attributed"] == 20


STEPS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(FOUR[:3]), st.booleans()), min_size=1, max_size=12)


@pytest.mark.parametrize(("kind", "examples"), [("local", 40), ("aws", 6)])
def test_totals_are_exact_wherever_a_writer_dies(kind: str, examples: int) -> None:
    """Each step is tried again until it is through, by a writer that dies before and after its writes."""
    with fresh_store(kind) as store:

        @settings(max_examples=examples, deadline=None)
        @given(steps=STEPS, seed=st.integers(0, 1 << 30))
        def dying_writers(steps: list[tuple[int, str, bool]], seed: int) -> None:
            drill(store, steps, seed)

        dying_writers()


def drill(lasting_store: Store, steps: list[tuple[int, str, bool]], seed: int) -> None:
    """One run of its own."""
    plan = CrashPlan(0.3, seed)
    run = new_ulid(START)
    rows = RunRows.of(crashing_store(lasting_store, plan), Clock())

    def insist(action: Callable[[], object]) -> None:
        while True:
            try:
                action()
            except InjectedCrashError:
                continue
            return

    best: dict[int, tuple[int, str, bool]] = {}
    insist(lambda: rows.begin(run))
    insist(lambda: rows.expect(run, 6))
    for number, status, taken in steps:
        one = row(number, status, succeeded=taken and status == "attributed", run_id=run)
        insist(lambda one=one: rows.write(one))
        if one.rank >= best.get(number, (0, "", False))[0]:
            best[number] = (one.rank, status, one.succeeded)
    insist(lambda: rows.end(run))
    found = rows.summary(run).totals
    for status in FOUR[:3]:
        silent = 6 - len(best) if status == "failed" else 0
        assert getattr(found, status) == silent + sum(kept[1] == status for kept in best.values())
    assert found.succeeded == sum(kept[2] for kept in best.values())
    assert found.contexts == 6
    assert sum(item["run_id"] == run for item in rows.table.query("runs/")) == 1
