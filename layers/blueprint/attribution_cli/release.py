"""``attribution release``: rules shipped apart from the code, into the store that the functions read."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.errors import BlueprintError
from attribution_cli.stores import chosen_store
from attribution_cli.terminal import complain
from attribution_lib.errors import AttributionError
from attribution_lib.rules.folders import bundled_rules
from attribution_service.errors import ServiceError
from attribution_service.rules_release import Release, activate, active_release, publish_rules, roll_back
from attribution_service.times import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_service.ports import ObjectStore

__all__ = ["release"]

_data = click.option("--data", type=click.Path(path_type=Path), help="Folder of a local store.")


@click.group()
def release() -> None:
    """Publish rules and choose which of them are in force.

    A deployment follows the active release when its parameter RulesRelease is "current".
    """


@release.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), required=False)
@click.option("--activate", "now", is_flag=True, help="And make it the current one.")
@_data
def publish(folder: Path | None, data: Path | None, *, now: bool) -> None:
    """Store the rules of FOLDER (the bundled ones by default) under their digest, if they load."""
    with _objects(data) as objects:
        digest = publish_rules(objects, folder or bundled_rules())
        click.echo(digest)
        if now:
            activate(objects, digest, at=int(time.time()))


@release.command(name="activate")
@click.argument("digest")
@_data
def activate_command(digest: str, data: Path | None) -> None:
    """Make a published release the current one."""
    with _objects(data) as objects:
        _print(activate(objects, digest, at=int(time.time())))


@release.command()
@_data
def rollback(data: Path | None) -> None:
    """Go back to the release before the current one."""
    with _objects(data) as objects:
        _print(roll_back(objects, at=int(time.time())))


@release.command()
@_data
def show(data: Path | None) -> None:
    """The current release, and those before it."""
    with _objects(data) as objects:
        found = active_release(objects)
        if found is None:
            click.echo("none: the functions use the rules of their layer")
        else:
            _print(found)


def _print(found: Release) -> None:
    click.echo(f"current   {found.digest}  since {rfc3339(found.at)}")
    for digest in found.previous:
        click.echo(f"previous  {digest}")


@contextmanager
def _objects(data: Path | None) -> Iterator[ObjectStore]:
    """The store's objects; refusals end the command with status 2."""
    try:
        with chosen_store(data) as store:
            yield store.objects
    except (AttributionError, BlueprintError, ServiceError) as error:
        complain(str(error))
        raise SystemExit(2) from None
