"""What every framework shares: the entry of a component table, and the time that a component may take."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Budget", "Component"]


@dataclass(frozen=True, slots=True)
class Component:
    """One row of a framework's table. The class is imported only when it is used or documented.

    ``target`` is ``module:Class``. The class has ``Settings`` (a ``ComponentSettings``) and is made with
    ``Class(name, settings)``, ``name`` being the instance's; making it opens nothing.
    """

    name: str
    target: str
    summary: str
    extra: str = ""
    """The optional extra of the distribution that brings what it imports."""


@dataclass(slots=True)
class Budget:
    """How long a component may still work for one context; a component that waits asks it how long."""

    deadline: float
    """Of ``clock``."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the run is ending or this collector was given up."""
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def of(cls, seconds: float) -> Budget:
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    def extend(self, seconds: float) -> None:
        """So much more: time that was somebody else's."""
        self.deadline += seconds

    def remaining(self, at_most: float = float("inf")) -> float:
        """Seconds left, for the timeout of one request; ``CollectError`` when there are none."""
        left = self.deadline - self.clock()
        if self.stop.is_set() or left <= 0:
            msg = "gave up: stopped" if self.stop.is_set() else "gave up: timeout_seconds is over"
            raise CollectError(msg)
        return min(left, at_most)

    def sleep(self, seconds: float) -> None:
        """Wait, but not beyond the end; ``CollectError`` when that comes first."""
        wait = self.remaining(seconds)
        self.stop.wait(wait)
        self.remaining()
