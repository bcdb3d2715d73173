"""How often a node was blamed lately, from its monthly counters."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from attribution_lib.fields import is_identifier
from attribution_service.times import SECONDS_A_DAY, day_of
from attribution_service.verdict_items import counter_key, node_pk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_service.service import Caller, Service

__all__ = ["node_history"]

_DAYS = 30


def node_history(service: Service, caller: Caller, cluster: str, nodes: Iterable[str]) -> dict[str, int]:
    """{node: failures of the last 30 days} for ``enrich_attribution_result``: jobs whose verdict blamed the node."""
    caller.require(cluster)
    names = sorted({node for node in nodes if is_identifier(node)})
    if len(names) <= 1:
        return {node: _failures(service, cluster, node) for node in names}
    with ThreadPoolExecutor(service.settings.fetch_threads) as pool:
        counts = pool.map(lambda node: _failures(service, cluster, node), names)
        return dict(zip(names, counts, strict=True))


def _failures(service: Service, cluster: str, node: str) -> int:
    since = day_of(service.now() - _DAYS * SECONDS_A_DAY)
    months = sorted({since[:7], day_of(service.now())[:7], day_of(service.now() - 15 * SECONDS_A_DAY)[:7]})
    tokens: set[str] = set()
    for month in months:
        item = service.store.verdicts.get(node_pk(cluster, node), counter_key(month))
        tokens.update(item.get("seen", ()) if item else ())
    return sum(token[: len(since)] >= since for token in tokens)
