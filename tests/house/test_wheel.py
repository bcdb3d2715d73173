"""The wheel holds every package, and the rules that the engine was tested with."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attribution_lib.rules.loader import load_engine

ROOT = Path(__file__).parents[2]
SOURCES = (
    "layers",
    "functions",
    "dashboard",
    "rules",
    "samples",
    "template.yaml",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "THIRD_PARTY_NOTICES.md",
)
PROGRAM = """
import attribution_lib
from attribution_lib.rules.loader import load_engine
engine = load_engine()
print(attribution_lib.__file__)
print(engine.digest)
print(engine.location(min(engine.locations)))
"""


def test_every_package_is_listed_for_the_wheel() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join(init.parent.relative_to(layer).parts)
        for layer in (ROOT / "layers" / "engine", ROOT / "layers" / "blueprint", ROOT)
        for init in (layer if layer != ROOT else ROOT / "dashboard").rglob("__init__.py")
    }
    data = {"attribution_lib.bundled_rules", "attribution_blueprint.functions", "attribution_blueprint.samples"}
    assert set(listed) == found | data


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel, built from a copy so that the checkout stays clean; ``checked_out_rules`` lies beside it."""
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    built, target = source / "built", tmp_path_factory.mktemp("site")
    command = [
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        str(built),
        str(source),
    ]
    subprocess.run([sys.executable, "-m", *command], check=True)  # noqa: S603 -- our own interpreter
    (archive,) = built.glob("*.whl")
    shutil.unpack_archive(archive, target, format="zip")
    (source / "rules").rename(target / "checked_out_rules")
    return target


def test_an_installed_engine_loads_the_same_rules_as_the_checkout(wheel: Path) -> None:
    done = subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": str(wheel)},
        cwd=wheel,
        capture_output=True,
        text=True,
        check=True,
    )
    imported, digest, location = done.stdout.split()
    assert Path(imported).is_relative_to(wheel)
    engine = load_engine([wheel / "checked_out_rules"])
    assert digest == engine.digest
    assert location == engine.location(min(engine.locations)).replace("checked_out_rules", "rules")


def test_an_installed_package_serves_what_is_deployed(wheel: Path) -> None:
    """The local server reads the template and runs the handlers: both travel with the package."""
    program = (
        "from attribution_blueprint.deployment import read_deployment, template_path as t; "
        "d = read_deployment(t()); print(t(), len(d.routes), *sorted(d.load()))"
    )
    done = subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(wheel)},
        cwd=wheel,
        capture_output=True,
        text=True,
        check=True,
    )
    template, routes, *functions = done.stdout.split()
    assert Path(template).is_relative_to(wheel)
    assert (int(routes), len(functions)) == (15, 9)


def test_the_wheel_holds_the_dashboards_templates_its_files_and_the_samples(wheel: Path) -> None:
    for checked_out, installed in (
        ("dashboard/templates", "dashboard/templates"),
        ("dashboard/static", "dashboard/static"),
        ("samples/cases", "attribution_blueprint/samples"),
    ):
        there = {path.relative_to(ROOT / checked_out) for path in (ROOT / checked_out).rglob("*") if path.is_file()}
        assert {
            path.relative_to(wheel / installed) for path in (wheel / installed).rglob("*") if path.is_file()
        } == there


def test_the_wheel_holds_no_tests(wheel: Path) -> None:
    assert not list((wheel / "attribution_lib").rglob("*.test.toml"))
