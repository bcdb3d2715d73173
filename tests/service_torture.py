"""Torture of the commit protocol: ingesters, attributors and somebody who replaces sessions, all at once, with crashes.

    python tests/service_torture.py --operations 200000 --seed 7

runs longer than the test does. Every promise of the service is checked against ``torture_ledger``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from dataclasses import dataclass
from random import Random
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from attribution_service.attribute import attribute
from attribution_service.errors import (
    DuplicateObservationError,
    DuplicateSessionError,
    NotFoundError,
    ObservationConflictError,
)
from attribution_service.ingest import ingest
from attribution_service.model import AttributionStatus, OpenRequest
from attribution_service.service import EVERYTHING, Service
from attribution_service.sessions import delete_session, open_session, update_job
from attribution_service.settings import Settings
from attribution_service.stores.crashing import CrashPlan, InjectedCrashError, crashing_store
from torture_ledger import LINES, Batch, Ledger
from torture_rules import marking_engine

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_service.ports import Store

TTL = 3600
TRIES = 12


@dataclass(frozen=True, slots=True)
class Plan:
    """How hard and how long: deliveries and verdicts together are the operations."""

    operations: int = 10_000
    sessions: int = 3
    ingesters: int = 8
    attributors: int = 4
    crash: float = 0.02
    replace_every: int = 150
    """Operations on a session between two replacements of it."""
    seed: int = 0


class Torture:
    """One run over one store."""

    def __init__(self, store: Store, folder: Path, plan: Plan, within: CrashPlan | None = None) -> None:
        """``within``: the plan of crashes inside of the store's own commits, if it has such."""
        self.plan = plan
        self.within = within
        self.ledger = Ledger(plan.sessions)
        self.crashes = CrashPlan(plan.crash, plan.seed)
        self.rules = [marking_engine(folder / f"rules{version}", version) for version in (0, 1)]
        self.in_force = 0
        self.moved = 0
        self.services = [self._service(crashing_store(store, self.crashes), keep_raw=keep) for keep in (True, False)]
        self.calm = self._service(store, keep_raw=True)
        self.done = Event()
        self.operations = itertools.count()
        self.passed = 0
        self.sent: list[list[Batch]] = [[] for _ in range(plan.sessions)]
        self.etags: list[str] = []
        self.shared = itertools.count()

    def run(self) -> Ledger:
        """Everything, then a last look in peace."""
        for session in range(self.plan.sessions):
            self._replace(session, Random(self.plan.seed))  # noqa: S311 -- dice
        workers = [Thread(target=self._guard, args=(self._ingester, n)) for n in range(self.plan.ingesters)]
        others = [Thread(target=self._guard, args=(self._attributor, 100 + n)) for n in range(self.plan.attributors)]
        others.append(Thread(target=self._guard, args=(self._replacer, 1000)))
        for thread in workers + others:
            thread.start()
        for thread in workers:
            thread.join()
        self.done.set()
        for thread in others:
            thread.join()
        if self.within is not None:
            self.within.probability = 0.0
        for session in range(self.plan.sessions):
            self._check(self.calm, session)
        self.ledger.check_answers()
        return self.ledger

    def _service(self, store: Store, *, keep_raw: bool) -> Service:
        return Service(store, lambda: self.rules[self.in_force], self._clock, Settings(keep_raw=keep_raw))

    def _clock(self) -> float:
        return time.time() + self.moved

    def _guard(self, work: Any, number: int) -> None:
        """No worker ends silently."""
        try:
            work(Random(f"{self.plan.seed}/{number}"))  # noqa: S311 -- dice
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is a finding
            self.ledger.violated(f"{work.__name__}: {type(error).__name__}: {error}")
            self.done.set()

    def _ingester(self, dice: Random) -> None:
        while not self.done.is_set() and (at := next(self.operations)) < self.plan.operations:
            self.passed = at
            session = dice.randrange(self.plan.sessions)
            batch = self._batch(session, dice)
            self.sent[session].append(batch)
            for _ in range(TRIES):
                answer = self._send(session, batch, dice)
                if answer == "gone":
                    self.done.wait(0.005)  # there is nothing to do until somebody has opened it again
                if answer != "crash":
                    break

    def _batch(self, session: int, dice: Random) -> Batch:
        """A new batch, one that others send too, one of two contents under one id, or one that was sent before."""
        phase, number, roll = self.ledger.phase(session), next(self.shared), dice.random()
        if roll < 0.15 and self.sent[session]:
            return dice.choice(self.sent[session][-200:])
        if roll < 0.35:
            name = f"{session}.{phase}.shared{number // 12}"
            return Batch(name, name)
        if roll < 0.5:
            name = f"{session}.{phase}.torn{number // 12}"
            return Batch(name, f"{name}-{dice.choice('AB')}")
        name = f"{session}.{phase}.{number}"
        return Batch(name, name)

    def _send(self, session: int, batch: Batch, dice: Random) -> str:
        lines = [f"MARK batch={batch.mark}"] * LINES
        header = {"source": "applog", "format": "text", "stream": batch.mark, "observation_id": batch.observation_id}
        body = json.dumps({**header, "entry_timeseries": lines}).encode()
        call = self.ledger.begin(session, batch)
        receipt = None
        try:
            receipt = ingest(dice.choice(self.services), EVERYTHING, f"s{session}", body).model_dump()
            answer = "created"
        except DuplicateObservationError as error:
            answer, receipt = "duplicate", error.extras["receipt"]
        except ObservationConflictError:
            answer = "conflict"
        except NotFoundError:
            answer = "gone"
        except InjectedCrashError:
            answer = "crash"
        self.ledger.end(session, call, answer, receipt)
        return answer

    def _attributor(self, dice: Random) -> None:
        while not self.done.is_set():
            next(self.operations)
            etag = dice.choice(self.etags[-20:]) if self.etags and dice.random() < 0.3 else None
            self._check(dice.choice(self.services), dice.randrange(self.plan.sessions), etag)

    def _check(self, service: Service, session: int, etag: str | None = None) -> None:
        owed = self.ledger.owed(session)
        try:
            found = attribute(service, EVERYTHING, f"s{session}", if_none_match=etag)
        except InjectedCrashError:
            return
        except NotFoundError:
            self.ledger.counts["no session"] += 1
            if owed[0] % 2 == 0 and owed[0] == self.ledger.phase(session):
                self.ledger.violated(f"{session}/{owed[0]}: no session to attribute")
            return
        if found.status is AttributionStatus.NOT_MODIFIED:
            self.ledger.check_unmodified(session, owed[0], found.etag)
            return
        self.etags.append(found.etag)
        self.ledger.check_verdict(session, owed, json.loads(found.verdict), found.etag)

    def _replacer(self, dice: Random) -> None:
        """Deletes and opens again, lets sessions expire, changes jobs and rules."""
        last, change = 0, 0
        while not self.done.wait(0.002):
            change += 1
            if self.passed - last < self.plan.replace_every:
                if change % 8 == 0:
                    self._change(dice.randrange(self.plan.sessions), change, dice)
                continue
            last = self.passed
            if dice.random() < 0.1:
                self._expire(dice)
            else:
                self._replace(dice.randrange(self.plan.sessions), dice)
            if dice.random() < 0.3:
                self.in_force = 1 - self.in_force

    def _change(self, session: int, change: int, dice: Random) -> None:
        epoch = self.ledger.phase(session)
        try:
            update_job(dice.choice(self.services), EVERYTHING, f"s{session}", {"reason": str(change)})
        except InjectedCrashError:
            return
        self.ledger.told(session, epoch, change)

    def _expire(self, dice: Random) -> None:
        """All sessions end at once, by time."""
        for session in range(self.plan.sessions):
            self.ledger.step(session)
        self.moved += 2 * TTL
        for session in range(self.plan.sessions):
            self._open(session, self.ledger.phase(session) + 1, dice)
            self.ledger.step(session)

    def _replace(self, session: int, dice: Random) -> None:
        epoch = self.ledger.step(session) + 1
        if epoch > 1:
            self._delete(session, dice)
        else:
            epoch = 0
        self._open(session, epoch, dice)
        if epoch:
            self.ledger.step(session)

    def _delete(self, session: int, dice: Random) -> None:
        while True:
            try:
                return delete_session(dice.choice(self.services), EVERYTHING, f"s{session}")
            except InjectedCrashError:
                continue
            except NotFoundError:
                return None

    def _open(self, session: int, epoch: int, dice: Random) -> None:
        """With ``opened_by``, so that an open that crashed after its commit can be asked for again."""
        job = {"job_id": str(session), "nodes": ["n1"], "name": f"epoch {epoch}"}
        request = OpenRequest(job=job, attributor_id=f"s{session}", ttl_seconds=TTL)
        while True:
            try:
                open_session(dice.choice(self.services), EVERYTHING, request, opened_by=f"epoch-{epoch}")
            except InjectedCrashError:
                continue
            except DuplicateSessionError:
                self.ledger.violated(f"{session}/{epoch}: the id was still taken")
            return


def main() -> int:
    """A long run on the local store."""
    from service_kit import fast_folder, local_folder_store  # noqa: PLC0415 -- moto is not needed to import the rest

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--crash", type=float, default=0.02)
    options = parser.parse_args()
    folder = fast_folder()
    started = time.perf_counter()
    within = CrashPlan(options.crash / 4, options.seed)
    with local_folder_store(folder / "store", step=within.point) as store:
        plan = Plan(operations=options.operations, seed=options.seed, crash=options.crash)
        torture = Torture(store, folder, plan, within)
        ledger = torture.run()
    elapsed = time.perf_counter() - started
    crashes = f"{torture.crashes.crashes} crashes, {within.crashes} amid commits"
    print(f"seed {options.seed}: {dict(ledger.counts)}, {crashes}, {elapsed:.0f} s")  # noqa: T201
    print(f"{len(ledger.violations)} violations", *ledger.violations[:20], sep="\n")  # noqa: T201
    return 1 if ledger.violations else 0


if __name__ == "__main__":
    sys.exit(main())
