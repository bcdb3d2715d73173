"""Catalogues: rows become symptoms, captured codes become rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attribution_lib.events.event import EventType
from attribution_lib.rules.catalogs import catalog_key
from attribution_lib.rules.emission import emit_code, emit_text
from attribution_lib.rules.model import MetricRule, TextRule
from rules_kit import fault, faults, load

if TYPE_CHECKING:
    from pathlib import Path

    from attribution_lib.rules.emission import Emitted
    from attribution_lib.rules.engine import RuleEngine

RULES = """author = "tests"
[[symptom]]
name = "XID-UNKNOWN"
outcome = "gpu_driver"
rank = 500
scope = "device"

[[extractor_catalog]]
name = "XID"
match_re = '''NVRM: Xid \\((?P<device>[^)]+)\\): (?P<code>\\d+)(?:, pid=(?P<pid>\\d+))?'''
catalog = "catalogs/xid.csv"
keys = ["code"]
symptoms = true
family = "XID"
default = { event = "bad_node", symptom = "XID-UNKNOWN" }
emit = { type = "{event}", symptom = "XID-{code}-{mnemonic}" }

[[metric_extractor]]
name = "XIDMetric"
metric = "DCGM_FI_DEV_XID_ERRORS"
reduce = "changes"
op = ">"
value = 0
catalog = "catalogs/xid.csv"
keys = ["code"]
default = { event = "bad_node", symptom = "XID-UNKNOWN" }
emit = { type = "{event}", symptom = "XID-{code}-{mnemonic}" }
"""
XIDS = """code,mnemonic,event,outcome,rank,scope,root,teardown,docs,action
48,DBE,bad_node,gpu_memory,950,device,,,"two bits, uncorrectable",RESET_GPU
43,CHANNEL_RESET,interesting_node,application_gpu_fault,400,device,false,true,stopped,NONE
"""


def _emit(engine: RuleEngine, **captures: str) -> Emitted | None:
    rule = engine.rule("XID")
    assert isinstance(rule, TextRule)
    return emit_text(rule, captures)


def test_every_row_is_a_symptom_of_its_family(tmp_path: Path) -> None:
    registry = load(tmp_path, xid_toml=RULES, catalogs__xid_csv=XIDS).registry
    dbe = registry.get("XID-48-DBE")
    assert (dbe.code, dbe.family, dbe.rank, dbe.root, dbe.teardown, dbe.action) == (
        48,
        "XID",
        950,
        True,
        False,
        "RESET_GPU",
    )
    assert str(dbe.location) == "rules/catalogs/xid.csv:2"
    reset = registry.get("XID-43-CHANNEL_RESET")
    assert (reset.root, reset.teardown) == (False, True)


def test_a_code_becomes_the_event_of_its_row(tmp_path: Path) -> None:
    engine = load(tmp_path, xid_toml=RULES, catalogs__xid_csv=XIDS)
    found = _emit(engine, device="PCI:0000:3b:00", code="048", pid="12")
    assert found is not None
    assert (found.placed.event_type, found.placed.symptom, found.placed.device) == (
        EventType.BAD_NODE,
        "XID-48-DBE",
        "PCI:0000:3b:00",
    )
    assert found.payload == {"code": "048", "pid": "12"}
    assert found.placed.rank is None
    second = _emit(engine, device="x", code="43")
    assert second is not None
    assert second.placed.event_type == EventType.INTERESTING_NODE


def test_an_unknown_code_becomes_the_default_and_keeps_the_code(tmp_path: Path) -> None:
    found = _emit(load(tmp_path, xid_toml=RULES, catalogs__xid_csv=XIDS), device="x", code="999")
    assert found is not None
    assert (found.placed.symptom, found.payload) == ("XID-UNKNOWN", {"code": "999"})


def test_an_unknown_code_without_a_default_is_no_event(tmp_path: Path) -> None:
    rules = RULES.replace('default = { event = "bad_node", symptom = "XID-UNKNOWN" }\n', "")
    assert _emit(load(tmp_path, xid_toml=rules, catalogs__xid_csv=XIDS), device="x", code="999") is None


def test_a_metric_looks_its_code_up_in_the_same_catalogue(tmp_path: Path) -> None:
    rule = load(tmp_path, xid_toml=RULES, catalogs__xid_csv=XIDS).rule("XIDMetric")
    assert isinstance(rule, MetricRule)
    assert emit_code(rule, "48") == (EventType.BAD_NODE, "XID-48-DBE")
    assert emit_code(rule, "7") == (EventType.BAD_NODE, "XID-UNKNOWN")


def test_a_decoder_sees_the_captures_before_the_look_up(tmp_path: Path) -> None:
    code = (
        "from attribution_lib.rule_api import decoder_def\n@decoder_def('hex')\n"
        "def decode(captures):\n    return {**captures, 'code': str(int(captures['word'], 16))}\n"
    )
    rules = RULES.replace("(?P<code>\\d+)", "(?P<word>[0-9a-f]+)").replace(
        'family = "XID"', 'family = "XID"\ndecode = "hex"'
    )
    found = _emit(load(tmp_path, xid_toml=rules, d_py=code, catalogs__xid_csv=XIDS), device="x", word="30")
    assert found is not None
    assert found.placed.symptom == "XID-48-DBE"
    assert found.payload == {"word": "30", "code": "48"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("catalogs/xid.csv", "catalogs/nope.csv", "unknown catalog 'catalogs/nope.csv'"),
        ("catalogs/xid.csv", "../rules/catalogs/xid.csv", "unknown catalog"),
        ('keys = ["code"]', 'keys = ["kode"]', "unknown column 'kode'"),
        ('keys = ["code"]', 'keys = ["mnemonic"]', "'mnemonic' is not captured by the pattern"),
        ("XID-{code}-{mnemonic}", "XID-{kode}", "symptom names {kode}"),
        ('type = "{event}"', 'type = "{kind}"', "type names {kind}, which is no catalogue column"),
        ('symptom = "XID-UNKNOWN" }', 'symptom = "Nope" }', "unknown symptom 'Nope'"),
        ('event = "bad_node"', 'event = "bad"', "event is 'bad'"),
        ('family = "XID"', 'family = "XID"\ndecode = "hex"', "unknown decoder 'hex'"),
    ],
)
def test_a_faulty_catalog_rule(tmp_path: Path, old: str, new: str, expected: str) -> None:
    rules = RULES[: RULES.index("[[metric_extractor]]")].replace(old, new)
    assert any(expected in text for text in faults(tmp_path, xid_toml=rules, catalogs__xid_csv=XIDS))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("gpu_memory", "memory", "xid.csv:2 XID-48-DBE outcome: is 'memory'"),
        ("950", "high", "xid.csv:2 XID-48-DBE rank: is 'high'; expected 0 to 999"),
        ("950,device", "950,chip", "xid.csv:2 XID-48-DBE scope: is 'chip'"),
        ("false,true", "false,maybe", "xid.csv:3 XID-43-CHANNEL_RESET teardown: is 'maybe'"),
        ("43,", "048,", "xid.csv:3 row: repeats key 48"),
        ("48,DBE", "DBE,DBE", "xid.csv:2 XID-DBE-DBE code: is 'DBE'"),
        ("interesting_node", "odd", "xid.csv:3 event: is 'odd'"),
        (",NONE", ",NONE,more", "xid.csv:3 row: has 11 cells; expected 10 cells"),
        ("code,mnemonic", "code,code", "xid.csv:1 header: has an empty or repeated column name"),
    ],
)
def test_a_faulty_row_is_named_by_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    rules = RULES[: RULES.index("[[metric_extractor]]")]
    found = faults(tmp_path, xid_toml=rules, catalogs__xid_csv=XIDS.replace(old, new))
    assert any(f"rules/catalogs/{expected}" in text for text in found), found


def test_rows_of_one_symptom_must_agree(tmp_path: Path) -> None:
    rules = RULES[: RULES.index("[[metric_extractor]]")].replace("-{mnemonic}", "")
    rules = rules.replace('keys = ["code"]', 'keys = ["code", "pid"]')
    table = XIDS.replace("code,", "pid,code,", 1).replace("\n48,", "\n1,48,").replace("\n43,", "\n2,48,")
    assert "differs from the row at rules/catalogs/xid.csv:2" in fault(
        tmp_path, xid_toml=rules, catalogs__xid_csv=table
    )


@pytest.mark.parametrize(
    ("written", "compared"), [("048", "48"), (" 7 ", "7"), ("0x30", "0x30"), ("", ""), ("-1", "-1")]
)
def test_keys_compare_as_decimals_without_leading_zeros(written: str, compared: str) -> None:
    assert catalog_key(written) == compared


@pytest.mark.parametrize("place", ["other", "common"])
def test_a_table_elsewhere_is_no_catalogue(tmp_path: Path, place: str) -> None:
    """The rules' digest and their releases hold catalogues alone: what a rule reads beside them could change unseen."""
    rules = RULES[: RULES.index("[[metric_extractor]]")].replace("catalogs/xid.csv", f"{place}/xid.csv")
    found = faults(tmp_path, xid_toml=rules, **{f"{place}__xid_csv": XIDS})
    assert any(f"unknown catalog '{place}/xid.csv'; expected a CSV file below" in text for text in found), found
