"""Every file of rules has its tests beside it, with a situation among them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from attribution_lib.rules.folders import resolve_folders, rule_files

if TYPE_CHECKING:
    from pathlib import Path

FILES = [path for folder in resolve_folders(None) for path in rule_files(folder)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_situation_stands_beside_every_file_of_rules(path: Path) -> None:
    tests = tomllib.loads(path.with_name(f"{path.stem}.test.toml").read_text(encoding="utf-8"))
    assert tests.get("sequence")
