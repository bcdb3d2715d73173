"""Store, query and judge enriched verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_service.model import (
        Feedback,
        FeedbackRequest,
        VerdictKey,
        VerdictPage,
        VerdictQuery,
        VerdictReceipt,
    )
    from attribution_service.result import EnrichedVerdict
    from attribution_service.service import Caller, Service

__all__ = ["add_feedback", "get_verdict", "list_feedback", "node_history", "query_verdicts", "write_verdict"]


def write_verdict(service: Service, caller: Caller, verdict: EnrichedVerdict) -> VerdictReceipt:
    """Store a run's verdict; the same run overwrites itself."""
    raise NotImplementedError


def get_verdict(service: Service, caller: Caller, key: VerdictKey) -> EnrichedVerdict:
    """One whole verdict: of the latest attempt and its latest run unless said otherwise; ``NotFoundError``."""
    raise NotImplementedError


def query_verdicts(service: Service, caller: Caller, query: VerdictQuery) -> VerdictPage:
    """Heads of verdicts, newest first; ``InvalidRequestError``."""
    raise NotImplementedError


def node_history(service: Service, caller: Caller, cluster: str, nodes: Iterable[str]) -> dict[str, int]:
    """{node: failures of the last 30 days} for ``enrich_attribution_result``."""
    raise NotImplementedError


def add_feedback(service: Service, caller: Caller, key: VerdictKey, request: FeedbackRequest) -> Feedback:
    """Store a judgement on a stored verdict: 201; ``NotFoundError``."""
    raise NotImplementedError


def list_feedback(service: Service, caller: Caller, key: VerdictKey) -> list[Feedback]:
    """The judgements on one attempt, oldest first."""
    raise NotImplementedError
