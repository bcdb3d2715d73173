"""What every function of the service is given: the service itself, and who is calling.

Functions take ``(service, caller, …)`` and return values of ``model``; they raise ``errors.ServiceError`` and nothing
else on purpose. Nothing is kept between calls: a process may die after any line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution_service.errors import ForbiddenError, NotFoundError
from attribution_service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_lib.rules.engine import RuleEngine
    from attribution_service.ports import Store

__all__ = ["EVERYTHING", "Caller", "Service"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, as the edge established it; ``clusters`` None means every cluster."""

    clusters: frozenset[str] | None = None
    name: str = ""

    def may(self, cluster: str) -> bool:
        """Whether this cluster is one of the caller's."""
        return self.clusters is None or cluster in self.clusters

    def require(self, cluster: str) -> None:
        """``ForbiddenError`` unless the caller, who named this cluster, may use it."""
        if not self.may(cluster):
            raise ForbiddenError(f"cluster {cluster!r} is not one of this caller's", cluster=cluster)

    def require_found(self, cluster: str, what: str) -> None:
        """``NotFoundError`` when what was named by its id is of a foreign cluster: to this caller it does not exist."""
        if not self.may(cluster):
            raise NotFoundError(f"there is no {what}")


EVERYTHING = Caller()
"""The local user, and the service's own maintenance."""


@dataclass(frozen=True, slots=True)
class Service:
    """The back end, the rules, the clock and the settings: made once at the edge, shared by threads."""

    store: Store
    engine: Callable[[], RuleEngine]
    """Gives the engine of the rules in force; called once per operation, expected to remember."""
    clock: Callable[[], float]
    """Seconds since the epoch."""
    settings: Settings = field(default_factory=Settings)
    invoke_later: Callable[[str], None] | None = None
    """Starts ``attribute.attribute_later(service, attributor_id)`` elsewhere and returns; None: everything in line."""

    def now(self) -> int:
        """Whole seconds since the epoch."""
        return int(self.clock())
