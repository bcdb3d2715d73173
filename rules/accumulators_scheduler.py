"""Reports of several lines: a node's record of ``scontrol show node``, where the reason stands below the name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attribution_lib.rule_api import Emission, accumulator_def

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.rule_api import JobIdentity

AUTHOR = "Attribution maintainers"
REASONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Node unexpectedly rebooted"), "Node unexpectedly rebooted"),
    (re.compile(r"Not responding"), "Node down (scheduler)"),
    (re.compile(r"gres/gpu count"), "GPU count below configuration (Slurm)"),
    (re.compile(r"Low (?:RealMemory|CPUs|TmpDisk|socket)"), "Node resources below configuration (Slurm)"),
    (re.compile(r"Kill task failed"), "Unkillable processes on the node"),
    (re.compile(r"Prolog error"), "Slurm prolog failed"),
)
"""Reasons that Slurm sets itself, and what each of them stands for."""
_RECORD_LINES = 40


class NodeRecord:
    """One node's record: an indented block that ends with the next node or a line that is no part of it."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._fed = 0
        self._found: list[tuple[str, int]] = []

    def feed(self, line: str) -> bool:
        """Take a line of the record; the line after the reason, or one that is not indented, is no part of it."""
        if self._found or self._fed >= _RECORD_LINES or not line[:1].isspace() or "NodeName=" in line:
            return False
        self._fed += 1
        reason = line.partition("Reason=")[2]
        self._found = [(symptom, self._fed) for pattern, symptom in REASONS if pattern.search(reason)]
        return True

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """The reasons, each on the node that the record is about."""
        for symptom, index in self._found:
            yield Emission("bad_node", symptom, node=self._node, line_index=index, payload={"truncated": truncated})


@accumulator_def(
    "ScontrolNodeRecord",
    AUTHOR,
    trigger_re=r"(?:^|\s)NodeName=(?P<node>[\w.-]+) ",
    sources=("scheduler",),
)
def scontrol_node_record(_job: JobIdentity, captures: Mapping[str, str], _line: str) -> NodeRecord:
    """``NodeName=node-0003 … State=DOWN`` and, lines below, ``Reason=Node unexpectedly rebooted [slurm@…]``."""
    return NodeRecord(captures["node"])
