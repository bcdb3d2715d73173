"""Scores the rules on labelled cases and says how general the rules are that decided them.

usage: evaluate.py [CASES] [--lines LINES.TSV]

A case is decided by the definition (rule, family or catalog) of its root. A definition is *narrow* when it hits in no
other case and in no labelled line; each narrow one needs a word in ``samples/general_rules.toml`` on why it is general
all the same. Exit status 1 when a case differs from its label in a way that ``samples/known_differences.toml`` does not
say, when more than 15 % of the cases are decided by narrow definitions, or a word is missing.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import Evidence, read_case_folder
from attribution_blueprint.local import attribute_evidence, load_engine
from attribution_lib.attributor import Attributor
from attribution_lib.observation import Source
from attribution_lib.rules.matching import LineMatcher
from scoring import KNOWN_DIFFERENCES, Answer, Judgement, Label, figures, judge, unexpected

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict

ROOT = Path(__file__).resolve().parent.parent
NARROW_LIMIT = 0.15


@dataclass(frozen=True, slots=True)
class Scored:
    """One case with its verdict and how that compares with its label."""

    name: str
    verdict: EnrichedVerdict
    judgement: Judgement
    definitions: frozenset[str]
    """Definitions that hit somewhere in this case."""

    @property
    def deciding(self) -> str:
        """The rule of the root."""
        return self.verdict.root_cause.rule if self.verdict.root_cause else ""


def main() -> int:
    """Print accuracy and generality; see the module's docstring for the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="?", type=Path, default=ROOT / "samples" / "cases")
    parser.add_argument("--lines", type=Path, default=ROOT / "samples" / "lines.tsv")
    options = parser.parse_args()
    engine = load_engine()
    definitions = {rule.provenance.name: rule.provenance.definition or rule.provenance.name for rule in engine.rules()}
    scored = [_score(path.parent, engine, definitions) for path in sorted(options.cases.glob("*/expected.toml"))]
    accurate = _print_accuracy(scored)
    general = _print_generality(scored, _line_hits(options.lines, engine, definitions), definitions)
    return 0 if accurate and general else 1


def _score(folder: Path, engine: RuleEngine, definitions: dict[str, str]) -> Scored:
    evidence = read_case_folder(folder)
    verdict = attribute_evidence(evidence, engine)
    judgement = judge(folder, Label.read(folder), Answer.of(verdict))
    hits = frozenset(definitions.get(rule, rule) for rule in _rules_that_hit(evidence, engine))
    return Scored(folder.name, verdict, judgement, hits)


def _rules_that_hit(evidence: Evidence, engine: RuleEngine) -> set[str]:
    with Attributor(evidence.job, engine) as attributor:
        attributor.ingest_batch(evidence.observations)
        _, stream = attributor.attribute_with_stream()
        return {event.rule for event in stream}


def _line_hits(path: Path, engine: RuleEngine, definitions: dict[str, str]) -> Counter[str]:
    """{definition: labelled lines it hits}."""
    counts: Counter[str] = Counter()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["source"] == Source.NODE_METRICS:
                continue
            matched = LineMatcher(engine, Source(row["source"])).lines(row["line"].encode())
            counts.update({definitions.get(event.rule, event.rule) for line in matched for event in line.events})
    return counts


def _print_accuracy(scored: list[Scored]) -> bool:
    """Whether every case is as its label says, but for what is known."""
    for name, (right, total) in figures([case.judgement for case in scored]).items():
        print(f"{name:15} {right:4}/{total} = {100 * right / max(total, 1):.1f} %")
    known = tomllib.loads(KNOWN_DIFFERENCES.read_text(encoding="utf-8"))
    surprises = [f"{case.name}: {text}" for case in scored for text in unexpected(case.name, case.judgement, known)]
    print(*(f"DIFFERS {text}" for text in surprises), sep="\n", end="\n" if surprises else "")
    return not surprises


def _print_generality(scored: list[Scored], line_hits: Counter[str], definitions: dict[str, str]) -> bool:
    """Whether few enough cases are decided by narrow definitions, and all of these have a word."""
    in_cases: dict[str, set[str]] = defaultdict(set)
    for case in scored:
        for definition in case.definitions:
            in_cases[definition].add(case.name)
    words = tomllib.loads((ROOT / "samples" / "general_rules.toml").read_text(encoding="utf-8"))
    narrow: dict[str, list[str]] = defaultdict(list)
    for case in scored:
        definition = definitions.get(case.deciding, "")
        if definition and in_cases[definition] <= {case.name} and not line_hits[definition]:
            narrow[definition].append(case.name)
    cases = sum(len(names) for names in narrow.values())
    share = cases / max(len(scored), 1)
    print(f"\ndecided by a definition that hits nowhere else: {cases}/{len(scored)} = {100 * share:.1f} %")
    for definition, names in sorted(narrow.items()):
        print(f"  {definition} ({', '.join(names)}): {words.get(definition, 'NO WORD on why it is general')}")
    missing = sorted(set(narrow) - set(words))
    return share <= NARROW_LIMIT and not missing


if __name__ == "__main__":
    sys.exit(main())
