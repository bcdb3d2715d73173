"""Which store a command works on: the deployment's when its variables are set, else a local folder."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from attribution_blueprint.errors import EvidenceError
from attribution_blueprint.places import data_folder
from attribution_service.stores.local import local_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_service.ports import Store

__all__ = ["chosen_store", "recorded_store"]

_BUCKET = "ATTRIBUTION_BUCKET"


@contextmanager
def chosen_store(data: Path | None) -> Iterator[Store]:
    """The store of ``data``; without it of the ``ATTRIBUTION_*`` variables; without those of the user's data folder."""
    if data is None and os.environ.get(_BUCKET):
        try:
            from attribution_service.stores.aws_deployment import deployed_store  # noqa: PLC0415 -- boto3 is an extra
        except ImportError as error:
            msg = f"{_BUCKET} is set, but there is no boto3: pip install 'gpu-job-attribution[aws]'"
            raise click.ClickException(msg) from error
        yield deployed_store(os.environ)
        return
    with local_store(data or data_folder()) as store:
        yield store


@contextmanager
def recorded_store(data: Path | None) -> Iterator[Store]:
    """The store to look something up in: a folder that is not there is refused and not made (``EvidenceError``)."""
    if data is not None and not data.is_dir():
        msg = f"--data {data}: there is no such folder; expected the one that fleet start named"
        raise EvidenceError(msg)
    with chosen_store(data) as store:
        yield store
