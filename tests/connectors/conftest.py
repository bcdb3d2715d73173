"""A service for each test of this folder that asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from run_kit import local_service_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attribution_blueprint.connectors.attribution.inprocess import InProcessAttribution


@pytest.fixture
def local(tmp_path: Path) -> Iterator[InProcessAttribution]:
    """Attribution in this process, over an empty store."""
    with local_service_of(tmp_path) as service:
        yield service
