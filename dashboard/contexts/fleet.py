"""The page of the fleet: who fails again and again, what it costs, and what failed together."""

from __future__ import annotations

from enum import StrEnum

from attribution_lib.taxonomy import SubDomain
from dashboard.contexts.model import Context, PageContext

__all__ = [
    "Cohort",
    "FleetContext",
    "FleetFilters",
    "JobLink",
    "MeanTime",
    "Offender",
    "OffenderKind",
    "SubDomainWeight",
    "Trend",
    "TrendPoint",
]


class OffenderKind(StrEnum):
    """What can fail again."""

    NODE = "node"
    DEVICE = "device"
    PAIR = "pair"
    SWITCH = "switch"


class Trend(StrEnum):
    """Whether failures become more."""

    RISING = "rising"
    STEADY = "steady"
    FALLING = "falling"


class FleetFilters(Context):
    """What the page is of. Names are those of the query string."""

    cluster: str = ""
    """One cluster; empty for all."""
    days: int = 30
    """How many days back from ``until``."""
    until: str = ""
    """The end of the window; empty for now."""


class JobLink(Context):
    """A failed job."""

    cluster: str
    """With ``job_id`` and ``attempt`` the key of the verdict's page."""
    job_id: str
    """Id of the job."""
    attempt: int
    """0 for the first."""
    at: str
    """When it failed: its end, else the time of attribution."""
    symptom: str
    """Its root symptom."""


class TrendPoint(Context):
    """Failures in one bucket of the window."""

    start: str
    """The day on which the bucket begins."""
    failures: int
    """How many."""


class Offender(Context):
    """A part that fails more often than chance would have it."""

    kind: OffenderKind
    """What it is."""
    cluster: str
    """Where."""
    name: str
    """The node; ``node device``; ``node ↔ node``; the switch."""
    failures: int
    """Failed jobs that blame it."""
    episodes: int
    """The same, with failures less than an hour apart taken together."""
    expected: float
    """Episodes of an ordinary part of its kind and cluster."""
    probability: float
    """Of so many episodes by chance, corrected for the number of parts looked at."""
    trend: Trend
    """Second half of the window against the first."""
    points: tuple[TrendPoint, ...]
    """Its failures over the window, oldest first."""
    symptoms: tuple[str, ...]
    """Its root symptoms, most frequent first, at most 5."""
    last_failure: str
    """When it last failed."""
    jobs: tuple[JobLink, ...]
    """The latest of them, at most 10."""
    sentence: str
    """All of it in words."""


class SubDomainWeight(Context):
    """What one sub-domain costs."""

    sub_domain: SubDomain
    """Which."""
    failures: int
    """Failed jobs."""
    share: float
    """Of all failed jobs, 0 to 1."""
    gpu_hours: float
    """GPU-hours of these jobs, from start to end."""
    gpu_hours_share: float
    """Of all failed jobs' GPU-hours, 0 to 1."""
    unknown_hours: int
    """Jobs among them whose start, end or nodes are unknown, which weigh nothing."""


class MeanTime(Context):
    """Mean time between failures of one cluster (or of all, named empty)."""

    cluster: str
    """Which; empty for all together."""
    failures: int
    """Failures that are not the application's: hardware and system software."""
    hours: float | None
    """Mean hours between two of them in the window; null with none."""
    low: float | None
    """Lower bound of the 95 % interval; null with none."""
    high: float | None
    """Upper bound; null with fewer than one."""
    node_hours: float | None
    """Node-hours of the jobs with verdicts, for each such failure; null when unknown."""


class Cohort(Context):
    """Jobs that failed of the same symptom on neighbouring nodes at about the same time."""

    cluster: str
    """Where."""
    symptom: str
    """The common root symptom."""
    nodes: tuple[str, ...]
    """The neighbours, in order, at most 32."""
    node_list: str
    """The same, folded."""
    started: str
    """The first failure."""
    ended: str
    """The last failure."""
    minutes: float
    """Between them."""
    jobs_total: int
    """How many jobs."""
    jobs: tuple[JobLink, ...]
    """The jobs, in time order, at most 20."""
    expected: float
    """Jobs of this symptom that chance would put on so few nodes in so short a time."""
    sentence: str
    """All of it in words."""


class FleetContext(PageContext):
    """The page of the fleet."""

    filters: FleetFilters
    """What was asked for."""
    clusters: tuple[str, ...]
    """Clusters with verdicts, sorted."""
    refused: bool
    """True when the store cannot answer this; ``notices`` say why and everything is empty."""
    since: str
    """Begin of the window."""
    until: str
    """End of the window."""
    verdicts: int
    """Verdicts of the window: the latest of each attempt."""
    failures: int
    """Those that are failures: sub-domain other than ``none``."""
    offenders: tuple[Offender, ...]
    """Most certain first, at most 50."""
    cohorts: tuple[Cohort, ...]
    """Newest first, at most 50."""
    sub_domains: tuple[SubDomainWeight, ...]
    """By falling number of failures."""
    mean_times: tuple[MeanTime, ...]
    """All clusters together first."""
    gpus_per_node: int
    """GPUs a node, assumed where the job does not say."""
    method: tuple[str, ...]
    """How the page decides, one sentence each."""
