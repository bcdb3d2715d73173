"""One attribution with a picture of the event stream after each phase: what a walkthrough shows.

Pure like the phases themselves: it runs them once more and copies what they leave behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_lib.attributor import Attributor
    from attribution_lib.events.event import Event
    from attribution_lib.events.stream import EventStream
    from attribution_lib.phases.stages import Stage
    from attribution_lib.verdict import Verdict

__all__ = ["Snapshot", "Trace", "TracedEvent", "trace"]


@dataclass(frozen=True, slots=True)
class TracedEvent:
    """An event as it stood after a phase; ``number`` is the same through all phases."""

    number: int
    event: Event
    """A copy; the phases go on with the original."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The stream after one phase, in the stream's order."""

    stage: Stage
    events: tuple[TracedEvent, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Snapshots in the order of the phases, and the verdict they ended in."""

    snapshots: tuple[Snapshot, ...]
    verdict: Verdict


@dataclass(slots=True)
class _Recorder:
    """Copies the stream when it is called; originals are kept so that their identities stay theirs."""

    numbers: dict[int, int] = field(default_factory=dict)
    originals: list[Event] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)

    def __call__(self, stage: Stage, stream: EventStream) -> None:
        self.snapshots.append(Snapshot(stage, tuple(self._traced(event) for event in stream)))

    def _traced(self, event: Event) -> TracedEvent:
        if id(event) not in self.numbers:
            self.numbers[id(event)] = len(self.originals)
            self.originals.append(event)
        return TracedEvent(self.numbers[id(event)], replace(event, times=dict(event.times)))


def trace(attributor: Attributor) -> Trace:
    """Attribute what was ingested and keep what each phase left; the verdict is the one ``attribute()`` gives."""
    recorder = _Recorder()
    verdict, _ = attributor.attribute_with_stream(recorder)
    return Trace(tuple(recorder.snapshots), verdict)
