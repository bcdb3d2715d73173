"""``attribution rules lock``: pin every rule, or check that the pins hold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from attribution_cli.rules_loading import FAILED, REFUSED, console, load_rules, rules_option
from attribution_lib.rules.folders import bundled_rules
from attribution_lib.rules.locking import LOCK_FILE, compare_locks, lock_of, read_lock, render_lock

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["lock"]


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit status 1 when the lock is out of date.")
@rules_option
def lock(check: bool, folders: tuple[Path, ...]) -> None:  # noqa: FBT001 -- click passes flags by name
    """Pin every rule to a version and a hash.

    The hash covers what can change a verdict. A rule that changed under the same version is named: readers of old
    verdicts rely on the version.
    """
    out = console()
    current = lock_of(load_rules(folders), folders or None)
    path = (folders[0] if folders else bundled_rules()) / LOCK_FILE
    try:
        pinned = read_lock(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        console(stderr=True).print(f"{path} {error}")
        sys.exit(REFUSED)
    changes = compare_locks(pinned, current)
    for change in changes:
        note = " (changed, but its version is the same)" if change.kind == "unversioned" else ""
        out.print(f"{change.kind:<12} {change.rule}{note}")
    if check:
        out.print(
            f"{path.name} is out of date; run: attribution rules lock" if changes else f"{len(current)} rules as pinned"
        )
        sys.exit(FAILED if changes else 0)
    path.write_text(render_lock(current), encoding="utf-8")
    out.print(f"{len(current)} rules pinned in {path}")
