"""Fills the blocks of ``docs/how-it-works.md`` by running one sample; ``--check`` fails when one is out of date.

What stands between ``<!-- run: NAME -->`` and ``<!-- end -->`` is made here, all else is written by hand. The lines of
rule files are left out, so that a change elsewhere in such a file makes nothing stale.
"""

from __future__ import annotations

import re
import sys
import textwrap
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from attribution_blueprint.local import load_engine
from attribution_blueprint.sample_cases import sample_cases, sample_folder
from attribution_cli.main import main as program
from dashboard.building.walkthrough import sample_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboard.contexts.walkthrough import WalkthroughEvent, WalkthroughStep

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "how-it-works.md"
SLUG = "xid145-both-gpus-of-tp2-engine-dies-fabric-wide"
WIDTH = 118
BLOCK = re.compile(r"(?<=<!-- run: )(\S+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def main() -> int:
    """0 when the page shows, or was made to show, what the engine does."""
    text = FILE.read_text(encoding="utf-8")
    made = page(text, blocks())
    if "--check" not in sys.argv[1:]:
        FILE.write_text(made, encoding="utf-8")
    elif made != text:
        print(
            f"{FILE} shows what the engine no longer does; run: python scripts/write_how_it_works.py", file=sys.stderr
        )
        return 1
    else:
        print("how it works: up to date")
    return 0


def page(text: str, outputs: dict[str, str]) -> str:
    """The text with its blocks filled; each block has an output and each output its block."""
    names = [found[1] for found in BLOCK.finditer(text)]
    if sorted(names) != sorted(outputs):
        message = f"{FILE}: has blocks {sorted(names)}; expected {sorted(outputs)}"
        raise ValueError(message)
    return BLOCK.sub(lambda found: f"{found[1]}{found[2]}```text\n{outputs[found[1]]}\n```\n", text)


def blocks() -> dict[str, str]:
    """What each block of the page shows, by name."""
    (sample,) = (each for each in sample_cases(sample_folder()) if each.slug == SLUG)
    _, steps = sample_steps(sample, load_engine())
    shown = {step.phase.value: "\n".join(_step(step)) for step in steps}
    return {"evidence": "\n".join(_evidence()), **shown, "explain": _explained()}


def _evidence() -> Iterator[str]:
    folder = sample_folder() / SLUG
    for name in ("syslog.log", "applog.log"):
        for number, line in enumerate((folder / name).read_text(encoding="utf-8").splitlines(), 1):
            yield textwrap.fill(f"{name}:{number}  {line}", WIDTH, subsequent_indent=" " * 14, break_on_hyphens=False)


def _step(step: WalkthroughStep) -> Iterator[str]:
    """What was extracted; of later phases only what they changed; of the last ones what was decided."""
    for fact in step.facts:
        value = re.sub(r":\d+\)$", ")", fact.value)
        yield f"{fact.name + ':':18}{textwrap.shorten(value, WIDTH - 18, placeholder=' …')}"
    for event in step.events:
        if step.phase == "extracted":
            yield f"{event.id:4}{_place(event):16}{event.rule:32}{event.symptom}{_times(event)}"
        elif event.changed_here:
            yield from _change(event)
    if step.events:
        made = f", {step.added} added" if step.added else ""
        taken = f", {step.removed} set aside" if step.removed else ""
        yield f"active: {step.active}{made}{taken}"


def _change(event: WalkthroughEvent) -> Iterator[str]:
    if not event.changed_by and event.state == "active":
        yield f"+ {event.id:4}{_place(event):16}{event.symptom}{_times(event)}, made by {event.rule}"
        return
    yield f"- {event.id:4}{_place(event):16}{event.symptom}{_times(event)}"
    because = f": explained by {event.explained_by}" if event.explained_by else ""
    yield f"      {event.state} by {event.changed_by}{because}"


def _place(event: WalkthroughEvent) -> str:
    return f"{event.stream}:{event.line_num}" if event.line_num else "(job)"


def _times(event: WalkthroughEvent) -> str:
    return f" ×{event.occurrences}" if event.occurrences > 1 else ""


def _explained() -> str:
    """What the command prints on a terminal of this width."""
    case = (sample_folder() / SLUG).relative_to(ROOT)
    with chdir(ROOT):
        done = CliRunner(env={"COLUMNS": str(WIDTH - 18), "NO_COLOR": "1"}).invoke(program, ["explain", str(case)])
    if done.exit_code != 0:
        message = f"attribution explain {case}: exit status {done.exit_code}: {done.output}"
        raise RuntimeError(message)
    lines = (line.rstrip() for line in done.stdout.splitlines())
    return re.sub(r"(\(rules/\S+?):\d+\)", r"\1)", "\n".join(lines)).strip("\n")


if __name__ == "__main__":
    sys.exit(main())
