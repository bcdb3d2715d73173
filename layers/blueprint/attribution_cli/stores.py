"""Which store a command works on: the deployment's when its variables are set, else a local folder."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attribution_blueprint.errors import EvidenceError
from attribution_blueprint.places import data_folder
from attribution_service.errors import StoreError
from attribution_service.stores.local import local_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_service.ports import Store

__all__ = ["chosen_store", "recorded_store", "telling_where"]

_BUCKET = "ATTRIBUTION_BUCKET"


@contextmanager
def telling_where(folder: Path) -> Iterator[None]:
    """What a local store cannot do, with the folder that it is in and what to do (``EvidenceError``)."""
    try:
        yield
    except (StoreError, OSError) as error:
        reason = str(error) if isinstance(error, StoreError) else _in_folder(error, folder)
        if not reason:
            raise
        advice = "" if "; expected " in reason else "; expected a folder that can be written, on a disk with room"
        msg = f"--data {folder}: {reason}{advice}"
        raise EvidenceError(msg) from error


def _in_folder(error: OSError, folder: Path) -> str:
    """What is wrong with the folder, something in it or above it; empty for anything else."""
    if not isinstance(error.filename, str):
        return ""
    place = Path(error.filename)
    ours = place.is_relative_to(folder) or folder.is_relative_to(place)
    return f"{place}: {error.strerror}" if ours else ""


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
    folder = data or data_folder()
    with telling_where(folder), local_store(folder) as store:
        yield store


@contextmanager
def recorded_store(data: Path | None) -> Iterator[Store]:
    """The store to look something up in: a folder that is not there is refused and not made (``EvidenceError``)."""
    if data is not None and not data.is_dir():
        msg = f"--data {data}: there is no such folder; expected the one that serve or fleet start was given"
        raise EvidenceError(msg)
    with chosen_store(data) as store:
        yield store
