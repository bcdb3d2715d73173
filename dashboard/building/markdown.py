"""A verdict as Markdown for a ticket. Log text stands in fences or code spans, so that nothing in it is markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.text.escape import shown
from dashboard.building.words import counted, short_time, symptom_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_service.result import EnrichedVerdict
    from dashboard.contexts.coverage import Coverage
    from dashboard.contexts.verdict import Headline, SymptomEntry

__all__ = ["code", "fenced", "verdict_markdown"]

_LINE = 500
_NODES = 20
_ROWS = 12
_TICKS = re.compile(r"`+")
_MARKUP = re.compile(r"([\\`*\[\]#|<>~@&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_AT_START = re.compile(r"^([-+=]|\d+(?=[.)]))")
"""What makes a list or a heading of a line that begins with it."""


def verdict_markdown(
    verdict: EnrichedVerdict, headline: Headline, coverage: Coverage, symptoms: Sequence[SymptomEntry]
) -> str:
    """The answer, the line, the nodes, what followed, what was not read."""
    parts = [
        f"## {plain(headline.what)}",
        "",
        *_facts(verdict, headline),
        *_root(verdict),
        *_nodes(verdict),
        *_consequences(symptoms),
        *_alternatives(verdict),
        "",
        f"**Coverage**: {plain(coverage.sentence)}",
        *(f"- {code(entry.instance)}: {plain(entry.sentence)}" for entry in coverage.connectors if entry.missing),
        "",
        (
            f"_Engine {plain(verdict.engine.version)}, rules {code(verdict.engine.rules_digest[:12])}, "
            f"run {code(verdict.run_id)}_"
        ),
    ]
    return "\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Text of which no character is markup, a mention or a line break."""
    escaped = _MARKUP.sub(r"\\\1", shown(" ".join(text.split())))
    return _AT_START.sub(lambda found: found[1] + "\\" if found[1].isdigit() else "\\" + found[1], escaped)


def code(text: str) -> str:
    """A code span, whatever backticks the text has."""
    text = shown(text.replace("\t", " ")).strip() or "-"
    ticks = "`" * (max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(lines: Iterable[str]) -> list[str]:
    """A block of lines as they are, control characters spelt out, long ones cut."""
    safe = [shown(line[:_LINE]) + ("…" if len(line) > _LINE else "") for line in lines]
    longest = max((len(run) for line in safe for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + "text", *safe, fence]


def _facts(verdict: EnrichedVerdict, headline: Headline) -> Iterator[str]:
    job = verdict.job
    times = f", {short_time(job.get('start')) or '?'} to {short_time(job.get('end')) or '?'} UTC"
    yield f"- **Whose problem**: {plain(headline.owner)}"
    yield f"- **How sure**: {plain(headline.certainty)}"
    yield f"- **Next**: {plain(headline.next_step)}"
    yield (
        f"- **Job**: {code(str(job['job_id']))} (attempt {job['attempt']}) on {code(str(job['cluster']))}, "
        f"{counted(len(job.get('nodes') or ()), 'node')}, user {code(str(job.get('user') or ''))}, "
        f"state {code(str(job.get('state') or 'unknown'))}{times}"
    )


def _root(verdict: EnrichedVerdict) -> Iterator[str]:
    root = verdict.root_cause
    if root is None:
        return
    place = root.stream or root.source
    line = f", line {root.line_num:,}" if root.line_num is not None else ""
    yield ""
    yield f"**Evidence** ({code(place)}{line}, rule {code(root.rule)}):"
    yield ""
    yield from fenced([root.evidence])


def _nodes(verdict: EnrichedVerdict) -> Iterator[str]:
    if not verdict.bad_nodes:
        return
    yield ""
    yield f"**Bad nodes** ({verdict.bad_nodes_total:,}):"
    yield from (f"- {code(bad.node)}: {plain(bad.why)}" for bad in verdict.bad_nodes[:_NODES])
    if verdict.bad_nodes_total > _NODES:
        yield f"- and {verdict.bad_nodes_total - _NODES:,} more"


def _consequences(symptoms: Sequence[SymptomEntry]) -> Iterator[str]:
    rows = [row for row in symptoms if row.state != "root"]
    if not rows:
        return
    yield ""
    yield "**Also seen**:"
    yield from (f"- {plain(symptom_words(row.symptom))}: {plain(row.reason)}" for row in rows[:_ROWS])
    if len(rows) > _ROWS:
        yield f"- and {len(rows) - _ROWS:,} more"


def _alternatives(verdict: EnrichedVerdict) -> Iterator[str]:
    if verdict.alternatives:
        yield ""
        yield "**Could also be**:"
        yield from (f"- {plain(symptom_words(row.symptom))}: {plain(row.why)}" for row in verdict.alternatives)
    if verdict.needed_evidence:
        yield ""
        yield "**Would decide**:"
        yield from (
            f"- {code(row.source)}{' of ' + code(row.node) if row.node else ''}: {plain(row.why)}"
            for row in verdict.needed_evidence
        )
