"""``attribution rules`` misused, as ``explain`` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from attribution_cli.main import main
from explain_kit import HOSTILE, INTERPRETED

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def rules(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["rules", *map(str, arguments)], catch_exceptions=False)


def test_match_shows_lines_and_never_sends_them(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(HOSTILE, encoding="utf-8")
    for form in ([], ["--json"]):
        result = rules("match", path, *form)
        assert result.exit_code == 0
        assert not INTERPRETED.search(result.stdout)


def test_a_rules_folder_that_cannot_be_used_is_refused_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "a.toml").symlink_to("nowhere")
    (folder / "b.py").write_text("raise SystemExit(5)\n", encoding="utf-8")
    (folder / "c.toml").write_text("x = " + "[" * 100_000, encoding="utf-8")
    (folder / "d.toml").write_text("x = [", encoding="utf-8")
    result = rules("list", "--rules", folder)
    assert result.exit_code == 3
    assert "rules/a.toml:1: cannot be read: is a link to nowhere, which does not exist" in result.stderr
    assert "rules/b.py:1: cannot be executed: SystemExit: 5" in result.stderr
    assert "rules/c.toml:1: is nested too deeply" in result.stderr
    assert "rules/d.toml:1: is not TOML" in result.stderr


def test_a_new_rule_needs_a_line_and_a_folder(tmp_path: Path) -> None:
    for arguments, says in (
        (["--from-line", " "], "--from-line: empty"),
        (["--from-line", "it broke", "--into", tmp_path / "none" / "a.toml"], "there is no folder"),
    ):
        result = rules("new", "X", *arguments)
        assert result.exit_code == 2
        assert says in result.stderr


def test_samples_that_nobody_has_are_no_success() -> None:
    assert rules("test", "nothing-is-called-this").exit_code == 1
