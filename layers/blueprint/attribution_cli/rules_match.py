"""``attribution rules match FILE``: what each line of a file says to the line rules."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from attribution_cli.rules_loading import console, load_rules, rules_option
from attribution_cli.terminal import echo_json
from attribution_lib.observation import TEXT_SOURCES, Source
from attribution_lib.rules.matching import LineMatcher
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.matching import MatchedEvent, MatchedLine

__all__ = ["match"]


@click.command()
@click.argument("file", type=click.File("rb"))
@click.option(
    "--source",
    type=click.Choice([source.value for source in TEXT_SOURCES]),
    default=Source.APPLOG.value,
    show_default=True,
    help="Where the lines come from: rules look at the sources they name.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line of input, with or without events.")
@rules_option
def match(file: Any, source: str, as_json: bool, folders: tuple[Path, ...]) -> None:  # noqa: FBT001 -- click passes flags by name
    """Show what the line rules make of every line of FILE.

    - reads standard input.

    Accumulators, metric rules and cascades are left out: this is what one line alone proves.
    """
    matcher = LineMatcher(load_rules(folders), Source(source))
    out = console()
    for matched in matcher.lines(file.read()):
        if as_json:
            echo_json(_as_json(matched))
        elif matched.events:
            out.print(f"{matched.line_num}: {shown(matched.line)}")
            for event in matched.events:
                out.print(f"    {shown(_as_text(event))}", style="bold")


def _as_json(matched: MatchedLine) -> dict[str, Any]:
    keys = ("rule", "event_type", "symptom", "node", "rank", "captures")
    events = [{key: asdict(event)[key] for key in keys} for event in matched.events]
    return {"line_num": matched.line_num, "line": matched.line, "events": events}


def _as_text(event: MatchedEvent) -> str:
    place = [f"node={event.node}"] if event.node else []
    place += [f"rank={event.rank}"] if event.rank is not None else []
    captures = [f"{key}={value!r}" for key, value in sorted(event.captures.items())]
    return " ".join([event.rule, event.event_type, f"[{event.symptom or ''}]", *place, *captures])
