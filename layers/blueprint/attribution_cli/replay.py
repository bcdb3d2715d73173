"""``attribution replay``: what kept evidence would say under other rules."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.local import load_engine
from attribution_cli.stores import recorded_store
from attribution_cli.terminal import complain, one_rules_option
from attribution_lib.errors import AttributionError
from attribution_lib.text.escape import shown
from attribution_service.errors import ServiceError
from attribution_service.replay import Replayed, replay
from attribution_service.service import EVERYTHING, Service
from attribution_service.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["replay_command"]

_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


class _Span(click.ParamType[int]):
    """``7d``, ``12h``, ``30m`` or ``2w``, in seconds."""

    name = "span"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Seconds."""
        found = re.fullmatch(r"(\d{1,6})([mhdw])", str(value))
        if found is None:
            self.fail(f"{value!r} is no span of time; expected a number and m, h, d or w, such as 7d", param, ctx)
        return int(found[1]) * _UNITS[found[2]]


@click.command(name="replay")
@click.option("--since", type=_Span(), default="7d", show_default=True, help="How far back: 12h, 7d, 2w.")
@one_rules_option("Rules to try [default: the bundled ones].")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of a local store.")
@click.option("--diff", is_flag=True, help="Only what would change, and from what to what.")
def replay_command(since: int, rules_dir: Path | None, data: Path | None, *, diff: bool) -> None:
    """Attribute kept evidence again, under other rules, and list the verdicts.

    Nothing is stored. Evidence is kept when EvidenceDays (ATTRIBUTION_EVIDENCE_DAYS) is set. Exit status 0 when no
    verdict would change, 1 when some would, 2 on bad input.
    """
    try:
        engine = load_engine(() if rules_dir is None else (rules_dir,))
        with recorded_store(data) as store:
            service = Service(store, lambda: engine, time.time, read_settings(os.environ))
            found = replay(service, EVERYTHING, engine, since=int(time.time()) - since)
            changed = _print(found, diff=diff)
    except (AttributionError, BlueprintError, ServiceError) as error:
        complain(str(error))
        raise SystemExit(2) from None
    raise SystemExit(1 if changed else 0)


def _print(found: Iterator[Replayed], *, diff: bool) -> int:
    """One line a verdict, one a difference below it; how many would change."""
    total = changed = failed = 0
    for replayed in found:
        total += 1
        changed += replayed.changed
        failed += bool(replayed.problem)
        if replayed.changed or replayed.problem or not diff:
            word = "failed" if replayed.problem else "changed" if replayed.changed else "same"
            click.echo(f"{word:8}{shown(replayed.name)}  {shown(replayed.problem)}".rstrip())
        for name, (before, after) in replayed.differences().items():
            click.echo(f"        {name}: {shown(str(before))} → {shown(str(after))}")
    click.echo(f"{total} verdicts, {changed} would change, {failed} could not be made again", err=True)
    return changed
