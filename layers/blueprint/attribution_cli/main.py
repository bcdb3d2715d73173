"""The ``attribution`` command. Sub-commands are imported only when asked for, so that starting it stays fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from attribution_cli.terminal import safe_output
from attribution_lib.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LazyGroup", "main"]

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("explain", "attribution_cli.explain:explain", "Explain why a job failed."),
    ("run", "attribution_cli.run:run", "Attribute jobs: discover, collect, submit, enrich, write."),
    (
        "fleet",
        "attribution_cli.fleet:fleet",
        "Attribute a fleet of jobs as one run, in this process or on AWS, and follow it.",
    ),
    ("watch", "attribution_cli.watch:watch", "Record what is gone afterwards."),
    ("connectors", "attribution_cli.connectors:connectors", "Say what can be configured."),
    ("config", "attribution_cli.config:config", "Check the configuration, and show it."),
    ("serve", "attribution_cli.serve:serve", "Serve the v2 API and the dashboard on this machine."),
    ("keep", "attribution_cli.keep:keep", "Store the verdict of an open session, for the dashboard and queries."),
    ("export", "attribution_cli.export:export", "Copy what a local store keeps into tables of a SQLite file."),
    (
        "replay",
        "attribution_cli.replay:replay_command",
        "Attribute kept evidence again, under other rules, and list the verdicts.",
    ),
    ("release", "attribution_cli.release:release", "Publish rules and choose which of them are in force."),
    ("rules", "attribution_cli.rules:rules", "Write, test, check and read the rules."),
)
"""(name, module:attribute, one line of help) of every sub-command, in the order of the help text."""


class LazyGroup(click.Group):
    """A group whose sub-commands are named by a literal table and imported on use."""

    def __init__(self, *args: Any, table: Sequence[tuple[str, str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = {name: (target, text) for name, target, text in table}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """The names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        """Import the command of this name; None when there is none."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's signature
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


class Program(LazyGroup):
    """The outermost group: whatever a command prints, a terminal or a pipe can take."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line as click does."""
        with safe_output():
            return super().main(*args, **kwargs)


@click.group(cls=Program, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="attribution")
def main() -> None:
    """Turn the evidence of a failed GPU job into one explained verdict."""
