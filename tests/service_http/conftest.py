"""A server over a local store, one a test module where its tests do not disturb each other."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from http_kit import running
from service_kit import fast_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from http_kit import Api


@pytest.fixture
def folder() -> Iterator[Path]:
    path = fast_folder()
    yield path
    shutil.rmtree(path)


@pytest.fixture
def api(folder: Path) -> Iterator[Api]:
    with running(folder) as api:
        yield api
