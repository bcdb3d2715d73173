"""Judgements on verdicts: shown beside them, summed up a rule, and exported as labelled cases."""

from __future__ import annotations

from attribution_service.model import FeedbackJudgement
from dashboard.contexts.model import Context, PageContext

__all__ = ["Agreement", "FeedbackContext", "FeedbackEntry", "FeedbackFilters", "LabelledCase", "RuleAgreement"]


class Agreement(Context):
    """How often people agreed."""

    right: int
    """Judgements that say right."""
    partly: int
    """Judgements that say partly."""
    wrong: int
    """Judgements that say wrong."""
    share: float | None
    """(right + partly / 2) / all; null without judgements."""


class FeedbackEntry(Context):
    """One judgement."""

    feedback_id: str
    """Its id."""
    cluster: str
    """With ``job_id``, ``attempt`` and ``run_id`` the verdict that it judges."""
    job_id: str
    """Id of the job."""
    attempt: int
    """0 for the first."""
    run_id: str
    """The run."""
    at: str
    """When it was given."""
    judgement: FeedbackJudgement
    """``right``, ``partly`` or ``wrong``."""
    outcome: str
    """What would have been right; empty when not said."""
    node: str
    """Which node it was; empty when not said."""
    comment: str
    """In the author's words; hostile."""
    author: str
    """Who says so; may be empty."""


class RuleAgreement(Context):
    """Agreement with the verdicts that one rule decided."""

    rule: str
    """The rule; empty for verdicts without a root."""
    agreement: Agreement
    """The counts."""


class FeedbackFilters(Context):
    """What was asked for. Names are those of the query string."""

    cluster: str = ""
    """One cluster; empty for all."""
    judgement: str = ""
    """One of ``right``, ``partly``, ``wrong``; empty for all."""


class LabelledCase(Context):
    """A judged verdict as a case folder: evidence is not in it, see ``note``."""

    slug: str
    """Name of the folder."""
    job_toml: str
    """What the scheduler knew."""
    expected_toml: str
    """The right verdict, as the judgement says, and why."""
    note: str
    """What is missing before the case can be replayed."""


class FeedbackContext(PageContext):
    """The page of judgements and their export."""

    filters: FeedbackFilters
    """What was asked for."""
    clusters: tuple[str, ...]
    """Clusters with verdicts, sorted."""
    entries: tuple[FeedbackEntry, ...]
    """Newest first, at most 500."""
    total: int
    """How many judgements the filters pass."""
    agreement: Agreement
    """Over all of them."""
    by_rule: tuple[RuleAgreement, ...]
    """A rule each, least agreement first."""
    cases: tuple[LabelledCase, ...]
    """One an attempt with judgements, by its newest one; at most 500."""
