"""The chain as a picture: time from left to right, nodes from top to bottom, symptoms as marks, explains-edges.

Bounded whatever the verdict: at most 24 lanes, 160 marks, 160 edges and 9 ticks.
"""

from __future__ import annotations

from enum import StrEnum

from attribution_lib.verdict import SymptomState
from dashboard.contexts.model import Context

__all__ = [
    "MAX_EDGES",
    "MAX_LANES",
    "MAX_MARKS",
    "ChainEdge",
    "ChainLane",
    "ChainMark",
    "ChainPicture",
    "ChainTick",
    "LaneKind",
]

MAX_LANES = 24
MAX_MARKS = 160
MAX_EDGES = 160


class LaneKind(StrEnum):
    """What a lane stands for."""

    NODE = "node"
    """One node."""
    SEVERAL = "several"
    """Symptoms seen on more nodes than have lanes."""
    OTHER = "other"
    """Nodes that have no lane of their own, together."""
    NOWHERE = "nowhere"
    """Symptoms of no known node: the application's log, the scheduler."""


class ChainTick(Context):
    """A mark of the time axis."""

    x: float
    """Place, 0 (left) to 1 (right)."""
    label: str
    """The time, as short as it can be: ``03:14:02``, or with the day where there are several."""


class ChainLane(Context):
    """A row of the picture."""

    index: int
    """0 at the top."""
    kind: LaneKind
    """What it stands for."""
    label: str
    """The node's name, or words."""
    nodes: int
    """How many nodes it stands for."""
    bad: bool
    """Whether the verdict blames it."""


class ChainMark(Context):
    """One symptom on one lane; equal ones that would lie on one another are one mark."""

    id: str
    """``m0``, ``m1``, …: for edges and for describing it."""
    lane: int
    """Index of its lane."""
    lanes: tuple[int, ...]
    """Every lane on which it was seen, its own included: more than one for a symptom of a few nodes."""
    x: float
    """When it was first seen, 0 to 1."""
    x_end: float
    """When it was last seen; equal to ``x`` for a moment."""
    timed: bool
    """False when it has no time; it then stands at the left edge, or by its order where nothing has a time."""
    symptom: str
    """Its name; of a merged mark the first one's."""
    merged: int
    """How many further symptoms the mark stands for."""
    state: SymptomState
    """What became of it."""
    nodes: int
    """On how many nodes."""
    occurrences: int
    """How many lines."""
    at: str
    """When it was first seen; empty when untimed."""
    source: str
    """Kind of evidence."""
    rule: str
    """The rule that read it."""
    explained_by: str
    """The symptom that explains it; empty when none."""
    evidence: str
    """Its first line, at most 200 characters."""
    label: str
    """All of this in one line, for a title or a screen reader."""


class ChainEdge(Context):
    """From a cause to what it explains."""

    source: str
    """Id of the cause's mark."""
    target: str
    """Id of the consequence's mark."""
    rule: str
    """The rule that connects them; empty when not recorded."""
    label: str
    """In words."""


class ChainPicture(Context):
    """The whole picture."""

    start: str
    """The time at the left edge; empty when nothing has a time."""
    end: str
    """The time at the right edge."""
    ticks: tuple[ChainTick, ...]
    """From left to right."""
    lanes: tuple[ChainLane, ...]
    """From top to bottom: the root's, other bad nodes, further nodes, and lanes of several nodes or none."""
    marks: tuple[ChainMark, ...]
    """In time order; the root is always among them."""
    edges: tuple[ChainEdge, ...]
    """Those of the root first."""
    omitted: str
    """What is not drawn, as a sentence; empty when everything is."""
    summary: str
    """The story in a few sentences, in place of the picture."""
