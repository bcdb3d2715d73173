"""The read port: what the pages ask of a store of verdicts. Two adapters: ``readers.sqlite`` and ``readers.store``.

A reader answers for one caller: clusters that are none of the caller's do not exist in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_lib.taxonomy import Outcome, SubDomain
    from attribution_service.model import Feedback, FeedbackRequest, VerdictHead, VerdictKey
    from attribution_service.result import EnrichedVerdict

__all__ = [
    "Bucket",
    "Capabilities",
    "FeedbackQuery",
    "FleetQuery",
    "HeadPage",
    "RuleHits",
    "RunsQuery",
    "VerdictReader",
]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store can answer."""

    name: str
    """For people: ``SQLite attributions.db``."""
    user: bool
    """Filters by user."""
    text: bool
    """Searches free text."""
    partitioned: bool
    """Lists only by cluster and day, or by node."""
    counts: bool
    """Counts what a query passes, however much that is."""


@dataclass(frozen=True, slots=True)
class RunsQuery:
    """Which verdicts; times are seconds since the epoch, of the attribution, ``until`` excluded."""

    cluster: str | None = None
    since: int | None = None
    until: int | None = None
    sub_domain: SubDomain | None = None
    outcome: Outcome | None = None
    node: str | None = None
    user: str | None = None
    text: str | None = None
    rule: str | None = None
    """Verdicts whose root this rule read."""
    cursor: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class HeadPage:
    """Some heads, newest first; ``cursor`` is None on the last page, ``total`` None where it costs too much."""

    heads: Sequence[VerdictHead]
    cursor: str | None
    total: int | None


@dataclass(frozen=True, slots=True)
class Bucket:
    """Verdicts of one sub-domain in one hour."""

    hour: int
    """Seconds since the epoch, a multiple of 3,600."""
    sub_domain: SubDomain
    count: int


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """Which verdicts the statistics are of: latest runs attributed from ``since`` to before ``until``."""

    since: int
    until: int
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class RuleHits:
    """What one rule did in stored verdicts."""

    decided: int = 0
    seen: int = 0


@dataclass(frozen=True, slots=True)
class FeedbackQuery:
    """Which judgements; newest first."""

    cluster: str | None = None
    job_id: str | None = None
    attempt: int | None = None
    rule: str | None = None
    """On verdicts whose root this rule read."""
    limit: int = field(default=500)


class VerdictReader(Protocol):
    """What the pages ask. Errors are ``attribution_service.errors``; a query that a store cannot answer is invalid."""

    @property
    def capabilities(self) -> Capabilities:
        """What this store can answer."""
        ...

    def clusters(self) -> Sequence[str]:
        """The caller's clusters that have verdicts, sorted."""
        ...

    def heads(self, query: RunsQuery) -> HeadPage:
        """One page of the latest verdict of each attempt; ``InvalidRequestError``."""
        ...

    def buckets(self, query: RunsQuery) -> Sequence[Bucket]:
        """How many verdicts the query passes, by hour and sub-domain; cursor and limit are of no matter."""
        ...

    def verdict(self, key: VerdictKey) -> EnrichedVerdict:
        """One whole verdict: of the latest attempt and its latest run unless said otherwise; ``NotFoundError``."""
        ...

    def runs(self, key: VerdictKey) -> Sequence[VerdictHead]:
        """Every run of one attempt (the latest unless said otherwise), newest first; empty when there is none."""
        ...

    def fleet(self, query: FleetQuery) -> Iterator[VerdictHead]:
        """The heads that statistics are made of, in any order."""
        ...

    def rule_hits(self) -> Mapping[str, RuleHits]:
        """{rule: hits} over all stored verdicts (partitioned stores: of the last 30 days)."""
        ...

    def feedback(self, query: FeedbackQuery) -> Sequence[tuple[Feedback, str | None]]:
        """Judgements with the rule that read the root of the judged run, newest first."""
        ...

    def add_feedback(self, key: VerdictKey, request: FeedbackRequest) -> Feedback:
        """Store a judgement on a stored verdict; ``NotFoundError``, ``InvalidRequestError``."""
        ...
