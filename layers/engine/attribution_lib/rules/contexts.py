"""What filters, refiners and collectors are given. Extractors get none of this: they cannot read the stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_lib.taxonomy import Confidence, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.events.event import Event, ExplainedBy
    from attribution_lib.events.stream import EventStream
    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.bad_events import BadEvents
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["CollectorContext", "FilterContext", "OutcomeChoice", "RefinerContext", "SymptomSet"]


class SymptomSet:
    """The symptoms of a set of bad events, with the ways to remove one."""

    def __init__(self, events: Iterable[Event], stream: EventStream) -> None:
        self._events = events
        self._stream = stream

    def _active(self) -> Iterable[Event]:
        return (event for event in self._events if event.state == "active" and event.symptom is not None)

    def symptoms(self) -> list[str]:
        """The names still present, sorted."""
        return sorted({event.symptom for event in self._active() if event.symptom is not None})

    def events(self, symptoms: Iterable[str] | None = None) -> list[Event]:
        """The active bad events of these symptoms (of all when None), in order."""
        wanted = None if symptoms is None else frozenset(symptoms)
        return [event for event in self._active() if wanted is None or event.symptom in wanted]

    def discard(self, symptom: str, *, by: str, explained_by: Event | ExplainedBy | None = None) -> None:
        """Discard every event of a symptom in this set; node symptoms follow (back-propagation)."""
        for event in self.events([symptom]):
            self._stream.discard(event, by=by, explained_by=explained_by)

    def demote(self, symptom: str, *, by: str, explained_by: Event | ExplainedBy | None = None) -> None:
        """Demote every event of a symptom in this set to interesting."""
        for event in self.events([symptom]):
            self._stream.demote(event, by=by, explained_by=explained_by)


@dataclass(frozen=True, slots=True)
class FilterContext:
    """Phase 2: the whole stream, the job and the symptom registry."""

    event_stream: EventStream
    job: JobInfo
    registry: GeneratedSymptomRegistry


_SURE = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)


@dataclass(slots=True)
class OutcomeChoice:
    """The decision as it stands; POST_OUTCOME rules may add alternatives and notes and lower confidence."""

    outcome: Outcome
    confidence: Confidence
    root: Event | None
    alternatives: list[Event] = field(default_factory=list)
    """Surviving contenders that did not win, best first."""
    alternative_reasons: dict[str, str] = field(default_factory=dict)
    """{symptom: why it is an alternative}."""
    notes: list[str] = field(default_factory=list)
    suspects: list[str] = field(default_factory=list)
    """Nodes that the refiner which chose the root names as bad, on top of those that bear the root symptom."""
    suspect_reason: str = ""
    outcome_reason: str = ""
    confidence_reason: str = ""
    """Why the confidence is not high, in a few words; a rule that lowers it says so here."""
    wanted: list[str] = field(default_factory=list)
    """Sources that a rule asks for although the verdict stands; an undecided verdict asks for all."""

    def lower(self, confidence: Confidence, reason: str) -> None:
        """Be no surer than ``confidence``, saying why; what is less sure already stays as it is."""
        if _SURE.index(confidence) > _SURE.index(self.confidence):
            self.confidence, self.confidence_reason = confidence, reason


@dataclass(slots=True)
class RefinerContext:
    """Phase 3. ``node`` None is the group of unplaced events in SCRUB and the whole job in FINAL and POST_OUTCOME."""

    event_stream: EventStream
    job: JobInfo
    registry: GeneratedSymptomRegistry
    my_bad_nodes: BadEvents
    """The active bad events in view, in order: one node's in SCRUB (a cascade's: all of them), the job's from FINAL."""
    node: str | None = None
    symptoms: SymptomSet | None = None
    choice: OutcomeChoice | None = None
    """Set from POST_OUTCOME on."""

    @property
    def outcome(self) -> Outcome | None:
        """The chosen outcome; None before POST_OUTCOME."""
        return None if self.choice is None else self.choice.outcome

    def set_outcome(self, outcome: Outcome | str, reason: str) -> None:
        """Change the outcome, saying why; only from POST_OUTCOME on."""
        if self.choice is None:
            msg = "set_outcome is for POST_OUTCOME refiners: no outcome has been chosen yet"
            raise RuntimeError(msg)
        self.choice.outcome = Outcome(outcome)
        self.choice.outcome_reason = reason


@dataclass(frozen=True, slots=True)
class CollectorContext:
    """Phase 4: read only."""

    event_stream: EventStream
    job: JobInfo
