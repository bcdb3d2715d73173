"""Scores the rules on labelled cases and says how general the rules are that decided them.

usage: evaluate.py [CASES] [--lines LINES.TSV]

A case is decided by the definition (rule, family or catalog) of its root. A definition is *narrow* when it hits in no
other case and in no labelled line; each narrow one needs a word in ``samples/general_rules.toml`` on why it is general
all the same. Exit status 1 when more than 15 % of the cases are decided by narrow definitions or a word is missing.
"""

from __future__ import annotations

import argparse
import csv
import re
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

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.result import EnrichedVerdict

ROOT = Path(__file__).resolve().parent.parent
NARROW_LIMIT = 0.15
JUDGEMENTS = ("hardware", "system_software", "application")


@dataclass(frozen=True, slots=True)
class Scored:
    """One case with its verdict and its label."""

    name: str
    verdict: EnrichedVerdict
    label: dict[str, object]
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
    _print_accuracy(scored)
    return _print_generality(scored, _line_hits(options.lines, engine, definitions), definitions)


def _score(folder: Path, engine: RuleEngine, definitions: dict[str, str]) -> Scored:
    evidence = read_case_folder(folder)
    label = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))
    hits = frozenset(definitions.get(rule, rule) for rule in _rules_that_hit(evidence, engine))
    return Scored(folder.name, attribute_evidence(evidence, engine), label, hits)


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


def _print_accuracy(scored: list[Scored]) -> None:
    right: Counter[str] = Counter()
    for case in scored:
        label, verdict = case.label, case.verdict
        accepted = {label["sub_domain"], *_list(label, "also")}
        blamed = {row.node for row in verdict.bad_nodes}
        wanted = set(_list(label, "bad_nodes"))
        also = set(_list(label, "nodes_also")) if "nodes_also" in label else None
        right["terminal_state"] += verdict.terminal_state == label["terminal_state"]
        right["sub_domain"] += verdict.sub_domain in accepted
        right["nodes"] += blamed == wanted or (also is not None and blamed == also)
        right["false blame"] += bool(blamed - wanted - (also or set()))
        humble = label["sub_domain"] not in JUDGEMENTS
        right["overclaim"] += humble and verdict.sub_domain in JUDGEMENTS and verdict.sub_domain not in accepted
        right["root line"] += _root_is_right(case)
    total = len(scored)
    for name in ("terminal_state", "sub_domain", "root line", "nodes", "false blame", "overclaim"):
        print(f"{name:15} {right[name]:4}/{total} = {100 * right[name] / max(total, 1):.1f} %")


def _root_is_right(case: Scored) -> bool:
    pattern = str(case.label.get("root_pattern", ""))
    evidence = case.verdict.root_cause.evidence if case.verdict.root_cause else ""
    also = (str(text)[:80] for text in _list(case.label, "root_also"))
    return not pattern or bool(re.search(pattern, evidence)) or any(text in evidence for text in also)


def _print_generality(scored: list[Scored], line_hits: Counter[str], definitions: dict[str, str]) -> int:
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
    return 1 if share > NARROW_LIMIT or missing else 0


def _list(label: dict[str, object], key: str) -> list[str]:
    value = label.get(key, [])
    return [str(item) for item in value] if isinstance(value, list) else []


if __name__ == "__main__":
    sys.exit(main())
