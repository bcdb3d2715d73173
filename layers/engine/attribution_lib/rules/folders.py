"""Where rule files are: which folders, which files of them count, and the digest of their content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_lib.rules.declared import RuleFolder
from attribution_lib.rules.files import read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "all_files",
    "bundled_rules",
    "catalog_files",
    "digest_of",
    "resolve_folders",
    "rule_files",
    "test_files",
]

_LABEL = "rules"
_TEST_SUFFIX = ".test.toml"


def bundled_rules() -> Path:
    """The folder of the rules that come with this package, installed or in a checkout (there beside ``layers/``)."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "bundled_rules"
    return installed if installed.is_dir() else package.parents[2] / "rules"


def resolve_folders(paths: Sequence[Path | str] | None) -> tuple[RuleFolder, ...]:
    """The folders to load: the bundled rules unless paths are given."""
    if paths is None:
        return (RuleFolder(bundled_rules(), _LABEL),)
    return tuple(RuleFolder(Path(path), Path(path).resolve().name) for path in paths)


def rule_files(folder: RuleFolder) -> list[Path]:
    """The top-level ``.py`` and ``.toml`` files, sorted by name, without ``.test.toml``."""
    found = [path for pattern in ("*.py", "*.toml") for path in folder.path.glob(pattern)]
    return sorted((path for path in found if not path.name.endswith(_TEST_SUFFIX)), key=lambda path: path.name)


def test_files(folder: RuleFolder) -> list[Path]:
    """The ``.test.toml`` files beside the rules, sorted by name."""
    return sorted(folder.path.glob(f"*{_TEST_SUFFIX}"), key=lambda path: path.name)


def catalog_files(folder: RuleFolder) -> list[Path]:
    """The CSV files that rules may name as their catalogue."""
    return list(folder.path.glob("catalogs/**/*.csv"))


def all_files(folder: RuleFolder) -> list[Path]:
    """Everything that a load may read: rule files, common modules and catalogues."""
    return [*rule_files(folder), *folder.path.glob("common/*.py"), *catalog_files(folder)]


def digest_of(folders: Iterable[RuleFolder], *, include_staged: bool) -> str:
    """SHA-256 (hex) over names and bytes of everything a load may read; the same on every machine."""
    digest = hashlib.sha256(b"with staged\n" if include_staged else b"without staged\n")
    for folder in folders:
        names = {path.relative_to(folder.path).as_posix(): path for path in all_files(folder)}
        for name in sorted(names):
            content = read_file(names[name])
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()
