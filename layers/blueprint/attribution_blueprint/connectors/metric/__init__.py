"""Metric collectors. One file a component, named in this table."""

from __future__ import annotations

from attribution_blueprint.connectors.base import Component

__all__ = ["COMPONENTS"]

_HERE = "attribution_blueprint.connectors.metric"

COMPONENTS: tuple[Component, ...] = (
    Component("file", f"{_HERE}.file:FileMetrics", "Prometheus matrices in JSON files."),
    Component("promql", f"{_HERE}.promql:PromqlMetrics", "Prometheus, Mimir, Thanos or VictoriaMetrics."),
)
