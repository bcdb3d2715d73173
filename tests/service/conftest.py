"""Stores and services for the tests of this folder."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from service_kit import fast_folder, local_folder_store, moto_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_service.ports import Store


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach a real account."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture
def folder() -> Iterator[Path]:
    path = fast_folder()
    yield path
    shutil.rmtree(path)


@pytest.fixture(params=["local", "aws"])
def store(request: pytest.FixtureRequest, folder: Path) -> Iterator[Store]:
    """Every kind of store in turn."""
    with local_folder_store(folder) if request.param == "local" else moto_store() as made:
        yield made
