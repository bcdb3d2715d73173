"""Pinning rules: one version and one hash of behaviour for every rule as its author wrote it.

A hash covers what can change a verdict: patterns, emissions, catalogue rows, the outcome and rank of what is emitted,
the code of Python rules. Docs, comments, line numbers and authors are not in it.
"""

from __future__ import annotations

import ast
import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from attribution_lib.rules.files import read_file
from attribution_lib.rules.folders import resolve_folders
from attribution_lib.rules.model import MetricRule, TextRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from attribution_lib.rules.declared import RuleFolder
    from attribution_lib.rules.emission import Emitter
    from attribution_lib.rules.engine import AnyRule, RuleEngine
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["LOCK_FILE", "LockChange", "LockEntry", "compare_locks", "lock_of", "read_lock", "render_lock"]

LOCK_FILE = "rules.lock.json"
_TEXT_FIELDS = ("match_re", "sources", "engine", "key", "fold", "demotable_by")
_METRIC_FIELDS = ("metric", "reduce", "op", "value", "window_seconds", "for_models", "code_label", "demotable_by")


@dataclass(frozen=True, slots=True)
class LockEntry:
    """What is pinned of one rule, family or catalog."""

    version: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LockChange:
    """One difference between two locks. ``kind``: added, removed, changed, unversioned (changed, version the same)."""

    kind: str
    rule: str


def lock_of(engine: RuleEngine, paths: Sequence[Path | str] | None = None) -> dict[str, LockEntry]:
    """The lock of an engine that was loaded from these folders (the bundled rules when None), by definition name."""
    code = _code_hashes(resolve_folders(paths))
    found: dict[str, list[AnyRule]] = {}
    for rule in engine.rules():
        found.setdefault(rule.provenance.definition or rule.provenance.name, []).append(rule)
    return {name: _entry(found[name], engine, code) for name in sorted(found)}


def read_lock(text: str) -> dict[str, LockEntry]:
    """The lock that a file holds; ``ValueError`` when it holds something else."""
    try:
        return {
            str(name): LockEntry(int(entry["version"]), str(entry["sha256"]))
            for name, entry in json.loads(text).items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        msg = (
            f"is no rule lock: {error!r}; expected {{rule: {{version, sha256}}}}, as `attribution rules lock` writes it"
        )
        raise ValueError(msg) from error


def render_lock(lock: Mapping[str, LockEntry]) -> str:
    """The text of a lock file: one line a rule, so that a change reads as such."""
    lines = [f"  {json.dumps(name)}: {json.dumps(asdict(lock[name]))}" for name in sorted(lock)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def compare_locks(old: Mapping[str, LockEntry], new: Mapping[str, LockEntry]) -> list[LockChange]:
    """What changed from one lock to another, by rule name."""
    changes = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            changes.append(LockChange("added" if before is None else "removed", name))
        elif before != after:
            same_version = before.version == after.version
            changes.append(LockChange("unversioned" if same_version else "changed", name))
    return changes


def _entry(rules: list[AnyRule], engine: RuleEngine, code: Mapping[str, str]) -> LockEntry:
    digest = sha256()
    for rule in sorted(rules, key=lambda rule: rule.provenance.name):
        digest.update(json.dumps(_behaviour(rule, engine.registry, code), sort_keys=True).encode())
    return LockEntry(max(rule.provenance.version for rule in rules), digest.hexdigest())


def _behaviour(rule: AnyRule, registry: GeneratedSymptomRegistry, code: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": rule.provenance.name,
        "status": rule.provenance.status,
        "depends_on": rule.provenance.depends_on,
    }
    if isinstance(rule, TextRule | MetricRule):
        fields = _TEXT_FIELDS if isinstance(rule, TextRule) else _METRIC_FIELDS
        found |= {name: getattr(rule, name) for name in fields} | _emission(rule.emitter, registry)
        found |= {"emit": asdict(rule.emit)}
        if isinstance(rule, MetricRule) and rule.labels:
            found |= {"labels": rule.labels}
        decode = rule.decode if isinstance(rule, TextRule) else None
        return found | {"decode": "" if decode is None else code.get(_file_of(decode), "")}
    return found | {"code": code.get(rule.provenance.location.path, "")}


def _emission(emitter: Emitter | None, registry: GeneratedSymptomRegistry) -> dict[str, Any]:
    if emitter is None:
        return {}
    symptoms = [registry.get(name) for name in sorted(emitter.symptoms)]
    rows = [(key, row.event_type, row.symptom, dict(row.columns)) for key, row in sorted(emitter.rows.items())]
    decides = [(s.name, s.outcome, s.rank, s.scope, s.root, s.teardown, s.action) for s in symptoms]
    kept = [(key, kind, name, {k: v for k, v in columns.items() if k != "docs"}) for key, kind, name, columns in rows]
    return {"symptoms": decides, "rows": kept, "default": emitter.default}


def _file_of(function: Any) -> str:
    return str(function.__code__.co_filename)


def _code_hashes(folders: Iterable[RuleFolder]) -> dict[str, str]:
    """{location path, and real path, of a Python rule file: hash of its code and of the folder's common modules}."""
    hashes: dict[str, str] = {}
    for folder in folders:
        shared = "".join(_code(path) for path in sorted(folder.path.glob("common/*.py")))
        for path in sorted(folder.path.glob("*.py")):
            value = sha256((_code(path) + shared).encode()).hexdigest()
            hashes[f"{folder.label}/{path.name}"] = hashes[str(path)] = value
    return hashes


def _code(path: Path) -> str:
    tree = ast.parse(read_file(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
