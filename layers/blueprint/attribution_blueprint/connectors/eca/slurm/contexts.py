"""Rows of Slurm's accounting as execution contexts: attempts numbered, components of one job joined."""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors.eca.slurm.output_files import appends, guessed, output_patterns
from attribution_blueprint.connectors.log.slurm_patterns import RAW_JOB_ID
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import DiscoveryError
from attribution_lib.job.model import StateClass
from attribution_lib.job.states import parse_exit_code, read_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attribution_blueprint.connectors.eca.slurm.rows import SlurmJob

__all__ = ["Attempt", "ContextMaker", "attempts_of", "meant", "ran"]

_log = logging.getLogger(__name__)
_SHELL_OFFSET = 128
_GUESSED = (
    "output guessed: this Slurm (before 24.05) forgets what a job's script says of it some minutes after its end; "
    "name the files, as in --connector eca slurm output '/scratch/logs/%x-%j.out'"
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a job; of a heterogeneous job all its components together, the first one's row being ``job``."""

    job: SlurmJob
    number: int
    last: bool
    components: tuple[SlurmJob, ...]

    @property
    def state_class(self) -> StateClass:
        """How it ended. ``REQUEUED`` is the state of an attempt that was stopped to be run again."""
        found = read_state(self.job.state, reason=self.job.reason, exit_code=self.job.exit_code).state_class
        return StateClass.CANCELLED if found is StateClass.UNKNOWN and _requeued(self.job) else found


def attempts_of(jobs: Iterable[SlurmJob]) -> list[Attempt]:
    """Attempts of each job in order of their submission, counted from 0, or as the job's own count of restarts says.

    Numbers come round again: of two jobs of one number the later one is meant.
    """
    rows: dict[tuple[str, str], dict[str, list[SlurmJob]]] = defaultdict(lambda: defaultdict(list))
    for job in jobs:
        rows[job.cluster, job.job_id.partition("+")[0]][job.sluid].append(job)
    found: list[Attempt] = []
    for same_number in rows.values():
        latest = max(same_number.values(), key=lambda group: max(job.submit or 0 for job in group))
        found += _numbered(latest)
    return found


def _numbered(rows: Sequence[SlurmJob]) -> list[Attempt]:
    by_component: dict[str, list[SlurmJob]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.submit or 0, row.start or 0)):
        by_component[row.job_id].append(row)
    leading, *others = (by_component[name] for name in sorted(by_component, key=_component))
    found = []
    for index, row in enumerate(leading):
        components = (row, *(other[index] for other in others if index < len(other)))
        counted = row.restarts is not None and len({part.restarts for part in leading}) == len(leading)
        number = row.restarts if counted and row.restarts is not None else index
        found.append(Attempt(_joined(components), number, index == len(leading) - 1, components))
    return found


def _component(job_id: str) -> int:
    return int(job_id.partition("+")[2] or 0)


def _joined(components: Sequence[SlurmJob]) -> SlurmJob:
    """One row for all components: they start and end together; the state is that of the one that failed."""
    first = components[0]
    if len(components) == 1:
        return replace(first, job_id=first.job_id.partition("+")[0])
    failed = next((part for part in components if not part.state.startswith("COMPLETED")), first)
    return replace(
        first,
        job_id=first.job_id.partition("+")[0],
        state=failed.state,
        exit_code=failed.exit_code,
        derived_exit_code=failed.derived_exit_code,
        reason=failed.reason,
        failed_node=next((part.failed_node for part in components if part.failed_node), ""),
        nodes=",".join(part.nodes for part in components if part.nodes),
        start=min((part.start for part in components if part.start), default=None),
        end=max((part.end for part in components if part.end), default=None),
        steps=tuple(step for part in components for step in part.steps),
    )


def ran(attempt: Attempt) -> bool:
    """Whether it ever had nodes."""
    return bool(attempt.job.start and attempt.job.nodes)


def meant(attempt: Attempt, since: int, until: int, *, failed_only: bool) -> bool:
    """Whether an attempt ended within the time (seconds); one that never ran is not meant."""
    ended = attempt.job.end
    if ended is None or not since <= ended <= until or not ran(attempt):
        return False
    return not failed_only or attempt.state_class is not StateClass.COMPLETED


@dataclass(frozen=True, slots=True)
class ContextMaker:
    """Makes contexts of attempts, as the settings of an adapter say."""

    adapter: str
    cluster: str
    """Empty: as accounting calls it."""
    timezone: str
    output: tuple[str, ...]
    superseded_output: bool

    def contexts(self, attempts: Iterable[Attempt], *, asked: bool) -> list[ExecutionContext]:
        """One context an attempt; those that cannot be read are logged and left out."""
        found = []
        for attempt in attempts:
            try:
                found.append(self._context(attempt, asked=asked))
            except DiscoveryError as error:
                _log.warning("%s: job %s is left out: %s", self.adapter, attempt.job.job_id, error)
        return found

    def _context(self, attempt: Attempt, *, asked: bool) -> ExecutionContext:
        row = attempt.job
        labels = {RAW_JOB_ID: row.raw_id, "derived_exit_code": row.derived_exit_code, "sluid": row.sluid}
        labels |= {"slurm_state": "REQUEUED"} if _requeued(row) else {}
        fields: dict[str, Any] = {
            "job_id": row.job_id,
            "attempt": attempt.number,
            "cluster": self.cluster or row.cluster or "default",
            "scheduler": "slurm",
            "user": row.user,
            "name": row.name,
            "partition": row.partition,
            "state": _state(row),
            "exit_code": _exit_code(row),
            "reason": row.reason,
            "nodes": row.nodes,
            "failed_node": _failed_node(row),
            "start": _instant(row.start),
            "end": _instant(row.end),
            "timezone": self.timezone,
        }
        job = {key: value for key, value in fields.items() if value not in ("", None)}
        job["labels"] = {name: text for name, text in labels.items() if text}
        places, notes = self._places(attempt)
        return ExecutionContext.of(
            job, adapter=self.adapter, places=places, workdir=row.workdir, asked=asked, notes=notes
        )

    def _places(self, attempt: Attempt) -> tuple[tuple[EvidencePlace, ...], tuple[str, ...]]:
        row = attempt.job
        if not attempt.last and not (self.superseded_output or appends(row)):
            return (), ("output unknown: a later attempt has written to the same files",)
        # Only the first component of a heterogeneous job runs the script; the others' files are never made.
        patterns = output_patterns(attempt.components[0], self.output)
        notes = (_GUESSED,) if guessed(attempt.components[0], self.output) else ()
        return tuple(EvidencePlace(PlaceKind.FILE, path) for path in dict.fromkeys(patterns)), notes


def _state(row: SlurmJob) -> str:
    # An attempt that was requeued was stopped by whoever asked for that: accounting names nobody. Those that a lost
    # node or a preemption ended have states of their own.
    return "CANCELLED" if _requeued(row) else row.state


def _requeued(row: SlurmJob) -> bool:
    return row.state.partition(",")[0] in ("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD")


def _exit_code(row: SlurmJob) -> str:
    """The job's code, or the steps' where the job's says nothing, or only repeats the steps' signal as a number."""
    own, derived = parse_exit_code(row.exit_code), parse_exit_code(row.derived_exit_code)
    if derived is None or not derived.failed:
        return row.exit_code
    if own is None or not own.failed:
        return row.derived_exit_code
    # srun exits with the number of the signal, a shell with 128 more: "11:0" over "0:11".
    echoes = derived.signal and not row.exit_code.partition(":")[2].strip("0")
    if echoes and own.code in (derived.signal, derived.signal + _SHELL_OFFSET):
        return f"{own.code}:{derived.signal}"
    return row.exit_code


def _failed_node(row: SlurmJob) -> str:
    """What Slurm says (from 23.11), or the only node of a job that lost its node."""
    if row.failed_node:
        return row.failed_node
    alone = not any(mark in row.nodes for mark in ",[")
    return row.nodes if row.state.startswith("NODE_FAIL") and alone else ""


def _instant(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
