"""Jobs as Slurm's accounting keeps them, whichever way they were asked for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SlurmJob", "SlurmStep", "known_text"]

_NOTHING = frozenset({"", "none", "unknown", "none assigned", "(null)", "n/a", "null"})


@dataclass(frozen=True, slots=True)
class SlurmStep:
    """One step of a job."""

    name: str
    """``batch``, ``extern`` or the step's number."""
    state: str = ""
    exit_code: str = ""
    submit_line: str = ""


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """One attempt of one job, array task or component of a heterogeneous job. Times are seconds since the epoch."""

    job_id: str
    """As ``sacct`` shows it: ``4711``, ``4711_3``, ``4711+1``."""
    raw_id: str
    """The number behind it."""
    state: str
    """``CANCELLED by 1000`` says who."""
    sluid: str = ""
    """The id that no other job ever has (from 25.11); of requeued jobs the first attempt's."""
    cluster: str = ""
    user: str = ""
    name: str = ""
    partition: str = ""
    exit_code: str = ""
    """``code:signal``; empty where Slurm does not say."""
    derived_exit_code: str = ""
    """The highest of its steps."""
    reason: str = ""
    nodes: str = ""
    """A host list."""
    failed_node: str = ""
    submit: int | None = None
    start: int | None = None
    end: int | None = None
    workdir: str = ""
    submit_line: str = ""
    stdout: str | None = None
    """A path or a pattern of one; None where this Slurm does not say (before 24.05)."""
    stderr: str | None = None
    restarts: int | None = None
    steps: tuple[SlurmStep, ...] = ()


def known_text(value: str) -> str:
    """The text, or nothing where Slurm writes one of its words for nothing."""
    return "" if value.strip().casefold() in _NOTHING else value.strip()
