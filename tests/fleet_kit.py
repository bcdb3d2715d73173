"""A simulated fleet: jobs with evidence of a lost GPU or of the job's own fault, and a share of every mishap."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit

from attribution_blueprint.connectors.attribution.base import AttributionSettings
from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution
from attribution_blueprint.fleet import Fleet
from attribution_blueprint.settings import read_configuration
from attribution_service.model import SessionQuery
from attribution_service.run_rows import RunRows
from attribution_service.service import EVERYTHING
from attribution_service.sessions import list_sessions
from attribution_service.stores.crashing import InjectedCrashError
from attribution_service.verdict_database import VerdictDatabase
from attribution_service.verdict_items import counter_key, node_pk
from run_kit import Through

if TYPE_CHECKING:
    from attribution_blueprint.connectors.attribution.base import Handle
    from attribution_lib.observation import Observation
    from attribution_service.run_records import RunRow, RunSummary

__all__ = ["SAMPLES", "Expected", "Simulation", "copy_samples", "rows_of", "runs_in", "samples_configuration"]

SAMPLES = Path(__file__).parents[1] / "samples" / "cases"

CLUSTER = "sim"
_OWN = "RuntimeError: CUDA error: an illegal memory access was encountered"
_PART = "Jun  1 02:05:00 {node} kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."
_NODES = 40
"""Jobs that lost a GPU share so few nodes that some are repeat offenders."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a fleet of so many contexts must come to."""

    contexts: int

    @property
    def faulty(self) -> set[int]:
        """5 %: a collector cannot read to the end of its file."""
        return {number for number in range(self.contexts) if number % 20 == 7}

    @property
    def conflicted(self) -> set[int]:
        """2 %: somebody else's session is open."""
        return {number for number in range(self.contexts) if number % 50 == 3}

    @property
    def crashing(self) -> set[int]:
        """1 %: the process that ingests a batch dies, half of them before and half after the batch is stored."""
        return {number for number in range(self.contexts) if number % 100 == 11}

    @property
    def totals(self) -> dict[str, int]:
        """Counts of the summary."""
        conflicted, failed = len(self.conflicted), len(self.crashing)
        attributed = self.contexts - conflicted - failed
        return {
            "contexts": self.contexts,
            "attributed": attributed,
            "conflicted": conflicted,
            "failed": failed,
            "succeeded": attributed,
            "pending": 0,
        }

    @property
    def counters(self) -> dict[str, int]:
        """{node: failures} of the nodes that lost a GPU."""
        found: dict[str, int] = {}
        for number in range(self.contexts):
            if hardware(number) and number not in self.conflicted | self.crashing:
                found[node_of(number)] = found.get(node_of(number), 0) + 1
        return found


def copy_samples(folder: Path, count: int) -> Path:
    """So many of the samples, each in a cluster of its own: no two of them share a job, a node or a history."""
    cases = sorted(path for path in SAMPLES.iterdir() if (path / "job.toml").exists())
    for number, case in enumerate(cases[:: max(1, len(cases) // count)][:count]):
        copy = folder / "cases" / case.name
        shutil.copytree(case, copy)
        job = tomlkit.parse((copy / "job.toml").read_text(encoding="utf-8"))
        job["cluster"] = f"c{number:03d}"
        (copy / "job.toml").write_text(tomlkit.dumps(job), encoding="utf-8")
    return folder / "cases"


def samples_configuration(cases: Path) -> str:
    """The configuration of such cases: every kind of evidence that a case may have."""
    return (
        f'[eca.static]\ncases = ["{cases}"]\n[log.app.file]\n[log.sys.file]\nsource = "syslog"\n'
        '[log.ctl.file]\nsource = "scheduler"\n[metric.nodes.file]\n'
    )


def hardware(number: int) -> bool:
    """Whether this job lost a GPU."""
    return number % 3 == 0


def node_of(number: int) -> str:
    """The node of a job."""
    return f"n{number % _NODES}"


@dataclass(slots=True)
class CrashingIngest(Through):
    """The service in this process, whose ingest dies for some sessions: before or after the batch is stored."""

    crashing: frozenset[str]

    def submit(self, handle: Handle, observation: Observation) -> Any:
        dies = handle.attributor_id in self.crashing
        if dies and len(handle.attributor_id) % 2:
            raise InjectedCrashError(handle.attributor_id)
        delivered = self.inner.submit(handle, observation)
        if dies:
            raise InjectedCrashError(handle.attributor_id)
        return delivered


@dataclass(slots=True)
class Simulation:
    """So many contexts in a folder; ``run`` as often as wanted, then ask."""

    folder: Path
    expected: Expected
    theirs: list[Handle] = field(default_factory=list)
    """Sessions of somebody else."""

    def prepare(self) -> Simulation:
        """Write the evidence and the configuration."""
        for number in range(self.expected.contexts):
            self._case(number)
        (self.folder / "site.toml").write_text(
            f'[run]\nconcurrency = 4\n[eca.static]\ncases = ["{self.folder}/cases"]\n'
            '[log.app.file]\n[log.sys.file]\nsource = "syslog"\n'
            f'[output.db.sqlite]\npath = "{self.folder}/verdicts.db"\n'
        )
        return self

    def connect(self) -> InProcessAttribution:
        """The service over the folder's store."""
        return InProcessAttribution(AttributionSettings(data=str(self.folder / "store")))

    def run(self, service: InProcessAttribution, run_id: str = "simulated", **how: Any) -> RunSummary:
        """One fleet, with somebody else's sessions in the way."""
        self.theirs = [service.open(_job(number)) for number in sorted(self.expected.conflicted)]
        crashing = frozenset(f"{CLUSTER}:{number}:0" for number in self.expected.crashing)
        configuration = read_configuration(self.folder / "site.toml", {})
        rows = RunRows.of(service.service.store, service.service.clock)
        fleet = Fleet(configuration, CrashingIngest(service, crashing), rows, run_id, service.service, **how)
        return fleet.run()

    def rows(self, service: InProcessAttribution, run_id: str = "simulated") -> list[RunRow]:
        """The rows of a run."""
        return list(RunRows.of(service.service.store, service.service.clock).rows(run_id))

    def left_open(self, service: InProcessAttribution) -> int:
        """Open sessions that are not somebody else's."""
        found, cursor = 0, None
        while True:
            page = list_sessions(service.service, EVERYTHING, SessionQuery(cursor=cursor, limit=500))
            found += len(page.sessions)
            cursor = page.cursor
            if cursor is None:
                return found - len(self.theirs)

    def counters(self, service: InProcessAttribution) -> dict[str, int]:
        """{node: failures} as the table has them."""
        table, found = service.service.store.verdicts, {}
        for number in range(_NODES):
            for item in table.query(node_pk(CLUSTER, f"n{number}"), counter_key("")):
                found[f"n{number}"] = int(item["n"])
        return found

    def _case(self, number: int) -> None:
        case = self.folder / "cases" / f"job-{number:05d}"
        case.mkdir(parents=True)
        fields = _job(number)
        (case / "job.toml").write_text("".join(f"{name} = {value!r}\n" for name, value in fields.items()))
        epochs = "".join(f"epoch {line} done, loss {1 / (line + 1):.4f}\n" for line in range(200))
        text = (epochs if hardware(number) else f"{epochs}{_OWN}\n").encode()
        if number in self.expected.faulty:
            text = gzip.compress(text)[:-9]  # the end is missing
        (case / "applog.log").write_bytes(text)
        if hardware(number):
            (case / "syslog.log").write_text(_PART.format(node=node_of(number)) + "\n")


def _job(number: int) -> dict[str, Any]:
    return {
        "job_id": str(number),
        "cluster": CLUSTER,
        "state": "FAILED",
        "nodes": [node_of(number)],
        "start": "2026-06-01T02:00:00Z",
        "end": "2026-06-01T02:10:00Z",
    }


def rows_of(service: InProcessAttribution) -> RunRows:
    """The records of runs in a local store."""
    return RunRows.of(service.service.store, service.service.clock)


def runs_in(folder: Path) -> list[str]:
    """The run ids of everything in the sink's database."""
    database = VerdictDatabase.open(folder / "v.db")
    rows = database.connection.execute("SELECT run_id FROM attribution_run ORDER BY run_id").fetchall()
    database.close()
    return [row[0] for row in rows]
