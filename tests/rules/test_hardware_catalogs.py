"""The catalogues of vendor codes: complete, consistent, and read right in both register layouts of NVLink 5."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attribution_lib.rules.loader import RuleLoader

if TYPE_CHECKING:
    from attribution_lib.rules.engine import RuleEngine
    from attribution_lib.rules.model import TextRule

RULES = Path(__file__).parents[2] / "rules"
SPAN_OF_XIDS = range(1, 177)


@pytest.fixture(scope="module")
def engine() -> RuleEngine:
    loader = RuleLoader([RULES])
    loader.load_all()
    return loader.build()


@pytest.fixture(scope="module")
def nvlink5(engine: RuleEngine) -> TextRule:
    return next(rule for rule in engine.text_rules if rule.name == "XIDNVLink5Fatal")


def rows(name: str) -> list[dict[str, str]]:
    with (RULES / "catalogs" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def published_sub_codes() -> list[dict[str, str]]:
    """Without the rows of whole Xids, which stand for what nobody published."""
    return [row for row in rows("xid_nvlink5.csv") if row["cell"].partition("/")[2][:1].isdigit()]


def cell(rule: TextRule, xid: int, intrinfo: int, status: int) -> str:
    assert rule.decode is not None
    words = {"xid": str(xid), "intrinfo": f"0x{intrinfo:08x}", "errorstatus": f"0x{status:08x}"}
    return rule.decode(words)["cell"]


def test_every_published_xid_has_a_symptom(engine: RuleEngine) -> None:
    known = {symptom.code for symptom in engine.registry if symptom.family == "XID"}

    assert set(SPAN_OF_XIDS) <= known


@pytest.mark.parametrize("code", [43, 45, 154])
def test_consequences_are_never_roots(engine: RuleEngine, code: int) -> None:
    found = [symptom for symptom in engine.registry if symptom.family == "XID" and symptom.code == code]

    assert found
    assert not any(symptom.root for symptom in found)


def test_every_sub_code_names_a_symptom_of_its_own_xid(engine: RuleEngine) -> None:
    for row in rows("xid_nvlink5.csv"):
        assert engine.registry.get(row["symptom"]).code == int(row["code"])


@pytest.mark.parametrize("row", published_sub_codes(), ids=lambda row: row["cell"])
def test_every_published_sub_code_is_decoded_from_the_layout_of_r575(nvlink5: TextRule, row: dict[str, str]) -> None:
    code, _, rest = row["cell"].partition("/")
    subcode, _, detail = rest.partition("/")
    reason = int(detail.removeprefix("down-")) if detail.startswith("down-") else 0
    promoted = detail.endswith("/promoted")
    word = detail.removesuffix("/promoted")
    status = int(word, 16) if word.startswith("0x") else 0

    assert cell(nvlink5, int(code), reason << 20 | promoted << 7 | int(subcode), status) == row["cell"]


@pytest.mark.parametrize(
    ("xid", "layouts", "status", "wanted"),
    [
        (144, (0b00001_00001, 1), 0x2, "144/1/0x00000002"),
        (145, (0b00100_00010, 4), 0x40, "145/4/0x00000040"),
        (145, (0b1_00110_00010, 0x86), 0x1, "145/6/0x00000001/promoted"),
        (146, (0b01001_00011, 9), 0x4, "146/9/0x00000004"),
        (148, (0b00000_00101, 15), 0x80000000, "148/15/0x80000000"),
        (149, (0b01110_00110 | 33 << 20, 17 | 33 << 20), 0, "149/17/down-33"),
        (149, (0b10001_00110, 19), 0x1, "149/19/0x00000001"),
        (149, (0b00000_00110, 24), 0, "149/24/any"),
    ],
)
def test_both_register_layouts_lead_to_one_sub_code(
    nvlink5: TextRule, xid: int, layouts: tuple[int, int], status: int, wanted: str
) -> None:
    """``layouts``: the word as drivers before R575 write it, then as later ones do."""
    assert [cell(nvlink5, xid, word, status) for word in layouts] == [wanted, wanted]


def test_the_gravest_of_several_error_bits_counts(nvlink5: TextRule) -> None:
    assert cell(nvlink5, 145, 4, 0x1 | 0x40) == "145/4/0x00000040"


def test_an_unpublished_sub_code_is_its_xid(nvlink5: TextRule) -> None:
    assert cell(nvlink5, 146, 9, 0x4000) == "146"
    assert cell(nvlink5, 149, 17 | 63 << 20, 0) == "149"


def test_a_severity_word_on_the_line_decides_for_switches(engine: RuleEngine) -> None:
    types = {rule.name: rule.emit.type for rule in engine.text_rules if rule.name.startswith("SXID")}

    assert types["SXIDFatal"] == types["SXIDFabricManagerFatal"] == "bad_node"
    assert types["SXIDNonfatal"] == types["SXIDFabricManagerNonfatal"] == "interesting_node"
    assert types["SXIDUnmarked"] == "{event}"
