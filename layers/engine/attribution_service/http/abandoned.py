"""The schedule's task: how many sessions are abandoned, as a metric that an alarm watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_service.abandoned import count_abandoned
from attribution_service.http.metrics import Meter, Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.http.host import Host

__all__ = ["report_abandoned"]


def report_abandoned(host: Host, event: Mapping[str, Any]) -> dict[str, int]:
    """Of ``{"count_abandoned": {"hours": 6}}``: the count, also written as a metric."""
    count = count_abandoned(host.service, int(event["count_abandoned"]["hours"]) * 3600)
    meter = Meter()
    meter.count(Metric.ABANDONED, count)
    meter.flush(host.write_metrics, host.service.clock())
    return {"abandoned": count}
