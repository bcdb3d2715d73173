"""Each answer that shows what a command prints is true: the command is run in the checkout and compared."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from guide_kit import ShownCommand, differences, run, steps

ROOT = Path(__file__).parents[2]
FAQ = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
ANSWERED = [step for step in steps(FAQ) if isinstance(step, ShownCommand) and step.printed]
BAD_RULES = r"""author = "a site"
[[symptom]]
name = "Not mine"
outcome = "host_os"
rank = 500
scope = "job"
docs = "Where a pattern cannot be."
[[extractor]]
name = "NotMine"
match_re = '''error (?!of mine)'''
emit = { type = "bad_node", symptom = "Not mine" }
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The samples, and the rules of which an answer says that they are refused."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / "bad-rules").mkdir()
    (tmp_path / "bad-rules" / "lookahead.toml").write_text(BAD_RULES, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("step", ANSWERED, ids=lambda step: step.line)
def test_an_answer_shows_what_the_command_prints(step: ShownCommand, checkout: Path) -> None:
    if "| jq " in step.line and shutil.which("jq") is None:
        pytest.skip("jq is not installed here")
    environment = {"PATH": os.environ["PATH"], "COLUMNS": "140", "XDG_CACHE_HOME": str(checkout / "cache")}
    printed = run(step.line, checkout, environment).stdout
    assert differences(step.printed, printed) == [], printed
