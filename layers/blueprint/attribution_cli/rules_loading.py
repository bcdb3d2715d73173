"""What all ``rules`` commands share: the ``--rules`` option, loading with a readable refusal, exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from rich.console import Console

from attribution_blueprint.cache import cache_folder
from attribution_cli.terminal import complain
from attribution_lib.errors import AttributionError
from attribution_lib.rules.folders import resolve_folders, test_files
from attribution_lib.rules.loader import load_engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_lib.rules.engine import RuleEngine

__all__ = ["FAILED", "REFUSED", "console", "load_rules", "need_samples", "refuse", "rules_option"]

FAILED = 1
"""Exit code: some expectation did not hold."""
REFUSED = 3
"""Exit code: the rules, or the files beside them, are not fit to be used."""

_F = TypeVar("_F", bound="Callable[..., Any]")


def rules_option(function: _F) -> _F:
    """Add ``--rules DIR`` (repeatable); the bundled rules when it is not given."""
    option = click.option(
        "--rules",
        "folders",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="DIR",
        help="Rules folder; may be given several times. Default: the rules that come with this program.",
    )
    return option(function)


def console(*, stderr: bool = False) -> Console:
    """A console that prints text as it is: log lines are full of brackets that are no markup."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


def load_rules(folders: tuple[Path, ...]) -> RuleEngine:
    """The engine of these folders. Refused rules are listed on stderr and end the program with ``REFUSED``."""
    try:
        return load_engine(folders or None, cache_dir=cache_folder())
    except AttributionError as error:
        refuse(error)


def need_samples(folders: tuple[Path, ...]) -> None:
    """End the program with ``REFUSED`` when no tests stand beside the rules: an installed package leaves them out."""
    if not any(map(test_files, resolve_folders(folders or None))):
        where = ", ".join(map(str, folders)) or "the rules that come with this program"
        complain(f"{where}: no samples (*.test.toml) beside the rules; give --rules the rules folder of a checkout")
        sys.exit(REFUSED)


def refuse(error: AttributionError) -> NoReturn:
    """Print every fault and leave."""
    complain(str(error))
    sys.exit(REFUSED)
