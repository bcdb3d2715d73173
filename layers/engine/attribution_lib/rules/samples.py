"""Reading the tests beside the rules: ``nccl.toml`` ↔ ``nccl.test.toml``.

source = "syslog"               # default for the file; without it the one source of all its rules, else applog

[[hit]]                         # one line, and exactly what it proves
line, origin, event, symptom    # event: bad_node, interesting_node, …; no symptom where the rule emits none
rule, source, node, rank, device, captures, also     # optional; also: other rules that fire on this line
[[miss]]                        # a near miss: nothing fires but what ``also`` names
line, because
[[todo_hit]] / [[todo_miss]]    # known wrong; one that passes is a failure, so that it gets promoted
[[sequence]]                    # lines with offsets and the verdict they lead to (see ``sequences``)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.folders import test_files
from attribution_lib.rules.model import EMIT_TYPES, Location
from attribution_lib.rules.sequences import read_sequence
from attribution_lib.rules.toml_rules import read_document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from attribution_lib.rules.declared import RuleFolder
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.faults import FaultLog
    from attribution_lib.rules.sequences import SequenceSample
    from attribution_lib.rules.tables import TableReader

__all__ = ["LineSample", "SampleFile", "SampleKind", "read_samples"]

_SUFFIX = ".test.toml"


class SampleKind(StrEnum):
    """What a line is a sample of."""

    HIT = "hit"
    MISS = "miss"
    TODO_HIT = "todo_hit"
    TODO_MISS = "todo_miss"

    @property
    def expects_hit(self) -> bool:
        """True when a rule of the file should fire on the line."""
        return self in (SampleKind.HIT, SampleKind.TODO_HIT)

    @property
    def todo(self) -> bool:
        """True when the sample is known to fail."""
        return self in (SampleKind.TODO_HIT, SampleKind.TODO_MISS)


@dataclass(frozen=True, slots=True)
class LineSample:
    """One line and what the rules should say about it. None: not compared."""

    kind: SampleKind
    location: Location
    line: str
    source: Source
    reason: str
    """Where the line came from, or why it must stay quiet."""
    event_type: str | None = None
    symptom: str | None = None
    rule: str | None = None
    node: str | None = None
    rank: int | None = None
    device: str | None = None
    captures: Mapping[str, str] = field(default_factory=dict)
    also: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SampleFile:
    """The samples of one ``.test.toml``; ``rule_paths`` are the rule files it stands beside."""

    path: str
    rule_paths: frozenset[str]
    lines: tuple[LineSample, ...]
    sequences: tuple[SequenceSample, ...]


def read_samples(folder: RuleFolder, engine: RuleEngine, faults: FaultLog) -> list[SampleFile]:
    """Every test file of a rules folder; what is wrong with one is noted."""
    return [_read_file(path, folder, engine, faults) for path in test_files(folder)]


def _read_file(path: Path, folder: RuleFolder, engine: RuleEngine, faults: FaultLog) -> SampleFile:
    label = f"{folder.label}/{path.name}"
    stem = label.removesuffix(_SUFFIX)
    rule_paths = frozenset((f"{stem}.toml", f"{stem}.py"))
    document = read_document(path, label, faults)
    lines: list[LineSample] = []
    sequences: list[SequenceSample] = []
    if document is not None:
        if not any((folder.path / rule_path.rpartition("/")[2]).is_file() for rule_path in rule_paths):
            faults.add(Location(label, 1), "", "stands beside no rule file", " or ".join(sorted(rule_paths)))
        defaults = {"source": _default_source(rule_paths, engine).value, **document.defaults(("source",))}
        for reader in document.tables((*SampleKind, "sequence"), ("source",), defaults, faults):
            if reader.kind == "sequence":
                sequences.append(read_sequence(reader))
            else:
                lines.append(_read_line(reader))
    return SampleFile(label, rule_paths, tuple(lines), tuple(sequences))


def _default_source(rule_paths: frozenset[str], engine: RuleEngine) -> Source:
    found = {rule.sources for rule in engine.text_rules if rule.provenance.location.path in rule_paths}
    sources = found.pop() if len(found) == 1 else ()
    return sources[0] if len(sources) == 1 else Source.APPLOG


def _read_line(reader: TableReader) -> LineSample:
    kind = SampleKind(reader.kind)
    line = reader.text("line")  # as printed, prefix included
    source = Source(reader.choice("source", [source.value for source in TEXT_SOURCES]))
    also = frozenset(reader.texts("also"))
    if not kind.expects_hit:
        because = reader.text("because")
        reader.text("origin", default="")
        rule = _optional(reader, "rule")
        reader.finish()
        return LineSample(kind, reader.location, line, source, because, rule=rule, also=also)
    sample = LineSample(
        kind=kind,
        location=reader.location,
        line=line,
        source=source,
        reason=reader.text("origin"),
        event_type=EMIT_TYPES[reader.choice("event", EMIT_TYPES)].value,
        symptom=reader.text("symptom", default="") or None,
        rule=_optional(reader, "rule"),
        node=_optional(reader, "node"),
        rank=reader.integer("rank", default=0) if reader.has("rank") else None,
        device=_optional(reader, "device"),
        captures={str(key): str(value) for key, value in _captures(reader).items()},
        also=also,
    )
    reader.text("because", default="")
    reader.finish()
    return sample


def _optional(reader: TableReader, key: str) -> str | None:
    return reader.text(key, default="") if reader.has(key) else None


def _captures(reader: TableReader) -> dict[str, Any]:
    return reader.table("captures")
