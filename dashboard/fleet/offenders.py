"""Repeat offenders: parts that fail more often than parts of their kind do by chance.

Failures of a part less than an hour apart are one episode: what breaks once takes every job on it along. Episodes of
all parts of a kind and cluster that failed at all are taken as Poisson, truncated at zero because parts that never
failed are not known; the rate is that of the parts which are no offenders. An offender has at least three episodes and
a probability below 0.001 after multiplying by the number of parts (Bonferroni).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.taxonomy import SubDomain
from dashboard.contexts.fleet import OffenderKind
from dashboard.fleet.chance import at_least, truncated_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dashboard.reading import FleetRow

__all__ = ["MAX_BLAMED", "Part", "RepeatOffender", "episodes_of", "repeat_offenders"]

_EPISODE_SECONDS = 3_600
_MIN_EPISODES = 3
_SIGNIFICANCE = 0.001
MAX_BLAMED = 20
"""A verdict that blames more nodes says nothing of any single one."""
_BLAMING = (SubDomain.HARDWARE, SubDomain.SYSTEM_SOFTWARE, SubDomain.AMBIGUOUS)
_SAME = 0.8
"""A device with so much of its node's episodes is named in the node's place."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """Something that can fail again."""

    kind: OffenderKind
    cluster: str
    name: str


@dataclass(frozen=True, slots=True)
class RepeatOffender:
    """A part with its failures, oldest first."""

    part: Part
    rows: tuple[FleetRow, ...]
    episodes: tuple[int, ...]
    """When each episode began, seconds since the epoch."""
    expected: float
    """Episodes of a part of this kind by chance."""
    probability: float
    """Corrected for the number of parts."""


def repeat_offenders(rows: Iterable[FleetRow]) -> list[RepeatOffender]:
    """The most certain first; a device stands in place of its node where nearly everything is the device's."""
    failures: dict[Part, list[FleetRow]] = defaultdict(list)
    for row in rows:
        for part in _parts(row):
            failures[part].append(row)
    groups: dict[tuple[OffenderKind, str], dict[Part, list[FleetRow]]] = defaultdict(dict)
    for part, of_part in failures.items():
        groups[part.kind, part.cluster][part] = sorted(of_part, key=lambda row: row.when)
    found = [offender for group in groups.values() for offender in _offenders(group)]
    found = list(_narrowest(found))
    return sorted(found, key=lambda offender: (offender.probability, -len(offender.episodes), offender.part))


def episodes_of(rows: Sequence[FleetRow]) -> tuple[int, ...]:
    """When each episode of failures (oldest first) began."""
    begun: list[int] = []
    last = None
    for row in rows:
        if last is None or row.when - last >= _EPISODE_SECONDS:
            begun.append(row.when)
        last = row.when
    return tuple(begun)


def _parts(row: FleetRow) -> Iterator[Part]:
    if row.sub_domain not in _BLAMING:
        return
    if row.bad_nodes_total <= MAX_BLAMED:
        for node in dict.fromkeys(row.bad_nodes):
            yield Part(OffenderKind.NODE, row.cluster, node)
        if row.device and row.node in row.bad_nodes:
            yield Part(OffenderKind.DEVICE, row.cluster, f"{row.node} {row.device}")
    for pair in dict.fromkeys(row.peers):
        yield Part(OffenderKind.PAIR, row.cluster, " ↔ ".join(pair.split(" ", 1)))
    if row.switch:
        yield Part(OffenderKind.SWITCH, row.cluster, row.switch)


def _offenders(group: Mapping[Part, list[FleetRow]]) -> Iterator[RepeatOffender]:
    """Of one kind and cluster: the rate is estimated without the offenders, until they stay the same."""
    episodes = {part: episodes_of(rows) for part, rows in group.items()}
    counts = Counter(len(begun) for begun in episodes.values())
    threshold, rate = _limits(counts, len(episodes))
    for part, begun in episodes.items():
        if len(begun) >= threshold:
            probability = min(1.0, at_least(len(begun), rate, given=1) * len(episodes))
            yield RepeatOffender(part, tuple(group[part]), begun, rate, probability)


def _limits(counts: Counter[int], parts: int) -> tuple[int, float]:
    """The fewest episodes of an offender, and the rate of the other parts.

    The worst are left out at first, unless they are most of the parts: one that fails all the time would hide itself.
    """
    worst = max(counts)
    few = parts == 1 or counts[worst] * 2 < parts
    threshold = worst if few else worst + 1
    while True:
        rate = _rate(counts, threshold)
        lower = _threshold(rate, parts)
        if lower >= threshold:
            return lower, rate
        threshold = lower


def _rate(counts: Counter[int], threshold: int) -> float:
    """Episodes a part, by the parts with fewer than ``threshold``.

    One episode is added: a handful of parts that failed once each do not prove that parts never fail again.
    """
    ordinary = {count: parts for count, parts in counts.items() if count < threshold}
    parts = sum(ordinary.values())
    episodes = sum(count * parts for count, parts in ordinary.items())
    return truncated_rate((episodes + 1) / parts if parts else 2.0)


def _threshold(rate: float, parts: int) -> int:
    """The fewest episodes that chance would not give any of so many parts."""
    count = _MIN_EPISODES
    while at_least(count, rate, given=1) * parts >= _SIGNIFICANCE:
        count += 1
    return count


def _narrowest(found: Sequence[RepeatOffender]) -> Iterator[RepeatOffender]:
    devices = [offender for offender in found if offender.part.kind is OffenderKind.DEVICE]
    nodes = {
        (offender.part.cluster, offender.part.name): offender
        for offender in found
        if offender.part.kind is OffenderKind.NODE
    }
    dropped: set[Part] = set()
    for device in devices:
        node = nodes.get((device.part.cluster, device.part.name.split(" ", 1)[0]))
        if node is not None:
            same = len(device.episodes) >= _SAME * len(node.episodes)
            dropped.add((node if same else device).part)
    return (offender for offender in found if offender.part not in dropped)
