"""Several collectors at once for one context: batches as they come, bounded in number, and nobody waits for ever."""

from __future__ import annotations

import logging
import queue
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.errors import BlueprintError
from attribution_lib.observation import ObservationFormat
from attribution_service.result import ConnectorReport, ConnectorStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attribution_blueprint.connectors.collector import Collector
    from attribution_blueprint.context import ExecutionContext
    from attribution_lib.observation import Observation

__all__ = ["Collecting", "Source"]

_log = logging.getLogger(__name__)
_IN_FLIGHT = 2
_TICK = 0.1
_GRACE = 1.0
"""A collector that watches its budget ends by itself first, with a better reason."""


@dataclass(frozen=True, slots=True)
class Source:
    """One configured collector."""

    component: str
    instance: str
    collector: Collector
    seconds: float


@dataclass(slots=True)
class _Feed:
    """One collector at work in a thread of its own, which is left behind when it hangs."""

    source: Source
    budget: Budget
    count: int = 0
    lines: int = 0
    reason: str | None = None
    done: bool = False
    reading: bool = True
    """False while it waits for its batch to be taken: that is not its own time."""


_Item = tuple[_Feed, "Observation | None"]


@dataclass(slots=True)
class Collecting:
    """Iterate once for (source, observation) pairs, then read ``reports``."""

    sources: Sequence[Source]
    context: ExecutionContext
    stop: threading.Event
    _queue: queue.Queue[_Item] = field(default_factory=lambda: queue.Queue(_IN_FLIGHT))
    _feeds: list[_Feed] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[Source, Observation]]:
        self._feeds = [_Feed(source, Budget.of(source.seconds)) for source in self.sources]
        for feed in self._feeds:
            name = f"collect {feed.source.instance} {self.context.key}"
            threading.Thread(target=self._run, args=(feed,), name=name, daemon=True).start()
        try:
            while not all(feed.done for feed in self._feeds):
                if self.stop.is_set():
                    return
                yield from self._take()
        finally:
            for feed in self._feeds:
                feed.budget.stop.set()

    def _take(self) -> Iterator[tuple[Source, Observation]]:
        try:
            feed, observation = self._queue.get(timeout=_TICK)
        except queue.Empty:
            self._give_up()
            return
        if feed.done:  # given up meanwhile: its report says so
            return
        if observation is None:
            feed.done = True
            return
        feed.count += 1
        feed.lines += _lines(observation)
        yield feed.source, observation

    def _give_up(self) -> None:
        """Leave behind who is beyond the end of its time."""
        now = time.monotonic()
        for feed in self._feeds:
            if not feed.done and feed.reading and now > feed.budget.deadline + _GRACE:
                feed.done = True
                feed.reason = f"hung: no answer within timeout_seconds = {feed.source.seconds:g}"
                feed.budget.stop.set()

    def _run(self, feed: _Feed) -> None:
        reason: str | None = None
        try:
            for observation in feed.source.collector.collect(self.context, feed.budget):
                if observation.source is not feed.source.collector.source:
                    reason = f"brought {observation.source.value}; its source is {feed.source.collector.source.value}"
                    break
                if not self._put(feed, observation):
                    return
        except BlueprintError as error:
            reason = str(error)
        # One instance that breaks must not cost the others' evidence; the report names it.
        except Exception as error:  # noqa: BLE001 -- see above
            _log.exception("%s: collector %s broke", self.context.key, feed.source.instance)
            reason = f"{type(error).__name__}: {error}"
        if not feed.done:
            feed.reason = reason
        self._put(feed, None)

    def _put(self, feed: _Feed, observation: Observation | None) -> bool:
        """Hand over; False when nobody wants it any more."""
        started = time.monotonic()
        feed.reading = False
        while not (feed.done or feed.budget.stop.is_set() or self.stop.is_set()):
            try:
                self._queue.put((feed, observation), timeout=_TICK)
            except queue.Full:
                continue
            feed.budget.extend(time.monotonic() - started)
            feed.reading = True
            return True
        return False

    @property
    def reports(self) -> list[ConnectorReport]:
        """One for each collector, in the order of their names."""
        return [_report(feed) for feed in self._feeds]


def _report(feed: _Feed) -> ConnectorReport:
    status = ConnectorStatus.OK if feed.count else ConnectorStatus.EMPTY
    if feed.reason is not None:
        status = ConnectorStatus.ERROR
    return ConnectorReport(
        connector=feed.source.component,
        instance=feed.source.instance,
        source=feed.source.collector.source.value,
        status=status,
        observation_count=feed.count,
        lines=feed.lines,
        reason=feed.reason,
    )


def _lines(observation: Observation) -> int:
    if observation.format is ObservationFormat.PROMETHEUS_MATRIX:
        return len(observation.series)
    if observation.format is ObservationFormat.JSON:
        return len(observation.entries.lines)
    text = observation.text
    return text.count(b"\n") + (1 if text and not text.endswith(b"\n") else 0)
