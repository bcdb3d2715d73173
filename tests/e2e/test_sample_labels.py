"""Every sample gets the verdict that its label says, and a sample that does not is named."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from attribution_blueprint.local import attribute_evidence
from sample_cases import CASES, ROOT, bundled_engine, evidence_of
from scoring import KNOWN_DIFFERENCES, Answer, Label, figures, judge, unexpected

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = tomllib.loads(KNOWN_DIFFERENCES.read_text(encoding="utf-8"))
GPU_LOST = ROOT / "samples" / "cases" / "xid79-gpu-at-95c"
NEVER = "the label asks for a line that no log holds"


def answer_of(case: Path) -> Answer:
    return Answer.of(attribute_evidence(evidence_of(case), bundled_engine()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_is_as_the_label_says(case: Path) -> None:
    assert unexpected(case.name, judge(case, Label.read(case), answer_of(case)), KNOWN) == ()


def test_what_is_known_to_differ_is_of_samples_that_exist() -> None:
    assert set(KNOWN) <= {case.name for case in CASES}


@pytest.mark.parametrize(
    ("flipped", "kind"),
    [
        ({"terminal_state": "timeout"}, "terminal_state"),
        ({"sub_domain": "application"}, "sub_domain"),
        ({"sub_domain": "ambiguous"}, "overclaim"),
        ({"root_pattern": NEVER}, "root line"),
        ({"bad_nodes": frozenset({"node-9999"})}, "nodes"),
        ({"bad_nodes": frozenset()}, "false blame"),
    ],
)
def test_a_label_that_says_otherwise_is_told_from_the_verdict(flipped: dict[str, object], kind: str) -> None:
    found = judge(GPU_LOST, replace(Label.read(GPU_LOST), **flipped), answer_of(GPU_LOST)).differences  # type: ignore[arg-type]
    assert kind in [text.partition(":")[0] for text in found]


def test_a_difference_that_is_no_more_must_not_stay_in_the_list() -> None:
    judgement = judge(GPU_LOST, Label.read(GPU_LOST), answer_of(GPU_LOST))
    assert "delete its row" in unexpected("a", judgement, {"a": "root line: another line is shown"})[0]


def evaluated(cases: Path) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "scripts" / "evaluate.py"), str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own script
    return done.returncode, done.stdout + done.stderr


def test_evaluating_fails_and_names_the_sample_whose_label_was_flipped(tmp_path: Path) -> None:
    case = tmp_path / GPU_LOST.name
    shutil.copytree(GPU_LOST, case)
    assert evaluated(tmp_path)[0] == 0
    label = case / "expected.toml"
    flipped = re.sub(r'(?m)^sub_domain = ".*"', 'sub_domain = "application"', label.read_text())
    label.write_text(flipped)
    status, output = evaluated(tmp_path)
    assert status == 1
    assert f"DIFFERS {GPU_LOST.name}: sub_domain: hardware, expected application" in output


# ---- what counts, on a made set


LINES = ("starting", "\x1b[31mkernel: GPU has fallen  off the bus\x1b[0m", "RuntimeError: a " + "long " * 20 + "line")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "applog.log").write_text("\n".join(LINES))
    (tmp_path / "node_metrics.json").write_text('[{"metric": {"__name__": "DCGM_FI_DEV_XID_ERRORS"}, "values": []}]')
    return tmp_path


def label(sub_domain: str = "hardware", **fields: object) -> Label:
    plain = Label("fail", sub_domain, frozenset(), "", (), frozenset(), None)
    return replace(plain, **fields)  # type: ignore[arg-type]


def answer(sub_domain: str = "hardware", **fields: object) -> Answer:
    return replace(Answer("fail", sub_domain, frozenset()), **fields)  # type: ignore[arg-type]


def nodes(*names: str) -> frozenset[str]:
    return frozenset(names)


FALLEN = {"source": "applog", "line_num": 2, "evidence": "kernel: GPU has fallen off the bus"}


@pytest.mark.parametrize(
    ("root", "right"),
    [
        (FALLEN, True),
        ({**FALLEN, "line_num": 1}, False),
        ({**FALLEN, "line_num": 4}, False),
        ({**FALLEN, "line_num": None}, False),
        ({**FALLEN, "source": "syslog"}, False),
        ({**FALLEN, "evidence": "kernel: GPU has fallen"}, False),
        ({**FALLEN, "evidence": "kernel: GPU has fallen off the bus\nand more"}, False),
        ({"source": "node_metrics", "evidence": "DCGM_FI_DEV_XID_ERRORS is 79, it has fallen"}, True),
        ({"source": "node_metrics", "evidence": "DCGM_FI_DEV_GPU_TEMP is 95, it has fallen"}, False),
        ({}, False),
    ],
)
def test_a_root_line_is_right_only_at_its_place_in_its_file(
    folder: Path, root: dict[str, object], *, right: bool
) -> None:
    assert judge(folder, label(root_pattern="fallen"), answer(**root)).root_line is right


def test_a_long_line_may_be_shown_shortened_and_another_line_may_be_as_good(folder: Path) -> None:
    shown = answer(source="applog", line_num=3, evidence=LINES[2][:60])
    assert judge(folder, label(root_pattern="RuntimeError"), shown).root_line is True
    assert judge(folder, label(root_pattern="fallen", root_also=(LINES[2],)), shown).root_line is True
    assert judge(folder, label(root_pattern="fallen"), shown).root_line is False


def test_a_case_counts_for_a_figure_only_where_its_label_says_what_is_right(folder: Path) -> None:
    given = [
        (label(root_pattern="fallen", bad_nodes=nodes("a")), answer(bad_nodes=nodes("a"), **FALLEN)),
        (label(also=nodes("ambiguous"), bad_nodes=nodes("a"), nodes_also=nodes("a", "b")), answer("ambiguous")),
        (label(bad_nodes=nodes("a"), nodes_also=nodes("b")), answer(bad_nodes=nodes("b"))),
        (label(bad_nodes=nodes("a"), nodes_also=nodes()), answer()),
        (label("ambiguous"), answer(bad_nodes=nodes("c"), terminal_state="timeout")),
        (label("ambiguous", also=nodes("hardware")), answer()),
        (label("none"), answer("unattributed")),
    ]
    assert figures([judge(folder, wanted, got) for wanted, got in given]) == {
        "terminal_state": (6, 7),
        "sub_domain": (5, 7),
        "strict": (3, 7),
        "root line": (1, 1),
        "bad nodes exact": (2, 3),
        "false blame": (1, 7),
        "overclaim": (1, 3),
    }
