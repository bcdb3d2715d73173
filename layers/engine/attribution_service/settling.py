"""What listings and counters say of one attempt: always what its latest run says, whatever was tried how often.

The runs of an attempt are the truth; everything here follows from them and may be done again. Whoever has changed
something looks at the runs once more, so that of two who write at once the last to finish has seen both.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from attribution_service.ports import ItemExistsError
from attribution_service.times import SECONDS_A_DAY
from attribution_service.verdict_items import (
    blamed_ever,
    counter_key,
    day_key,
    failure_pk,
    node_item,
    node_pk,
    node_sk,
    recency,
    run_prefix,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_service.ports import Item
    from attribution_service.service import Service
    from attribution_service.verdict_items import RunItem

__all__ = ["settle"]

_COUNTER_DAYS = 400


def settle(service: Service, run: RunItem) -> int:
    """Bring listings and counters of the run's attempt up to date; how many nodes were counted that were not."""
    runs = _runs(service, run)
    counted = _follow(service, run, runs)
    while _told(now := _runs(service, run)) != _told(runs):
        runs = now
        counted += _follow(service, run, runs)
    return counted


def _runs(service: Service, run: RunItem) -> list[Item]:
    """The runs of the attempt, without their bodies."""
    items = service.store.verdicts.query(run.pk, run_prefix(run.attempt))
    return [{name: value for name, value in item.items() if name not in ("body", "object", "packed")} for item in items]


def _told(runs: Sequence[Item]) -> list[Item]:
    """What the runs say, without what follows from it."""
    return [{name: value for name, value in item.items() if name != "cluster_day"} for item in runs]


def _follow(service: Service, run: RunItem, runs: Sequence[Item]) -> int:
    latest = max(runs, key=recency)
    blamed = set(latest.get("blamed", ()))
    before = {node for item in runs for node in blamed_ever(item)} - blamed
    for item in runs:
        day = day_key(run.cluster, int(item["at"])) if item["sk"] == latest["sk"] else None
        if item.get("cluster_day") != day:
            service.store.verdicts.update(run.pk, item["sk"], {"cluster_day": day}, expect={})
    if not blamed and not before:
        return 0
    failure = _failure(service, run)
    for node in sorted(before):
        _clear(service, run, node, failure)
    return sum(_blame(service, latest, node, failure) for node in sorted(blamed))


def _failure(service: Service, run: RunItem) -> tuple[str, str]:
    """(month, token) under which the attempt's failure is counted: the same for all of its runs.

    The day is the one on which the job ended, as the first run knew it: a later one may know better, but a failure
    that is counted must be found again.
    """
    table, keys = service.store.verdicts, (failure_pk(run.cluster, run.job_id), run_prefix(run.attempt))
    item = {"pk": keys[0], "sk": keys[1], "day": run.day, "ttl": _expiry(service)}
    try:
        table.put(item, if_absent=True)
    except ItemExistsError:
        item = table.get(*keys) or item
    day = str(item["day"])
    return day[:7], f"{day}:{run.job_id}:{run.attempt}"


def _blame(service: Service, latest: Item, node: str, failure: tuple[str, str]) -> bool:
    table = service.store.verdicts
    with suppress(ItemExistsError):  # of a later run, which is to be settled yet
        table.put(node_item(latest, node), if_absent=True, or_before=("at", int(latest["at"]) + 1))
    place = node_pk(str(latest["cluster"]), node)
    return table.count_once(place, counter_key(failure[0]), failure[1], ttl=_expiry(service))


def _clear(service: Service, run: RunItem, node: str, failure: tuple[str, str]) -> None:
    """The latest run does not blame this node; an earlier one did."""
    table, place = service.store.verdicts, node_pk(run.cluster, node)
    table.delete(place, node_sk(run.job_id, run.attempt))
    table.uncount(place, counter_key(failure[0]), failure[1])


def _expiry(service: Service) -> int:
    return service.now() + _COUNTER_DAYS * SECONDS_A_DAY
