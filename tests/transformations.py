"""Changes of evidence that must not change a verdict: noise, interleaving, renaming, shifting, cutting, doubling."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from attribution_lib.observation import MetricSeries, Observation, ObservationFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from attribution_blueprint.case_files import Evidence

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SHIFT = timedelta(days=28)
"""Four weeks: a month that no date can fall out of."""
NOISE = (  # no progress lines: whether a job ever made a step is evidence
    "[INFO] dataloader: prefetched {n} samples",
    "INFO tokenizer cache: {n} hits, 12 entries dropped",
    "heartbeat {n} from the metrics thread",
    "GET /metrics 200 {n} bytes",
)


def with_text(evidence: Evidence, change: Callable[[Observation], bytes]) -> Evidence:
    """The same evidence with every text observation's bytes changed."""
    return replace(
        evidence,
        observations=[
            replace(one, text=change(one), digest="") if one.format is ObservationFormat.TEXT else one
            for one in evidence.observations
        ],
    )


@cache
def _noise(count: int) -> list[bytes]:
    return [f"{NOISE[number % len(NOISE)].format(n=number)}\n".encode() for number in range(count)]


def with_noise(evidence: Evidence, seed: int, gaps: Callable[[Observation], Sequence[int]]) -> Evidence:
    """20,000 benign lines at the places where no record is open (``gaps``), and at the start."""
    dice = random.Random(seed)  # noqa: S311 -- repeatable, nothing secret
    noise = _noise(20_000)

    def mixed(one: Observation) -> bytes:
        lines = one.text.splitlines(keepends=True)
        out: list[bytes] = []
        line = put = 0
        for place, count in sorted(Counter(dice.choices([0, *gaps(one)], k=len(noise))).items()):
            out += lines[line:place] + noise[put : put + count]
            line, put = place, put + count
        return b"".join(out + lines[line:])

    return with_text(evidence, mixed)


_RANK = re.compile(rb"^(?:\x1b\[[0-9;]*m)*\[rank(\d+)\]:|^(\d+): ")


def with_ranks_interleaved(evidence: Evidence) -> Evidence:
    """Neighbouring lines of different ranks taken in turn; each rank's own order stays."""

    def interleaved(one: Observation) -> bytes:
        out: list[bytes] = []
        block: list[tuple[bytes, bytes]] = []
        for line in one.text.splitlines(keepends=True):
            tag = _RANK.match(line)
            if tag is None:
                out += _round_robin(block)
                block = []
                out.append(line)
            else:
                block.append((tag.group(1) or tag.group(2), line))
        return b"".join(out + _round_robin(block))

    return with_text(evidence, interleaved)


def _round_robin(block: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    queues: dict[bytes, list[bytes]] = {}
    for rank, line in block:
        queues.setdefault(rank, []).append(line)
    out = []
    while queues:
        for rank in list(queues):
            out.append(queues[rank].pop(0))
            if not queues[rank]:
                del queues[rank]
    return out


_NODE = re.compile(r"node-(\d{4})")


def with_hosts_renamed(evidence: Evidence) -> Evidence:
    """Every ``node-NNNN`` becomes ``gpu-NNNN`` in the logs, the labels and the job."""

    def new(text: str) -> str:
        return _NODE.sub(r"gpu-\1", text)

    renamed = with_text(evidence, lambda one: re.sub(rb"node-(?=\d{4})|node-(?=\[\d)", b"gpu-", one.text))
    job = replace(
        evidence.job,
        nodes=tuple(new(node) for node in evidence.job.nodes),
        failed_node=new(evidence.job.failed_node) if evidence.job.failed_node else None,
        ranks=tuple(replace(rank, node=new(rank.node)) for rank in evidence.job.ranks),
        reason=new(evidence.job.reason),
    )
    observations = [
        replace(one, series=[_relabelled(series, new) for series in one.series], digest="") if one.series else one
        for one in renamed.observations
    ]
    return replace(renamed, job=job, observations=observations)


def _relabelled(series: MetricSeries, new: Callable[[str], str]) -> MetricSeries:
    return MetricSeries({key: new(value) for key, value in series.labels.items()}, series.samples)


def with_times_shifted(evidence: Evidence) -> Evidence:
    """All stamps, epochs and the job's window four weeks later."""
    delta = SHIFT // timedelta(microseconds=1)
    shifted = with_text(evidence, _shift_bytes)
    job = replace(
        evidence.job,
        start=None if evidence.job.start is None else evidence.job.start + delta,
        end=None if evidence.job.end is None else evidence.job.end + delta,
    )
    observations = [
        replace(
            one,
            series=[
                MetricSeries(series.labels, [(at + delta, value) for at, value in series.samples])
                for series in one.series
            ],
            digest="",
        )
        if one.series
        else one
        for one in shifted.observations
    ]
    return replace(shifted, job=job, observations=observations)


_MONTH = "|".join(MONTHS)
_STAMPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]


def _shift_bytes(one: Observation) -> bytes:
    text = one.text.decode("utf-8", "surrogateescape")
    for pattern, change in _STAMPS:
        text = pattern.sub(change, text)
    return text.encode("utf-8", "surrogateescape")


def _shifted(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC) + SHIFT
    except ValueError:
        return None


def _iso(match: re.Match[str]) -> str:
    moment = _shifted(int(match["y"]), int(match["m"]), int(match["d"]))
    sep = match["s"]
    return match.group() if moment is None else f"{moment.year}{sep}{moment.month:02}{sep}{moment.day:02}"


def _american(match: re.Match[str]) -> str:
    """``02/22/2026``, as PBS and TORQUE write it."""
    moment = _shifted(int(match["y"]), int(match["m"]), int(match["d"]))
    return match.group() if moment is None else f"{moment.month:02}/{moment.day:02}/{moment.year}"


def _without_year(match: re.Match[str]) -> str:
    """``ERROR 09-10 07:12:32``, as vLLM writes it."""
    moment = _shifted(2026, int(match["m"]), int(match["d"]))
    return match.group() if moment is None else f"{match['l']} {moment.month:02}-{moment.day:02} "


def _named(match: re.Match[str]) -> str:
    """``Jun  5``; the year is that of no date, so February has 28 days."""
    moment = _shifted(2026, MONTHS.index(match["m"]) + 1, int(match["d"]))
    if moment is None:
        return match.group()
    width = len(match["d"]) if match["d"].startswith("0") else 2
    day = (
        f"{moment.day:0{width}}"
        if match["d"].startswith("0")
        else f"{moment.day:>{len(match['sp']) + len(match['d']) - 1}}"
    )
    return f"{MONTHS[moment.month - 1]} {day}"


def _glog(match: re.Match[str]) -> str:
    """``E0601 03:`` and PyTorch's packed ``E620 15:`` (month without a leading zero)."""
    digits = match["md"]
    moment = _shifted(2026, int(digits[:-2]), int(digits[-2:]))
    if moment is None:
        return match.group()
    month = f"{moment.month:02}" if len(digits) == 4 else str(moment.month)
    return f"{match['l']}{month}{moment.day:02} "


def _epoch(match: re.Match[str]) -> str:
    return f"{match['k']}{int(match['n']) + int(SHIFT.total_seconds())}"


_STAMPS = (
    (re.compile(r"(?<![\d.])(?P<y>20\d\d)(?P<s>[-/])(?P<m>\d\d)(?P=s)(?P<d>\d\d)(?!\d)"), _iso),
    (re.compile(rf"\b(?P<m>{_MONTH})(?P<sp> +)(?P<d>\d\d?)(?= +(?:\d\d:\d\d:\d\d|20\d\d))"), _named),
    (re.compile(r"(?<![A-Za-z0-9])(?P<l>[IWEF])(?P<md>\d{3,4}) (?=\d\d:\d\d:\d\d)"), _glog),
    (re.compile(r"(?<![\d/])(?P<m>\d\d)/(?P<d>\d\d)/(?P<y>20\d\d)(?= \d\d:\d\d)"), _american),
    (re.compile(r"\b(?P<l>DEBUG|INFO|WARNING|ERROR) (?P<m>\d\d)-(?P<d>\d\d) (?=\d\d:\d\d:\d\d)"), _without_year),
    (re.compile(r"(?P<k>boot_time=|last response=|\"timestamp\": ?)(?P<n>\d{10})\b"), _epoch),
)


def with_lines_doubled(evidence: Evidence) -> Evidence:
    """Every line twice, as two collectors of one stream deliver it."""

    def doubled(one: Observation) -> bytes:
        lines = one.text.removesuffix(b"\n").split(b"\n")
        return b"".join(line + b"\n" for line in lines for _ in range(2))

    return with_text(evidence, doubled)


def in_pieces(evidence: Evidence, seed: int, gaps: Callable[[Observation], Sequence[int]]) -> Evidence:
    """Streams cut where no record is open, and the pieces shuffled."""
    dice = random.Random(seed)  # noqa: S311 -- repeatable, nothing secret
    pieces: list[Observation] = []
    for one in evidence.observations:
        lines = one.text.splitlines(keepends=True)
        bounds = [0, *gaps(one), len(lines)]
        if one.format is not ObservationFormat.TEXT:
            pieces.append(one)
            continue
        pieces += [
            replace(one, text=b"".join(lines[low:high]), first_line=low + 1, digest="")
            for low, high in pairwise(bounds)
            if high > low
        ]
    dice.shuffle(pieces)
    return replace(evidence, observations=pieces)
