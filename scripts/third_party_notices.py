"""Writes ``THIRD_PARTY_NOTICES.md`` from the metadata of what is installed; ``--check`` tells of rows that are missing.

Versions are left out, and the check compares kinds of licence (MIT, BSD, …) rather than spellings, so that a release of
a dependency alone makes nothing stale. Rows of packages that this Python does not need are left alone by the check.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "THIRD_PARTY_NOTICES.md"
PRODUCT = "gpu-job-attribution"
EXTRAS = ("", "aws", "zstd")
"""What runs: the requirements of every installation, and the extras that are no tools of developers."""
KINDS = ("GPL", "GNU", "APACHE", "BSD", "MIT", "PSF", "PYTHON", "PUBLIC DOMAIN")
BEGIN, END = "<!-- packages: begin -->\n", "<!-- packages: end -->\n"


class Package(NamedTuple):
    """One installed distribution, and which one brought it."""

    name: str
    licence: str
    through: str
    page: str

    def row(self) -> str:
        """The package's line in the table."""
        return f"| [{self.name}]({self.page}) | {self.licence} | {self.through} |\n"


def main() -> int:
    """0 when the file names, or was made to name, every package and its licence."""
    text = FILE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    table, tail = rest.split(END)
    packages = runtime_packages()
    if "--check" in sys.argv[1:]:
        stale = faults(table, packages)
        print("\n".join(stale) or "third-party notices: every package that runs is named")
        return 1 if stale else 0
    rows = "| package | licence | comes with |\n|---|---|---|\n" + "".join(package.row() for package in packages)
    FILE.write_text(head + BEGIN + rows + END + tail, encoding="utf-8")
    return 0


def faults(table: str, packages: list[Package]) -> list[str]:
    """What the table of the notices does not say of these packages, one line each."""
    written = dict(re.findall(r"^\| \[([^\]]+)\]\([^)]*\) \| ([^|]+) \|", table, re.MULTILINE))
    return [
        f"{FILE.name}: {package.name} is under {package.licence!r}, the file says {written.get(package.name)!r}; "
        "run scripts/third_party_notices.py"
        for package in packages
        if package.name not in written or kinds(written[package.name]) != kinds(package.licence)
    ]


def kinds(licence: str) -> frozenset[str]:
    """The kinds of licence that these words name; the words themselves where they name none."""
    found = frozenset(kind for kind in KINDS if kind in licence.upper())
    return found or frozenset([licence])


def runtime_packages() -> list[Package]:
    """Every distribution that an installation brings, in the order of names."""
    found: dict[str, Package] = {}
    waiting = [(PRODUCT, EXTRAS)]
    while waiting:
        parent, extras = waiting.pop(0)
        for requirement in map(Requirement, metadata.requires(parent) or []):
            name = canonicalize_name(requirement.name)
            marker = requirement.marker
            if name in found or (marker and not any(marker.evaluate({"extra": extra}) for extra in extras)):
                continue
            about = metadata.metadata(name)
            through = "" if parent == PRODUCT else parent
            found[name] = Package(name, _licence(about), through, f"https://pypi.org/project/{name}/")
            waiting.append((name, ("", *requirement.extras)))
    return sorted(found.values())


def _licence(about: metadata.PackageMetadata) -> str:
    """The SPDX expression, else the short name, else the classifiers."""
    given = about.json
    named = [str(given.get(key) or "") for key in ("license_expression", "license")]
    for text in named:
        if text and "\n" not in text and text != "Dual License":
            return text
    classifiers = [line for line in given.get("classifier", ()) if line.startswith("License ::")]
    return " or ".join(sorted(line.rpartition(":: ")[2] for line in classifiers)) or "not said"


if __name__ == "__main__":
    sys.exit(main())
