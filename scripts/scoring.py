"""How a verdict compares with the label of its case: what differs, and the figures over many cases."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import LABEL_FILE, METRICS_FILE, TEXT_FILES
from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from attribution_service.result import EnrichedVerdict

__all__ = ["KNOWN_DIFFERENCES", "Answer", "Judgement", "Label", "figures", "judge", "unexpected"]

KNOWN_DIFFERENCES = Path(__file__).resolve().parent.parent / "samples" / "known_differences.toml"
"""Samples of which the label is right and the verdict is not yet: ``slug = "what differs: why"``."""
JUDGEMENTS = ("hardware", "system_software", "application")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LONGEST_EVIDENCE = 4096
_FILES = {source: name for name, source in TEXT_FILES.items()}


@dataclass(frozen=True, slots=True)
class Label:
    """``expected.toml`` of a case: the right verdict, and what is right too."""

    terminal_state: str
    sub_domain: str
    also: frozenset[str]
    root_pattern: str
    root_also: tuple[str, ...]
    bad_nodes: frozenset[str]
    nodes_also: frozenset[str] | None

    @classmethod
    def read(cls, folder: Path) -> Label:
        """The label that lies in the folder of a case."""
        fields = tomllib.loads((folder / LABEL_FILE).read_text(encoding="utf-8"))
        return cls(
            fields["terminal_state"],
            fields["sub_domain"],
            frozenset(fields.get("also", [])),
            fields.get("root_pattern", ""),
            tuple(fields.get("root_also", [])),
            frozenset(fields.get("bad_nodes", [])),
            frozenset(fields["nodes_also"]) if "nodes_also" in fields else None,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What of a verdict is compared."""

    terminal_state: str
    sub_domain: str
    bad_nodes: frozenset[str]
    source: str | None = None
    line_num: int | None = None
    evidence: str = ""

    @classmethod
    def of(cls, verdict: EnrichedVerdict) -> Answer:
        """The comparable part of a verdict."""
        nodes = frozenset(row.node for row in verdict.bad_nodes)
        root = verdict.root_cause
        if root is None:
            return cls(verdict.terminal_state, verdict.sub_domain, nodes)
        return cls(verdict.terminal_state, verdict.sub_domain, nodes, root.source, root.line_num, root.evidence or "")


@dataclass(frozen=True, slots=True)
class Judgement:
    """One case: what was right, None where its label asks for nothing, and what differs in words."""

    terminal_state: bool
    sub_domain: bool
    strict: bool
    """Whether the sub-domain is the label's own, not one that is right too."""
    root_line: bool | None
    nodes: bool | None
    false_blame: bool
    """Whether a node is named that no label names."""
    overclaim: bool | None
    """Whether somebody is blamed where the label blames nobody."""
    differences: tuple[str, ...]


def judge(folder: Path, label: Label, answer: Answer) -> Judgement:
    """Compare the answer over the case in this folder with its label."""
    accepted = label.also | {label.sub_domain}
    wanted = answer.bad_nodes if answer.bad_nodes == label.nodes_also else label.bad_nodes
    humble = label.sub_domain not in JUDGEMENTS
    root_line = _root_is_right(folder, label, answer) if label.root_pattern else None
    state, sub_domain = answer.terminal_state == label.terminal_state, answer.sub_domain in accepted
    nodes = answer.bad_nodes == wanted
    overclaims = humble and answer.sub_domain in JUDGEMENTS and not sub_domain
    false_blame = bool(answer.bad_nodes - label.bad_nodes - (label.nodes_also or frozenset()))
    found = [
        (not state, f"terminal_state: {answer.terminal_state}, expected {label.terminal_state}"),
        (not sub_domain, f"sub_domain: {answer.sub_domain}, expected {' or '.join(sorted(accepted))}"),
        (overclaims, f"overclaim: blames {answer.sub_domain} where the label blames nobody"),
        (
            root_line is False,
            f"root line: {answer.evidence[:100]!r}, expected a line like /{label.root_pattern[:100]}/",
        ),
        (not nodes, f"nodes: {sorted(answer.bad_nodes)}, expected {sorted(label.bad_nodes)}"),
        (false_blame, f"false blame: {sorted(answer.bad_nodes)} where no label names all of them"),
    ]
    return Judgement(
        state,
        sub_domain,
        strict=answer.sub_domain == label.sub_domain,
        root_line=root_line,
        nodes=nodes if wanted else None,
        false_blame=false_blame,
        overclaim=overclaims if humble else None,
        differences=tuple(text for differs, text in found if differs),
    )


def _root_is_right(folder: Path, label: Label, answer: Answer) -> bool:
    line = answer.evidence
    also = any(text[:80] in line or (line and line in text) for text in label.root_also)
    return _at_its_line(folder, answer) and (bool(re.search(label.root_pattern, line)) or also)


def _at_its_line(folder: Path, answer: Answer) -> bool:
    """Whether the evidence is the very line of the case's file at its number; metrics have no lines."""
    line = answer.evidence
    if "\n" in line or len(line) > _LONGEST_EVIDENCE or answer.source is None:
        return False
    path = folder / _FILES.get(Source(answer.source), METRICS_FILE)
    if not path.is_file():
        return False
    if answer.source == Source.NODE_METRICS:
        name = re.match(r"\w+", line)
        return name is not None and f'"{name[0]}"' in path.read_text(encoding="utf-8")
    lines = path.read_bytes().split(b"\n")
    if answer.line_num is None or not 1 <= answer.line_num <= len(lines):
        return False
    return _same_line(_squash(lines[answer.line_num - 1].decode(errors="replace")), _squash(line))


def _same_line(there: str, shown: str) -> bool:
    """A shown line may be cut at its end; at least 40 characters of a long one are shown."""
    enough = len(shown) >= min(len(there), 40) > 0 and len(shown) <= len(there) + 40
    return enough and (shown[:200] in there or there[:200] in shown)


def _squash(text: str) -> str:
    return re.sub(r"\s+", "", _COLOURS.sub("", text))


def figures(judgements: Sequence[Judgement]) -> dict[str, tuple[int, int]]:
    """{figure: (cases, of how many)}; a case counts only where its label says what is right."""
    total = len(judgements)
    return {
        "terminal_state": (sum(case.terminal_state for case in judgements), total),
        "sub_domain": (sum(case.sub_domain for case in judgements), total),
        "strict": (sum(case.strict for case in judgements), total),
        "root line": _of_asked(case.root_line for case in judgements),
        "bad nodes exact": _of_asked(case.nodes for case in judgements),
        "false blame": (sum(case.false_blame for case in judgements), total),
        "overclaim": _of_asked(case.overclaim for case in judgements),
    }


def _of_asked(answers: Iterable[bool | None]) -> tuple[int, int]:
    counts = Counter(answers)
    return counts[True], counts[True] + counts[False]


def unexpected(name: str, judgement: Judgement, known: dict[str, str]) -> tuple[str, ...]:
    """What differs beyond what is known of this sample, or that what is known differs no more."""
    kind = known.get(name, "").partition(":")[0]
    found = [text for text in judgement.differences if text.partition(":")[0] != kind]
    if kind and len(found) == len(judgement.differences):
        found.append(f"{kind}: as expected now; delete its row of {KNOWN_DIFFERENCES.name}")
    return tuple(found)
