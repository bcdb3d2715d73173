"""Stores and services for the tests of this folder."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from attribution_service.stores.crashing import CrashPlan, crashing_store
from engine_kit import engine_of
from service_kit import World, fast_folder, local_folder_store, moto_store, seaweed_store
from torture_rules import marking_engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.ports import Store


KINDS = ["local", "hasty", "aws", "crashing", *(["seaweed"] if "ATTRIBUTION_TEST_S3" in os.environ else [])]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, folder: Path) -> Iterator[Store]:
    """Every kind of store in turn; the hasty one waits for no disk, the crashing one has a plan that lets it live."""
    if request.param in ("aws", "seaweed"):
        with moto_store() if request.param == "aws" else seaweed_store() as made:
            yield made
        return
    with local_folder_store(folder, durable=request.param != "hasty") as made:
        yield crashing_store(made, CrashPlan(0.0)) if request.param == "crashing" else made


@pytest.fixture(scope="session")
def engine() -> Iterator[RuleEngine]:
    """The small rules of ``engine_kit``."""
    path = fast_folder()
    yield engine_of(path)
    shutil.rmtree(path)


@pytest.fixture
def world(folder: Path, engine: RuleEngine) -> Iterator[World]:
    """A service over a local store, with a clock that stands still until it is moved."""
    made: list[World] = []
    with local_folder_store(folder / "store", lambda: made[0].now) as store:
        made.append(World(store, engine))
        yield made[0]


@pytest.fixture(scope="session")
def marking() -> Iterator[RuleEngine]:
    """Quite other rules."""
    path = fast_folder()
    yield marking_engine(path)
    shutil.rmtree(path)
