"""Running the tests beside the rules. Every sample ends in one of four words.

hit: the line fired exactly what was expected · quiet: a near miss stayed silent · missing: what was expected did not
fire, or fired with another symptom or place · noisy: something fired that nobody named.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING

from attribution_lib.rules.faults import FaultLog
from attribution_lib.rules.folders import resolve_folders
from attribution_lib.rules.matching import LineMatcher
from attribution_lib.rules.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from attribution_lib.observation import Source
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.matching import MatchedEvent
    from attribution_lib.rules.model import Location
    from attribution_lib.rules.samples import LineSample, SampleFile
    from attribution_lib.rules.sequences import SequenceSample

__all__ = ["SampleResult", "SampleRunner", "Word", "collect_samples"]


class Word(StrEnum):
    """How one sample ended."""

    HIT = "hit"
    QUIET = "quiet"
    NOISY = "noisy"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What became of one sample. ``passed`` takes into account that a ``todo`` sample is known to fail."""

    location: Location
    line: str
    word: Word
    passed: bool
    todo: bool = False
    rule: str | None = None
    """The rule that fired, of those that the file is about."""
    problems: tuple[str, ...] = ()


def collect_samples(paths: Sequence[Path | str] | None, engine: RuleEngine) -> list[SampleFile]:
    """Every ``.test.toml`` beside the rules; ``RuleLoadError`` with every fault of every file."""
    faults = FaultLog()
    files = [file for folder in resolve_folders(paths) for file in read_samples(folder, engine, faults)]
    faults.raise_if_any()
    return files


def _beside(rule_file: str) -> str | None:
    """The name of the samples beside a rule file; None for what names no rule file."""
    path = PurePath(rule_file)
    return f"{path.stem.removesuffix('.test')}.test.toml" if path.suffix in (".toml", ".py") else None


class SampleRunner:
    """Runs samples against one engine; matchers are built once a source."""

    def __init__(self, engine: RuleEngine) -> None:
        self._engine = engine
        self._matchers: dict[Source, LineMatcher] = {}

    def run(self, files: Sequence[SampleFile], *, only: str = "") -> Iterator[SampleResult]:
        """The results of all samples in order; ``only`` keeps files whose path, or rules whose name, contains it.

        The path of a rule file, ``rules/nccl.toml``, keeps the samples beside it.
        """
        for file in files:
            whole = not only or only in file.path or _beside(only) == PurePath(file.path).name
            for sample in file.lines:
                result = self._run_line(sample, file)
                if whole or only in (result.rule or "") or only in (sample.rule or ""):
                    yield result
            for sequence in file.sequences if whole else ():
                yield self._run_sequence(sequence)

    def events(self, line: str, source: Source) -> tuple[MatchedEvent, ...]:
        """What fires on one line of this source (an embedded CR or LF splits it, as in a log)."""
        if source not in self._matchers:
            self._matchers[source] = LineMatcher(self._engine, source)
        found = self._matchers[source].lines(line.encode())
        return tuple(event for matched in found for event in matched.events)

    def _run_line(self, sample: LineSample, file: SampleFile) -> SampleResult:
        events = self.events(sample.line, sample.source)
        rest = [event for event in events if event.rule not in sample.also]
        silent = sorted(sample.also - {event.rule for event in events})
        problems = [f"also names {name}, which did not fire" for name in silent]
        if sample.kind.expects_hit:
            word, rule = self._judge_hit(sample, file, rest, problems)
        else:
            word, rule = Word.QUIET, None
            if rest:
                word, rule = Word.NOISY, rest[0].rule
                problems += [_fired(event) for event in rest]
        if problems and word in (Word.HIT, Word.QUIET):
            word = Word.MISSING
        failed = bool(problems)
        if sample.kind.todo and not failed:
            problems = [f"passes by now: make it a [[{'hit' if sample.kind.expects_hit else 'miss'}]]"]
        passed = failed if sample.kind.todo else not failed
        return SampleResult(sample.location, sample.line, word, passed, sample.kind.todo, rule, tuple(problems))

    def _run_sequence(self, sequence: SequenceSample) -> SampleResult:
        from attribution_lib.rules.sequence_runs import run_sequence  # noqa: PLC0415 -- the whole engine, for few files

        problems = run_sequence(sequence, self._engine)
        word = Word.MISSING if problems else Word.HIT
        return SampleResult(sequence.location, sequence.name, word, not problems, problems=problems)

    def _judge_hit(
        self, sample: LineSample, file: SampleFile, rest: list[MatchedEvent], problems: list[str]
    ) -> tuple[Word, str | None]:
        own = [event for event in rest if self._is_of(event, file) and sample.rule in (None, event.rule)]
        if not own:
            problems.append(f"no rule of {' or '.join(sorted(file.rule_paths))} fired")
            problems += [_fired(event) for event in rest]
            return Word.MISSING, None
        ranked = sorted(own, key=lambda event: len(_differences(sample, event, self._engine)))
        best = ranked[0]
        noise = [event for event in rest if event is not best]
        differences = _differences(sample, best, self._engine)
        problems += [f"{best.rule}: {difference}" for difference in differences]
        problems += [_fired(event) for event in noise]
        word = Word.MISSING if differences else Word.NOISY if noise else Word.HIT
        return word, best.rule

    def _is_of(self, event: MatchedEvent, file: SampleFile) -> bool:
        return self._engine.rule(event.rule).provenance.location.path in file.rule_paths


def _fired(event: MatchedEvent) -> str:
    return f"{event.rule} fired too ({event.symptom or event.event_type}); name it in also, or narrow it"


def _differences(sample: LineSample, event: MatchedEvent, engine: RuleEngine) -> list[str]:
    symptom = sample.symptom
    if symptom is not None and symptom in engine.registry:
        symptom = engine.registry.get(symptom).name
    compared: list[tuple[str, object, object]] = [
        ("event", sample.event_type, event.event_type),
        ("symptom", symptom, event.symptom),
    ]
    if sample.node is not None:
        compared.append(("node", sample.node, event.node or ""))
    if sample.rank is not None:
        compared.append(("rank", sample.rank, event.rank))
    if sample.device is not None:
        compared.append(("device", sample.device, event.device or ""))
    compared += [(f"capture {key}", value, event.captures.get(key)) for key, value in sample.captures.items()]
    return [f"{what} is {found!r}, expected {wanted!r}" for what, wanted, found in compared if wanted != found]
