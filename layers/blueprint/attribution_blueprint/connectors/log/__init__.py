"""Log collectors. One file a component, named in this table."""

from __future__ import annotations

from attribution_blueprint.connectors.base import Component

__all__ = ["COMPONENTS"]

_HERE = "attribution_blueprint.connectors.log"

COMPONENTS: tuple[Component, ...] = (
    Component("file", f"{_HERE}.file:FileLog", "Files: a job's output where the scheduler put it, or given paths."),
    Component("loki", f"{_HERE}.loki:LokiLog", "Lines of Loki, by LogQL."),
    Component("kubectl", f"{_HERE}.kubectl:KubectlLog", "Logs of the job's pods, by kubectl."),
    Component("cloudwatch", f"{_HERE}.cloudwatch:CloudwatchLog", "Streams of CloudWatch Logs.", extra="aws"),
    Component("s3", f"{_HERE}.s3:S3Log", "Objects of S3.", extra="aws"),
)
