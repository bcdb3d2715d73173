"""Folding: how repeats of one event become one row that says how often, when first and when last.

Every operation is commutative and associative, so the rows of one job come out the same whatever the order, grouping
or cutting of its evidence. The row shows its first occurrence (``fold = "last"`` and ``"max"``: that one), whole.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from attribution_lib.events.event import Clock, Event, Position, Sample
from attribution_lib.events.series import SERIES_FOLD, merge_summaries

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = [
    "MAX_BUCKETS",
    "MAX_SAMPLES",
    "FoldKey",
    "bump",
    "count_in",
    "count_later",
    "digest_of_text",
    "fold_into",
    "fold_key",
    "key_digest",
    "make_key",
    "only_counts",
    "seed",
]

MAX_SAMPLES = 8
MAX_BUCKETS = 64
_MINUTE = 60_000_000
_DAY = 86_400_000_000
_YEARLESS_START = 730  # days from 1970 to 1972, the year that holds stamps without one
_MONTH_STARTS = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_INFINITY = float("inf")
_NUMBERS = re.compile(r"(\d+)")
_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor."""

FoldKey = tuple["Hashable", ...]
_FIELDS = 8
"""Where in a key the values of the rule's own fields are."""
_PART, _SEPARATOR = "\x1f", "\x1d"


def make_key(  # noqa: PLR0913, PLR0917 -- a key is exactly these facts; the hot path passes them by position
    rule: str,
    event_type: str,
    source: str,
    node: str | None,
    rank: int | None,
    device: str | None,
    symptom: str | None,
    clock: Clock,
    key_fields: tuple[str, ...],
    stream: str,
    timestamp: int | None,
) -> FoldKey:
    """What two events must share to be one row.

    Without a UTC time the stream is part of it: stream order is then the only order. So is the month of a stamp
    without a year, because December and January cannot be ordered before the year is known.
    """
    if clock is Clock.UTC:
        return (rule, event_type, source, node, rank, device, symptom, clock, key_fields)
    month = _month(timestamp) if clock is Clock.YEARLESS else 0
    return (rule, event_type, source, node, rank, device, symptom, clock, key_fields, stream, month)


def fold_key(event: Event) -> FoldKey:
    """The key of an event; see ``make_key``."""
    return make_key(
        event.rule,
        event.event_type,
        event.source,
        event.node,
        event.rank,
        event.device,
        event.symptom,
        event.clock,
        event.key_fields,
        event.stream,
        event.timestamp,
    )


def key_digest(key: FoldKey) -> int:
    """A number that orders keys by hash: the same in every process and on every machine."""
    node, rank, device = key[3:6]
    fields: tuple[str, ...] = key[_FIELDS]  # type: ignore[assignment] # see make_key
    text = (
        f"{_joined(*key[:3])}\x1e{'' if node is None else _PART}{node or ''}\x1e"
        f"{'' if rank is None else _PART}{'' if rank is None else rank}\x1e"
        f"{'' if device is None else _PART}{device or ''}\x1e{_joined(*key[6:_FIELDS], *key[_FIELDS + 1 :])}"
        f"\x1c{_SEPARATOR.join(fields) if fields else ''}"
    )
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


@lru_cache(maxsize=512)
def _joined(*parts: Hashable) -> str:
    """Parts that many keys share."""
    return "\x1e".join(["" if part is None else f"\x1f{part}" for part in parts])


def seed(event: Event) -> None:
    """Give a fresh event its first and last position, its minute and its sample."""
    if event.fold == SERIES_FOLD:
        return
    timestamp, stream, line_num = event.timestamp, event.stream, event.line_num
    event.first = event.last = Position(timestamp, stream, line_num)
    if timestamp is not None:
        event.times = {timestamp // _MINUTE: event.occurrences}
        event.width = 1
    event.samples = (Sample(timestamp, stream, line_num, digest_of_text(event.datum), event.datum),)


def digest_of_text(datum: str) -> str:
    """What orders samples that stand in the very same place."""
    return blake2b(datum.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def fold_into(target: Event, other: Event) -> None:
    """Add another event of the same key to ``target``; both seeded. ``other`` is left as it is."""
    target.occurrences += other.occurrences
    target.overflow += other.overflow
    target.node_declared = target.node_declared or other.node_declared
    wins = _shows(other, target)
    if other.first.order() < target.first.order():
        target.first = other.first
    if other.last.order() > target.last.order():
        target.last = other.last
    target.times, target.width = _merge_times(target, other)
    target.samples = tuple(sorted({*target.samples, *other.samples}, key=Sample.order)[:MAX_SAMPLES])
    if target.fold == SERIES_FOLD:
        target.payload = merge_summaries(target.payload, other.payload)
    if wins:
        _show(target, other)


def bump(  # noqa: PLR0913 -- see ``Folder.bump``
    row: Event, timestamp: int | None, stream: str, line_num: int | None, occurrences: int, *, declared: bool
) -> bool:
    """Count an occurrence that a row will neither show nor keep as a sample; False, nothing counted, where it may."""
    if not only_counts(row, timestamp, stream, line_num):
        return False
    count_later(row, timestamp, stream, line_num, occurrences, declared=declared)
    return True


def only_counts(row: Event, timestamp: int | None, stream: str, line_num: int | None) -> bool:
    """Whether a row has all its samples, and an occurrence comes after them."""
    samples = row.samples
    if row.fold or len(samples) < MAX_SAMPLES:
        return False
    ceiling = samples[-1]
    return (_INFINITY if timestamp is None else timestamp, stream, line_num or 0) > (
        _INFINITY if ceiling[0] is None else ceiling[0],
        ceiling[1],
        ceiling[2] or 0,
    )


def count_later(  # noqa: PLR0913 -- what an occurrence is
    row: Event, timestamp: int | None, stream: str, line_num: int | None, occurrences: int, *, declared: bool
) -> None:
    """Add occurrences that only count."""
    last = row.last
    place = (_INFINITY if timestamp is None else timestamp, stream, line_num or 0)
    if place > (_INFINITY if last[0] is None else last[0], last[1], last[2] or 0):
        row.last = _bare(Position, (timestamp, stream, line_num))
    count_in(row, timestamp, occurrences, declared=declared)


def count_in(row: Event, timestamp: int | None, occurrences: int, *, declared: bool) -> None:
    """Add occurrences to a row's number and histogram."""
    row.occurrences += occurrences
    if declared:
        row.node_declared = True
    if timestamp is not None:
        times = row.times
        bucket = timestamp // _MINUTE // row.width
        times[bucket] = times.get(bucket, 0) + occurrences
        if len(times) > MAX_BUCKETS:
            row.times, row.width = coarsened(times, row.width)


def _show(target: Event, other: Event) -> None:
    """Make ``target`` show the other's occurrence: line, text, captures and context belong together."""
    target.timestamp = other.timestamp
    target.stream = other.stream
    target.line_num = other.line_num
    target.datum = other.datum
    target.observation_id = other.observation_id
    target.context_before = other.context_before
    target.context_after = other.context_after
    if target.fold != SERIES_FOLD:
        target.payload = other.payload


def _shows(other: Event, target: Event) -> bool:
    """Whether a row of both shows the other's occurrence."""
    if target.fold == "max":
        ours, theirs = _payload_order(target), _payload_order(other)
        if ours != theirs:
            return theirs > ours
    ours_at, theirs_at = _place(target), _place(other)
    if ours_at != theirs_at:
        return theirs_at > ours_at if target.fold == "last" else theirs_at < ours_at
    ours_tie, theirs_tie = _tie(target), _tie(other)
    return theirs_tie > ours_tie if target.fold == "last" else theirs_tie < ours_tie


def _place(event: Event) -> tuple[float, str, int]:
    return (_INFINITY if event.timestamp is None else event.timestamp, event.stream, event.line_num or 0)


def _tie(event: Event) -> tuple[Any, ...]:
    """Order of events that stand in the very same place; the observation comes last, cutting must not matter."""
    digest = digest_of_text(event.datum)
    payload = "" if event.fold == SERIES_FOLD else json.dumps(event.payload, sort_keys=True, default=str)
    return (digest, payload, event.observation_id, event.context_before, event.context_after)


def _payload_order(event: Event) -> tuple[Any, ...]:
    """Order of payloads for ``fold = "max"``: captures by name, numbers within them as numbers (2.9 < 2.21)."""
    parts: list[tuple[int, int, str]] = []
    for name in sorted(event.payload):
        pieces = _NUMBERS.split(str(event.payload[name]))
        parts.extend((1, int(piece), "") if index % 2 else (0, 0, piece) for index, piece in enumerate(pieces))
    return tuple(parts)


def _merge_times(target: Event, other: Event) -> tuple[dict[int, int], int]:
    """The sum of two histograms; buckets lie on absolute multiples of a power-of-two width of minutes."""
    if not other.times:
        return target.times, target.width
    width = max(target.width, other.width)
    merged: dict[int, int] = {}
    for event in (target, other):
        factor = width // event.width
        for bucket, count in event.times.items():
            merged[bucket // factor] = merged.get(bucket // factor, 0) + count
    return coarsened(merged, width)


def coarsened(times: dict[int, int], width: int) -> tuple[dict[int, int], int]:
    """The histogram with its width doubled until it has at most ``MAX_BUCKETS`` buckets."""
    while len(times) > MAX_BUCKETS:
        width *= 2
        halved: dict[int, int] = {}
        for bucket, count in times.items():
            halved[bucket // 2] = halved.get(bucket // 2, 0) + count
        times = halved
    return times, width


def _month(timestamp: int | None) -> int:
    if timestamp is None:
        return 0
    return bisect_right(_MONTH_STARTS, timestamp // _DAY - _YEARLESS_START)
