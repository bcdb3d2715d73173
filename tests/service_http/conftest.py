"""A server over a local store, one a test module where its tests do not disturb each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from http_kit import running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from http_kit import Api


@pytest.fixture
def api(folder: Path) -> Iterator[Api]:
    with running(folder) as api:
        yield api
