"""Plain text through the full rule set, beside ripgrep and beside a loop of Python's ``re``."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import attributor, ingest_text, load_rules
from evidence import hit_lines, quiet_templates, text
from harness import Bench, Outcome, Section, children_cpu, rate, watch

from attribution_lib.observation import Source
from attribution_lib.rules.model import TextRule

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine

__all__ = ["SECTION", "patterns_of"]

_SIZE = 128
_LOOPED_LINES = 2_000
_SHARES = (0.01, 0.10, 1.0)


def patterns_of(engine: RuleEngine) -> list[str]:
    """The patterns that application logs are scanned for."""
    rules = engine.plans.of(Source.APPLOG).rules
    return [rule.match_re if isinstance(rule, TextRule) else rule.trigger_re for rule in (p.rule for p in rules)]


def _run(bench: Bench) -> Outcome:
    engine = load_rules(bench.cache)
    plan = engine.plans.of(Source.APPLOG)
    templates, hits = quiet_templates(plan), hit_lines(plan)
    accepted, refused = _ripgrep_patterns(patterns_of(engine), bench.folder)
    figures: dict[str, Any] = {
        "patterns": len(plan.rules),
        "distinct_hit_lines": len(hits),
        "matcher_diagnostics": plan.matcher.diagnostics,
        "refused_by_ripgrep": refused,
    }
    for share in _SHARES:
        size = bench.size(_SIZE)
        file = bench.folder / f"hits-{share}.log"
        file.write_bytes(text(size, share, hits, templates))
        figures[f"hits_{share:.0%}"] = _compare(engine, file, accepted)
    one = figures["hits_1%"]
    met = one["ratio_to_ripgrep"] >= 0.7 and one["ratio_to_re_loop"] >= 100
    return Outcome(figures, met)


def _compare(engine: RuleEngine, file: Path, pattern_file: Path) -> dict[str, Any]:
    data = file.read_bytes()
    with attributor(engine) as target:
        with watch() as spent:
            ingest_text(target, data)
        rows = len(target.events.load())
    ripgrep, matching = _ripgrep(file, pattern_file)
    loop = _python_loop(patterns_of(engine), data)
    ours = rate(len(data), spent.cpu)
    return {
        "bytes": len(data),
        "lines": data.count(b"\n"),
        "matching_lines_ripgrep": matching,
        "event_rows": rows,
        "mb_per_s": ours,
        "memory_mib": round(spent.grown),
        "ripgrep_mb_per_s": ripgrep,
        "re_loop_mb_per_s": loop,
        "ratio_to_ripgrep": round(ours / ripgrep, 2),
        "ratio_to_re_loop": round(ours / loop),
    }


def _executable() -> str:
    beside = Path(sys.executable).parent / "rg"
    return str(beside) if beside.exists() else shutil.which("rg") or "rg"


def _command() -> list[str]:
    """Without Unicode, as our patterns are read: word boundaries of Unicode make it forty times slower."""
    return [_executable(), "-j1", "-c", "--no-unicode"]


def _ripgrep_patterns(patterns: list[str], folder: Path) -> tuple[Path, list[str]]:
    """A file of the patterns that ripgrep takes, and the others. Group names go: it joins all patterns into one."""
    unnamed = [re.sub(r"\(\?P?<\w+>", "(?:", pattern) for pattern in patterns]
    refused = [
        pattern
        for pattern in unnamed
        if subprocess.run([*_command(), "-e", pattern, "/dev/null"], capture_output=True, check=False).returncode > 1  # noqa: S603 -- the tool we compare with
    ]
    file = folder / "patterns.txt"
    file.write_text("".join(f"{pattern}\n" for pattern in unnamed if pattern not in refused))
    return file, refused


def _ripgrep(file: Path, pattern_file: Path) -> tuple[float, int]:
    """MB/s of ripgrep's CPU time, and how many lines it found."""
    before = children_cpu()
    command = [*_command(), "-f", str(pattern_file), str(file)]
    counted = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 -- likewise
    return rate(file.stat().st_size, children_cpu() - before), int(counted or 0)


def _python_loop(patterns: list[str], data: bytes) -> float:
    """MB/s of searching every pattern in every line, over the first lines only."""
    compiled = [re.compile(pattern.encode()) for pattern in patterns]
    lines = data.split(b"\n", _LOOPED_LINES)[:_LOOPED_LINES]
    started = time.process_time()
    for line in lines:
        for pattern in compiled:
            pattern.search(line)
    return rate(sum(map(len, lines)), time.process_time() - started)


SECTION = Section(
    "extraction",
    "at 1 % hit lines at least 0.7 x ripgrep -j1 with the same patterns, and 100 x a loop of Python's re",
    _run,
)
