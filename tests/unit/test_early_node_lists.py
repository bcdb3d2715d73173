"""A line that names several nodes is evidence about each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.observation import Observation, Source
from engine_kit import engine_of, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

RULES = r"""
[[symptom]]
name = "Node gone"
outcome = "node_down"
rank = 510
scope = "node"
docs = "x"
[[extractor]]
name = "NodeGone"
match_re = 'Nodes (?P<node>\S+) not responding'
emit = { type = "bad_node", symptom = "Node gone" }
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    path: Path = tmp_path_factory.mktemp("rules")
    return engine_of(path, RULES)


def blamed(engine: RuleEngine, line: str, nodes: list[str]) -> list[str]:
    observation = Observation(Source.SCHEDULER, stream="scheduler.log", text=line.encode() + b"\n")
    return [bad.node for bad in verdict_of(engine, observation, nodes=nodes).bad_nodes]


def test_a_host_list_blames_each_of_its_nodes(engine: RuleEngine) -> None:
    line = "Nodes node-[03-04],node-07 not responding"
    assert blamed(engine, line, ["node-03", "node-04", "node-05", "node-07"]) == ["node-03", "node-04", "node-07"]


def test_nodes_of_the_list_outside_the_job_are_left_out(engine: RuleEngine) -> None:
    assert blamed(engine, "Nodes node-[03-04] not responding", ["node-04"]) == ["node-04"]


def test_a_hostile_list_stays_one_name(engine: RuleEngine) -> None:
    assert blamed(engine, "Nodes n[1-999999999] not responding", ["node-04"]) == []
