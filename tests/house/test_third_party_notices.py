"""The notices name everything that runs and was made by others, and the check says so when they do not."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
NOTICES = (ROOT / "THIRD_PARTY_NOTICES.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def notices() -> ModuleType:
    spec = importlib.util.spec_from_file_location("third_party_notices", ROOT / "scripts" / "third_party_notices.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_requirement_of_the_product_and_of_its_extras_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for text in (*project["dependencies"], *extras["aws"], *extras["zstd"]):
        assert f"| [{Requirement(text).name}](" in NOTICES


def test_a_package_that_is_not_named_and_one_under_another_licence_are_faults(notices: ModuleType) -> None:
    gone = notices.Package("gone", "MIT", "", "")
    moved = notices.Package("moved", "GPL-3.0-only", "", "")
    table = "| [moved](x) | BSD License |  |\n"
    assert [fault.split(" is under ")[0] for fault in notices.faults(table, [gone, moved])] == [
        "THIRD_PARTY_NOTICES.md: gone",
        "THIRD_PARTY_NOTICES.md: moved",
    ]


def test_another_spelling_of_the_same_licence_is_no_fault(notices: ModuleType) -> None:
    package = notices.Package("kept", "BSD-3-Clause", "", "")
    assert notices.faults("| [kept](x) | BSD License |  |\n", [package]) == []


def test_what_the_dashboard_carries_of_others_is_named_with_its_licence() -> None:
    carried = {path.name for path in (ROOT / "dashboard" / "static").glob("*.min.*")}
    assert {name for name in carried if name in NOTICES} == carried
    assert (ROOT / "dashboard" / "static" / "uplot.LICENSE.txt").is_file()
