"""The page of runs: filters read and checked, one page of rows, counts by sub-domain over time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_lib.taxonomy import Outcome, SubDomain
from attribution_service.errors import InvalidRequestError
from attribution_service.times import SECONDS_A_DAY, rfc3339, seconds_of
from dashboard.building.headline import headline_of_head
from dashboard.contexts.model import Notice, NoticeLevel, PageName
from dashboard.contexts.runs import CountBar, CountSeries, FilterChoices, RunRow, RunsContext, RunsFilters
from dashboard.reading import RunsQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_service.model import VerdictHead
    from dashboard.reading import Buckets, Capabilities
    from dashboard.site import Site

__all__ = ["REQUIREMENT", "SoughtJob", "run_row", "runs_context", "runs_query", "time_of"]

REQUIREMENT = "This store finds verdicts by a cluster and a day (or since a day), or by a node: choose one of both."
_DAY_LETTERS = len("2026-06-01")
_HOUR = 3_600
_BARS = 120
_STEPS = (
    ("hour", _HOUR, len("2026-06-01T03")),
    ("day", SECONDS_A_DAY, _DAY_LETTERS),
    ("week", 7 * SECONDS_A_DAY, _DAY_LETTERS),
)
_MONDAY = 4 * SECONDS_A_DAY
"""The first Monday after the epoch."""


@dataclass(frozen=True, slots=True)
class SoughtJob:
    """A job whose id was asked for and leads to no single verdict, so that its id is searched for as words."""

    job_id: str
    clusters: tuple[str, ...]
    """Those with a verdict on a job of exactly this id."""

    @property
    def notice(self) -> Notice:
        """What the listing is, so that nobody takes another job's verdict for this one's."""
        if self.clusters:
            text = f"Job {self.job_id[:200]!r} has verdicts in several clusters: {', '.join(self.clusters)}."
            return Notice(level=NoticeLevel.INFO, text=text)
        text = (
            f"There is no verdict on a job {self.job_id[:200]!r}. What is listed has these words in it: other jobs. "
            "Check the id and the cluster; only what a run attributed is here."
        )
        return Notice(level=NoticeLevel.WARNING, text=text)


def runs_context(
    site: Site, filters: RunsFilters, cursor: str = "", limit: int = 50, sought: SoughtJob | None = None
) -> RunsContext:
    """One page; ``InvalidRequestError`` for filters that mean nothing. What the store cannot answer is a notice."""
    reader, able = site.reader, site.reader.capabilities
    query = runs_query(filters, cursor, limit)
    problem = _unanswerable(filters, able)
    page = None if problem else reader.heads(query)
    buckets = None if problem else reader.buckets(query)
    counts = None if buckets is None else _series(buckets)
    clusters = tuple(reader.clusters())
    notices = [*([sought.notice] if sought else []), *_notices(problem, filters, able, len(clusters))]
    return RunsContext(
        **site.page(PageName.RUNS, "Runs", notices),
        filters=filters,
        choices=FilterChoices(
            clusters=clusters,
            sub_domains=tuple(SubDomain),
            outcomes=tuple(Outcome),
            user=able.user,
            text=able.text,
            requirement=REQUIREMENT if able.partitioned else "",
        ),
        refused=bool(problem),
        rows=tuple(run_row(head) for head in page.heads) if page else (),
        limit=limit,
        cursor=(page.cursor or "") if page else "",
        first_page=not cursor,
        total=sum(counts.totals) if counts is not None and buckets is not None and buckets.complete else None,
        counts=counts,
    )


def _notices(problem: str, filters: RunsFilters, able: Capabilities, clusters: int) -> list[Notice]:
    if problem:
        return [Notice(level=NoticeLevel.WARNING, text=problem)]
    if able.partitioned and filters.node and not filters.cluster and clusters > 1:
        text = "Nodes of this name are listed cluster by cluster, each newest first."
        return [Notice(level=NoticeLevel.INFO, text=text)]
    return []


def run_row(head: VerdictHead) -> RunRow:
    """A listing's row."""
    shared = RunRow.model_fields.keys() & type(head).model_fields.keys()
    fields = {name: getattr(head, name) for name in shared}
    fields |= {"symptom": head.symptom or "", "attributed_at": head.attributed_at or head.stored_at}
    return RunRow.model_validate({**fields, "headline": headline_of_head(head)})


def runs_query(filters: RunsFilters, cursor: str = "", limit: int = 50) -> RunsQuery:
    """What the filters ask of a store; ``InvalidRequestError`` naming each that means nothing."""
    faults: list[Fault] = []
    since, until = time_of("since", filters.since, faults), time_of("until", filters.until, faults, end=True)
    if filters.day:
        start, stop = time_of("day", filters.day[:_DAY_LETTERS], faults), time_of("day", filters.day, faults, end=True)
        since = max(filter(None, (since, start)), default=None)
        until = min(filter(None, (until, stop)), default=None)
    if since is not None and until is not None and since >= until:
        name, given = ("day", filters.day) if filters.day else ("until", filters.until)
        faults.append(
            Fault(name, "", given[:60], "a time after since" if name == "until" else "a day between since and until")
        )
    if filters.sub_domain and filters.sub_domain not in set(SubDomain):
        faults.append(Fault("sub_domain", "", filters.sub_domain[:60], f"one of {', '.join(SubDomain)}"))
    if filters.outcome and filters.outcome not in set(Outcome):
        faults.append(Fault("outcome", "", filters.outcome[:60], f"one of {', '.join(Outcome)}"))
    if faults:
        msg = "the filters are not valid"
        raise InvalidRequestError(msg, faults)
    return RunsQuery(
        cluster=filters.cluster or None,
        since=since,
        until=until,
        sub_domain=SubDomain(filters.sub_domain) if filters.sub_domain else None,
        outcome=Outcome(filters.outcome) if filters.outcome else None,
        node=filters.node or None,
        user=filters.user or None,
        text=filters.text.strip() or None,
        cursor=cursor or None,
        limit=limit,
    )


def time_of(name: str, text: str, faults: list[Fault], *, end: bool = False) -> int | None:
    """Seconds since the epoch of an instant or a day (``end``: of the day's end); what is neither is a fault."""
    text = text.strip()
    if not text:
        return None
    is_day = len(text) == _DAY_LETTERS
    # People and a browser's field give no offset and no seconds; pages show UTC, so that is what is meant.
    forms = [f"{text}T00:00:00Z"] if is_day else [text, f"{text}Z", f"{text.removesuffix('Z')}:00Z"]
    at = next((found for found in map(seconds_of, forms) if found is not None), None)
    if at is None:
        faults.append(Fault(name, "", text[:60], "a UTC day (2026-06-01) or an instant (2026-06-01T03:00:00Z)"))
        return None
    return at + SECONDS_A_DAY if is_day and end else at


def _unanswerable(filters: RunsFilters, able: Capabilities) -> str:
    """Why the store cannot answer, as a sentence; empty when it can."""
    if filters.user and not able.user:
        return f"This store cannot filter by user. {REQUIREMENT}"
    if filters.text and not able.text:
        return f"This store cannot search text. {REQUIREMENT}"
    enough = filters.node or (filters.cluster and (filters.day or filters.since))
    return REQUIREMENT if able.partitioned and not enough else ""


def _series(buckets: Buckets) -> CountSeries:
    """Bars of the finest step of which there are few enough."""
    order = tuple(SubDomain)
    hours = [row.hour for row in buckets.rows]
    name, step, letters = next(
        (known for known in _STEPS if not hours or (max(hours) - min(hours)) // known[1] < _BARS - 1), _STEPS[-1]
    )
    offset = _MONDAY if name == "week" else 0
    counts: Counter[tuple[int, SubDomain]] = Counter()
    for row in buckets.rows:
        counts[(row.hour - offset) // step, row.sub_domain] += row.count
    numbers = [number for number, _ in counts]
    span: Sequence[int] = range(max(numbers) - _BARS + 1, max(numbers) + 1) if numbers else ()
    bars = []
    for number in span:
        if number < min(numbers):
            continue
        values = tuple(counts[number, domain] for domain in order)
        bars.append(CountBar(start=rfc3339(number * step + offset)[:letters], total=sum(values), counts=values))
    totals = tuple(sum(count for (_, found), count in counts.items() if found is domain) for domain in order)
    notes = [] if buckets.complete else ["Counting stopped: there are more verdicts than are counted here."]
    notes += ["Older ones are not drawn."] if numbers and max(numbers) - min(numbers) >= _BARS else []
    return CountSeries(bucket=name, sub_domains=order, totals=totals, bars=tuple(bars), note=" ".join(notes))
