"""Sinks of enriched verdicts. One file a component, named in this table."""

from __future__ import annotations

from attribution_blueprint.connectors.base import Component

__all__ = ["COMPONENTS"]

_HERE = "attribution_blueprint.connectors.output"

COMPONENTS: tuple[Component, ...] = (
    Component("stdout", f"{_HERE}.stdout:StdoutSink", "JSON lines or a table on standard output."),
)
