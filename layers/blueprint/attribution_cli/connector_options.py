"""The ``--connector`` option: it takes three, four or five words, which no option of click's can."""

from __future__ import annotations

from typing import Any

import click

from attribution_blueprint.errors import ConfigError
from attribution_blueprint.surfaces import Given, SurfaceReader

__all__ = ["ConnectorCommand", "given_arguments"]

_META_KEY = "attribution.given"
_MANY = "--configs"


class ConnectorCommand(click.Command):
    """A command whose ``--connector`` words are taken out before click reads the rest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Faults are raised when the command asks for what was given, so that ``--help`` still works."""
        reader = SurfaceReader()
        rest = reader.read_arguments(args)
        ctx.meta[_META_KEY] = reader
        return super().parse_args(ctx, _repeated(rest))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Tell of the option that click does not know."""
        super().format_options(ctx, formatter)
        with formatter.section("Settings"):
            rows = [
                ("--connector FRAMEWORK KEY VALUE", "of run and attribution"),
                ("--connector FRAMEWORK COMPONENT KEY VALUE", "eca slurm ids 1,5,7"),
                ("--connector FRAMEWORK INSTANCE COMPONENT KEY VALUE", "output db sqlite path verdicts.db"),
            ]
            formatter.write_dl(rows)
            formatter.write_text("See: attribution connectors")


def given_arguments() -> list[Given]:
    """What the command line set; ``ConfigError`` with every fault in it."""
    reader: Any = click.get_current_context().meta[_META_KEY]
    if reader.faults:
        raise ConfigError(reader.faults)
    found: list[Given] = reader.given
    return found


def _repeated(arguments: list[str]) -> list[str]:
    """``--configs A B`` as ``--configs A --configs B``."""
    spelt: list[str] = []
    many = False
    for word in arguments:
        if word.startswith("-"):
            many = word == _MANY
            if not many:
                spelt.append(word)
        elif many:
            spelt += [_MANY, word]
        else:
            spelt.append(word)
    return spelt
