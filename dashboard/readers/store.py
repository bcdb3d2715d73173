"""Verdicts from the service's own tables: DynamoDB with its bucket, or the folder of a local service.

The table is found by (cluster, day) and by (cluster, node) and by nothing else, so a listing needs one of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from attribution_lib.errors import Fault
from attribution_lib.taxonomy import SubDomain
from attribution_service.errors import InvalidRequestError
from attribution_service.model import Feedback
from attribution_service.paging import page_limit, walk
from attribution_service.records import CLUSTERS_PK
from attribution_service.service import EVERYTHING, Caller
from attribution_service.times import SECONDS_A_DAY, day_of
from attribution_service.verdict_items import feedback_month, feedback_pk, head_of
from attribution_service.verdicts import add_feedback, get_verdict, runs_of
from dashboard.reading import Bucket, Buckets, Capabilities, FleetRow, HeadPage, HitCounts, RuleHits, RunsQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attribution_service.model import FeedbackRequest, VerdictHead, VerdictKey
    from attribution_service.ports import Item, Page
    from attribution_service.result import EnrichedVerdict
    from attribution_service.service import Service
    from dashboard.reading import FeedbackQuery, FleetQuery

__all__ = ["MAX_DAYS", "StoreReader"]

MAX_DAYS = 92
"""A longer window is refused: it is one read a day and cluster at least."""
_HOUR = 3_600
_HIT_DAYS = 30
_FEEDBACK_STEPS = 15
_COUNTED = 20_000
"""Items of an index that are read for one page; counts stop there and say so."""
_AT_ONCE = 500
_WALKS = 10
"""Of so many partitions each, before a page is given that is empty and still has a cursor."""
_STEP = 27 * SECONDS_A_DAY
"""Shorter than any month, so that none is left out."""

_Partitions = tuple[str, list[str]]
"""An index and its partitions, in the order in which they are read."""


@dataclass(frozen=True, slots=True)
class StoreReader:
    """A read port over a service."""

    service: Service
    name: str = "DynamoDB"
    caller: Caller = EVERYTHING

    @property
    def capabilities(self) -> Capabilities:
        """What its two indexes can find."""
        return Capabilities(name=self.name, user=False, text=False, partitioned=True)

    def clusters(self) -> Sequence[str]:
        """Those with verdicts, sorted."""
        names = (str(item["sk"]) for item in self.service.store.verdicts.query(CLUSTERS_PK))
        return sorted(name for name in names if self.caller.may(name))

    def heads(self, query: RunsQuery) -> HeadPage:
        """Partition after partition; a page may be shorter than asked for and still have a cursor."""
        index, partitions = self._partitions(query)
        limit, cursor = page_limit(query.limit, self.service.settings.limits), query.cursor
        for _ in range(_WALKS):
            items, cursor = walk(partitions, self._fetch(index), _filter(query), cursor=cursor, limit=limit)
            if items or cursor is None:
                break
        return HeadPage([head_of(item) for item in items], cursor)

    def buckets(self, query: RunsQuery) -> Buckets:
        """Counted by reading what the query passes, up to a bound."""
        keep = _filter(query)
        counts: dict[tuple[int, str], int] = {}
        read = 0
        for item in islice(self._items(*self._partitions(query)), _COUNTED):
            read += 1
            if keep(item):
                key = (int(item["at"]) // _HOUR * _HOUR, str(item["sub_domain"]))
                counts[key] = counts.get(key, 0) + 1
        rows = [Bucket(hour, SubDomain(name), count) for (hour, name), count in counts.items()]
        return Buckets(rows, complete=read < _COUNTED)

    def verdict(self, key: VerdictKey) -> EnrichedVerdict:
        """From the item, or from the bucket where it is too large for one."""
        return get_verdict(self.service, self.caller, key)

    def runs(self, key: VerdictKey) -> Sequence[VerdictHead]:
        """Newest first."""
        return runs_of(self.service, self.caller, key)

    def fleet(self, query: FleetQuery) -> Iterator[FleetRow]:
        """Day by day."""
        window = RunsQuery(cluster=query.cluster, since=query.since, until=query.until)
        keep, place = _filter(window), self._partitions(window)
        return (msgspec.convert(item, FleetRow) for item in self._items(*place) if keep(item))

    def rule_hits(self) -> HitCounts:
        """Over the last 30 days of all of the caller's clusters."""
        since = self.service.now() - _HIT_DAYS * SECONDS_A_DAY
        index, partitions = self._days(self.clusters(), since, self.service.now() + 1)
        decided: dict[str, int] = {}
        seen: dict[str, int] = {}
        read = 0
        for item in islice(self._items(index, partitions), _COUNTED):
            read += 1
            for rule in item.get("rules") or ():
                seen[rule] = seen.get(rule, 0) + 1
            rule = str(item.get("rule") or "")
            decided[rule] = decided.get(rule, 0) + 1
        names = (decided.keys() | seen.keys()) - {""}
        hits = {name: RuleHits(decided.get(name, 0), seen.get(name, 0)) for name in names}
        return HitCounts(hits, since=since, complete=read < _COUNTED)

    def feedback(self, query: FeedbackQuery) -> Sequence[tuple[Feedback, str | None]]:
        """Of one job, or of the last 13 months of clusters."""
        if query.cluster is not None and query.job_id is not None:
            self.caller.require(query.cluster)
            whole = self.service.store.verdicts.query(feedback_pk(query.cluster, query.job_id))
        else:
            whole = self._judged(query.cluster, query.rule)
        found = [(Feedback.model_validate_json(str(item["body"])), item.get("rule") or None) for item in whole]
        passed = [
            (entry, rule)
            for entry, rule in found
            if query.attempt in (None, entry.attempt) and query.rule in (None, rule)
        ]
        passed.sort(key=lambda entry: (entry[0].at, entry[0].feedback_id), reverse=True)
        return passed[: query.limit]

    def add_feedback(self, key: VerdictKey, request: FeedbackRequest) -> Feedback:
        """By the service's own route."""
        return add_feedback(self.service, self.caller, key, request)

    def _judged(self, cluster: str | None, rule: str | None) -> Iterator[Item]:
        """The whole items of judgements; the index holds their keys."""
        seconds = [self.service.now() - step * _STEP for step in range(_FEEDBACK_STEPS)]
        clusters = self._clusters(cluster)
        months = dict.fromkeys(feedback_month(name, at) for at in seconds for name in clusters)
        for item in self._items("by_day", list(months)):
            if rule in (None, item.get("rule")):
                whole = self.service.store.verdicts.get(item["pk"], item["sk"])
                if whole is not None:
                    yield whole

    def _clusters(self, cluster: str | None) -> Sequence[str]:
        if cluster is None:
            return self.clusters()
        self.caller.require(cluster)
        return [cluster]

    def _partitions(self, query: RunsQuery) -> _Partitions:
        """Where a query's verdicts are found; ``InvalidRequestError`` when the indexes cannot say."""
        refused = [name for name, value in (("user", query.user), ("text", query.text)) if value is not None]
        if refused:
            faults = [
                Fault(name, "", "this store cannot search by it", "a cluster and a day, or a node") for name in refused
            ]
            msg = "the store cannot answer this"
            raise InvalidRequestError(msg, faults)
        clusters = self._clusters(query.cluster)
        if query.node is not None:
            return "by_node", [f"{cluster}#{query.node}" for cluster in clusters]
        now = self.service.now()
        if query.rule is not None:
            return self._days(clusters, query.since or now - _HIT_DAYS * SECONDS_A_DAY, query.until or now + 1)
        if query.cluster is None or query.since is None:
            fault = Fault(
                "cluster" if query.cluster is None else "day", "", "missing", "a cluster and a day, or a node"
            )
            msg = "the store cannot answer this"
            raise InvalidRequestError(msg, [fault])
        return self._days(clusters, query.since, query.until or now + 1)

    @staticmethod
    def _days(clusters: Sequence[str], since: int, until: int) -> _Partitions:
        """The newest day first."""
        first, last = since // SECONDS_A_DAY, (until - 1) // SECONDS_A_DAY
        if last - first >= MAX_DAYS:
            fault = Fault("since", "", f"{last - first + 1} days", f"at most {MAX_DAYS}")
            msg = "the store cannot answer this"
            raise InvalidRequestError(msg, [fault])
        days = [day_of(day * SECONDS_A_DAY) for day in range(last, first - 1, -1)]
        return "by_day", [f"{cluster}#{day}" for day in days for cluster in clusters]

    def _fetch(self, index: str) -> Callable[[str, str | None, int], Page]:
        table = self.service.store.verdicts
        return lambda key, inner, limit: table.query_index(index, key, cursor=inner, limit=limit, descending=True)

    def _items(self, index: str, partitions: Sequence[str]) -> Iterator[Item]:
        fetch = self._fetch(index)
        for partition in partitions:
            cursor: str | None = None
            while True:
                page = fetch(partition, cursor, _AT_ONCE)
                yield from page.items
                cursor = page.cursor
                if cursor is None:
                    break


def _filter(query: RunsQuery) -> Callable[[Item], bool]:
    """What the partitions cannot tell apart."""

    def keep(item: Item) -> bool:
        return (
            (query.since is None or int(item["at"]) >= query.since)
            and (query.until is None or int(item["at"]) < query.until)
            and (query.sub_domain is None or item.get("sub_domain") == query.sub_domain.value)
            and (query.outcome is None or item.get("outcome") == query.outcome.value)
            and (query.rule is None or item.get("rule") == query.rule)
        )

    return keep
