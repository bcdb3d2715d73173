"""The layer holds what its packages import, in the versions that were tested."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

LAYER = Path(__file__).parents[2] / "layers" / "engine"
OURS = {"attribution_lib", "attribution_service"}
OF_THE_RUNTIME = {"boto3", "botocore", "urllib3"}
"""What Lambda's own environment brings."""
LOCAL_ONLY = {"sqlite-utils", "zstandard"}
"""What only one machine has: its database of verdicts, which no handler imports (a test holds that), and an extra."""


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


# ---- the layer of the connectors


BLUEPRINT = LAYER.parent / "blueprint"
LOADED = """
import importlib.util, sys
from attribution_blueprint.frameworks import FRAMEWORKS, component_class
for framework in FRAMEWORKS.values():
    for component in framework.components:
        if component.name != "sqlite":  # a file on one machine
            component_class(component)
for file in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("app", file)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
files = {name.partition(".")[0]: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}
print(*sorted(name for name, file in files.items() if "site-packages" in file))
"""
BROUGHT_ALONG = {
    "annotated-types",
    "dateutil",
    "jmespath",
    "pydantic-core",
    "python-dateutil",
    "s3transfer",
    "six",
    "typing-extensions",
    "typing-inspection",
}
"""By boto3, pydantic and Powertools."""
OPTIONAL = {"brotli", "certifi", "setuptools", "zstandard"}
"""Used where they are there; setuptools by this interpreter itself."""


def test_the_functions_of_workflows_import_what_the_two_layers_hold() -> None:
    functions = [LAYER.parents[1] / "functions" / name / "app.py" for name in ("discover", "collect", "write")]
    done = subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-c", LOADED, *map(str, functions)],
        env={"PYTHONPATH": f"{LAYER}:{BLUEPRINT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    known = packages_distributions()
    loaded = {normal(known[module][0]) for module in done.stdout.split() if module in known}
    pins = dict(re.findall(r"([A-Za-z][\w.-]+)==([\w.]+)", (BLUEPRINT / "requirements.txt").read_text()))
    held = {*pinned(), *map(normal, pins), *OF_THE_RUNTIME, *BROUGHT_ALONG, *OPTIONAL}
    assert loaded - held == set()
    assert set(pins) - loaded == set()
    assert {name: version(name) for name in pins} == pins


# ---- modules compiled at build time


BUILT = ["layers/engine", "layers/blueprint", "functions/verdicts"]


def compile_modules(tmp_path: Path, layer: str, version: str) -> list[Path]:
    """What the target makes of one module, where this interpreter goes by the name ``python{version}``."""
    site = tmp_path / "built" / "python" if layer.startswith("layers") else tmp_path / "built"
    site.mkdir(parents=True)
    (site / "one.py").write_text("ONE = 1\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / f"python{version}").symlink_to(sys.executable)
    arguments = [f"ARTIFACTS_DIR={tmp_path / 'built'}", f"LAYER_PYTHON={version}"]
    subprocess.run(  # noqa: S603 -- our own file
        ["make", "--directory", LAYER.parents[1] / layer, "compile-modules", *arguments],  # noqa: S607 -- as SAM calls it
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        check=True,
    )
    return list(site.rglob("*.pyc"))


@pytest.mark.parametrize("layer", BUILT)
def test_a_layer_carries_modules_that_its_runtime_takes_as_they_are(tmp_path: Path, layer: str) -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    (compiled,) = compile_modules(tmp_path, layer, version)
    unchecked = 1  # the times of files do not survive an upload
    assert int.from_bytes(compiled.read_bytes()[4:8], "little") == unchecked


@pytest.mark.parametrize("layer", BUILT)
def test_a_layer_is_built_without_its_runtime_too(tmp_path: Path, layer: str) -> None:
    assert compile_modules(tmp_path, layer, "3.99") == []
