"""What a torture run knows to be true: who sent what when, what was acknowledged, and what a verdict may say."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

LINES = 3
"""Lines of every batch; each names the batch."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One content under one id. ``mark`` is in each of its lines and differs between contents."""

    observation_id: str
    mark: str


@dataclass(slots=True)
class Call:
    """One delivery of a batch: begun in phase ``first``, answered in phase ``last``."""

    batch: Batch
    first: int
    last: int | None = None
    answer: str = ""
    """created, duplicate, conflict, gone, crash."""
    receipt: Mapping[str, Any] | None = None

    @property
    def epoch(self) -> int | None:
        """The one generation that it certainly met; None when the session was replaced meanwhile."""
        return self.first if self.last == self.first and self.first % 2 == 0 else None

    def may_have_met(self, epoch: int) -> bool:
        """Whether its delivery can have reached this generation; while one is replaced either may answer."""
        first = self.first - self.first % 2
        last = None if self.last is None else self.last + self.last % 2
        return first <= epoch and (last is None or last >= epoch)


@dataclass(slots=True)
class SessionLedger:
    """One session id. Its phase is even while a generation is certainly open, odd while it is being replaced."""

    phase: int = -1
    calls: list[Call] = field(default_factory=list)
    by_mark: defaultdict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    acknowledged: defaultdict[int, set[Batch]] = field(default_factory=lambda: defaultdict(set))
    told: dict[int, int] = field(default_factory=dict)
    """The last change of the job that was acknowledged, by generation."""


class Ledger:
    """All sessions; every violation of a promise is noted in ``violations``."""

    def __init__(self, sessions: int) -> None:
        self.sessions = [SessionLedger() for _ in range(sessions)]
        self.violations: list[str] = []
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.tags: dict[str, tuple[int, int]] = {}
        """(session, generation) that a verdict's tag came from, where that is certain."""
        self._lock = Lock()

    def violated(self, what: str) -> None:
        """Note a broken promise."""
        with self._lock:
            self.violations.append(what)

    def step(self, session: int) -> int:
        """Go to the next phase."""
        with self._lock:
            self.sessions[session].phase += 1
            return self.sessions[session].phase

    def phase(self, session: int) -> int:
        """The phase now."""
        with self._lock:
            return self.sessions[session].phase

    def begin(self, session: int, batch: Batch) -> Call:
        """A delivery begins."""
        with self._lock:
            book = self.sessions[session]
            call = Call(batch, book.phase)
            book.calls.append(call)
            book.by_mark[batch.mark].append(call)
            return call

    def end(self, session: int, call: Call, answer: str, receipt: Mapping[str, Any] | None = None) -> None:
        """A delivery was answered."""
        with self._lock:
            book = self.sessions[session]
            call.last, call.answer, call.receipt = book.phase, answer, receipt
            self.counts[answer] += 1
            if call.epoch is None:
                return
            if answer in ("created", "duplicate"):
                book.acknowledged[call.epoch].add(call.batch)
            if answer == "gone":
                self.violations.append(f"404 while generation {call.epoch} was open: {call.batch}")

    def owed(self, session: int) -> tuple[int, set[Batch], int]:
        """(phase, batches that a verdict begun now must hold, change of the job that it must know)."""
        with self._lock:
            book = self.sessions[session]
            return book.phase, set(book.acknowledged[book.phase]), book.told.get(book.phase, 0)

    def told(self, session: int, epoch: int, change: int) -> None:
        """A change of the job was acknowledged."""
        with self._lock:
            self.sessions[session].told[epoch] = change

    def check_unmodified(self, session: int, epoch: int, etag: str) -> None:
        """A tag is good for the generation that it came from."""
        with self._lock:
            self.counts["unmodified"] += 1
            book = self.sessions[session]
            if epoch == book.phase and epoch % 2 == 0 and self.tags.get(etag, (session, epoch)) != (session, epoch):
                self.violations.append(f"{session}/{epoch}: not modified since {self.tags[etag]}")

    def check_verdict(
        self, session: int, owed: tuple[int, set[Batch], int], verdict: Mapping[str, Any], etag: str
    ) -> None:
        """Everything acknowledged is in it, whole and once; nothing of another generation is."""
        epoch, batches, change = owed
        with self._lock:
            self.counts["verdict"] += 1
            book = self.sessions[session]
            if epoch != book.phase or epoch % 2:
                return
            self.tags[etag] = (session, epoch)
            marks: dict[str, int] = verdict["collections"].get("marks", {})
            name = f"{session}/{epoch}"
            if verdict["job"]["name"] != f"epoch {epoch}":
                self.violations.append(f"{name}: the job of {verdict['job']['name']!r}")
            if int(verdict["job"]["reason"] or 0) < change:
                self.violations.append(f"{name}: knows change {verdict['job']['reason']} of the job, not {change}")
            for mark in {batch.mark for batch in batches} - marks.keys():
                self.violations.append(f"{name}: acknowledged batch {mark} is not in the verdict")
            for mark, lines in marks.items():
                if lines != LINES:
                    self.violations.append(f"{name}: batch {mark} counts {lines} lines")
                if not any(call.may_have_met(epoch) for call in book.by_mark.get(mark, [])):
                    self.violations.append(f"{name}: batch {mark} of another generation")
            if verdict["based_on"]["batches"] != len(marks):
                self.violations.append(f"{name}: based on {verdict['based_on']['batches']} batches, holds {len(marks)}")

    def check_answers(self) -> None:
        """At the end: who was told what, generation by generation."""
        for number, book in enumerate(self.sessions):
            groups: defaultdict[tuple[int, str], list[Call]] = defaultdict(list)
            unsure = {call.batch.observation_id for call in book.calls if call.epoch is None}
            for call in book.calls:
                if call.epoch is not None:
                    groups[call.epoch, call.batch.observation_id].append(call)
            for (epoch, observation_id), calls in groups.items():
                self._check_group(f"{number}/{epoch} {observation_id}", calls, sure=observation_id not in unsure)

    def _check_group(self, name: str, calls: list[Call], *, sure: bool) -> None:
        created = [call for call in calls if call.answer == "created"]
        if len(created) > 1:
            self.violations.append(f"{name}: 201 {len(created)} times")
        if sure and not created and not any(call.answer == "crash" for call in calls):
            self.violations.append(f"{name}: no 201 though nothing crashed")
        marks = {call.batch.mark for call in calls if call.answer in ("created", "duplicate")}
        if len(marks) > 1:
            self.violations.append(f"{name}: two contents were acknowledged: {sorted(marks)}")
        contents = {call.batch.mark for call in calls}
        for call in calls:
            if call.answer == "duplicate" and created and call.receipt != created[0].receipt:
                self.violations.append(f"{name}: duplicate without the first receipt")
            if call.answer == "conflict" and ((sure and len(contents) == 1) or call.batch.mark in marks):
                self.violations.append(f"{name}: {call.batch.mark} in conflict with itself")
