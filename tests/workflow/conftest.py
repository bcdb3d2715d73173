"""Stores of both kinds, and a clock that a test moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_service.stores.crashing import CrashPlan, crashing_store
from run_kit import local_service_of
from service_kit import local_folder_store, moto_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution
    from attribution_service.ports import Store


@pytest.fixture(autouse=True)
def _region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.fixture
def local(folder: Path) -> Iterator[InProcessAttribution]:
    """Attribution in this process, over an empty store."""
    with local_service_of(folder) as service:
        yield service


@pytest.fixture(params=["local", "aws", "crashing"])
def store(request: pytest.FixtureRequest, folder: Path) -> Iterator[Store]:
    """Every kind of store in turn; the crashing one with a plan that lets it live."""
    if request.param == "aws":
        with moto_store() as made:
            yield made
        return
    with local_folder_store(folder) as made:
        yield made if request.param == "local" else crashing_store(made, CrashPlan(0.0))
