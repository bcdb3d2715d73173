"""What stands in a rules folder and is no readable file is refused where it stands; nothing waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.files import read_file
from attribution_lib.rules.loader import RuleLoader
from rules_kit import extractor, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ("b.toml", "b.py", "common/b.py", "catalogs/b.csv", "catalogs/deep/b.csv")


def _fifo(path: Path) -> str:
    os.mkfifo(path)
    return "is a FIFO"


def _folder(path: Path) -> str:
    path.mkdir()
    return "is a folder"


def _device(path: Path) -> str:
    path.symlink_to("/dev/zero")
    return "is a device"


def _dangling(path: Path) -> str:
    path.symlink_to(path.parent / "gone")
    return f"is a link to {path.parent / 'gone'}, which does not exist"


def _circle(path: Path) -> str:
    path.symlink_to(path)
    return "Too many levels of symbolic links"


def _secret(path: Path) -> str:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    path.write_text("")
    path.chmod(0)
    return "Permission denied"


ODDITIES = [_fifo, _folder, _device, _dangling, _circle, _secret]


def _rules(tmp_path: Path, name: str) -> tuple[Path, Path]:
    rules = write(tmp_path, a_toml=extractor())
    (rules / name).parent.mkdir(parents=True, exist_ok=True)
    return rules, rules / name


@pytest.mark.parametrize("make", ODDITIES)
@pytest.mark.parametrize("name", NAMES)
def test_an_entry_that_is_no_file_is_refused_with_its_address(
    tmp_path: Path, make: Callable[[Path], str], name: str
) -> None:
    rules, path = _rules(tmp_path, name)
    problem = make(path)
    with pytest.raises(RuleLoadError) as caught:
        RuleLoader([rules]).load_all()
    assert [str(fault) for fault in caught.value.faults] == [
        f"rules/{name}:1: cannot be read: {problem}; expected a readable file"
    ]


@pytest.mark.parametrize("make", ODDITIES)
def test_its_neighbours_faults_are_told_in_the_same_breath(tmp_path: Path, make: Callable[[Path], str]) -> None:
    rules, path = _rules(tmp_path, "b.toml")
    problem = make(path)
    (rules / "c.toml").write_text("nonsense")
    with pytest.raises(RuleLoadError) as caught:
        RuleLoader([rules]).load_all()
    first, second = map(str, caught.value.faults)
    assert problem in first
    assert second.startswith("rules/c.toml:1: is not TOML")


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    rules, path = _rules(tmp_path, "b.toml")
    (rules / "a.toml").rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert RuleLoader([rules]).build().rule_count == 1


@pytest.mark.parametrize("make", [_fifo, _device])
def test_what_could_block_is_never_opened(tmp_path: Path, make: Callable[[Path], str]) -> None:
    problem = make(tmp_path / "x")
    with pytest.raises(OSError, match=problem):
        read_file(tmp_path / "x")


@pytest.mark.parametrize("name", ["b.toml", "a.test.toml", "b.test.toml"])
@pytest.mark.parametrize("command", ["test", "lint", "list"])
def test_no_command_waits_for_a_fifo(tmp_path: Path, command: str, name: str) -> None:
    rules, path = _rules(tmp_path, name)
    os.mkfifo(path)
    arguments = ["rules", command, "--rules", str(rules)]
    done = subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-m", "attribution_cli", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    if command != "list" or name == "b.toml":
        assert done.returncode != 0
        assert f"rules/{name}:1" in done.stderr.replace("\n", " ")
        assert "is a FIFO" in done.stderr


def test_a_catalogue_that_is_not_text_is_a_fault(tmp_path: Path) -> None:
    rules = write(
        tmp_path,
        a_toml="""author = "tests"
[[extractor_catalog]]
name = "C"
match_re = '''code (?P<code>\\d+)'''
catalog = "catalogs/b.csv"
keys = ["code"]
emit = { type = "info" }
""",
        catalogs__b_csv="",
    )
    (rules / "catalogs" / "b.csv").write_bytes(b"code\n\xff\n")
    with pytest.raises(RuleLoadError, match=r"rules/catalogs/b\.csv:1: is not UTF-8"):
        RuleLoader([rules]).load_all()
