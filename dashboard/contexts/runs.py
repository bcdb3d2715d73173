"""The page of runs: the newest verdict of each attempt, filtered, counted and paged."""

from __future__ import annotations

from attribution_lib.taxonomy import Confidence, Outcome, SubDomain, TerminalState
from attribution_service.result import EvidenceStatus
from dashboard.contexts.model import Context, PageContext

__all__ = ["CountBar", "CountSeries", "FilterChoices", "RunRow", "RunsContext", "RunsFilters"]


class RunsFilters(Context):
    """The filters in force; an empty text is no filter. Names are those of the query string."""

    cluster: str = ""
    """One cluster."""
    day: str = ""
    """One UTC day, ``2026-06-01``."""
    since: str = ""
    """From this instant on (RFC 3339 or a day), by the time of attribution."""
    until: str = ""
    """Before this instant (RFC 3339; a day is meant as a whole)."""
    sub_domain: str = ""
    """One of the sub-domains."""
    outcome: str = ""
    """One of the outcomes."""
    node: str = ""
    """A node that the verdict blames, by its whole name."""
    user: str = ""
    """The user who owned the job, by the whole name."""
    text: str = ""
    """Words that job id, job name, user, symptom, root line or a bad node contain, all of them, in any order."""


class FilterChoices(Context):
    """What the form may offer."""

    clusters: tuple[str, ...]
    """Clusters with verdicts, sorted."""
    sub_domains: tuple[SubDomain, ...]
    """All of them."""
    outcomes: tuple[Outcome, ...]
    """All of them."""
    user: bool
    """Whether this store can filter by user."""
    text: bool
    """Whether this store can search free text."""
    requirement: str
    """What this store asks for before it lists anything, as a sentence; empty when it lists everything."""


class RunRow(Context):
    """One verdict in a listing."""

    cluster: str
    """With ``job_id`` and ``attempt`` the key of the verdict's page."""
    job_id: str
    """The scheduler's id of the job."""
    attempt: int
    """0 for the first."""
    run_id: str
    """The run that this verdict is of: the latest of this attempt."""
    attributed_at: str
    """When the verdict was made."""
    job_name: str
    """As submitted; may be empty."""
    user: str
    """Whose job; may be empty."""
    nodes: int
    """How many nodes the job had; 0 when unknown."""
    headline: str
    """What failed, in words a person would use."""
    terminal_state: TerminalState
    """How the job ended."""
    sub_domain: SubDomain
    """Whose problem it is."""
    outcome: Outcome
    """The category of the failure."""
    confidence: Confidence
    """How sure the verdict is."""
    evidence_status: EvidenceStatus
    """Whether all evidence was read."""
    symptom: str
    """The root symptom; empty when there is none."""
    rule: str
    """The rule that decided; empty when there is none."""
    evidence: str
    """The line that decided, at most 300 characters of it."""
    bad_nodes: tuple[str, ...]
    """The first blamed nodes."""
    bad_nodes_total: int
    """How many nodes are blamed."""


class CountBar(Context):
    """The verdicts of one bucket of time."""

    start: str
    """When the bucket begins: a day (``2026-06-01``) or an hour (``2026-06-01T03``)."""
    total: int
    """All verdicts of the bucket."""
    counts: tuple[int, ...]
    """One a sub-domain, in the order of ``CountSeries.sub_domains``."""


class CountSeries(Context):
    """Verdicts by sub-domain over time, under the same filters as the listing."""

    bucket: str
    """``hour`` or ``day`` or ``week``: so that there are at most 120 bars."""
    sub_domains: tuple[SubDomain, ...]
    """The order of the counts within a bar; all six, always."""
    totals: tuple[int, ...]
    """One a sub-domain over all bars."""
    bars: tuple[CountBar, ...]
    """Oldest first and without gaps: an empty bucket is there with zeros."""
    note: str
    """What the counts leave out, as a sentence; empty when they are of everything that the filters pass."""


class RunsContext(PageContext):
    """The page of runs."""

    filters: RunsFilters
    """What was asked for."""
    choices: FilterChoices
    """What could be asked for."""
    refused: bool
    """True when the store cannot answer these filters; ``notices`` say why and ``rows`` is empty."""
    rows: tuple[RunRow, ...]
    """Newest first."""
    limit: int
    """Rows asked for."""
    cursor: str
    """For the next page, with the same filters; empty on the last page."""
    first_page: bool
    """Whether this is the newest page."""
    total: int | None
    """How many verdicts the filters pass; null when the store cannot count them cheaply."""
    counts: CountSeries | None
    """By sub-domain over time; null when refused."""
