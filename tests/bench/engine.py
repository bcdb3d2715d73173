"""The product under measurement: its rules, a job, and evidence fed through its public interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evidence import slabs

from attribution_lib.attributor import Attributor
from attribution_lib.job.builder import JobInfoBuilder
from attribution_lib.observation import Observation, Source
from attribution_lib.rules.loader import RuleLoader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attribution_lib.job.model import JobInfo
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["attributor", "ingest_text", "job", "load_rules"]


def load_rules(cache: Path, paths: Sequence[Path] | None = None) -> RuleEngine:
    """The engine of the bundled rules (or of other folders), with matchers kept in ``cache``."""
    loader = RuleLoader(paths, cache_dir=cache)
    loader.load_all()
    return loader.build()


def job(nodes: int = 128) -> JobInfo:
    """A failed job of so many nodes."""
    return JobInfoBuilder(
        job_id="4711",
        state="FAILED",
        exit_code="1:0",
        nodes=[f"node-{number:04d}" for number in range(1, nodes + 1)],
        start="2026-06-01T03:00:00Z",
        end="2026-06-01T04:00:00Z",
    ).build()


def attributor(engine: RuleEngine, nodes: int = 128) -> Attributor:
    """An attributor of such a job."""
    return Attributor(job(nodes), engine)


def ingest_text(
    target: Attributor,
    data: bytes,
    source: Source = Source.APPLOG,
    stream: str = "trainer.log",
    piece: int = 16 << 20,
) -> None:
    """Feed one stream in pieces of whole lines, of at most ``piece`` bytes unless a line is longer."""
    for first_line, text in slabs(data, piece):
        target.ingest(Observation(source, stream=stream, first_line=first_line, text=text))
