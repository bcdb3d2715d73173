"""Rules as they were: a git revision's rules folder, and the verdicts that a change of rules flips."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import read_case_folder
from attribution_blueprint.errors import EvidenceError, RuleHistoryError
from attribution_blueprint.local import attribute_evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.engine import RuleEngine

__all__ = ["Flip", "flipped_verdicts", "rules_at"]


@dataclass(frozen=True, slots=True)
class Flip:
    """One case whose verdict differs between two rule sets, each side as (outcome, root symptom, bad nodes)."""

    case: str
    before: tuple[str, str | None, tuple[str, ...]]
    after: tuple[str, str | None, tuple[str, ...]]


def rules_at(base: str, rules: Path, into: Path) -> Path:
    """The rules folder that ``base`` names: a folder, or a git revision of ``rules``, unpacked below ``into``."""
    if Path(base).is_dir():
        return Path(base)
    repository = _git(["rev-parse", "--show-toplevel"], rules).decode().strip()
    inside = rules.resolve().relative_to(Path(repository).resolve()).as_posix()
    archive = _git(["archive", "--format=tar", base, "--", inside], Path(repository))
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(into, filter="data")
    return into / inside


def _git(arguments: list[str], folder: Path) -> bytes:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)  # noqa: S603, S607 -- a fixed program; the revision is the user's own
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        msg = f"git {arguments[0]}: {reason[0] if reason else 'failed'}; expected a folder or a git revision"
        raise RuleHistoryError(msg)
    return done.stdout


def flipped_verdicts(cases: Path, before: RuleEngine, after: RuleEngine) -> Iterator[Flip]:
    """The case folders below ``cases`` whose outcome, root symptom or bad nodes differ, by name."""
    for folder in sorted(path for path in cases.iterdir() if (path / "job.toml").is_file()):
        try:
            sides = [_verdict(folder, engine) for engine in (before, after)]
        except EvidenceError:
            continue
        if sides[0] != sides[1]:
            yield Flip(folder.name, sides[0], sides[1])


def _verdict(folder: Path, engine: RuleEngine) -> tuple[str, str | None, tuple[str, ...]]:
    verdict = attribute_evidence(read_case_folder(folder), engine)
    root = verdict.root_cause
    nodes = tuple(sorted(node.node for node in verdict.bad_nodes))
    return verdict.outcome.value, root.symptom if root is not None else None, nodes
