"""What dashboard tests and benchmarks share: many verdicts from a few, and readers of every kind over them."""

from __future__ import annotations

import functools
import itertools
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.local import attribute_evidence
from attribution_lib.taxonomy import Outcome, sub_domain_of, terminal_state_of
from attribution_lib.verdict import BadNode
from attribution_service.service import EVERYTHING, Caller, Service
from attribution_service.times import rfc3339
from attribution_service.verdict_database import VerdictDatabase
from attribution_service.verdicts import write_verdict
from dashboard.readers.sqlite import SqliteReader
from dashboard.readers.store import StoreReader
from http_kit import ENGINE, ROOT
from service_kit import START, local_folder_store, moto_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from attribution_service.result import EnrichedVerdict
    from dashboard.reading import VerdictReader

HARDWARE, APPLICATION = "xid79-gpu-at-95c", "assertion-error-other-ranks-tcpstore-flag-warnings"
KINDS = ("sqlite", "dynamodb", "local")


@functools.cache
def sample_verdict(slug: str = HARDWARE) -> EnrichedVerdict:
    """The verdict of a sample by the bundled rules."""
    return attribute_evidence(read_case_folder(ROOT / "samples" / "cases" / slug), ENGINE())


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed job in short; times are seconds since the epoch."""

    job_id: str
    cluster: str = "c1"
    attempt: int = 0
    run_id: str = "r1"
    at: int = START
    hours: float = 2.0
    nodes: tuple[str, ...] = ("node-0001",)
    bad: tuple[str, ...] = ()
    outcome: Outcome = Outcome.GPU_HARDWARE
    symptom: str = "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS"
    rule: str = "XID"
    device: str | None = None
    evidence: str = "NVRM: Xid (PCI:0000:4b:00): 79, GPU has fallen off the bus."
    user: str = "user1"
    name: str = "pretrain"
    pairs: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    def verdict(self) -> EnrichedVerdict:
        """As it would be stored."""
        whole = sample_verdict()
        root = whole.root_cause
        assert root is not None
        end = rfc3339(self.at)
        job = {
            **whole.job,
            "cluster": self.cluster,
            "job_id": self.job_id,
            "attempt": self.attempt,
            "user": self.user,
            "name": self.name,
            "nodes": list(self.nodes),
            "labels": dict(self.labels),
            "start": rfc3339(self.at - int(self.hours * 3600)),
            "end": end,
        }
        changed = {
            "symptom": self.symptom,
            "rule": self.rule,
            "node": self.bad[0] if self.bad else None,
            "device": self.device,
            "evidence": self.evidence,
            "timestamp": end,
        }
        bad = [
            BadNode(node=n, symptoms=[self.symptom], occurrences=1, first_seen=end, last_seen=end, why="root symptom")
            for n in self.bad
        ]
        return whole.model_copy(
            update={
                "job": job,
                "run_id": self.run_id,
                "attributor_id": f"{self.cluster}:{self.job_id}:{self.attempt}",
                "attributed_at": end,
                "outcome": self.outcome,
                "sub_domain": sub_domain_of(self.outcome),
                "terminal_state": terminal_state_of(self.outcome, failed=True),
                "root_cause": root.model_copy(update=changed),
                "bad_nodes": bad,
                "bad_nodes_total": len(bad),
                "collections": {"bad_pairs": [{"src_node": a, "dst_node": b, "count": 1} for a, b in self.pairs]},
            }
        )


@dataclass(slots=True)
class Shelf:
    """A store of verdicts with its reader."""

    kind: str
    reader: VerdictReader
    put: Callable[[EnrichedVerdict], object]
    reader_of: Callable[[Caller], VerdictReader]
    now: list[float]

    def fill(self, failures: Iterable[Failure]) -> None:
        """Store what failed."""
        for failure in failures:
            self.put(failure.verdict())


@contextmanager
def shelf_of(kind: str, folder: Path, now: float = START) -> Iterator[Shelf]:
    """An empty store of this kind (``KINDS``) whose clock stands at ``now``."""
    moment = [now]
    if kind == "sqlite":
        database = VerdictDatabase.open(folder / "v.db")
        sqlite = SqliteReader(database, lambda: moment[0], "SQLite v.db")
        try:
            yield Shelf(kind, sqlite, database.append, lambda caller: replace(sqlite, caller=caller), moment)
        finally:
            database.close()
        return
    with moto_store() if kind == "dynamodb" else local_folder_store(folder, lambda: moment[0]) as store:
        service = Service(store, ENGINE, lambda: moment[0])
        reader = StoreReader(service, kind)

        def put(verdict: EnrichedVerdict) -> object:
            return write_verdict(service, EVERYTHING, verdict)

        yield Shelf(kind, reader, put, lambda caller: replace(reader, caller=caller), moment)


def many_failures(count: int, *, days: int = 30, until: float | None = None, seed: int = 1) -> Iterator[Failure]:
    """A mixed year of a fleet in short: four clusters, a thousand nodes each, every sub-domain, hundreds of users."""
    end = int(until or time.time())
    kinds = list(itertools.islice(itertools.cycle(Outcome), 38))
    for number in range(count):
        spread = (number * 2_654_435_761 + seed) % 2**32
        outcome = kinds[spread % 38]
        node = f"node-{spread // 38 % 1_000:04d}"
        hardware = sub_domain_of(outcome).value in ("hardware", "system_software")
        yield Failure(
            job_id=str(100_000 + number),
            cluster=f"c{1 + spread % 4}",
            at=end - spread % (days * 86_400),
            nodes=tuple(f"node-{(spread + i) % 1_000:04d}" for i in range(1 + spread % 8)),
            bad=(node,) if hardware else (),
            outcome=outcome,
            symptom=f"{outcome.value} symptom {spread % 7}",
            rule=f"Rule{spread % 300}",
            user=f"user{spread % 400}",
            name=f"train-{spread % 1_000}",
            evidence=f"[rank{spread % 64}]: failure number {number} on {node}: NVRM code {spread % 997}",
        )
