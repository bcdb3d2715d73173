"""What a line says: the parts that extraction passes from reading a line to counting its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.events.event import Clock
    from attribution_lib.events.fold import FoldKey
    from attribution_lib.rules.emission import Placed
    from attribution_lib.rules.plan import PlannedRule
    from attribution_lib.text.prefixes import Prefix

__all__ = ["DATUM_SIDE", "Address", "Read", "Said", "Where", "datum_of"]

DATUM_SIDE = 2_048
"""Half of the 4 KiB that an event keeps of its line."""


class Where(NamedTuple):
    """When and where one line's event happened, as far as extraction can tell."""

    timestamp: int | None
    clock: Clock
    node: str | None
    rank: int | None
    device: str | None


Address = tuple[Where, "FoldKey"]
"""When, where and under which key an occurrence counts."""


@dataclass(slots=True, eq=False)
class Said:
    """What one rule confirmed, in whatever line and behind whatever prefix: lines of one message share it."""

    planned: PlannedRule
    captures: Mapping[str, str]
    """As the rule's decoder, if it has one, made them."""
    placed: Placed | None
    """None for accumulators."""
    payload: dict[str, Any] | None = None
    """Worked out once an event is made of it; see ``payload_of``."""
    datum: str | None = None
    """Of a line that is longer than an event keeps: where the rule hit. None: the line itself."""
    key_fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.planned.key:
            payload = self.payload_of()
            self.key_fields = tuple([str(payload.get(name, "")) for name in self.planned.key])

    def payload_of(self) -> dict[str, Any]:
        """What the rule captured; not to be changed."""
        if self.payload is None:
            emitter = self.planned.emitter
            self.payload = {} if emitter is None else emitter.payload_of(self.captures)
        return self.payload


@dataclass(slots=True, eq=False)
class Read:
    """What one distinct line says."""

    prefix: Prefix
    said: tuple[Said, ...]
    """One a rule that confirmed a hit."""
    text: str
    """At most 4 KiB of the line."""
    addressed: dict[int, Address] = field(default_factory=dict)
    """By index of ``said``, once known; it stays empty where entries have a say in it, each for itself."""


def datum_of(data: bytes, hit_end: int) -> str:
    """At most 4 KiB of the line, around where the rule hit."""
    if len(data) <= 2 * DATUM_SIDE:
        return data.decode("utf-8", "replace")
    start = max(min(hit_end - DATUM_SIDE, len(data) - 2 * DATUM_SIDE), 0)
    return data[start : start + 2 * DATUM_SIDE].decode("utf-8", "replace")
