"""The records of runs: ``runs/{run_id}/`` of the table of verdicts, one row a context, whoever carried the run out.

Every write stands alone and may be repeated: a record is begun once and ended once, and the row of a context only gets
better. So the totals are right after any crash and any retry, and nothing has to be added up on the way.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_service.costs import estimate
from attribution_service.errors import NotFoundError
from attribution_service.ports import ItemChangedError, ItemExistsError
from attribution_service.run_records import RowStatus, RunRecord, RunRow, RunState, RunSummary, RunTotals, elapsed
from attribution_service.times import SECONDS_A_DAY, rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attribution_service.ports import Item, ItemTable, Store

__all__ = ["KEPT_DAYS", "RunRows"]

KEPT_DAYS = 90
"""Rows and records are dropped by the table so many days after they were written."""
_RUNS = "runs/"
_RECORD = "RUN"
_ROW = "CONTEXT#"
_MOST_FREQUENT = 20
_TOLD_APART = 2_000
_OTHERS = "others"
"""Counts everything once so many different texts were met: a summary's memory does not grow with the run."""
_REASON_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class RunRows:
    """Run records over the table of any back end; threads and processes may share one."""

    table: ItemTable
    clock: Callable[[], float]
    """Seconds since the epoch."""

    @classmethod
    def of(cls, store: Store, clock: Callable[[], float]) -> RunRows:
        """The run records of a store."""
        return cls(store.verdicts, clock)

    def begin(self, run_id: str, *, source: str = "", runner: str = "", again: bool = False) -> RunRecord:
        """Note that a run begins. One that began before goes on, by ``runner`` if given; start and ``again`` stay."""
        now = rfc3339(self.clock())
        record = RunRecord(run_id=run_id, started_at=now, source=source, runner=runner, again=again)
        with suppress(ItemExistsError):
            self.table.put(self._item(record, _pk(run_id), _RECORD), if_absent=True)
        found = self.record(run_id)
        pointer = {"pk": _RUNS, "sk": f"{found.started_at}#{run_id}", "run_id": run_id, "ttl": self._ttl()}
        self.table.put(pointer)
        runner = runner or found.runner
        if (found.state, found.runner) != (RunState.RUNNING, runner):
            changes = {"state": RunState.RUNNING.value, "ended_at": None, "runner": runner}
            self.table.update(_pk(run_id), _RECORD, changes, expect={})
        return self.record(run_id)

    def expect(self, run_id: str, contexts: int, errors: Sequence[str] = ()) -> None:
        """Note how many contexts the run means, once that is known; ``NotFoundError`` when it never began."""
        self._change(run_id, {"contexts": contexts, "errors": [error[:_REASON_CHARACTERS] for error in errors]})

    def write(self, row: RunRow) -> bool:
        """Store a context's row; False when a better one is there already, which stays."""
        row = row.model_copy(update={"reason": row.reason[:_REASON_CHARACTERS]})
        item = self._item(row, _pk(row.run_id), f"{_ROW}{row.context}") | {"rank": row.rank}
        try:
            self.table.put(item, or_before=("rank", row.rank + 1))
        except ItemExistsError:
            return False
        return True

    def end(self, run_id: str, state: RunState = RunState.ENDED) -> RunSummary:
        """Note that a run is over, once: a repeat changes nothing. The summary."""
        changes = {"state": state.value, "ended_at": rfc3339(self.clock())}
        with suppress(ItemChangedError):
            self.table.update(_pk(run_id), _RECORD, changes, expect={"state": RunState.RUNNING.value})
        return self.summary(run_id)

    def record(self, run_id: str) -> RunRecord:
        """One run; ``NotFoundError``."""
        item = self.table.get(_pk(run_id), _RECORD)
        if item is None:
            raise NotFoundError(f"there is no run {run_id!r}", run_id=run_id)
        return RunRecord.model_validate(_fields(item, RunRecord))

    def row(self, run_id: str, context: str) -> RunRow | None:
        """One context's row, if there is one yet."""
        item = self.table.get(_pk(run_id), f"{_ROW}{context}")
        return None if item is None else RunRow.model_validate(_fields(item, RunRow))

    def rows(self, run_id: str) -> Iterator[RunRow]:
        """Every row of a run, by context; read page by page."""
        for item in self.table.query(_pk(run_id), _ROW):
            yield RunRow.model_validate(_fields(item, RunRow))

    def latest(self, limit: int = 20) -> list[RunRecord]:
        """The runs that began last, newest first."""
        found = []
        for item in self.table.query_page(_RUNS, limit=limit, descending=True).items:
            with suppress(NotFoundError):  # its record has been dropped already
                found.append(self.record(str(item["run_id"])))
        return found

    def summary(self, run_id: str) -> RunSummary:
        """The run with its totals as of now, counted over its rows; ``NotFoundError``."""
        record = self.record(run_id)
        count = _Count()
        for row in self.rows(run_id):
            count.add(row)
        totals = count.totals(record)
        return RunSummary(
            run=record,
            totals=totals,
            cost_dollars=round(estimate(record, totals), 6),
            duration_seconds=elapsed(record, self.clock()),
            sub_domains=dict(sorted(count.sub_domains.items())),
            symptoms=dict(count.symptoms.most_common(_MOST_FREQUENT)),
            reasons=dict(count.reasons.most_common(_MOST_FREQUENT)),
        )

    def _change(self, run_id: str, changes: Item) -> None:
        try:
            self.table.update(_pk(run_id), _RECORD, changes, expect={})
        except ItemChangedError:
            raise NotFoundError(f"there is no run {run_id!r}", run_id=run_id) from None

    def _item(self, values: RunRow | RunRecord, pk: str, sk: str) -> Item:
        return {**values.model_dump(mode="json"), "pk": pk, "sk": sk, "ttl": self._ttl()}

    def _ttl(self) -> int:
        return int(self.clock()) + KEPT_DAYS * SECONDS_A_DAY


class _Count:
    """Adds rows up."""

    def __init__(self) -> None:
        self.statuses: Counter[RowStatus] = Counter()
        self.sums: Counter[str] = Counter()
        self.sub_domains: Counter[str] = Counter()
        self.symptoms: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()

    def add(self, row: RunRow) -> None:
        self.statuses[row.status] += 1
        for name in ("succeeded", "left_behind", "observations", "lines"):
            self.sums[name] += int(getattr(row, name))
        self.sums["found"] += row.verdict_run not in ("", row.run_id)
        if row.status is RowStatus.ATTRIBUTED:
            self.sub_domains[row.sub_domain] += 1
            _count(self.symptoms, row.root_symptom)
        if row.status is not RowStatus.CONFLICTED and not row.succeeded:
            _count(self.reasons, row.reason)

    def totals(self, record: RunRecord) -> RunTotals:
        """The counts; contexts that a run which came to its end says nothing of have failed."""
        reported = self.statuses.total()
        contexts = max(record.contexts or 0, reported)
        silent = contexts - reported
        # Nobody tried what an interrupted run did not come to: a failure would be a claim.
        over = record.state not in {RunState.RUNNING, RunState.INTERRUPTED}
        return RunTotals(
            contexts=contexts,
            attributed=self.statuses[RowStatus.ATTRIBUTED],
            conflicted=self.statuses[RowStatus.CONFLICTED],
            failed=self.statuses[RowStatus.FAILED] + (silent if over else 0),
            pending=0 if over else silent,
            unreported=silent if over else 0,
            found=self.sums["found"],
            succeeded=self.sums["succeeded"],
            left_behind=self.sums["left_behind"],
            observations=self.sums["observations"],
            lines=self.sums["lines"],
        )


def _count(counter: Counter[str], text: str) -> None:
    if text:
        counter[text if text in counter or len(counter) < _TOLD_APART else _OTHERS] += 1


def _pk(run_id: str) -> str:
    return f"{_RUNS}{run_id}/"


def _fields(item: Item, model: type[RunRow | RunRecord]) -> Item:
    return {name: value for name, value in item.items() if name in model.model_fields}
