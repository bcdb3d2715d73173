"""What a verdict that is not sure asks for: the rules say what and why, the engine fills in nodes and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.rules.loader import load_engine
from engine_kit import applog, engine_of, syslog, verdict_of
from rules_kit import BASE, faults, load

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.engine import RuleEngine

NEED = """
[[needed_evidence]]
name = "Kernel"
source = "syslog"
before = 240
after = 120
why = "the kernel would tell"
"""
COMPLETION = "Got completion from peer 10.0.0.1<5> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
OF_CRASH = NEED.replace("Kernel", "KernelOfCrash").replace("would tell", "names the library")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> RuleEngine:
    return engine_of(tmp_path_factory.mktemp("rules"), OF_CRASH + 'symptoms = ["Bare crash"]\n')


def _asked(engine: RuleEngine, *given: object, source: str = "syslog", **job: object) -> list[tuple[str | None, str]]:
    found = verdict_of(engine, *given, **job).needed_evidence
    return [(need.node, need.why) for need in found if need.source == source]


def test_what_is_said_of_the_symptom_wins_over_what_is_said_of_its_outcome_and_of_any(engine: RuleEngine) -> None:
    assert _asked(engine, applog("BARE CRASH", node="n1")) == [("n1", "the kernel names the library")]
    assert _asked(engine, applog("PEER GONE", node="n1")) == [(None, "the peer's kernel would tell")]
    assert _asked(engine, applog("TASK EXITED", node="n1")) == [("n1", "syslog would tell")]


def test_the_declared_time_lies_around_the_symptom(engine: RuleEngine) -> None:
    verdict = verdict_of(engine, applog("2026-06-01T03:14:00Z BARE CRASH", node="n1"))
    assert [(need.from_, need.to) for need in verdict.needed_evidence if need.source == "syslog"] == [
        ("2026-06-01T03:10:00.000000Z", "2026-06-01T03:16:00.000000Z")
    ]


def test_of_a_log_that_was_read_for_other_nodes_the_reporters_is_asked_for(engine: RuleEngine) -> None:
    heard = syslog("TASK EXITED", node="n1")
    assert _asked(engine, heard, applog("PEER GONE", node="n1")) == []
    assert _asked(engine, heard, applog("PEER GONE", node="n2")) == [("n2", "this node's kernel would tell too")]


def test_of_a_log_that_was_read_for_other_nodes_the_peers_is_asked_for(engine: RuleEngine) -> None:
    heard = syslog("TASK EXITED", node="n1")
    waiting = applog("PEER GONE peer=n2", "PEER GONE peer=10.0.0.9", node="n1")
    assert _asked(engine, heard, waiting) == [("n2", "this node's kernel would tell too")]


def test_a_quiet_log_whose_stream_names_the_node_is_not_asked_for_again(engine: RuleEngine) -> None:
    heard, waiting = syslog("TASK EXITED", node="n1"), applog("PEER GONE", node="n2")
    assert _asked(engine, heard, waiting, syslog("quiet", stream="logs/n2.dmesg")) == []
    assert _asked(engine, heard, waiting, syslog("quiet", stream="logs/n22.dmesg")) != []


def test_a_log_that_names_no_node_is_not_asked_for_again(engine: RuleEngine) -> None:
    assert _asked(engine, syslog("quiet"), applog("PEER GONE", node="n2")) == []


def test_a_sure_verdict_asks_for_nothing(engine: RuleEngine) -> None:
    assert verdict_of(engine, applog("CODE RAISED", node="n1")).needed_evidence == []


def test_with_every_source_given_an_undecided_verdict_asks_for_the_log_that_is_missing() -> None:
    """The shipped rules: the log of one node is there, and the one that reports is another."""
    verdict = verdict_of(
        load_engine(),
        applog(f"node-0002:71:99 [0] NCCL WARN NET/IB : {COMPLETION}"),
        syslog("Jun  1 03:00:00 node-0001 kernel: mlx5_core 0000:1b:00.0 ib0: Link up"),
        nodes=["node-0001", "node-0002"],
    )
    assert {(need.source, need.node) for need in verdict.needed_evidence} >= {("syslog", "node-0002")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NEED.replace("syslog", "dmesg"), "a.toml:12 Kernel source: is 'dmesg'; expected one of applog, syslog"),
        (NEED.replace("after = 120\n", ""), "a.toml:10 Kernel after: is missing; expected an integer"),
        (NEED.replace("240", "-1"), "a.toml:13 Kernel before: is -1; expected 0 to 604800"),
        (NEED.replace('why = "the kernel would tell"', 'why = ""'), "a.toml:15 Kernel why: is empty"),
        (NEED + 'place = "here"\n', "a.toml:16 Kernel place: is 'here'; expected one of symptom, peers, all"),
        (NEED + 'symptoms = ["Nope"]\n', "a.toml:10 Kernel symptoms: unknown symptom 'Nope'; expected a declared"),
        (NEED + 'outcomes = ["bad"]\n', "a.toml:16 Kernel outcomes: element 1 is 'bad'; expected one of gpu_hardware"),
        (NEED + 'nodes = "all"\n', "a.toml:16 Kernel nodes: unknown key; expected one of after, before"),
        (NEED + NEED, "a.toml:17 Kernel: is already declared at rules/a.toml:10; expected a name of its own"),
        (NEED + NEED.replace("Kernel", "Other"), "17 Other: the syslog for any verdict is already asked for by Kernel"),
    ],
)
def test_a_faulty_declaration_is_refused_at_its_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in "\n".join(faults(tmp_path, a_toml=BASE + text))


def test_what_is_asked_for_outlives_a_kept_load(tmp_path: Path) -> None:
    load(tmp_path, a_toml=BASE + NEED)
    loads = [load_engine([tmp_path / "rules"], cache_dir=tmp_path / "cache") for _ in range(2)]
    assert loads[0].needed == loads[1].needed
    assert [needed.why for needed in loads[1].needed] == ["the kernel would tell"]
