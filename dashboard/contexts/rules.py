"""The pages of the rules: a searchable list with what they did in stored verdicts, and one rule."""

from __future__ import annotations

from attribution_lib.taxonomy import Outcome, SubDomain
from dashboard.contexts.feedback import Agreement, FeedbackEntry
from dashboard.contexts.model import Context, Fact, PageContext
from dashboard.contexts.runs import RunRow

__all__ = ["CascadeLink", "RuleContext", "RuleRow", "RulesContext", "RulesFilters", "SymptomCard"]


class RulesFilters(Context):
    """What was searched for. Names are those of the query string."""

    text: str = ""
    """Words that name, symptoms, documentation, kind or location contain, all of them."""
    kind: str = ""
    """One kind of rule."""
    sub_domain: str = ""
    """Rules with a symptom of this sub-domain."""
    used: bool = False
    """Only rules with hits in stored verdicts."""


class RuleRow(Context):
    """One rule in the list."""

    name: str
    """Its name: the key of its page."""
    kind: str
    """``extractor``, ``catalog``, ``family``, ``metric extractor``, ``accumulator``, ``filter``, ``cascade``, …"""
    status: str
    """``stable``, ``staged`` or ``deprecated``."""
    location: str
    """Where it stands."""
    sources: tuple[str, ...]
    """The kinds of evidence that it reads."""
    symptoms: tuple[str, ...]
    """What it emits or acts on, at most 12."""
    symptoms_total: int
    """How many these are."""
    rank: int | None
    """Highest rank of its symptoms: a higher one is a more specific cause; null without symptoms."""
    decided: int
    """Stored verdicts whose root it read."""
    seen: int
    """Stored verdicts in which it read, discarded or demoted a symptom."""
    agreement: Agreement
    """Judgements on the verdicts that it decided."""


class RulesContext(PageContext):
    """The list."""

    filters: RulesFilters
    """What was asked for."""
    kinds: tuple[str, ...]
    """All kinds there are."""
    rules_digest: str
    """Digest of the running rules."""
    total: int
    """How many rules run."""
    matching: int
    """How many the filters pass."""
    rows: tuple[RuleRow, ...]
    """Most deciding first, then by name; at most ``limit``."""
    limit: int
    """Rows of a page."""
    offset: int
    """Rows before the first one shown."""
    hits_note: str
    """What the hits are counted over, as a sentence."""
    unknown_rules: tuple[Fact, ...]
    """Rules that stored verdicts name and that do not run any more, with the verdicts they decided."""


class SymptomCard(Context):
    """One symptom of a rule."""

    name: str
    """Its name."""
    outcome: Outcome
    """What it stands for."""
    sub_domain: SubDomain
    """Whose problem that is."""
    rank: int
    """How specific a cause."""
    scope: str
    """What it is a property of: a node, a device, the job."""
    root: bool
    """Whether it can be a root."""
    teardown: bool
    """Whether every ending shows it."""
    docs: str
    """What it means and what to do."""
    action: str
    """The vendor's word; empty when there is none."""


class CascadeLink(Context):
    """A rule by which symptoms explain others."""

    rule: str
    """The cascade's name: the key of its page."""
    cause: str
    """The symptoms that explain: the first three and how many more."""
    consequence: str
    """The symptoms that are explained, likewise."""
    scope: str
    """How far a cause reaches: the same ``device``, ``rank`` or ``node``, or the whole ``job``."""
    docs: str
    """Why."""


class RuleContext(PageContext):
    """One rule."""

    rule: RuleRow
    """The row of the list."""
    docs: str
    """What its author says of it."""
    author: str
    """Who wrote it."""
    definition: tuple[Fact, ...]
    """Its pattern, thresholds and the like."""
    symptoms: tuple[SymptomCard, ...]
    """What it emits or acts on, at most 100, by falling rank."""
    cascades_in: tuple[CascadeLink, ...]
    """What explains its symptoms, at most 100."""
    cascades_out: tuple[CascadeLink, ...]
    """What its symptoms explain, at most 100."""
    cascades_total: int
    """How many cascades touch it."""
    verdicts: tuple[RunRow, ...]
    """The latest verdicts that it decided, at most 20."""
    feedback: tuple[FeedbackEntry, ...]
    """Judgements on verdicts that it decided, newest first, at most 50."""
