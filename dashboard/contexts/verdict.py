"""The page of one verdict: which node, why, how sure, what next; then everything that the verdict stands on."""

from __future__ import annotations

from attribution_lib.taxonomy import Confidence, Outcome, SubDomain, TerminalState
from attribution_lib.verdict import SymptomState
from dashboard.contexts.chain import ChainPicture
from dashboard.contexts.coverage import Coverage, DiagnosticEntry, Versions
from dashboard.contexts.feedback import FeedbackEntry
from dashboard.contexts.job import JobFacts, RunFacts
from dashboard.contexts.model import Context, Fact, PageContext
from dashboard.contexts.pairs import PairMatrix

__all__ = [
    "AlternativeCause",
    "BlamedNode",
    "DecidingEvidence",
    "Detail",
    "Headline",
    "NumberedLine",
    "RootLine",
    "SymptomEntry",
    "VerdictContext",
]


class Headline(Context):
    """The answer in four sentences, for somebody who was just woken up."""

    what: str
    """What failed and where."""
    owner: str
    """Whose problem it is."""
    certainty: str
    """How sure this is, and what it rests on."""
    next_step: str
    """What to do next."""
    terminal_state: TerminalState
    """How the job ended."""
    sub_domain: SubDomain
    """Whose problem it is, as a key."""
    outcome: Outcome
    """The category of the failure."""
    confidence: Confidence
    """How sure, as a key."""


class NumberedLine(Context):
    """A line of a log."""

    number: int | None
    """Its number in its file; null when unknown."""
    text: str
    """As written, masked secrets aside; hostile."""


class RootLine(Context):
    """The line that decided, in its file context, and the rule that read it."""

    symptom: str
    """The root symptom."""
    rule: str
    """The rule's name: the key of its page."""
    rule_known: bool
    """Whether the running rules have a rule of that name, so that a link leads somewhere."""
    rule_location: str
    """Where the rule stands (``rules/xid.toml:14``); may be empty."""
    node: str
    """Where it happened; empty when the line does not say."""
    rank: int | None
    """The rank that it speaks of."""
    device: str
    """The device that it speaks of (a PCI address, an HCA); empty when none."""
    timestamp: str
    """When; empty when the line has no time."""
    time_note: str
    """Why it has none, or after which line it stands, as half a sentence; may be empty."""
    source: str
    """Kind of evidence."""
    stream: str
    """The file or stream."""
    line: NumberedLine
    """The line itself."""
    before: tuple[NumberedLine, ...]
    """Up to five lines before it."""
    after: tuple[NumberedLine, ...]
    """Up to five lines after it."""
    context_note: str
    """Why there are no lines around it, as a sentence; empty when there are some."""
    recommended_action: str
    """The vendor's word; empty when there is none."""
    docs: str
    """What the symptom means and what to do."""
    payload: tuple[Fact, ...]
    """What the rule read from the line."""


class BlamedNode(Context):
    """A node to inspect, or one to know about."""

    node: str
    """Its name."""
    why: str
    """The reason."""
    symptoms: tuple[str, ...]
    """What was seen there."""
    occurrences: int
    """How often."""
    first_seen: str
    """Empty when unknown."""
    last_seen: str
    """Empty when unknown."""
    failures_30_days: int | None
    """Failures of 30 days that blamed it, this one included or not as the run found it; null when not looked up."""


class SymptomEntry(Context):
    """A row of the table of symptoms."""

    symptom: str
    """Its name."""
    source: str
    """Kind of evidence it was read from."""
    state: SymptomState
    """``root``, ``remaining``, ``demoted`` or ``discarded``."""
    occurrences: int
    """Lines, over all nodes."""
    nodes: int
    """How many nodes showed it."""
    node_list: str
    """Their names, folded (``node-[0001-0032]``); of more than 32 the first ones."""
    ranks: int
    """How many ranks showed it."""
    first_seen: str
    """Empty when untimed."""
    last_seen: str
    """Empty when untimed."""
    rule: str
    """The rule that read it."""
    changed_by: str
    """The rule that discarded or demoted it; empty when none did."""
    explained_by: str
    """The symptom that explains it; empty when none does."""
    reason: str
    """What became of it and why, as a sentence."""


class AlternativeCause(Context):
    """A cause that the evidence also fits."""

    symptom: str
    """Its symptom."""
    outcome: Outcome
    """Its outcome."""
    sub_domain: SubDomain
    """Whose problem it would be."""
    why: str
    """Why it did not win."""
    evidence: str
    """Its line."""


class DecidingEvidence(Context):
    """Evidence that would decide, were it there."""

    source: str
    """Kind of evidence."""
    node: str
    """Of which node; empty for all."""
    since: str
    """From when on; empty for the whole job."""
    until: str
    """To when; empty for the whole job."""
    why: str
    """What it would decide."""


class Detail(Context):
    """What a collector rule found beside the verdict."""

    name: str
    """The collector's name."""
    text: str
    """Its result as indented JSON, cut at 8,000 characters."""


class VerdictContext(PageContext):
    """The page of one verdict. The raw JSON is a route of its own and not part of it."""

    job: JobFacts
    """The job."""
    run: RunFacts
    """The run."""
    headline: Headline
    """The answer."""
    root: RootLine | None
    """The line that decided; null when none did."""
    bad_nodes: tuple[BlamedNode, ...]
    """Nodes to inspect, at most 100."""
    bad_nodes_total: int
    """How many there are."""
    interesting_nodes: tuple[BlamedNode, ...]
    """Nodes to know about, at most 20."""
    chain: ChainPicture
    """The picture."""
    symptoms: tuple[SymptomEntry, ...]
    """In the order of first sight, at most 200."""
    symptoms_total: int
    """How many there are."""
    alternatives: tuple[AlternativeCause, ...]
    """Other causes."""
    needed_evidence: tuple[DecidingEvidence, ...]
    """What would decide."""
    coverage: Coverage
    """What was read."""
    pairs: PairMatrix | None
    """Pairs of hosts that lost each other; null when there are none."""
    details: tuple[Detail, ...]
    """Whatever other collectors found."""
    notes: tuple[str, ...]
    """Remarks of the engine."""
    diagnostics: tuple[DiagnosticEntry, ...]
    """Rules that crashed and the like."""
    versions: Versions
    """What decided."""
    feedback: tuple[FeedbackEntry, ...]
    """Judgements on this attempt, newest first."""
    feedback_open: bool
    """Whether a judgement can be given here."""
    markdown: str
    """The verdict as Markdown for a ticket; log text in it is fenced or escaped."""
