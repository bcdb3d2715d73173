"""What guides show can be run: each configuration is read, each command's options are there, each query is answered."""

from __future__ import annotations

import re
import shlex
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from attribution_blueprint.settings import read_configuration
from attribution_cli.main import main
from attribution_cli.serve import serve  # noqa: F401 -- its module brings all that a server may say
from attribution_service.http.problems import slugs
from attribution_service.settings import Settings
from attribution_service.verdict_database import VerdictDatabase
from guide_kit import ShownCommand, steps

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "use-cases.md").read_text(encoding="utf-8")
OPERATORS = (ROOT / "docs" / "operator-guide.md").read_text(encoding="utf-8")
REST = (ROOT / "docs" / "rest-api.md").read_text(encoding="utf-8")
OF_PAGES = {"foreign-form"}
"""Problems that the dashboard's own forms alone can meet; there once some test has imported its pages."""
SETTINGS = {name: value for name, value in asdict(Settings()).items() if isinstance(value, bool | int | str)}


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.parametrize("text", blocks("toml"), ids=lambda text: text.splitlines()[0].removeprefix("# "))
def test_a_configuration_of_a_guide_is_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text(text, encoding="utf-8")
    assert read_configuration(file, {}).of("log")


GUIDES = (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
COMMANDS = sorted(
    {
        part.strip()
        for guide in GUIDES
        for step in steps(guide.read_text(encoding="utf-8"))
        if isinstance(step, ShownCommand)
        for part in re.split(r"[|&;<>]+", step.line.replace("~/attribution/bin/", "").replace("build/try/bin/", ""))
        if part.strip().removeprefix(".venv/bin/").startswith("attribution ")
    }
)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_guide_has_the_options_that_it_is_given(line: str) -> None:
    _, *words = shlex.split(line.removesuffix("…"))
    names: list[str] = []
    command: click.Command | None = main
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        names.append(words.pop(0))
        command = command.get_command(click.Context(command), names[-1])
        assert command is not None
    told = CliRunner().invoke(main, [*names, "--help"])
    assert told.exit_code == 0
    for option in (word for word in words if word.startswith("--")):
        assert option in told.output


def test_a_link_of_a_guide_leads_somewhere() -> None:
    dead = [
        f"{guide.relative_to(ROOT)}: {target}"
        for guide in (*GUIDES, *(ROOT / "docs" / "decisions").glob("*.md"), ROOT / "samples" / "README.md")
        for target in re.findall(r"\]\(([^)\s]+)\)", guide.read_text(encoding="utf-8"))
        if not target.startswith(("http:", "https:", "mailto:")) and not _leads_somewhere(guide, target)
    ]
    assert dead == []


def _leads_somewhere(guide: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    file = guide.parent / name if name else guide
    if not file.exists() or not anchor or file.suffix != ".md":
        return file.exists()
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_targets_and_scripts_that_guides_name_are_there() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for guide in GUIDES:
        text = guide.read_text(encoding="utf-8")
        named = set(re.findall(r"(?:`|^|\$ )make ([a-z]+)", text, re.MULTILINE))
        assert named <= targets, guide.name
        for path in re.findall(r"\b((?:scripts|examples|tests)/[\w./-]++)(?![<*…{])", text):
            assert (ROOT / path.rstrip(".")).exists(), f"{guide.name}: {path}"


@pytest.mark.parametrize("query", blocks("sql"))
def test_a_query_of_a_guide_is_answered(query: str, tmp_path: Path) -> None:
    VerdictDatabase.open(tmp_path / "v.db").close()
    with closing(sqlite3.connect(tmp_path / "v.db")) as connection:
        assert connection.execute(query).fetchall() == []


@pytest.mark.parametrize(("name", "default"), SETTINGS.items(), ids=list(SETTINGS))
def test_a_setting_of_the_service_is_in_the_operators_guide_with_its_default(name: str, default: object) -> None:
    shown = f" {default} ".lower() if default != "" else " "
    assert f"| `ATTRIBUTION_{name.upper()}` |{shown}|" in OPERATORS.replace("`false`", "false")


def test_every_problem_is_in_the_guide_to_the_api_with_its_status() -> None:
    told = {slug: int(status) for slug, status in re.findall(r"`([a-z-]+)`(?: \| |\s\()(\d{3})(?: \||\))", REST)}
    assert told == {slug: status for slug, (status, _) in slugs().items() if slug not in OF_PAGES}
