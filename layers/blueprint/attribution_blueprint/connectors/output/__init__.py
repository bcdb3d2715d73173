"""Sinks of enriched verdicts. One file a component, named in this table."""

from __future__ import annotations

from attribution_blueprint.connectors.base import Component

__all__ = ["COMPONENTS"]

_HERE = "attribution_blueprint.connectors.output"

COMPONENTS: tuple[Component, ...] = (
    Component("stdout", f"{_HERE}.stdout:StdoutSink", "JSON lines or a table on standard output."),
    Component("sqlite", f"{_HERE}.sqlite:SqliteSink", "A local SQLite database, which the dashboard reads."),
    Component("webhook", f"{_HERE}.webhook:WebhookSink", "Signed CloudEvents to an HTTPS address."),
    Component("dynamodb", f"{_HERE}.dynamodb:DynamodbSink", "Items of a DynamoDB table.", extra="aws"),
    Component("eventbridge", f"{_HERE}.eventbridge:EventbridgeSink", "Events of an EventBridge bus.", extra="aws"),
)
