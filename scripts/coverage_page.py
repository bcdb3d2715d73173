"""Proves that every kind of failure is known, and writes the page that says by what.

usage: coverage_page.py [--check]

Reads ``samples/categories.toml`` and runs the examples that each row names: a sample decided by a symptom of the
category, a near miss that stays quiet, a situation in which such a symptom only follows from something else. Exit
status 1 when a row names an example that is none or, with ``--check``, when docs/reference/coverage.md is out of date.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.local import attribute_evidence, load_engine
from attribution_lib.rules.lint.coverage import near_misses
from attribution_lib.rules.lint.model import LintInput
from attribution_lib.rules.reference import symptoms_of
from attribution_lib.rules.sequence_runs import sequence_verdict
from attribution_lib.rules.testing import collect_samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.sequences import SequenceSample
    from attribution_lib.verdict import Verdict

__all__ = ["Category", "Prover", "Row", "page", "read_categories"]

ROOT = Path(__file__).resolve().parent.parent
CATEGORIES = ROOT / "samples" / "categories.toml"
PAGE = ROOT / "docs" / "reference" / "coverage.md"
_EXPLAINED = ("demoted", "discarded")
_MISS_SHOWN = 90


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of failure: what belongs to it, and the examples that are to prove it."""

    name: str
    outcomes: frozenset[str]
    patterns: tuple[str, ...]
    hit: str
    miss: str
    cascade: str


@dataclass(frozen=True, slots=True)
class Row:
    """What was proved of a category; ``faults`` says what was not."""

    category: Category
    hit: str = ""
    miss: str = ""
    cascade: str = ""
    faults: tuple[str, ...] = ()


def read_categories(path: Path = CATEGORIES) -> list[Category]:
    """The reviewed rows, in their order."""
    return [
        Category(
            row["name"],
            frozenset(row.get("outcomes", [])),
            tuple(row.get("symptoms", [])),
            row.get("hit", ""),
            row.get("miss", ""),
            row.get("cascade", ""),
        )
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["category"]
    ]


class Prover:
    """Runs the examples of categories against one engine."""

    def __init__(self, engine: RuleEngine, cases: Path = ROOT / "samples" / "cases") -> None:
        self._engine = engine
        self._cases = cases
        self._given = LintInput(engine, collect_samples(None, engine))
        self._near = near_misses(self._given)
        self._sequences: Mapping[str, SequenceSample] = {
            sequence.name: sequence for file in self._given.files for sequence in file.sequences
        }

    def row(self, category: Category) -> Row:
        """What the examples of this category prove."""
        faults: list[str] = []
        symptoms = self._symptoms(category, faults)
        emitters = {
            rule.provenance.definition: rule.provenance.location.path
            for rule in self._engine.text_rules
            if symptoms.intersection(symptoms_of(rule))
        }
        return Row(
            category,
            self._hit(category, symptoms, faults),
            self._miss(category, emitters, symptoms, faults),
            self._cascade(category, symptoms, faults),
            tuple(faults),
        )

    def _symptoms(self, category: Category, faults: list[str]) -> frozenset[str]:
        names = [symptom.name for symptom in self._engine.registry]
        faults += [
            f"no symptom is called {pattern}"
            for pattern in category.patterns
            if not any(fnmatchcase(name, pattern) for name in names)
        ]
        return frozenset(
            symptom.name
            for symptom in self._engine.registry
            if symptom.outcome in category.outcomes
            or any(fnmatchcase(symptom.name, pattern) for pattern in category.patterns)
        )

    def _hit(self, category: Category, symptoms: frozenset[str], faults: list[str]) -> str:
        verdict = self._case_verdict(category.hit)
        root = verdict.root_cause.symptom if verdict and verdict.root_cause else None
        if root in symptoms:
            return f"{root}: sample `{category.hit}`"
        faults.append(f"hit: {category.hit or 'nothing'} is decided by {root}, which is not of this category")
        return ""

    def _miss(
        self, category: Category, emitters: Mapping[str, str], symptoms: frozenset[str], faults: list[str]
    ) -> str:
        for name, path in sorted(emitters.items()):
            for sample in self._near.get(name, ()) if category.miss else ():
                beside = sample.location.path == f"{path.rpartition('.')[0]}.test.toml"
                fired = {event.symptom for event in self._given.fired(sample.line, sample.source)}
                if beside and category.miss in sample.line and not fired & symptoms:
                    return f"`{sample.line.strip()[:_MISS_SHOWN]}` is not {name}: {sample.reason}"
        faults.append(f"miss: no [[miss]] beside a rule of this category holds {category.miss!r}")
        return ""

    def _cascade(self, category: Category, symptoms: frozenset[str], faults: list[str]) -> str:
        sequence = self._sequences.get(category.cascade)
        verdict = sequence_verdict(sequence, self._engine) if sequence else self._case_verdict(category.cascade)
        root = verdict.root_cause.symptom if verdict and verdict.root_cause else None
        for row in verdict.symptoms if verdict and root not in symptoms else ():
            if row.symptom in symptoms and row.state in _EXPLAINED and row.explained_by not in symptoms:
                where = f"“{sequence.name}”" if sequence else f"sample `{category.cascade}`"
                return f"{row.symptom}, {row.state} by {row.changed_by} for {row.explained_by or root}: {where}"
        faults.append(f"cascade: in {category.cascade or 'nothing'} no symptom of this category gives way to another")
        return ""

    def _case_verdict(self, name: str) -> Verdict | None:
        folder = self._cases / name
        return attribute_evidence(read_case_folder(folder), self._engine) if name and folder.is_dir() else None


def page(rows: Sequence[Row]) -> str:
    """``coverage.md``: one row a category."""
    lines = [
        "# Coverage by category",
        "",
        "<!-- Generated by `scripts/coverage_page.py`. Do not edit: edit samples/categories.toml. -->",
        "",
        "Each example is run when this page is written or checked. A near miss is a line that no rule of the category",
        "may match; the last column is a situation in which a symptom of the category only follows from another cause.",
        "",
        "| category | decided by it | near miss | only the consequence |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| **{row.category.name}** | {_cell(row.hit)} | {_cell(row.miss)} | {_cell(row.cascade)} |" for row in rows
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") or "**missing**"


def main() -> int:
    """Prove, then write or check the page; see the module's docstring for the exit status."""
    prover = Prover(load_engine())
    rows = [prover.row(category) for category in read_categories()]
    faults = [f"{CATEGORIES.name}: {row.category.name}: {fault}" for row in rows for fault in row.faults]
    text = page(rows)
    if "--check" in sys.argv[1:]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            faults.append(f"{PAGE} is out of date; run: make docs")
    else:
        PAGE.write_text(text, encoding="utf-8")
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
