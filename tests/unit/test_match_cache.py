"""The kept database: used when it fits, rebuilt when it does not, never a reason to fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.match.cache import DatabaseCache, Kept
from attribution_lib.match.matcher import build_matcher

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = ["needle", r"pin\d+", r"\pLeft over"]
TEXT = b"a needle\npin7\nx\n"


def _starts(cache_dir: Path, digest: str = "d1") -> list[int]:
    return [hit.start for hit in build_matcher(PATTERNS, cache_dir=cache_dir, digest=digest).scan(TEXT)]


def _kept(cache_dir: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in cache_dir.glob("*.hsdb")}


def _written(cache_dir: Path) -> dict[str, int]:
    """When each database was written: whatever is compiled is written."""
    return {file.name: file.stat().st_mtime_ns for file in cache_dir.glob("*.hsdb")}


def test_a_second_build_compiles_nothing(tmp_path: Path) -> None:
    assert _starts(tmp_path) == [0, 9]
    written = _written(tmp_path)
    assert _starts(tmp_path) == [0, 9]
    assert _written(tmp_path) == written


def test_a_kept_database_keeps_its_diagnostics(tmp_path: Path) -> None:
    first = build_matcher(PATTERNS, cache_dir=tmp_path)
    second = build_matcher(PATTERNS, cache_dir=tmp_path)
    assert first.diagnostics == second.diagnostics
    assert len(second.diagnostics) == 1


@pytest.mark.parametrize(
    ("patterns", "engines", "digest"),
    [
        pytest.param(["needle", "pin"], (), "d1", id="other patterns"),
        pytest.param(["needle"], ["re"], "d1", id="another engine"),
        pytest.param(["needle"], (), "d2", id="another digest"),
    ],
)
def test_whatever_differs_gets_its_own_database(
    tmp_path: Path, patterns: list[str], engines: list[str], digest: str
) -> None:
    build_matcher(["needle"], cache_dir=tmp_path, digest="d1")
    before = _written(tmp_path)
    build_matcher(patterns, engines, cache_dir=tmp_path, digest=digest)
    after = _written(tmp_path)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),  # noqa: ARG005 -- same shape as the others
        pytest.param(lambda content: content[: len(content) // 2], id="truncated"),
        pytest.param(lambda content: content[:-1] + bytes([content[-1] ^ 1]), id="one bit flipped"),
        pytest.param(lambda content: b"something else\n" + content, id="foreign"),
        pytest.param(lambda content: b"\xff" * len(content), id="noise"),
    ],
)
def test_a_damaged_file_is_rebuilt(tmp_path: Path, damage: object) -> None:
    _starts(tmp_path)
    intact = _kept(tmp_path)
    for name, content in intact.items():
        (tmp_path / name).write_bytes(damage(content))  # type: ignore[operator] # a parameter of pytest
    assert _starts(tmp_path) == [0, 9]
    assert _kept(tmp_path).keys() == intact.keys()
    assert all(file.startswith(b"attribution matcher database") for file in _kept(tmp_path).values())


def test_an_intact_file_that_does_not_load_here_is_rebuilt(tmp_path: Path) -> None:
    _starts(tmp_path)
    for name in _kept(tmp_path):
        DatabaseCache(tmp_path).write(name.removesuffix(".hsdb"), Kept(b"of another processor", {}))
    assert _starts(tmp_path) == [0, 9]


def test_a_folder_that_cannot_be_written_to_is_left_alone(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("no folder")
    assert _starts(occupied / "cache") == [0, 9]
    assert _starts(occupied) == [0, 9]


def test_nothing_unfinished_stays_behind(tmp_path: Path) -> None:
    _starts(tmp_path / "deep" / "cache")
    assert {file.suffix for file in (tmp_path / "deep" / "cache").iterdir()} == {".hsdb"}


def test_old_files_are_removed_when_many_pile_up(tmp_path: Path) -> None:
    cache = DatabaseCache(tmp_path)
    for number in range(40):
        cache.write(f"key{number}", Kept(b"database", {}))
    assert len(_kept(tmp_path)) == 32
    assert cache.read("key39") == Kept(b"database", {})


def test_a_file_under_another_key_is_not_used(tmp_path: Path) -> None:
    cache = DatabaseCache(tmp_path)
    cache.write("one", Kept(b"database", {3: "reason"}))
    (tmp_path / "one.hsdb").rename(tmp_path / "two.hsdb")
    assert cache.read("two") is None
