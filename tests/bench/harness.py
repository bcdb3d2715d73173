"""What every section of the benchmark shares: its declaration, CPU time, child processes and memory."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

__all__ = [
    "MIB",
    "Bench",
    "Outcome",
    "Section",
    "Watch",
    "children_cpu",
    "in_child",
    "pin_to_one_core",
    "rate",
    "watch",
]

MIB = 1 << 20
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a run keeps its files, and how large it is (1.0 = the declared sizes)."""

    folder: Path
    scale: float = 1.0

    @property
    def cache(self) -> Path:
        """Compiled matchers, shared by all sections and their child processes."""
        return self.folder / "cache"

    def size(self, mebibytes: int) -> int:
        """So many MiB, scaled, in bytes."""
        return max(int(mebibytes * MIB * self.scale), 1 << 16)

    def count(self, number: int) -> int:
        """So many things, scaled."""
        return max(int(number * self.scale), 10)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a section measured, and whether its target is met (None: it has none)."""

    figures: dict[str, Any]
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the results. ``target`` is what ``Outcome.met`` judges, in words."""

    name: str
    target: str
    run: Callable[[Bench], Outcome]


@dataclass(slots=True)
class Watch:
    """CPU seconds and peak growth of memory (MiB) of a ``with`` block; filled in at its end."""

    cpu: float = 0.0
    grown: float = 0.0
    started: float = field(default=0.0, repr=False)


@contextmanager
def watch() -> Iterator[Watch]:
    """Measure a block. CPU time, not wall time: a busy neighbour does not count. Memory needs Linux."""
    status = Path("/proc/self/status")
    before = 0.0
    if status.exists():
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts afresh
        before = _status_mib(status, "VmRSS:")
    found = Watch(started=time.process_time())
    yield found
    found.cpu = time.process_time() - found.started
    if status.exists():
        found.grown = max(_status_mib(status, "VmHWM:") - before, 0.0)


def _status_mib(status: Path, field_name: str) -> float:
    line = next(line for line in status.read_text().splitlines() if line.startswith(field_name))
    return int(line.split()[1]) / 1024


def rate(size: int, seconds: float) -> float:
    """MB/s (10^6 bytes) of ``size`` bytes."""
    return round(size / 1e6 / max(seconds, 1e-9), 3)


def pin_to_one_core() -> int | None:
    """Keep this process and its children on one core; its number, or None where that is not possible."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def children_cpu() -> float:
    """CPU seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def in_child(function: Callable[..., _Result], *arguments: object, timeout: float = 600.0) -> _Result:
    """Run a module-level function in a fresh process and return what it returns; ``TimeoutError`` kills the process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(sender, function, arguments))
    child.start()
    sender.close()
    try:
        if not receiver.poll(timeout):
            message = f"{function.__name__} took longer than {timeout} s"
            raise TimeoutError(message)
        result: _Result = receiver.recv()
        return result
    finally:
        child.kill()
        child.join()


def _answer(sender: Connection, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
    sender.send(function(*arguments))
