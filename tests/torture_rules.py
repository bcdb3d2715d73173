"""Rules for torture: every line of a batch is an event, and a collector puts all that arrived into the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rules.loader import RuleLoader

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

_TOML = """
author = "tests"
[[extractor]]
name = "Mark"
match_re = '''MARK batch=(?P<batch>[A-Za-z0-9.-]+)'''
key = ["batch"]
emit = { type = "info", payload = { batch = "{batch}" } }
"""
_PYTHON = '''
from attribution_lib.rule_api import collector_def

@collector_def("marks", author="tests")
def marks(context):
    """{batch: lines that arrived}."""
    found = {}
    for event in context.event_stream.events(type="Attribution.job.info"):
        batch = event.payload["batch"]
        found[batch] = found.get(batch, 0) + event.occurrences
    return found
'''


def marking_engine(folder: Path, version: int = 0) -> RuleEngine:
    """The engine; another ``version`` has another digest and says the same."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "marks.toml").write_text(f"{_TOML}# version {version}\n", encoding="utf-8")
    (folder / "marks.py").write_text(_PYTHON, encoding="utf-8")
    return RuleLoader([folder]).build()
