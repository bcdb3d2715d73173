"""What rule tests share: a rules folder from a few lines of text, its engine, or the faults it is refused with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pytest

from attribution_lib.errors import RuleLoadError
from attribution_lib.rules.loader import RuleLoader, load_engine

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

BASE = """author = "tests"
[[symptom]]
name = "Broken"
outcome = "gpu_hardware"
rank = 900
scope = "node"
docs = "A part of the node is broken; replace it."
aliases = ["Kaputt"]
"""
SAMPLES = """
[[hit]]
line = "it is broken"
origin = "somewhere"
event = "bad_node"
symptom = "Broken"
[[miss]]
line = "it was broken"
because = "it is whole now"
"""
"""Tests of the extractor that ``extractor`` gives."""


def write(folder: Path, **files: str) -> Path:
    """Write files named by keyword: ``a_toml`` is ``a.toml``, ``catalogs__x_csv`` is ``catalogs/x.csv``."""
    rules = folder / "rules"
    for key, text in files.items():
        path = rules / (
            key.replace("__", "/").rpartition("_")[0].replace("_test", ".test") + "." + key.rpartition("_")[2]
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return rules


def load(folder: Path, **files: str) -> RuleEngine:
    """The engine of these files."""
    return load_engine([write(folder, **files)])


def extractor(
    emit: str = 'type = "bad_node", symptom = "Broken"', match_re: str = "it is broken", more: str = ""
) -> str:
    """A file with one extractor named R, on lines 9 to 13."""
    return f"{BASE}[[extractor]]\nname = \"R\"\nmatch_re = '''{match_re}'''\nemit = {{ {emit} }}\n{more}"


def faults(folder: Path, **files: str) -> list[str]:
    """What a load of these files is refused with, one text a fault."""
    with pytest.raises(RuleLoadError) as caught:
        RuleLoader([write(folder, **files)]).load_all()
    return [str(fault) for fault in caught.value.faults]


def fault(folder: Path, **files: str) -> str:
    """The single fault of these files."""
    found = faults(folder, **files)
    assert len(found) == 1, found
    return found[0]


def told(engine: RuleEngine) -> Any:
    """Everything that an engine holds, as plain values: functions by their names."""
    held = (*engine.rules(), *engine.registry, *engine.deprecated)
    return engine.digest, [(type(found).__name__, _plain(found)) for found in held]


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(found) for key, found in value.items()}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_plain, value)]
    return getattr(value, "__qualname__", value)
