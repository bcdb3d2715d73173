"""Decoders of Xid lines; above all of Xid 144-150, whose two register words stand for a published sub-code.

The first word holds the sub-code in one of two layouts. Drivers before R575 put the unit in bits 4:0 and the sub-code
in bits 9:5; later ones number all sub-codes in bits 6:0. Bits 25:20 say why a link went down. The second word holds
error bits, of which the gravest published one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.nvlink5_cells import FATAL, NONFATAL

from attribution_lib.rule_api import decoder_def

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNIT_BEFORE_R575 = {"144": 1, "145": 2, "146": 3, "147": 4, "148": 5, "149": 6, "150": 0}
"""Bits 4:0 of the older layout, by Xid."""
SUBCODE_BEFORE_R575 = {
    "144": {1: 1},
    "145": {3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8},
    "146": {9: 9, 10: 10, 11: 12},
    "147": {12: 14},
    "148": {0: 15},
    "149": {0: 24, 14: 17, 17: 19, 18: 20},
    "150": {0: 0},
}
"""Older sub-code → its number in the newer layout. The two pipes of TLW_RX and TLW_TX share one older sub-code."""
LINK_DOWN = 17
PROMOTED = {True: 1 << 10, False: 1 << 7}
"""The bit that marks a non-fatal sub-code raised to fatal, by layout (True: before R575)."""
RXPIPE = 6


@decoder_def("nvlink5")
def decode_nvlink5(captures: Mapping[str, str]) -> Mapping[str, str]:
    """The captures and ``cell`` (the key of catalogs/xid_nvlink5.csv), ``subcode`` and, for a link down, ``reason``."""
    code = captures.get("xid", "")
    words = [captures.get(name, "") for name in ("intrinfo", "errorstatus")]
    if code not in UNIT_BEFORE_R575 or not all(words):
        return {**captures, "cell": code}
    intrinfo, status = (int(word, 16) for word in words)
    subcode, older = _subcode(code, intrinfo)
    if subcode == LINK_DOWN:
        reason = intrinfo >> 20 & 0x3F
        cell = _first_known(code, [f"{code}/{subcode}/down-{reason}"])
        return {**captures, "cell": cell, "subcode": str(subcode), "reason": str(reason)}
    promoted = subcode == RXPIPE and bool(intrinfo & PROMOTED[older])
    wanted = [f"{code}/{subcode}/{text}" for text in _status_texts(status, promoted=promoted)]
    return {**captures, "cell": _first_known(code, wanted, exact=1 + promoted), "subcode": str(subcode)}


def _subcode(code: str, intrinfo: int) -> tuple[int, bool]:
    """The sub-code in the newer numbering, and whether the word is laid out as before R575."""
    older = intrinfo >> 5 & 0x1F
    if intrinfo & 0x1F == UNIT_BEFORE_R575[code] and older in SUBCODE_BEFORE_R575[code]:
        return SUBCODE_BEFORE_R575[code][older], True
    return intrinfo & 0x7F, False


def _status_texts(status: int, *, promoted: bool) -> Iterator[str]:
    """How the facts may write this status word: as it is, then bit by bit, then not at all."""
    bits = [1 << position for position in range(32) if status >> position & 1]
    for value in [status, *bits]:
        text = f"0x{value:08x}"
        if promoted:
            yield f"{text}/promoted"
        yield text
    yield "any"


def _first_known(code: str, wanted: list[str], exact: int = 1) -> str:
    """The first ``exact`` candidates if published, else the gravest published one; the Xid itself when none is."""
    for cell in wanted[:exact]:
        if cell in FATAL or cell in NONFATAL:
            return cell
    for known in (FATAL, NONFATAL):
        for cell in wanted[exact:]:
            if cell in known:
                return cell
    return code


@decoder_def("xid_report")
def decode_xid_report(captures: Mapping[str, str]) -> Mapping[str, str]:
    """``xid``, ``device`` and ``previous`` (the code that a clean-up line names) from whichever form the line has."""
    found = {name: text for name, text in captures.items() if text}
    code = next((found[name] for name in ("previous", "xid", "event_xid", "json_xid") if name in found), "")
    device = next((found[name] for name in ("device", "gpu", "pci") if name in found), "")
    named = {"device": device, "previous": found.get("previous", "")}
    return {name: text for name, text in named.items() if text} | {"xid": code}
