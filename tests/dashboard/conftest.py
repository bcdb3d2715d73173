"""Stores of every kind for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dashboard_kit import KINDS, shelf_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dashboard_kit import Shelf


@pytest.fixture(params=KINDS)
def shelf(request: pytest.FixtureRequest, folder: Path) -> Iterator[Shelf]:
    """An empty store of each kind in turn."""
    with shelf_of(request.param, folder) as made:
        yield made


@pytest.fixture
def sqlite(folder: Path) -> Iterator[Shelf]:
    """An empty database."""
    with shelf_of("sqlite", folder) as made:
        yield made


@pytest.fixture
def dynamodb(folder: Path) -> Iterator[Shelf]:
    """Empty tables."""
    with shelf_of("dynamodb", folder) as made:
        yield made
