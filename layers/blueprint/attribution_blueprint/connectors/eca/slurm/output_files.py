"""Where a Slurm job wrote its output: what Slurm says, else what its command lines say, else Slurm's default."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_blueprint.connectors.eca.slurm.rows import SlurmJob

__all__ = ["appends", "guessed", "output_patterns"]

_OUTPUT = re.compile(r"-[oe](?P<short>.+)|--(?:output|error)=(?P<long>.+)")
_TAKES_NEXT = re.compile(
    r"-[AaBCcDdeFGGiJLMmNnopqtTwWx]|--(?:account|array|chdir|constraint|cpus-per-task|dependency|error|export|gpus"
    r"|gpus-per-node|gpus-per-task|gres|job-name|label|mem|mem-per-cpu|mem-per-gpu|mpi|nodelist|nodes|ntasks"
    r"|ntasks-per-node|open-mode|output|partition|qos|reservation|time|signal|container-image|container-mounts)"
)
_NEXT_IS_OUTPUT = frozenset({"-o", "-e", "--output", "--error"})
_APPEND = re.compile(r"--open-mode[= ]a(?:ppend)?\b")


def output_patterns(job: SlurmJob, fallback: Sequence[str]) -> list[str]:
    """Paths or Slurm's patterns of them, those of the job's steps included, without repeats.

    ``fallback`` is used where neither Slurm (before 24.05) nor the command line of ``sbatch`` says.
    """
    own = [path for path in (job.stdout, job.stderr) if path]
    if job.stdout is None:
        own = _of_line(job.submit_line) or list(fallback) or [_default(job)]
    of_steps = [path for step in job.steps for path in _of_line(step.submit_line)]
    return [path for path in dict.fromkeys([*own, *of_steps]) if path not in ("/dev/null", "none")]


def guessed(job: SlurmJob, fallback: Sequence[str]) -> bool:
    """Whether nothing says where it wrote: its script may, but Slurm before 24.05 forgets that with the job."""
    return job.stdout is None and not fallback and not _of_line(job.submit_line)


def appends(job: SlurmJob) -> bool:
    """Whether the command line asks to append to files that are there already."""
    return _APPEND.search(job.submit_line) is not None


def _default(job: SlurmJob) -> str:
    return "slurm-%A_%a.out" if "_" in job.job_id else "slurm-%j.out"


def _of_line(line: str) -> list[str]:
    """What ``-o`` and ``-e`` name. Accounting keeps no quotes: reading ends where the program's own words may begin."""
    words = line.split()
    paths = []
    position = 1
    while position < len(words):
        word = words[position]
        takes_next = _TAKES_NEXT.fullmatch(word) is not None
        found = _OUTPUT.fullmatch(word)
        if word in _NEXT_IS_OUTPUT and position + 1 < len(words):
            paths.append(words[position + 1])
        elif found is not None:
            paths.append(found["short"] or found["long"])
        elif not word.startswith("-") or word.startswith("--wrap"):
            break
        position += 2 if takes_next else 1
    return [path.strip("'\"") for path in paths]
