"""Reports of several lines: torchelastic's summary, the flight recorder's findings, tables of ranks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from common.evidence import ranks_in

from attribution_lib.rule_api import Emission, accumulator_def

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.rule_api import JobIdentity

AUTHOR = "attribution maintainers"


class ElasticSummary:
    """One block of torchelastic's summary: ``[0]:`` entries with time, host, rank, exit code and traceback."""

    _FIELD = re.compile(r"^\s*(time|host|rank|exitcode|error_file|traceback)\s*:\s?(.*)$")
    _ENTRY = re.compile(r"^\s*\[\d+\]:\s*$")
    _RULER = re.compile(r"^\s*[-=]{10,}\s*$")
    _TRACEBACK_LINES = 200

    def __init__(self, *, first: bool) -> None:
        self._first = first
        self._entries: list[tuple[int, dict[str, str]]] = []
        self._fed = 0
        self._tail = 0

    def feed(self, line: str) -> bool:
        """Take a line of the block; a ruler or a foreign line ends it."""
        self._fed += 1
        if self._RULER.match(line):
            return False
        if self._ENTRY.match(line):
            self._entries.append((self._fed, {}))
            self._tail = 0
            return True
        field = self._FIELD.match(line)
        if field is not None and self._entries and not self._tail:
            self._entries[-1][1][field[1]] = field[2].strip()
            self._tail = 1 if field[1] == "traceback" else 0
            return True
        if self._tail:
            self._tail += 1
            return self._tail <= self._TRACEBACK_LINES
        return "<NO_OTHER_FAILURES>" in line

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """A mapping and a fact for every entry that names host and rank."""
        for index, fields in self._entries:
            host = fields.get("host", "")
            ranks = ranks_in(fields.get("rank"))
            if not host or not ranks:
                continue
            mapping = {"kind": "rank_host", "host": host, "rank": str(ranks[0])}
            yield Emission("mapping", payload=mapping, line_index=index)
            code = re.match(r"-?\d+", fields.get("exitcode", ""))
            fact = {
                "kind": "elastic_failure",
                "first": self._first,
                "time": fields.get("time", ""),
                "exitcode": code[0] if code else "",
                "message": fields.get("traceback", "")[:500],
                "truncated": truncated,
            }
            yield Emission("info", node=host, rank=ranks[0], payload=fact, line_index=index)


@accumulator_def(
    "ElasticSummary",
    AUTHOR,
    trigger_re=r"(?:^|[\s:\]\)|>])(?:Failures|Root Cause \((?P<first>first observed failure)\)):\s*$",
    sources=("applog",),
)
def elastic_summary(_job: JobIdentity, captures: Mapping[str, str], _line: str) -> ElasticSummary:
    """Which ranks an agent saw fail, where and with which code; "root cause" is the first of that agent only."""
    return ElasticSummary(first=bool(captures.get("first")))


class MissingRanksTable:
    """The table ``PGID | Process Group Desc | Op Type | Size | Dtype | Missing Ranks`` of the trace analysis."""

    _COLUMNS = 5

    def __init__(self) -> None:
        self._rows: list[tuple[int, list[str]]] = []
        self._fed = 0

    def feed(self, line: str) -> bool:
        """Take a row; a line without columns ends the table."""
        self._fed += 1
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) >= self._COLUMNS:
            self._rows.append((self._fed, cells))
            return True
        return bool(line.strip()) and not line.strip("-+= \t")

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """One finding a row: the group, the operation and the ranks that never came."""
        for index, cells in self._rows:
            ranks = ranks_in(cells[-1])
            if ranks:
                yield _missing(ranks, index, group=cells[1], op=cells[2], truncated=truncated)


@accumulator_def(
    "FlightRecorderTable",
    AUTHOR,
    trigger_re=r"PGID\s*\|\s*Process Group Desc\s*\|",
    sources=("applog",),
    key=("ranks",),
)
def flight_recorder_table(_job: JobIdentity, _captures: Mapping[str, str], _line: str) -> MissingRanksTable:
    """Missing ranks per process group as the flight recorder's analysis prints them."""
    return MissingRanksTable()


class FlightRecorderFinding:
    """What fr_trace logs about one collective: ``missing ranks: {5}``, ``Culprit rank 3; Error type: …``."""

    _KEYS = re.compile(r"(internal record id|group info|collective|missing ranks|total n\w+|input sizes|output sizes)")
    _ERROR = re.compile(r"(?:Culprit rank (\d+); )?Error type: (\w+MISMATCH)")
    _MAX_LINES = 60

    def __init__(self, sequence: str, *, mismatch: bool) -> None:
        self._sequence = sequence
        self._mismatch = mismatch
        self._missing: list[int] = []
        self._culprits: list[int] = []
        self._kinds: set[str] = set()
        self._fed = 0

    def feed(self, line: str) -> bool:
        """Take a line of the finding; frames and values in between are skipped up to a limit."""
        self._fed += 1
        if "missing ranks:" in line.lower():
            self._missing += ranks_in(line.lower().split("missing ranks:", 1)[1])
        for culprit, kind in self._ERROR.findall(line):
            self._kinds.add(kind)
            self._culprits += ranks_in(culprit)
        return self._fed < self._MAX_LINES and (self._KEYS.search(line) is not None or bool(line.strip()))

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """Missing ranks, or a mismatch of type, size or data type; a mere difference of state is no mismatch."""
        if self._missing:
            yield _missing(sorted(set(self._missing)), 0, seq=self._sequence, truncated=truncated)
        real = self._kinds - {"COLLECTIVE_STATE_MISMATCH"}
        if real or (self._mismatch and not self._kinds):
            payload = {
                "seq": self._sequence,
                "ranks": _listed(sorted(set(self._culprits))),
                "what": _listed(sorted(real)),
            }
            yield Emission("bad_node", "Mismatched collectives", payload=payload)


@accumulator_def(
    "FlightRecorderFinding",
    AUTHOR,
    trigger_re=(
        r"Not all ranks joining collective,? (?:sequence number: )?(?P<seq>\d+)"
        r"|Collective sequence number: (?P<error>\d+) has errors"
        r"|(?P<io>Input/output mismatch) in the collective sequence number: \d+"
    ),
    sources=("applog",),
    key=("ranks", "seq"),
)
def flight_recorder_finding(_job: JobIdentity, captures: Mapping[str, str], _line: str) -> FlightRecorderFinding:
    """Findings of the flight recorder's analysis: who was missing, or which ranks called something else."""
    sequence = captures.get("seq") or captures.get("error") or ""
    return FlightRecorderFinding(sequence, mismatch=bool(captures.get("io")))


class RankTable:
    """DeepSpeed prints all ranks of all hosts in one line; nothing follows it."""

    _HOST = re.compile(r"'([^']+)': \[([\d, ]*)\]")

    def __init__(self, table: str) -> None:
        self._table = table

    def feed(self, _line: str) -> bool:
        """No further line belongs to the table."""
        return False

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """One mapping a rank."""
        del truncated
        for host, ranks in self._HOST.findall(self._table):
            for rank in ranks_in(ranks):
                yield Emission("mapping", payload={"kind": "rank_host", "host": host, "rank": str(rank)})


@accumulator_def(
    "DeepSpeedRankTable",
    AUTHOR,
    trigger_re=r"global_rank_mapping=\w*\(?(?P<table>.*)",
    sources=("applog",),
    key=("rank",),
)
def deepspeed_rank_table(_job: JobIdentity, captures: Mapping[str, str], _line: str) -> RankTable:
    """global_rank_mapping=defaultdict(<class 'list'>, {'node-0001': [0, 1], 'node-0002': [2, 3]})."""
    return RankTable(captures.get("table", ""))


def _missing(ranks: list[int], index: int, **extra: object) -> Emission:
    payload = {"kind": "missing_ranks", "ranks": _listed(ranks), **extra}
    return Emission(
        "bad_node",
        "Ranks missing from a collective",
        rank=ranks[0] if len(ranks) == 1 else None,
        payload=payload,
        line_index=index,
    )


def _listed(values: list[int] | list[str]) -> str:
    return ", ".join(str(value) for value in values)
