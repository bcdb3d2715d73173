"""The function that serves the dashboard holds what its pages import: its own copies, its requirements, the layer."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
FUNCTION = ROOT / "functions" / "verdicts"
BLUEPRINT = ROOT / "layers" / "blueprint" / "attribution_blueprint"
LAYER = ROOT / "layers" / "engine"
OURS = {"attribution_lib", "attribution_service", "attribution_blueprint", "dashboard"}
OPTIONAL = {"zstandard"}
"""Reads samples that are packed with it; none is."""


def _copied() -> list[Path]:
    """The modules of the blueprint that the build takes along."""
    (line,) = [row for row in (FUNCTION / "Makefile").read_text().splitlines() if row.startswith("BLUEPRINT :=")]
    return [BLUEPRINT / name for name in re.findall(r"\w+\.py", line)]


def _imports(files: list[Path]) -> set[str]:
    found: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_third_parties_are_in_the_layer_or_in_the_functions_requirements() -> None:
    modules = {name.partition(".")[0] for name in _imports([*(ROOT / "dashboard").rglob("*.py"), *_copied()])}
    known = packages_distributions()
    wanted = {_normal(known[name][0]) for name in modules - OURS - OPTIONAL - set(sys.stdlib_module_names)}
    text = "".join(
        path.read_text() for path in (FUNCTION / "requirements.txt", LAYER / "requirements.txt", LAYER / "Makefile")
    )
    assert wanted - {_normal(name) for name in re.findall(r"([A-Za-z][\w.-]+)==", text)} == set()


def test_the_copied_modules_need_no_other_of_theirs() -> None:
    names = {f"attribution_blueprint.{path.stem}" for path in _copied()} | {"attribution_blueprint"}
    assert {name for name in _imports(_copied()) if name.startswith("attribution_blueprint")} <= names


def test_the_handler_imports_what_is_copied() -> None:
    assert "attribution_blueprint.pages" in _imports([FUNCTION / "app.py"])
    assert BLUEPRINT / "pages.py" in _copied()
