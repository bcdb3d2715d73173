"""From the captures of a confirmed line to the event it stands for: the hot end of extraction, pure and precompiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from attribution_lib.rules.catalogs import catalog_key
from attribution_lib.rules.model import EMIT_TYPES
from attribution_lib.rules.templates import Template, compile_template, render

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attribution_lib.events.event import EventType
    from attribution_lib.rules.model import CatalogTable, Emission, Emit, MetricRule, TextRule
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["Emitted", "Emitter", "Placed", "compile_emitter", "emit_code", "emit_text", "place_accumulated"]

_PLACES = ("node", "rank", "peer", "device")
_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor."""


class Placed(NamedTuple):
    """What one confirmed line, or one emission of an accumulator, says but for its payload: what counting it needs.

    None means "from the line's prefix, the mappings or the job".
    """

    event_type: EventType
    symptom: str | None
    node: str | None
    rank: int | None
    peer: str | None
    device: str | None


class Emitted(NamedTuple):
    """All that one confirmed line says."""

    placed: Placed
    payload: dict[str, Any]


class _Row(NamedTuple):
    """What the emission takes from a catalogue row, or from the rule itself when there is no catalogue."""

    event_type: EventType
    symptom: str | None
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Emitter:
    """An ``Emit`` with its templates compiled and its catalogue resolved to symptoms."""

    fixed: _Row | None
    rows: Mapping[tuple[str, ...], _Row]
    default: _Row | None
    keys: tuple[str, ...]
    decode: Callable[[Mapping[str, str]], Mapping[str, str]] | None
    places: tuple[Template, Template, Template, Template]
    payload: tuple[tuple[str, Template], ...]
    consumed: frozenset[str]
    """Captures that name the place and nothing else: they are not repeated in the payload."""
    plain: tuple[str, str, str, str] | None
    """The names of the captures that are the four places, where each is a capture and nothing else."""

    @property
    def symptoms(self) -> frozenset[str]:
        """Every symptom that this can emit."""
        rows = [*self.rows.values(), *([self.fixed] if self.fixed else []), *([self.default] if self.default else [])]
        return frozenset(row.symptom for row in rows if row.symptom is not None)

    def __call__(self, captures: Mapping[str, str]) -> Emitted | None:
        """The emission for these captures; None when a code is in no catalogue row and the rule has no default."""
        captures = self.decoded(captures)
        placed = self.place(captures)
        return None if placed is None else Emitted(placed, self.payload_of(captures))

    def decoded(self, captures: Mapping[str, str]) -> Mapping[str, str]:
        """The captures as the rule's decoder, if it has one, makes them; it may raise anything."""
        return captures if self.decode is None else self.decode(captures)

    def place(self, captures: Mapping[str, str]) -> Placed | None:
        """What decoded captures say but for the payload, which most lines are counted without."""
        row = self._row(captures)
        if row is None:
            return None
        # The place comes from the line alone: a catalogue's column "rank" is the symptom's, not the process's.
        node, rank, peer, device = self._places(captures)
        number = None if rank is None else _rank(rank)
        placed: Placed = _bare(Placed, (row.event_type, row.symptom, node, number, peer, device))
        return placed

    def payload_of(self, captures: Mapping[str, str]) -> dict[str, Any]:
        """The payload of decoded captures for which there is a place."""
        payload = {key: value for key, value in captures.items() if value and key not in self.consumed}
        rank = self._places(captures)[1]
        if rank is not None and _rank(rank) is None:
            payload["rank"] = rank
        if self.payload:
            row = self._row(captures)
            values = {**row.columns, **captures} if row is not None else captures
            payload.update((key, render(template, values)) for key, template in self.payload)
        return payload

    def _row(self, captures: Mapping[str, str]) -> _Row | None:
        if self.fixed is not None:
            return self.fixed
        values = tuple([captures.get(name) or "" for name in self.keys])
        row = self.rows.get(values)  # most are written as keys are compared
        return row or self.rows.get(tuple(map(catalog_key, values)), self.default)

    def _places(self, captures: Mapping[str, str]) -> Sequence[str | None]:
        if self.plain is None:
            return [render(place, captures) or None for place in self.places]
        found = captures.get
        node, rank, peer, device = self.plain
        return found(node) or None, found(rank) or None, found(peer) or None, found(device) or None


def emit_text(rule: TextRule, captures: Mapping[str, str]) -> Emitted | None:
    """What a confirmed line of this rule says; None when the rule has nothing to say about it.

    ``captures`` are the named groups that took part. Those that name the place go into it, the others and the
    declared payload into ``payload``.
    """
    if rule.emitter is None:
        msg = f"{rule.name} has no emitter: only rules of a loaded engine can emit"
        raise ValueError(msg)
    return rule.emitter(captures)


def place_accumulated(emission: Emission) -> Placed:
    """What an accumulator's emission says, but for its payload."""
    return Placed(
        event_type=EMIT_TYPES[emission.type],
        symptom=emission.symptom or None,
        node=emission.node or None,
        rank=emission.rank,
        peer=emission.peer or None,
        device=emission.device or None,
    )


def emit_code(rule: MetricRule, code: str) -> tuple[EventType, str | None] | None:
    """Event type and symptom of a metric rule, for a rule with a catalogue those of the row of ``code``."""
    if rule.emitter is None:
        msg = f"{rule.name} has no emitter: only rules of a loaded engine can emit"
        raise ValueError(msg)
    row = rule.emitter.fixed or rule.emitter.rows.get((catalog_key(code),), rule.emitter.default)
    return None if row is None else (row.event_type, row.symptom)


def compile_emitter(
    emit: Emit,
    registry: GeneratedSymptomRegistry,
    catalog: CatalogTable | None = None,
    decode: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None,
) -> Emitter:
    """Compile an emission whose symptoms are all known; aliases become the declared names."""
    places = tuple(compile_template(getattr(emit, place) or f"{{{place}}}") for place in _PLACES)
    node, rank, peer, device = places
    alone = _alone(node), _alone(rank), _alone(peer), _alone(device)
    return Emitter(
        fixed=_row(emit.type, emit.symptom, {}, registry) if catalog is None else None,
        rows={} if catalog is None else _catalog_rows(emit, catalog, registry),
        default=_default_row(catalog, registry),
        keys=() if catalog is None else catalog.keys,
        decode=decode,
        places=(node, rank, peer, device),
        payload=tuple((key, compile_template(value)) for key, value in emit.payload.items()),
        consumed=frozenset(filter(None, alone)),
        plain=alone if all(alone) else None,
    )


def _alone(place: Template) -> str:
    """The name of the capture that a template consists of; empty when it holds anything else."""
    return place[0][1] if len(place) == 1 and not place[0][0] else ""


def _row(event: str, symptom: str, columns: Mapping[str, str], registry: GeneratedSymptomRegistry) -> _Row:
    return _Row(EMIT_TYPES[event], registry.get(symptom).name if symptom else None, columns)


def _catalog_rows(emit: Emit, catalog: CatalogTable, registry: GeneratedSymptomRegistry) -> dict[tuple[str, ...], _Row]:
    event, symptom = compile_template(emit.type), compile_template(emit.symptom)
    return {key: _row(render(event, row), render(symptom, row), row, registry) for key, row in catalog.rows.items()}


def _default_row(catalog: CatalogTable | None, registry: GeneratedSymptomRegistry) -> _Row | None:
    if catalog is None or not catalog.default.get("event"):
        return None
    return _row(catalog.default["event"], catalog.default.get("symptom", ""), catalog.default, registry)


def _rank(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
