"""What a line says: the parts that extraction passes from reading a line to counting its events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.events.event import Clock
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.rules.emission import Emitted
    from attribution_lib.rules.plan import PlannedRule
    from attribution_lib.text.prefixes import Prefix

__all__ = ["DATUM_SIDE", "Read", "Said", "Where", "datum_of"]

DATUM_SIDE = 2_048
"""Half of the 4 KiB that an event keeps of its line."""


class Where(NamedTuple):
    """When and where one line's event happened, as far as extraction can tell."""

    timestamp: int | None
    clock: Clock
    node: str | None
    rank: int | None
    device: str | None


@dataclass(slots=True, eq=False)
class Said:
    """What one rule confirmed on a line, whatever the line's number."""

    planned: PlannedRule
    captures: Mapping[str, str]
    emitted: Emitted | None
    """None for accumulators."""
    datum: str
    digest: str = ""
    """Of ``datum``, once needed."""
    addressed: tuple[Where, FoldKey] | None = None
    """When, where and under which key, once known; it stays unknown where entries say it, each for itself."""


@dataclass(slots=True, eq=False)
class Read:
    """What one distinct line says: one entry per rule that confirmed a hit."""

    prefix: Prefix
    said: tuple[Said, ...]


def datum_of(data: bytes, hit_end: int) -> str:
    """At most 4 KiB of the line, around where the rule hit."""
    if len(data) <= 2 * DATUM_SIDE:
        return data.decode("utf-8", "replace")
    start = max(min(hit_end - DATUM_SIDE, len(data) - 2 * DATUM_SIDE), 0)
    return data[start : start + 2 * DATUM_SIDE].decode("utf-8", "replace")
