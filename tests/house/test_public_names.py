"""Public names: what ``__all__`` says is there, is there, and importing the package stays cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import attribution_lib


@pytest.mark.parametrize("name", attribution_lib.__all__)
def test_every_public_name_can_be_used(name: str) -> None:
    assert getattr(attribution_lib, name) is not None


def test_names_that_are_imported_on_use_are_public() -> None:
    assert set(attribution_lib._ON_USE) < set(attribution_lib.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = attribution_lib.nothing


def test_importing_the_package_loads_no_matcher_and_no_models() -> None:
    code = "import sys, attribution_lib; print(sorted({'hyperscan', 're2', 'pydantic', 'sqlite3'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 -- our own interpreter
    assert done.stdout == "[]\n"
