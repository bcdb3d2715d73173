"""The walkthrough: one sample failure taken through the engine's phases, from a real run."""

from __future__ import annotations

from enum import StrEnum

from dashboard.contexts.model import Context, Fact, PageContext
from dashboard.contexts.verdict import Headline

__all__ = ["Phase", "WalkthroughContext", "WalkthroughEvent", "WalkthroughSample", "WalkthroughStep"]


class Phase(StrEnum):
    """The steps, in order."""

    EXTRACTED = "extracted"
    FILTERED = "filtered"
    SCRUBBED = "scrubbed"
    FINAL = "final"
    OUTCOME = "outcome"
    VERDICT = "verdict"


class WalkthroughSample(Context):
    """A sample to choose."""

    slug: str
    """Its key."""
    title: str
    """In words."""
    shown: bool
    """Whether it is the one on this page."""


class WalkthroughEvent(Context):
    """One event as it stands after a step."""

    id: str
    """The same through all steps: ``e0``, ``e1``, …"""
    symptom: str
    """Its symptom, else its type."""
    type: str
    """Its type after this step."""
    source: str
    """Kind of evidence."""
    stream: str
    """File."""
    line_num: int | None
    """Line of its first sight."""
    node: str
    """Empty when unknown."""
    rank: int | None
    """Rank."""
    at: str
    """When first seen; empty when untimed."""
    occurrences: int
    """How many lines it stands for."""
    state: str
    """``active``, ``demoted`` or ``discarded``."""
    changed_here: bool
    """Whether this step changed it or made it."""
    changed_by: str
    """The rule that changed it; empty when none did."""
    explained_by: str
    """The symptom that explains it; empty when none."""
    rule: str
    """The rule that read it."""
    evidence: str
    """Its line, at most 300 characters; hostile."""


class WalkthroughStep(Context):
    """One phase."""

    phase: Phase
    """Which."""
    title: str
    """For people."""
    explanation: str
    """What the phase does."""
    active: int
    """Events that still speak after it."""
    removed: int
    """Events that it took out or demoted."""
    added: int
    """Events that it made."""
    events: tuple[WalkthroughEvent, ...]
    """All events after the step, in their order, at most 200; empty for ``outcome`` and ``verdict``."""
    facts: tuple[Fact, ...]
    """For ``outcome`` and ``verdict``: what was decided and on what grounds."""


class WalkthroughContext(PageContext):
    """The page of the walkthrough."""

    samples: tuple[WalkthroughSample, ...]
    """The samples there are."""
    slug: str
    """The sample shown."""
    story: str
    """What happened, as the sample's own label tells it."""
    lines: int
    """Lines of evidence."""
    steps: tuple[WalkthroughStep, ...]
    """In the order of ``Phase``."""
    headline: Headline
    """The verdict in words."""
    markdown: str
    """The verdict as Markdown."""
