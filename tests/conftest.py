"""What holds for every test: it reaches no real account, and a folder for what it stores costs little."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


try:
    from hypothesis import settings
except ModuleNotFoundError:  # the environment of the tests in a browser holds none, and needs none
    pass
else:  # how long one example takes says more about what else the machine does than about the code
    settings.register_profile("any_machine", deadline=None)
    settings.load_profile("any_machine")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes go by the argument's name: compressed ones hold the time, and each worker must call a test the same."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A new folder where syncs cost little."""
    from service_kit import fast_folder  # noqa: PLC0415 -- the environment of the tests in a browser holds no moto

    path = fast_folder()
    yield path
    shutil.rmtree(path)
