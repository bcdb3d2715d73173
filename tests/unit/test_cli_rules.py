"""``attribution rules …`` as an author types it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner

from attribution_cli.main import COMMANDS, LazyGroup, main
from attribution_cli.rules import COMMANDS as RULE_COMMANDS
from attribution_cli.rules import rules
from rules_kit import SAMPLES, extractor, write

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write(tmp_path, a_toml=extractor(), a_test_toml=SAMPLES)


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Run ``attribution rules …``."""
    return CliRunner().invoke(main, ["rules", *map(str, arguments)], input=stdin)


def test_rules_without_samples_cannot_be_tested_and_the_refusal_says_where_there_are_some(tmp_path: Path) -> None:
    """As the bundled ones of an installed package are: their tests stay in the checkout."""
    result = run("test", "--rules", write(tmp_path, a_toml=extractor()))
    assert result.exit_code == 3
    assert "no samples (*.test.toml) beside the rules; give --rules the rules folder of a checkout" in result.stderr


def test_match_prints_every_line_as_json(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"fine\n[rank2]: it is broken\xff\n")
    result = run("match", log, "--json", "--rules", folder)
    assert result.exit_code == 0
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first == {"line_num": 1, "line": "fine", "events": []}
    assert second["line_num"] == 2
    assert second["events"] == [
        {
            "rule": "R",
            "event_type": "Attribution.node.bad",
            "symptom": "Broken",
            "node": None,
            "rank": 2,
            "captures": {},
        }
    ]


def test_match_reads_standard_input_and_prints_hits_for_people(folder: Path) -> None:
    result = run("match", "-", "--source", "syslog", "--rules", folder, stdin="fine\nit is broken [/bold] [x]\n")
    assert result.stdout == "2: it is broken [/bold] [x]\n    R Attribution.node.bad [Broken]\n"


def test_refused_rules_exit_with_3_and_every_fault(folder: Path) -> None:
    (folder / "b.toml").write_text("x = 1\n[[y]]\n")
    result = run("match", "-", "--rules", folder, stdin="")
    assert result.exit_code == 3
    assert "rules refused (2 faults):" in result.stderr
    assert "rules/b.toml:1 x: unknown key" in result.stderr


def test_test_counts_words(folder: Path, tmp_path: Path) -> None:
    junit = tmp_path / "out.xml"
    result = run("test", "--rules", folder, "--junit", junit)
    assert (result.exit_code, result.stdout) == (0, "hit 1 quiet 1 noisy 0 missing 0 · todo 0 · failed 0 of 2\n")
    assert ET.parse(junit).getroot().attrib["failures"] == "0"  # noqa: S314 -- our own file


def test_test_fails_with_1_and_says_why(folder: Path) -> None:
    (folder / "a.test.toml").write_text(SAMPLES.replace("it was", "it is"))
    result = run("test", "--rules", folder)
    assert result.exit_code == 1
    assert "noisy   rules/a.test.toml:7 R" in result.stdout
    assert "- R fired too (Broken)" in result.stdout


def test_test_refuses_faulty_samples_with_3(folder: Path) -> None:
    (folder / "a.test.toml").write_text("[[hit]]\n")
    assert run("test", "--rules", folder).exit_code == 3


def test_lint_exits_with_3_on_errors_alone(folder: Path) -> None:
    assert run("lint", "--rules", folder).exit_code == 0
    (folder / "a.test.toml").write_text("")
    result = run("lint", "--rules", folder)
    assert result.exit_code == 3
    assert "rules/a.toml:9 error no-hit R: no [[hit]] line fires it" in result.stdout
    assert run("lint", "elsewhere", "--rules", folder).exit_code == 0
    assert run("lint", "--check", "overlap", "--rules", folder).exit_code == 0
    assert "no-hit" in run("lint", "--explain-checks").stdout


def test_list_and_show(folder: Path) -> None:
    (row,) = (json.loads(line) for line in run("list", "--json", "--rules", folder).stdout.splitlines())
    assert (row["name"], row["kind"], row["symptoms"]) == ("R", "extractor", ["Broken"])
    assert "1 symptoms" in run("list", "BROK", "--symptoms", "--rules", folder).stdout
    assert "0 rules" in run("list", "nothing", "--rules", folder).stdout
    assert "rules/a.toml:9" in run("show", "R", "--rules", folder).stdout
    missing = run("show", "rok", "--rules", folder)
    assert missing.exit_code == 1
    assert "did you mean Broken?" in missing.stderr


def test_a_rule_about_hundreds_of_symptoms_is_one_short_row() -> None:
    rows = run("list").stdout.splitlines()
    assert max(map(len, rows)) < 240
    assert any(row.endswith(" more") for row in rows)
    complete = (json.loads(line) for line in run("list", "--json").stdout.splitlines())
    assert max(len(row["symptoms"]) for row in complete) > 100


def test_docs_are_written_and_checked(folder: Path, tmp_path: Path) -> None:
    assert run("docs", "--check", "--rules", folder).exit_code == 1
    assert run("docs", "--rules", folder).exit_code == 0
    assert (tmp_path / "docs/reference/symptoms.md").is_file()
    assert run("docs", "--check", "--rules", folder).exit_code == 0


def test_the_lock_is_written_and_checked(folder: Path) -> None:
    assert run("lock", "--check", "--rules", folder).exit_code == 1
    assert run("lock", "--rules", folder).exit_code == 0
    assert run("lock", "--check", "--rules", folder).exit_code == 0
    (folder / "a.toml").write_text(extractor(match_re="it is all broken"))
    result = run("lock", "--check", "--rules", folder)
    assert result.exit_code == 1
    assert "unversioned  R (changed, but its version is the same)" in result.stdout
    (folder / "rules.lock.json").write_text("[]")
    assert run("lock", "--rules", folder).exit_code == 3


def test_a_new_rule_goes_into_a_file_and_its_test(folder: Path) -> None:
    target = folder / "fresh.toml"
    assert run("new", "Fresh", "--from-line", "-", "--into", target, stdin="disk 7 is gone\n").exit_code == 0
    assert run("test", "fresh", "--rules", folder).stdout.startswith("hit 1 quiet 1 ")
    left = run("lint", "--rules", folder).stdout
    for text in (
        "name yourself",
        "in the field's own words",
        "What it means",
        "looks alike",
        "where the line came from",
    ):
        assert text in left
    shown = run("new", "Fresh", "--from-line", "disk 7 is gone")
    assert "match_re = '''" in shown.stdout
    assert "[[hit]]" in shown.stdout


def test_test_takes_the_path_of_a_rule_file_or_of_its_samples(folder: Path) -> None:
    for name in ("a.toml", "a.test.toml"):
        assert run("test", folder / name, "--rules", folder).stdout.startswith("hit 1 quiet 1 ")
    assert run("test", folder / "b.toml", "--rules", folder).exit_code == 1


def test_show_offers_the_name_that_was_meant(folder: Path) -> None:
    assert "did you mean Broken?" in run("show", "Borken", "--rules", folder).stderr


def test_a_new_rule_never_spoils_the_folder(folder: Path) -> None:
    before = {path: path.read_text() for path in folder.iterdir()}
    for name, into, says in (
        ("R", folder / "fresh.toml", f"R: {folder / 'a.toml'} declares a rule of this name; expected"),
        ("Fresh", folder / "fresh.txt", "fresh.txt: is no rule file; expected a name such as"),
        ("Fresh", folder / "a.test.toml", "a.test.toml: is no rule file"),
    ):
        result = run("new", name, "--from-line", "disk 7 is gone", "--into", into)
        assert result.exit_code == 2
        assert says in result.stderr
    assert {path: path.read_text() for path in folder.iterdir()} == before


def test_diff_compares_with_a_folder_and_with_a_revision(folder: Path, tmp_path: Path) -> None:
    old = write(tmp_path / "old", a_toml=extractor().replace("900", "850"))
    result = run("diff", old, "--rules", folder, "--cases", tmp_path / "none")
    assert result.exit_code == 0
    assert "rule     unversioned  R" in result.stdout
    assert "symptom  changed      Broken rank 850 → 900" in result.stdout
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)  # noqa: S603, S607 -- a scratch repository
    (folder / "a.toml").write_text(extractor().replace("900", "950"))
    assert "rank 900 → 950" in run("diff", "HEAD", "--rules", folder, "--cases", tmp_path / "none").stdout
    refused = run("diff", "nowhere", "--rules", folder)
    assert refused.exit_code == 3
    assert "expected a folder or a git revision" in refused.stderr


@pytest.mark.parametrize(("group", "table"), [(main, COMMANDS), (rules, RULE_COMMANDS)], ids=["attribution", "rules"])
def test_the_table_of_commands_says_what_the_commands_say(
    group: LazyGroup, table: tuple[tuple[str, str, str], ...]
) -> None:
    context = click.Context(group)
    for name, _, text in table:
        command = group.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert (
            command.get_short_help_str(limit=200) == text.removesuffix(".") or command.get_short_help_str(200) == text
        )


def test_help_imports_no_command() -> None:
    code = """import sys
from attribution_cli.main import main
main(["--help"], standalone_mode=False)
print([name for name in sys.modules if "attribution_lib.rules" in name])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 -- our own interpreter
    assert done.stdout.endswith("[]\n")
