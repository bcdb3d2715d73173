"""The read port: what the pages ask of a store of verdicts. Two adapters: ``readers.sqlite`` and ``readers.store``.

A reader answers for one caller: clusters that are none of the caller's do not exist in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from attribution_lib.taxonomy import Outcome, SubDomain
    from attribution_service.model import Feedback, FeedbackRequest, VerdictHead, VerdictKey
    from attribution_service.result import EnrichedVerdict

__all__ = [
    "Bucket",
    "Buckets",
    "Capabilities",
    "FeedbackQuery",
    "FleetQuery",
    "FleetRow",
    "HeadPage",
    "HitCounts",
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
    """Some heads, newest first; ``cursor`` is None on the last page."""

    heads: Sequence[VerdictHead]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Bucket:
    """Verdicts of one sub-domain in one hour."""

    hour: int
    """Seconds since the epoch, a multiple of 3,600."""
    sub_domain: SubDomain
    count: int


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a query passes, by hour and sub-domain; not ``complete`` when the store stopped counting."""

    rows: Sequence[Bucket]
    complete: bool = True


class FleetRow(msgspec.Struct, frozen=True, kw_only=True):
    """What statistics need of one verdict: a head without its words."""

    cluster: str
    job_id: str
    attempt: int
    at: int
    """When it was attributed, seconds since the epoch."""
    sub_domain: str
    symptom: str | None = None
    node: str | None = None
    device: str = ""
    switch: str = ""
    peers: list[str] = []
    """``a b``: pairs of hosts that lost each other."""
    bad_nodes: list[str] = []
    """The first 20."""
    bad_nodes_total: int = 0
    nodes: int = 0
    gpus: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def when(self) -> int:
        """When the job ended, else when it was attributed; seconds since the epoch."""
        return self.at if self.ended_at is None else int(self.ended_at.timestamp())

    @property
    def hours(self) -> float | None:
        """How long the job ran; None when its start or end is unknown."""
        if self.started_at is None or self.ended_at is None or self.ended_at < self.started_at:
            return None
        return (self.ended_at - self.started_at).total_seconds() / 3_600


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
class HitCounts:
    """What every rule did in stored verdicts."""

    by_rule: Mapping[str, RuleHits]
    since: int | None = None
    """Only verdicts attributed from then on were counted; None: all."""
    complete: bool = True
    """False when the store stopped counting."""


@dataclass(frozen=True, slots=True)
class FeedbackQuery:
    """Which judgements; newest first."""

    cluster: str | None = None
    job_id: str | None = None
    attempt: int | None = None
    rule: str | None = None
    """On verdicts whose root this rule read."""
    limit: int = 500


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

    def buckets(self, query: RunsQuery) -> Buckets:
        """How many verdicts the query passes, by hour and sub-domain; cursor and limit are of no matter."""
        ...

    def verdict(self, key: VerdictKey) -> EnrichedVerdict:
        """One whole verdict: of the latest attempt and its latest run unless said otherwise; ``NotFoundError``."""
        ...

    def runs(self, key: VerdictKey) -> Sequence[VerdictHead]:
        """Every run of one attempt (the latest unless said otherwise), newest first; empty when there is none."""
        ...

    def fleet(self, query: FleetQuery) -> Iterator[FleetRow]:
        """The rows that statistics are made of, in any order; ``InvalidRequestError``."""
        ...

    def rule_hits(self) -> HitCounts:
        """What rules did in the latest verdict of each attempt (partitioned stores: of the last 30 days)."""
        ...

    def feedback(self, query: FeedbackQuery) -> Sequence[tuple[Feedback, str | None]]:
        """Judgements with the rule that read the root of the judged run, newest first."""
        ...

    def add_feedback(self, key: VerdictKey, request: FeedbackRequest) -> Feedback:
        """Store a judgement on a stored verdict; ``NotFoundError``, ``InvalidRequestError``."""
        ...
