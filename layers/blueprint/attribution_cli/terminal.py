"""What every command owes a terminal: text it can show and does not interpret, and no traceback when it is gone."""

from __future__ import annotations

import codecs
import errno
import io
import json
import logging
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from attribution_lib.text.escape import shown, shown_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["complain", "echo_json", "log_level_option", "log_to_terminal", "one_rules_option", "safe_output"]

_F = TypeVar("_F", bound="Callable[..., Any]")
_HANDLER = "attribution.plain"
_PLAIN = {"·": "-", "●": "*", "×": "x", "←": "<-", "→": "->", "…": "...", "╭": "+", "─": "-"}
_OUTPUT_LOST, _BAD_INPUT = 1, 2


def complain(text: str) -> None:
    """Say on standard error what is wrong; lines stay lines, everything else in them is only shown."""
    click.echo("\n".join(shown(line) for line in text.split("\n")), err=True)


class _Shown(logging.Formatter):
    """Messages hold what schedulers, services and logs said, which a terminal is to show and not to obey."""

    def format(self, record: logging.LogRecord) -> str:
        """The message, of which every line is only shown."""
        return "\n".join(shown(line) for line in super().format(record).split("\n"))


def log_to_terminal(level: str = "WARNING", form: str = "%(levelname)s %(name)s: %(message)s") -> None:
    """Messages of this level and above go to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Shown(form))
    logging.basicConfig(level=level.upper(), handlers=[handler])


def one_rules_option(text: str) -> Callable[[_F], _F]:
    """Add ``--rules DIR`` for a command that takes one folder, and refuses a second instead of forgetting the first."""

    def only(_context: click.Context, _option: click.Parameter, folders: tuple[Path, ...]) -> Path | None:
        if len(folders) > 1:
            names = ", ".join(map(str, folders))
            msg = f"{len(folders)} folders given ({names}); expected one: put the rules of all into one folder"
            raise click.BadParameter(msg)
        return next(iter(folders), None)

    folder = click.Path(path_type=Path)
    return click.option("--rules", "rules_dir", multiple=True, type=folder, callback=only, help=text)


def log_level_option(text: str = "Of messages on standard error.") -> Callable[[_F], _F]:
    """Add ``--log-level``."""
    levels = click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False)
    return click.option("--log-level", default="WARNING", show_default=True, type=levels, help=text)


def echo_json(row: Mapping[str, Any]) -> None:
    """One JSON line, UTF-8 whatever the locale, that a terminal does not interpret."""
    click.echo(shown_json(json.dumps(row, ensure_ascii=False)).encode())


@contextmanager
def safe_output() -> Iterator[None]:
    """Inside, what the output's encoding lacks is written in other words, and a lost output ends the program quietly.

    Exit status 1 when the output could not be written, 2 when a file could not be used.
    """
    codecs.register_error(_HANDLER, _in_plain_words)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        _discard_output()
        if error.errno != errno.EPIPE:
            where = f"{error.filename}: " if error.filename else "the output was not written: "
            complain(f"{where}{error.strerror or error}")
        sys.exit(_BAD_INPUT if error.filename else _OUTPUT_LOST)


def _in_plain_words(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wanted = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character) or _numbered(character) for character in wanted), error.end


def _numbered(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode()


def _discard_output() -> None:
    """The interpreter flushes once more when it ends; what is left then goes nowhere."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
