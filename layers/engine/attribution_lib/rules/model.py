"""What a rule is, once loaded: frozen values that the engine executes."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- read at run time: kept rules are decoded into these classes
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from attribution_lib.events.event import EventType
from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.taxonomy import Outcome  # noqa: TC001 -- likewise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attribution_lib.job.model import JobIdentity
    from attribution_lib.rules.cascade import Cascade
    from attribution_lib.rules.contexts import CollectorContext, FilterContext, RefinerContext
    from attribution_lib.rules.emission import Emitter

__all__ = [
    "EMIT_TYPES",
    "AccumulatorRule",
    "CatalogTable",
    "CollectorRule",
    "Emission",
    "Emit",
    "FilterPriority",
    "FilterRule",
    "Location",
    "MetricRule",
    "Provenance",
    "Reduce",
    "RefinerPriority",
    "RefinerRule",
    "RuleStatus",
    "Scope",
    "SymptomDef",
    "TextRule",
]

EMIT_TYPES: dict[str, EventType] = {
    "bad_node": EventType.BAD_NODE,
    "interesting_node": EventType.INTERESTING_NODE,
    "bad_peers": EventType.BAD_PEERS,
    "info": EventType.JOB_INFO,
    "mapping": EventType.MAPPING,
    "boot": EventType.BOOT,
    "stop": EventType.JOB_STOP,
}
"""``emit.type`` of a rule file → event type."""


class RuleStatus(StrEnum):
    """Staged rules run and are counted but decide nothing; deprecated rules are loaded but do not run."""

    STAGED = "staged"
    STABLE = "stable"
    DEPRECATED = "deprecated"


class Scope(StrEnum):
    """What a symptom is a property of."""

    NODE = "node"
    DEVICE = "device"
    JOB = "job"


class FilterPriority(IntEnum):
    """Strata of phase 2; ``priority + n`` orders rules within one."""

    EARLY = 0
    MID = 1000
    STANDARD = 2000
    LATE = 3000


class RefinerPriority(IntEnum):
    """Sub-phases of phase 3: SCRUB sees one node, FINAL the job, POST_OUTCOME the chosen outcome."""

    SCRUB = 0
    FINAL = 1000
    POST_OUTCOME = 2000


class Reduce(StrEnum):
    """How a metric rule turns a series into one number."""

    LAST = "last"
    MAX = "max"
    MIN = "min"
    INCREASE = "increase"
    CHANGES = "changes"
    TURNS = "turns"
    """Fulfils the predicate after a sample that did not."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a rule stands, with a path relative to the rules folder's parent: ``rules/xid.toml:41``."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What every rule carries, whatever its type."""

    name: str
    author: str
    location: Location
    definition: str = ""
    """The family or catalog a rule was expanded from; the rule's own name otherwise."""
    status: RuleStatus = RuleStatus.STABLE
    version: int = 1
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SymptomDef:
    """A registered name for one recognised kind of evidence. Ranks are explained in the rule author's guide."""

    name: str
    outcome: Outcome
    rank: int
    scope: Scope
    location: Location
    root: bool = True
    teardown: bool = False
    docs: str = ""
    aliases: tuple[str, ...] = ()
    code: int | None = None
    """The vendor's code where the symptom is one row of a catalogue (XID, SXid)."""
    family: str = ""
    """``XID`` or ``SXID`` for catalogue symptoms: lets rules match codes with ``xid(48, 63)``."""
    action: str = ""
    """The vendor's recommended action, in the vendor's word."""


@dataclass(frozen=True, slots=True)
class Emit:
    """The shape of the events a rule produces; in its strings ``{capture}`` and ``{member key}`` are replaced."""

    type: str
    symptom: str = ""
    node: str = ""
    rank: str = ""
    peer: str = ""
    device: str = ""
    payload: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """The rows of a catalogue, by the tuple of key captures (integers written in decimal without leading zeros)."""

    keys: tuple[str, ...]
    rows: Mapping[tuple[str, ...], Mapping[str, str]]
    default: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TextRule:
    """An individual, family-expanded or catalog extractor over text lines."""

    provenance: Provenance
    match_re: str
    emit: Emit
    sources: tuple[Source, ...] = TEXT_SOURCES
    engine: str = "re2"
    engine_reason: str = ""
    key: tuple[str, ...] = ()
    fold: str = ""
    demotable_by: tuple[str, ...] = ()
    catalog: CatalogTable | None = None
    decode: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None
    emitter: Emitter | None = field(default=None, compare=False, repr=False)
    """The compiled form of ``emit`` and ``catalog``, put in by the loader (see ``emission``)."""

    @property
    def name(self) -> str:
        """The unique rule name."""
        return self.provenance.name


@dataclass(frozen=True, slots=True)
class MetricRule:
    """A threshold over one metric; evaluated at attribution on the union of all series summaries."""

    provenance: Provenance
    metric: str
    reduce: Reduce
    op: str
    value: float
    emit: Emit
    window_seconds: int | None = None
    for_models: tuple[str, ...] = ()
    catalog: CatalogTable | None = None
    """With a catalogue the reduced value (or the label ``code_label``) is the code to look up."""
    code_label: str = ""
    demotable_by: tuple[str, ...] = ()
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Which series it reads: each label must fit one of its shell patterns. Empty: all of the metric."""
    emitter: Emitter | None = field(default=None, compare=False, repr=False)
    """The compiled form of ``emit`` and ``catalog``, put in by the loader (see ``emission``)."""

    @property
    def name(self) -> str:
        """The unique rule name."""
        return self.provenance.name


@dataclass(frozen=True, slots=True)
class Emission:
    """What an accumulator's ``finalize`` yields for one event; empty strings mean "from the trigger line"."""

    type: str
    symptom: str = ""
    node: str = ""
    rank: int | None = None
    peer: str = ""
    device: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    line_index: int = 0
    """Which of the fed lines (0 = the trigger) is the evidence."""


class Accumulator(Protocol):
    """A small state machine over following lines; see ``accumulator_def``.

    One that knows its last line when it sees it may set an attribute ``complete`` to True: it is fed no more.
    """

    def feed(self, line: str) -> bool:
        """Take one more line body (prefix removed); False opts out (the line is not consumed)."""
        ...

    def finalize(self, *, truncated: bool) -> Iterable[Emission]:
        """The events of what was seen; called exactly once."""
        ...


@dataclass(frozen=True, slots=True)
class AccumulatorRule:
    """A multi-line extractor: ``trigger_re`` starts it, ``factory(job, captures, line)`` makes its state."""

    provenance: Provenance
    trigger_re: str
    factory: Callable[[JobIdentity, Mapping[str, str], str], Accumulator]
    sources: tuple[Source, ...] = TEXT_SOURCES
    key: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    """What it may emit, as far as the author says."""
    last_resort: bool = False
    """Started only by lines of which no other rule of any kind reads anything."""
    docs: str = ""

    @property
    def name(self) -> str:
        """The unique rule name."""
        return self.provenance.name


@dataclass(frozen=True, slots=True)
class FilterRule:
    """A phase-2 rule: may demote, discard and emit derived events."""

    provenance: Provenance
    priority: int
    apply: Callable[[FilterContext], None]
    docs: str = ""


@dataclass(frozen=True, slots=True)
class RefinerRule:
    """A phase-3 rule. ``symptoms`` index it: it is called only where one of them is present (empty: always)."""

    provenance: Provenance
    priority: int
    apply: Callable[[RefinerContext], None]
    symptoms: frozenset[str] = frozenset()
    docs: str = ""
    relation: Cascade | None = None
    """The declared relation when the refiner is a cascade."""


@dataclass(frozen=True, slots=True)
class CollectorRule:
    """A phase-4 rule: returns a dictionary for ``verdict.collections`` and changes nothing."""

    provenance: Provenance
    apply: Callable[[CollectorContext], Mapping[str, Any]]
    docs: str = ""
