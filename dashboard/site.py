"""What the builders of contexts are given: where verdicts come from, which rules run here, what time it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_lib.version import __version__
from attribution_service.times import rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attribution_lib.job.model import JobInfo
    from attribution_lib.observation import Observation
    from attribution_lib.rules.engine import RuleEngine
    from dashboard.contexts.model import Notice, PageName
    from dashboard.reading import VerdictReader

__all__ = ["Sample", "Site"]


@dataclass(frozen=True, slots=True)
class Sample:
    """A labelled failure that the walkthrough can show; ``load`` reads its job and its evidence."""

    slug: str
    title: str
    story: str
    load: Callable[[], tuple[JobInfo, Sequence[Observation]]]


@dataclass(frozen=True, slots=True)
class Site:
    """One dashboard for one caller: made for each request, since a reader answers for one caller."""

    reader: VerdictReader
    clock: Callable[[], float]
    """Seconds since the epoch."""
    engine: Callable[[], RuleEngine] | None = None
    """The rules in force, for the pages of rules and for links to them; None where none run."""
    samples: Sequence[Sample] = ()
    gpus_per_node: int = 8
    """Assumed where a job does not say how many GPUs it had."""
    feedback_open: bool = True
    """Whether judgements can be given."""

    def rules(self) -> RuleEngine | None:
        """The engine of the running rules, where there is one."""
        return self.engine() if self.engine is not None else None

    def page(self, page: PageName, title: str, notices: Sequence[Notice] = ()) -> dict[str, Any]:
        """The fields that every page has."""
        return {
            "page": page,
            "title": title,
            "store": self.reader.capabilities.name,
            "version": __version__,
            "made_at": rfc3339(self.clock()),
            "notices": tuple(notices),
        }
