"""The words that pages use for closed vocabularies, symptoms and counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import hostlist

from attribution_lib.taxonomy import Confidence, Outcome, SubDomain

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CERTAINTY",
    "ENDINGS",
    "OWNERS",
    "counted",
    "folded",
    "listed",
    "outcome_words",
    "short_time",
    "symptom_words",
]

OWNERS = {
    SubDomain.HARDWARE: "A physical part failed: whoever repairs the machines.",
    SubDomain.SYSTEM_SOFTWARE: "The cluster's software, and no broken part: whoever operates the cluster.",
    SubDomain.APPLICATION: "The job's own code, configuration, data or memory demand: its owner.",
    SubDomain.AMBIGUOUS: "Undecided: the evidence fits more than one cause.",
    SubDomain.UNATTRIBUTED: "Unknown: nothing that was read says.",
    SubDomain.NONE: "Nobody's: the job did not fail.",
}
LOST_NODE = "A node was lost, and no part of it is named: whoever repairs the machines."
CERTAINTY = {
    Confidence.HIGH: "High confidence",
    Confidence.MEDIUM: "Medium confidence: time or place of the evidence is incomplete, or it was a close decision",
    Confidence.LOW: "Low confidence: take it as a lead, not as an answer",
}
ENDINGS = {
    Outcome.SUCCESS: "The job succeeded",
    Outcome.USER_CANCELLED: "The job was cancelled by its user",
    Outcome.OPERATOR_CANCELLED: "The job was cancelled by an operator",
    Outcome.PREEMPTED: "The job was preempted",
    Outcome.TIME_LIMIT: "The job ran into its time limit",
}
_CODE = re.compile(r"(S?)XID-(\d+)-(.+)")
_UPPER = frozenset(
    "gpu nvlink pcie ecc dbe sbe hbm gsp mmu rpc fifo dma cpu nic pmu fsp tlc l2 sram dram uvm nvdec".split()  # noqa: SIM905 -- a list of words is read as one
)

_FOLDED = 2_000


def symptom_words(symptom: str) -> str:
    """``GPU has fallen off the bus (Xid 79)`` for ``XID-79-GPU_HAS_FALLEN_OFF_THE_BUS``; others are words already."""
    found = _CODE.fullmatch(symptom)
    if found is None:
        return symptom
    words = [word.upper() if word in _UPPER else word for word in found[3].replace("_", " ").lower().split()]
    text = " ".join(words)
    return f"{text[:1].upper()}{text[1:]} ({found[1]}Xid {found[2]})"


def outcome_words(outcome: Outcome) -> str:
    """``gpu hardware`` and the like."""
    return outcome.value.replace("_", " ").replace("gpu", "GPU").replace("pcie", "PCIe").replace("nvlink", "NVLink")


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 node``, ``9,000 nodes``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], total: int | None = None, shown: int = 3) -> str:
    """``a, b and c``; of more than ``shown`` the first ones and how many more there are."""
    total = len(names) if total is None else total
    some = list(names[:shown])
    if total > len(some):
        return f"{', '.join(some)} and {total - len(some):,} more"
    return " and ".join(filter(None, [", ".join(some[:-1]), *some[-1:]]))


def folded(names: Sequence[str]) -> str:
    """``node-[0001-0032],gpu-7``, at most 2,000 characters of it."""
    try:
        text = str(hostlist.collect_hostlist(list(names))) if len(names) > 1 else "".join(names)
    except hostlist.BadHostlist:  # a name with brackets of its own
        text = ",".join(names)
    return text if len(text) <= _FOLDED else text[: _FOLDED - 1] + "…"


def short_time(instant: str | None) -> str:
    """``2026-06-22 21:25:20`` of an RFC 3339 instant; empty for none."""
    return instant[:19].replace("T", " ") if instant else ""
