"""Which nodes get a lane of their own, and on which lane a symptom stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.building.words import counted
from dashboard.contexts.chain import MAX_LANES, ChainLane, LaneKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_service.result import EnrichedVerdict
    from dashboard.building.chain import Step

__all__ = ["Lanes", "choose_lanes"]

_SPECIAL = (LaneKind.SEVERAL, LaneKind.OTHER, LaneKind.NOWHERE)
_TOGETHER = 4
"""A symptom of at most so many nodes is drawn across their lanes; one of more stands on the lane of several."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of one picture."""

    shown: tuple[ChainLane, ...]
    nodes: dict[str, int]
    special: dict[LaneKind, int]

    def of(self, step: Step) -> tuple[int, tuple[int, ...]]:
        """The lane of a step, and all lanes that it touches."""
        kind = _special_lane(step, self.nodes)
        if kind is not None:
            return self.special[kind], (self.special[kind],)
        own = self.nodes[step.row.node or ""]
        return own, tuple(sorted({own, *(self.nodes[node] for node in step.nodes if node in self.nodes)}))


def choose_lanes(verdict: EnrichedVerdict, steps: Sequence[Step]) -> Lanes:
    """The root's node, other bad nodes, then nodes as the story names them; and what cannot be placed."""
    bad = [node.node for node in verdict.bad_nodes]
    root = verdict.root_cause.node if verdict.root_cause is not None else None
    named = [node for step in steps if step.row.nodes <= _TOGETHER for node in step.nodes]
    on_stage = set(named)
    wanted = [node for node in dict.fromkeys([*filter(None, [root]), *bad, *named]) if node in on_stage]
    nodes = wanted[: MAX_LANES - len(_SPECIAL)]
    own = {node: number for number, node in enumerate(nodes)}
    blamed = frozenset(bad)
    lanes = [
        ChainLane(index=number, kind=LaneKind.NODE, label=node, nodes=1, bad=node in blamed)
        for number, node in enumerate(nodes)
    ]
    special: dict[LaneKind, int] = {}
    for kind in _SPECIAL:
        of_kind = [step for step in steps if _special_lane(step, own) is kind]
        if of_kind:
            special[kind] = len(lanes)
            lanes.append(_special(kind, len(lanes), of_kind))
    return Lanes(tuple(lanes), own, special)


def _special_lane(step: Step, lanes: dict[str, int]) -> LaneKind | None:
    """The lane of a step that stands on no node's lane; None when it does."""
    if step.row.nodes > _TOGETHER:
        return LaneKind.SEVERAL
    if step.row.node is None:
        return LaneKind.NOWHERE
    return None if step.row.node in lanes else LaneKind.OTHER


def _special(kind: LaneKind, index: int, steps: Sequence[Step]) -> ChainLane:
    most = max((step.row.nodes for step in steps), default=0)
    others = len({node for step in steps for node in step.nodes})
    labels = {
        LaneKind.SEVERAL: f"up to {counted(most, 'node')}",
        LaneKind.OTHER: f"{counted(others, 'other node')}",
        LaneKind.NOWHERE: "no node named",
    }
    nodes = {LaneKind.SEVERAL: most, LaneKind.OTHER: others, LaneKind.NOWHERE: 0}
    return ChainLane(index=index, kind=kind, label=labels[kind], nodes=nodes[kind], bad=False)
