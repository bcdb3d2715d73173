"""``attribute()`` on a large job: 200,000 aggregated events of 10,000 nodes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from engine import attributor, ingest_text, load_rules
from evidence import system_log_lines
from harness import Bench, Outcome, Section, in_child, watch

from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

__all__ = ["SECTION"]

_NODES = 10_000
_EVENTS = 200_000
_KINDS = 20
_SECONDS = 2.0
_MEBIBYTES = 500


def _run(bench: Bench) -> Outcome:
    figures = in_child(_attribute, bench.cache, bench.count(_NODES), bench.count(_EVENTS))
    return Outcome(figures, figures["cpu_s"] <= _SECONDS and figures["memory_mib"] <= _MEBIBYTES)


def _attribute(cache: Path, nodes: int, events: int) -> dict[str, Any]:
    engine = load_rules(cache)
    kinds = _kinds(engine)
    with attributor(engine, nodes) as target:
        ingest_text(target, b"".join(_lines(kinds, nodes, events)), Source.SYSLOG, "messages")
        rows = target.events.row_count
        with watch() as first:
            verdict = target.attribute()
        with watch() as again:
            target.attribute()
    return {
        "event_rows": rows,
        "nodes": nodes,
        "kinds_of_lines": len(kinds),
        "cpu_s": round(first.cpu, 2),
        "cpu_s_repeated": round(again.cpu, 2),
        "memory_mib": round(first.grown),
        "outcome": str(verdict.outcome),
        "symptoms": len(verdict.symptoms),
        "explained": sum(row.state == "discarded" for row in verdict.symptoms),
    }


def _kinds(engine: RuleEngine) -> list[str]:
    """Real messages, drawn from all samples, each of which gives one row on every node that prints it.

    Another two of one rule would fold into one row, and a message that names its own node into one row of that node.
    """
    found = system_log_lines()
    random.Random(3).shuffle(found)  # noqa: S311 -- wanted: the same every time
    kinds: dict[str, str] = {}
    for line in found:
        rule = _rule_of(engine, line)
        if rule and rule not in kinds:
            kinds[rule] = line
        if len(kinds) == _KINDS:
            break
    return list(kinds.values())


def _rule_of(engine: RuleEngine, line: str) -> str:
    """The rule that makes one row a node of a message; empty where that is not so."""
    with attributor(engine, 2) as target:
        ingest_text(target, b"".join(_lines([line], 2, 2)), Source.SYSLOG, "messages")
        rows = target.events.load()
    nodes = sorted(row.node or "" for row in rows)
    rules = {row.rule for row in rows}
    return rules.pop() if nodes == ["node-0001", "node-0002"] and len(rules) == 1 else ""


def _lines(kinds: list[str], nodes: int, events: int) -> Iterator[bytes]:
    """One line for each (kind, node), as a system log of the whole cluster has them."""
    for number in range(events):
        node, kind = number % nodes + 1, kinds[number // nodes % len(kinds)]
        minute, second = number // 60 % 60, number % 60
        yield f"2026-06-01T03:{minute:02d}:{second:02d}.000000+00:00 node-{node:04d} kernel: {kind}\n".encode()


SECTION = Section(
    "attribution",
    "attribute() on 200,000 aggregated events of 10,000 nodes: at most 2 s and 500 MB",
    _run,
)
