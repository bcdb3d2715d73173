"""Writes ``docs/reference/cli.md`` from the commands; ``--check`` fails when the committed one is another."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_cli.main import main as program

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "cli.md"
HEAD = """# The command line

Written from the commands by `scripts/write_cli_reference.py`. `attribution COMMAND --help` says the same.

"""


def main() -> int:
    """0 when the file is, or was made, what the commands say."""
    made = reference()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(made, encoding="utf-8")
    elif not FILE.is_file() or FILE.read_text(encoding="utf-8") != made:
        print(f"{FILE} is not what the commands say; run: python scripts/write_cli_reference.py", file=sys.stderr)
        return 1
    else:
        print("command line reference: up to date")
    return 0


def reference() -> str:
    """The page: a table of all commands, then a section for each."""
    contexts = list(_contexts(click.Context(program, info_name="attribution")))
    leaves = [context for context in contexts if not isinstance(context.command, click.Group)]
    rows = [
        f"| [`{_path(each)}`](#{_anchor(each)}) | {each.command.get_short_help_str(limit=200)} |" for each in leaves
    ]
    table = "\n".join(["| command | does |", "|---|---|", *rows])
    return (
        HEAD + table + "\n\n" + "\n".join(_section(context) for context in contexts if context.command is not program)
    )


def _contexts(context: click.Context) -> Iterator[click.Context]:
    """The command and everything below it, in the order of the help text."""
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is None:
                message = f"{context.command_path} lists {name} and has no such command"
                raise LookupError(message)
            yield from _contexts(click.Context(command, parent=context, info_name=name))


def _path(context: click.Context) -> str:
    return context.command_path.split(" [")[0]


def _anchor(context: click.Context) -> str:
    return _path(context).replace(" ", "-")


def _section(context: click.Context) -> str:
    """Heading, usage, what the command does, and every option."""
    words = " ".join(context.command.collect_usage_pieces(context))
    text = inspect.cleandoc(context.command.help or "").split("\f")[0].replace("\b\n", "").strip()
    text = re.sub(r"^- ", "`-` ", text, flags=re.MULTILINE)  # standard input, which Markdown takes for a list
    records = [param.get_help_record(context) for param in context.command.params]
    options = [f"- `{names}`: {_one_line(told)}" for names, told in filter(None, records) if told]
    parts = [f"## {_path(context)}", f"```\n{_path(context)} {words}\n```", text]
    return "\n\n".join([*parts, *(["\n".join(options)] if options else [])]) + "\n"


def _one_line(told: str) -> str:
    return re.sub(r"<(?=\w)", "&lt;", " ".join(told.split()))


if __name__ == "__main__":
    sys.exit(main())
