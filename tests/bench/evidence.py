"""Deterministic text like that of a large training job, with a chosen share of lines that rules hit."""

from __future__ import annotations

import json
import random
import tomllib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_lib.observation import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from attribution_lib.rules.plan import ExtractionPlan

__all__ = ["entries_body", "hit_lines", "quiet_templates", "slabs", "system_lines", "system_log_lines", "text"]

_ROOT = Path(__file__).parents[2]
_RANKS = 64


def _clock(pick: random.Random) -> str:
    return f"03:{pick.randrange(60):02d}:{pick.randrange(60):02d}"


def _step(pick: random.Random, number: int) -> str:
    stamp = f"2026-06-01 {_clock(pick)},{pick.randrange(1000):03d}"
    return f"[rank{pick.randrange(512)}]: {stamp} - INFO - batch {number} of shard 7 took {pick.random():.3f} s"


def _channel(pick: random.Random, _number: int) -> str:
    host, pid, peer = f"node-{pick.randrange(1, 129):04d}", pick.randrange(10_000, 99_999), pick.randrange(512)
    lane = f"Channel {pick.randrange(24):02d}/0 : {pick.randrange(512)}[{pick.randrange(8)}] -> {peer}[{peer % 8}]"
    return f"{peer % 128}: {host}:{pid}:{pid + 7} [{peer % 8}] NCCL INFO {lane} [send] via NET/IB/0/GDRDMA"


def _session(pick: random.Random, number: int) -> str:
    return (
        f"Jun  1 {_clock(pick)} node-{pick.randrange(1, 129):04d} systemd[1]: Started Session {number} of user user7."
    )


def _kernel(pick: random.Random, _number: int) -> str:
    stamp, node = f"[{pick.randrange(99_999)}.{pick.randrange(999_999):06d}]", f"node-{pick.randrange(1, 129):04d}"
    return f"Jun  1 {_clock(pick)} {node} kernel: {stamp} eth0: link is up, 100000 Mbps full duplex"


def _metrics(pick: random.Random, number: int) -> str:
    parts = [
        f" [2026-06-01 {_clock(pick)}] consumed samples: {number * 1024:12d}",
        f"elapsed time (ms): {pick.random() * 9000:.1f}",
        "learning rate: 1.500E-04",
        "global batch size:  1024",
        f"loss scale: 1.0 | grad norm: {pick.random():.3f}",
        "number of skipped samples:   0",
    ]
    return " | ".join(parts) + " |"


def _frame(pick: random.Random, _number: int) -> str:
    path = "/data/envs/train/lib/python3.11/site-packages/torch/nn/modules/module.py"
    return f'[rank{pick.randrange(512)}]:   File "{path}", line {pick.randrange(2000)}, in _call_impl'


def _code(pick: random.Random, _number: int) -> str:
    return f"[rank{pick.randrange(512)}]:     return forward_call(*args, **kwargs)"


def _launcher(pick: random.Random, _number: int) -> str:
    where = f"W0601 {_clock(pick)}.{pick.randrange(999_999):06d} {pick.randrange(99_999)} torch/distributed/run.py:792]"
    return f"{where} Setting OMP_NUM_THREADS environment variable for each process to be 1 in default"


def _engine(pick: random.Random, _number: int) -> str:
    where = f"INFO 08-20 {_clock(pick)} llm_engine.py:161]"
    return f"{where} Initializing an LLM engine with config: max_seq_len={pick.randrange(9000)}"


def _bar(pick: random.Random, number: int) -> str:
    spent = f"{pick.randrange(60):02d}:{pick.randrange(60):02d}"
    return f"Downloading shards:  {number % 100}%|####      | {number % 500} [{spent}<00:30]"


TEMPLATES = (_step, _channel, _session, _kernel, _metrics, _frame, _code, _launcher, _engine, _bar)


def quiet_templates(plan: ExtractionPlan) -> list[Callable[[random.Random, int], str]]:
    """The templates whose lines no rule of the plan hits."""
    return [template for template in TEMPLATES if not any(_hits(plan, line) for line in _samples(template))]


def _samples(template: Callable[[random.Random, int], str]) -> list[bytes]:
    pick = random.Random(1)  # noqa: S311 -- wanted: the same every time
    return [template(pick, number).encode() for number in range(1, 50_000, 1_000)]


def _hits(plan: ExtractionPlan, line: bytes) -> bool:
    return any(plan.rules[hit.pattern].confirm.search(line, hit.hit_end) is not None for hit in plan.matcher.scan(line))


def hit_lines(plan: ExtractionPlan, kinds: int = 64) -> list[str]:
    """So many different real lines, from the rules' tests and the samples, that rules hit behind a rank tag.

    A failing job prints few kinds of messages, each many times.
    """
    found = list(dict.fromkeys((*_tested_lines(), *_sample_lines())))
    random.Random(3).shuffle(found)  # noqa: S311 -- wanted: the same every time
    hits = (line for line in found if "\n" not in line and _hits(plan, f"[rank7]: {line}".encode()))
    return list(islice(hits, kinds))


def system_lines(plan: ExtractionPlan, kinds: int = 20) -> list[str]:
    """So many different messages that rules hit when a node's kernel prints them."""
    stamp = "2026-06-01T03:00:00.000000+00:00 node-0001 kernel: "
    found = (line for line in sorted(dict.fromkeys(_sample_lines())) if _hits(plan, (stamp + line).encode()))
    return list(islice(found, kinds))


def system_log_lines() -> list[str]:
    """All real lines of system logs that the samples hold, in a fixed order."""
    return sorted({line for source, line in _sampled() if source == Source.SYSLOG})


def _tested_lines() -> Iterator[str]:
    for path in sorted((_ROOT / "rules").glob("*.test.toml")):
        for hit in tomllib.loads(path.read_text()).get("hit", ()):
            yield str(hit.get("line", ""))[:1000]


def _sample_lines() -> Iterator[str]:
    yield from (line for _, line in _sampled())


def _sampled() -> Iterator[tuple[str, str]]:
    """(source, line) of every line among the samples."""
    lines = (_ROOT / "samples" / "lines.tsv").read_text().splitlines()[1:]
    yield from (tuple(line.split("\t")[1:3]) for line in lines)  # type: ignore[misc] # two of each


def text(
    size: int,
    hit_share: float,
    hits: Sequence[str],
    templates: Sequence[Callable[[random.Random, int], str]] = TEMPLATES,
    seed: int = 7,
) -> bytes:
    """``size`` bytes of whole lines, of which about ``hit_share`` (0 to 1) are hits; the same for equal arguments."""
    pick = random.Random(seed)  # noqa: S311 -- wanted: the same every time
    lines: list[str] = []
    written = number = 0
    while written < size:
        number += 1
        if pick.random() < hit_share:
            line = f"[rank{pick.randrange(_RANKS)}]: {pick.choice(hits)}"
        else:
            line = pick.choice(templates)(pick, number)
        lines.append(line)
        written += len(line) + 1
    lines.append("")
    return "\n".join(lines).encode()


def slabs(data: bytes, size: int = 16 << 20) -> Iterator[tuple[int, bytes]]:
    """(number of the first line, bytes) of pieces of whole lines, as a collector would upload them."""
    start, first_line = 0, 1
    while start < len(data):
        end = len(data) if len(data) - start <= size else data.rfind(b"\n", start, start + size) + 1
        if end == 0:  # one line that is longer than a piece
            end = data.find(b"\n", start + size) + 1 or len(data)
        piece = data[start:end]
        yield first_line, piece
        first_line += piece.count(b"\n")
        start = end


def entries_body(lines: Sequence[str]) -> bytes:
    """A request body of log entries with stamps and nodes, as a log backend returns them."""
    entries = [
        {
            "line": line,
            "ts": f"2026-06-01T03:{number // 60 % 60:02d}:{number % 60:02d}Z",
            "node": f"node-{number % 128:04d}",
        }
        for number, line in enumerate(lines)
    ]
    header = {"source": "applog", "format": "json", "stream": "pod/trainer-0", "first_line": 1}
    return json.dumps({**header, "entry_timeseries": entries}).encode()
