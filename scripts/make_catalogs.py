"""Make rules/catalogs/*.csv from a folder of fact tables about vendor codes and from our judgements.

    python scripts/make_catalogs.py FACTS_DIR [--check]

FACTS_DIR holds xid.csv, xid_nvlink5.csv and sxid.csv: codes, names, causes and the vendor's recommended actions.
catalog_judgements.toml, beside this script, says what we make of them. ``--check`` writes nothing and fails when the
committed files differ. The output is sorted and has no dates, so that a diff shows what changed.
"""

from __future__ import annotations

import csv
import io
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Row = dict[str, str]

HERE = Path(__file__).resolve().parent
CATALOGS = HERE.parent / "rules" / "catalogs"
CELLS_MODULE = HERE.parent / "rules" / "common" / "nvlink5_cells.py"
_JUDGED = ("event", "outcome", "rank", "scope", "root", "teardown")
XID_COLUMNS = ("xid", "code", "mnemonic", *_JUDGED, "action", "investigate", "docs")
SXID_COLUMNS = ("code", "mnemonic", *_JUDGED, "action", "docs")
_ADVICE = ("resolution", "if_promoted", "investigate", "cause", "local", "remote")
NVLINK5_COLUMNS = ("cell", "code", "unit", "severity", *_ADVICE, "symptom")
LINK_DOWN_UNIT = "NETIR_LINK_EVT/NETIR_LINK_DOWN"
TAKEN_DOWN = ("INVESTIGATE_SW_USER", "INVESTIGATE_SW/USER", "INVESTIGATE_HOST")


def read_facts(path: Path) -> list[Row]:
    """The rows of one fact table."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def short_mnemonic(name: str) -> str:
    """The first of the vendor's names, without the prefixes that say nothing."""
    first = name.split("/", maxsplit=1)[0].strip()
    return first.removeprefix("ROBUST_CHANNEL_").removeprefix("NVSWITCH_ERR_HW_")


def judged(groups: Iterable[Mapping[str, Any]], code: int) -> Mapping[str, Any]:
    """The first group of judgements that lists the code; empty when none does."""
    return next((group for group in groups if code in group["codes"]), {})


def flag(value: object) -> str:
    """A boolean as the catalogues write it."""
    return "true" if value else "false"


def default_judgement(fact: Row, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What a code is when no group lists it: an anomaly unless the vendor calls it an error of a part in use."""
    judgement = dict(defaults[fact["typical_cause"]])
    unused = fact["short_name"].startswith("legacy:")
    is_fault = fact["severity"] in ("error", "fatal") and not unused
    judgement["event"] = "bad_node" if is_fault else "interesting_node"
    if not is_fault:
        judgement["rank"] = 450
    return judgement


def xid_docs(fact: Row, judgement: Mapping[str, Any]) -> str:
    """What a reader of a verdict needs about a code, in a few sentences."""
    sentences = [f"{fact['short_name'][:1].upper()}{fact['short_name'][1:]}."]
    if judgement.get("why"):
        sentences.append(f"{judgement['why'][:1].upper()}{judgement['why'][1:]}.")
    if fact["cascades_from"]:
        sentences.append(f"Often follows: {fact['cascades_from']}.")
    note = fact["notes"].split("Older NVIDIA cause")[0].split("Header name")[0].strip(" ;.")
    if note:
        sentences.append(f"{note}.")
    return " ".join(sentences)


def xid_row(fact: Row, judgement: Mapping[str, Any], *, xid: str = "", mnemonic: str = "") -> Row:
    """One row of xid.csv."""
    action = fact["recommended_action"]
    return {
        "xid": xid or fact["code"],
        "code": fact["code"],
        "mnemonic": mnemonic or short_mnemonic(fact["mnemonic"]),
        "event": judgement["event"],
        "outcome": judgement["outcome"],
        "rank": str(judgement["rank"]),
        "scope": judgement.get("scope", "device"),
        "root": flag(judgement.get("root", True)),
        "teardown": flag(judgement.get("teardown", False)),
        "action": "" if action == "NONE_GIVEN" else action,
        "investigate": fact["investigatory_action"],
        "docs": xid_docs(fact, judgement),
    }


def xid_rows(facts: Sequence[Row], judgements: Mapping[str, Any]) -> list[Row]:
    """Every published Xid and the variants that a decoder tells apart."""
    rows = []
    for fact in facts:
        default = default_judgement(fact, judgements["defaults"])
        found = judged(judgements["group"], int(fact["code"]))
        rows.append(xid_row(fact, {"event": default["event"], **found} if found else default))
    by_code = {fact["code"]: fact for fact in facts}
    for variant in judgements["variant"]:
        judgement = {"event": "bad_node", **variant}
        rows.append(xid_row(by_code[str(variant["code"])], judgement, xid=variant["xid"], mnemonic=variant["mnemonic"]))
    return rows


def sxid_row(fact: Row, judgements: Mapping[str, Any]) -> Row:
    """One row of sxid.csv. ``event`` is for lines without a severity word; a word on the line wins over it."""
    found = judged(judgements["group"], int(fact["code"]))
    always = fact["always_fatal_to_fabric"] == "yes"
    wordless = "no-severity-word" in (fact["line_severity_A100gen_LR10"], fact["line_severity_H100gen_LS10"])
    serious = fact["nvsentinel_bucket"] == "RESET_FABRIC"
    effect = fact["effect"]
    disagree = f" Sources disagree: {fact['disagreements']}." if fact["disagreements"] else ""
    return {
        "code": fact["code"],
        "mnemonic": short_mnemonic(fact["mnemonic"]) or fact["component"].upper(),
        "event": found.get("event", "bad_node" if wordless and serious else "interesting_node"),
        "outcome": found.get("outcome", "nvlink"),
        "rank": str(found.get("rank", judgements["always_fatal" if always else "fatal"])),
        "scope": "node",
        "root": "true",
        "teardown": "false",
        "action": fact["nvsentinel_bucket"],
        "docs": f"NVSwitch: {effect}. What to do: {fact['action']}.{disagree}",
    }


def nvlink5_cell(fact: Row) -> str:
    """The key of a sub-code: Xid, sub-code number of the R575 layout, then the down reason or the error bits."""
    subcode = fact["subcode_v2_bits6_0"] or "degraded"
    if fact["unit"] == LINK_DOWN_UNIT:
        return f"{fact['xid']}/{subcode}/down-{fact['link_down_reason_bits25_20']}"
    if fact["error_status"].startswith("0x") and " or " not in fact["error_status"]:
        promoted = "/promoted" if "promoted" in fact["severity"] else ""
        return f"{fact['xid']}/{subcode}/{fact['error_status']}{promoted}"
    return f"{fact['xid']}/{subcode}/any"


def nvlink5_variant(fact: Row) -> str:
    """Which symptom of xid.csv a sub-code stands for: this GPU, the far end of the link, or software."""
    investigate = fact["investigatory_action"]
    if fact["unit"] == LINK_DOWN_UNIT and "PEER" in investigate:
        return "149-peer"
    if fact["unit"] == LINK_DOWN_UNIT and investigate in TAKEN_DOWN:
        return "149-software"
    return fact["xid"]


def nvlink5_rows(facts: Sequence[Row], xids: Sequence[Row]) -> list[Row]:
    """Every published sub-code of Xid 144-150, and one row a code for those nobody published."""
    names = {row["xid"]: f"XID-{row['code']}-{row['mnemonic']}" for row in xids}
    rows: dict[str, Row] = {}
    for fact in facts:
        cell = nvlink5_cell(fact)
        rows[cell] = {
            "cell": cell,
            "code": fact["xid"],
            "unit": fact["unit"],
            "severity": fact["severity"],
            "resolution": fact["resolution"],
            "if_promoted": fact["resolution_if_promoted"],
            "investigate": fact["investigatory_action"],
            "cause": fact["hw_or_sw"],
            "local": fact["effect_local_gpu"],
            "remote": fact["effect_remote"],
            "symptom": names[nvlink5_variant(fact)],
        }
    for code in sorted({fact["xid"] for fact in facts}):
        rows[code] = {**dict.fromkeys(NVLINK5_COLUMNS, ""), "cell": code, "code": code, "symptom": names[code]}
    return [rows[cell] for cell in sorted(rows)]


def as_csv(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """The text of one catalogue."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def cells_module(rows: Iterable[Row]) -> str:
    """The module that tells the decoder which sub-codes are published: a decoder cannot read a catalogue."""
    cells = [row for row in rows if "/" in row["cell"]]
    fatal = [row["cell"] for row in cells if "Fatal" in row["severity"]]
    other = [row["cell"] for row in cells if "Fatal" not in row["severity"]]
    lines = [
        '"""The published sub-codes of Xid 144-150, by severity.',
        "",
        "Made by scripts/make_catalogs.py from the same facts as catalogs/xid_nvlink5.csv; do not edit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        '__all__ = ["FATAL", "NONFATAL"]',
    ]
    for name, values in (("FATAL", fatal), ("NONFATAL", other)):
        lines += ["", f"{name} = frozenset(", "    {", *(f'        "{value}",' for value in values), "    }", ")"]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the catalogues, or with --check compare them; 0 when they are as they should be."""
    folders = [argument for argument in arguments if not argument.startswith("--")]
    if len(folders) != 1 or set(arguments) - {*folders, "--check"}:
        print("usage: make_catalogs.py FACTS_DIR [--check]")
        return 2
    facts = Path(folders[0])
    judgements = tomllib.loads((HERE / "catalog_judgements.toml").read_text(encoding="utf-8"))
    xids = xid_rows(read_facts(facts / "xid.csv"), judgements["xid"])
    nvlink5 = nvlink5_rows(read_facts(facts / "xid_nvlink5.csv"), xids)
    sxids = [sxid_row(fact, judgements["sxid"]) for fact in read_facts(facts / "sxid.csv")]
    made = {
        CATALOGS / "xid.csv": as_csv(XID_COLUMNS, xids),
        CATALOGS / "xid_nvlink5.csv": as_csv(NVLINK5_COLUMNS, nvlink5),
        CATALOGS / "sxid.csv": as_csv(SXID_COLUMNS, sxids),
        CELLS_MODULE: cells_module(nvlink5),
    }
    return compare(made) if "--check" in arguments else write(made)


def compare(made: Mapping[Path, str]) -> int:
    """Name every file that differs from what would be written."""
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path.name} is not what make_catalogs.py makes of these facts: run it without --check")
    return 1 if stale else 0


def write(made: Mapping[Path, str]) -> int:
    """Write every file."""
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"{path.name}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
