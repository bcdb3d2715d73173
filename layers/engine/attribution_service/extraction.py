"""Phase 1 over one observation, in one piece or slab by slab: the spill, its figures, and what is kept of the body."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from attribution_lib.events.spilling import SpillBuilder
from attribution_lib.observation import ObservationFormat
from attribution_lib.phases.extract import LineExtractor
from attribution_lib.phases.metrics import summarise
from attribution_lib.phases.refine import CrashLog
from attribution_lib.text.lines import from_entries, normalise
from attribution_service.kept import KeptWriter
from attribution_service.masking import masked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.job.model import JobIdentity
    from attribution_lib.observation import Observation
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["Extracted", "extract"]

_MAX_CRASHES = 20


@dataclass(frozen=True, slots=True)
class Extracted:
    """The events of one observation and what was read for them."""

    spill: bytes
    lines: int
    bytes: int
    truncated_lines: int
    redacted: int
    events: int
    crashes: list[str]
    """See ``records.Batch``."""


def extract(
    engine: RuleEngine,
    job: JobIdentity,
    slabs: Iterable[Observation],
    *,
    keep: BinaryIO | None = None,
    redacted: int = 0,
) -> Extracted:
    """Mask and extract the slabs of one observation (they share its id; ``first_line`` of each is right).

    ``keep`` receives the masked body in the form that ``kept.read_kept`` reads; ``redacted`` is what was masked before.
    """
    with SpillBuilder(engine.digest) as events:
        work = _Work(engine, job, events, redacted=redacted)
        writer = None
        first: Observation | None = None
        for slab in slabs:
            clean = masked(slab)
            first = first or clean
            if keep is not None:
                writer = writer or KeptWriter(keep, clean)
                writer.add(clean)
            work.add(clean)
        if first is None:
            msg = "an observation has at least one slab, if an empty one"
            raise ValueError(msg)
        if writer is not None:
            writer.close()
        return work.finished(first)


@dataclass(slots=True)
class _Work:
    engine: RuleEngine
    job: JobIdentity
    events: SpillBuilder
    lines: int = 0
    bytes: int = 0
    truncated_lines: int = 0
    redacted: int = 0
    unfinished: bool = False
    """The last slab of text ended within a line."""
    crashes: CrashLog = field(default_factory=CrashLog)

    def add(self, slab: Observation) -> None:
        """Extract one slab into the store."""
        self.redacted += slab.redacted
        if slab.format is ObservationFormat.PROMETHEUS_MATRIX:
            self.events.add_all(summarise(slab, self.engine.metric_rules))
            self.lines += len(slab.series)
            return
        if slab.format is ObservationFormat.JSON:
            buffer = from_entries(slab.entries.lines, first_line=slab.first_line)
            self.lines += len(slab.entries.lines)
        else:
            buffer = normalise(slab.text, first_line=slab.first_line)
            self.lines += slab.text.count(b"\n")
            self.unfinished = bool(slab.text) and not slab.text.endswith(b"\n")
        LineExtractor(
            plan=self.engine.plans.of(slab.source),
            job=self.job,
            observation=slab,
            buffer=buffer,
            events=self.events,
            crashes=self.crashes,
        ).run()
        self.bytes += buffer.bytes
        self.truncated_lines += buffer.truncated_lines

    def finished(self, header: Observation) -> Extracted:
        """Note the batch and export everything."""
        lines = self.lines + self.unfinished
        spill, events = self.events.finish(
            header, lines=lines, size=self.bytes, truncated_lines=self.truncated_lines, redacted=self.redacted
        )
        return Extracted(
            spill=spill,
            lines=lines,
            bytes=self.bytes,
            truncated_lines=self.truncated_lines,
            redacted=self.redacted,
            events=events,
            crashes=[
                json.dumps([*found, count]) for found, count in sorted(self.crashes.crashes.items())[:_MAX_CRASHES]
            ],
        )
