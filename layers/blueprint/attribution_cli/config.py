"""``attribution config``: the effective configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import SecretStr

from attribution_blueprint.errors import ConfigError
from attribution_blueprint.runs import configuration_files, read_all
from attribution_blueprint.secrets import is_reference
from attribution_blueprint.surfaces import Surface
from attribution_cli.connector_options import ConnectorCommand, given_arguments
from attribution_cli.terminal import complain
from attribution_lib.redaction import redact
from attribution_lib.text.escape import shown

if TYPE_CHECKING:
    from attribution_blueprint.settings import Group

__all__ = ["config"]

_BAD_INPUT = 2
_MASK = "********"


@click.command(cls=ConnectorCommand)
@click.option("--configs", multiple=True, type=click.Path(path_type=Path), help="TOML files, or folders of them.")
@click.option("--show", is_flag=True, help="Print every value and where it came from; secrets are masked.")
def config(configs: tuple[Path, ...], show: bool) -> None:  # noqa: FBT001 -- click passes flags by name
    """Check the configuration, and show it.

    Takes --configs, --connector and NVAB_… variables as attribution run does. Exit status 2 when it is refused.
    """
    try:
        configurations = read_all(configuration_files(configs), os.environ, given_arguments(), reveal=False)
    except ConfigError as error:
        complain(str(error))
        sys.exit(_BAD_INPUT)
    for configuration in configurations:
        click.echo(f"# {configuration.address}")
        for group in configuration.groups if show else ():
            click.echo(f"[{group.slot.section}]")
            for key in type(group.settings).model_fields:
                line = f"{key} = {_shown(getattr(group.settings, key))}  # {_origin(group, key)}"
                click.echo(redact(line.encode())[0].decode())  # user information of URLs, tokens in commands
            click.echo("")


def _shown(value: Any) -> str:
    if isinstance(value, SecretStr):
        secret = value.get_secret_value()
        return f'"{shown(secret)}"' if is_reference(secret) else f'"{_MASK}"' if secret else '""'
    if isinstance(value, dict):  # headers carry credentials now and then
        return "{" + ", ".join(f'{key} = "{_MASK}"' for key in value) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{shown(str(part))}"' for part in value) + "]"
    return (
        f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, int) else f'"{shown(str(value))}"'
    )


def _origin(group: Group, key: str) -> str:
    given = group.origins.get(key)
    return Surface.DEFAULT.value if given is None else f"{given.surface.value} {shown(given.address)}"
