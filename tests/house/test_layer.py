"""The layer holds what its packages import, in the versions that were tested."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions, version
from pathlib import Path

LAYER = Path(__file__).parents[2] / "layers" / "engine"
OURS = {"attribution_lib", "attribution_service"}
OF_THE_RUNTIME = {"boto3", "botocore", "urllib3"}
"""What Lambda's own environment brings."""
LOCAL_ONLY = {"sqlite-utils"}
"""What only one machine's database of verdicts needs; a test of the handlers holds that none of them imports it."""


def third_party() -> set[str]:
    """Distributions that the layer's packages import, wherever in the file."""
    modules: set[str] = set()
    for file in LAYER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                modules |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    modules -= OURS | set(sys.stdlib_module_names)
    known = packages_distributions()
    return {normal(known[module][0]) for module in modules if module in known}


def pinned() -> dict[str, str]:
    """{distribution: version} of what the layer's build installs."""
    text = (LAYER / "requirements.txt").read_text() + (LAYER / "Makefile").read_text()
    return {normal(name): pin for name, pin in re.findall(r"([A-Za-z][\w.-]+)==([\w.]+)", text)}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_that_is_imported_is_in_the_layer() -> None:
    # pydantic_core comes with pydantic
    assert third_party() - OF_THE_RUNTIME - LOCAL_ONLY - set(pinned()) == {"pydantic-core"}


def test_the_layer_holds_nothing_that_is_not_imported() -> None:
    assert set(pinned()) - third_party() == set()


def test_the_tests_run_with_the_matcher_that_the_layer_holds() -> None:
    assert version("hyperscan") == pinned()["hyperscan"]
