"""``dynamodb``: verdicts in a table of their own, one item a run and context."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from attribution_blueprint.connectors.aws import AWS_ERRORS, AwsClients, AwsSettings, reason_of
from attribution_blueprint.errors import OutputError

if TYPE_CHECKING:
    from attribution_service.result import EnrichedVerdict

__all__ = ["DynamodbSettings", "DynamodbSink"]

_LONGEST = 390_000
"""An item may have 400 KB, names and keys included."""


class DynamodbSettings(AwsSettings):
    """A table with the key ``pk`` (text) and ``sk`` (text)."""

    table: str = Field(min_length=3, description="The table's name or ARN.")


class DynamodbSink:
    """``pk`` is cluster#job, ``sk`` attempt#run; ``body`` is the verdict's JSON, ``packed`` the same in gzip."""

    Settings: ClassVar[type[DynamodbSettings]] = DynamodbSettings

    def __init__(self, name: str, settings: DynamodbSettings) -> None:
        self.name = name
        self.settings = settings
        self._aws = AwsClients(settings)

    def write(self, verdict: EnrichedVerdict) -> None:
        """Store one verdict; the same run of the same context is stored once."""
        try:
            self._aws.client("dynamodb").put_item(TableName=self.settings.table, Item=self._item(verdict))
        except AWS_ERRORS as error:
            msg = f"output {self.name}: table {self.settings.table}: {reason_of(error)}"
            raise OutputError(msg) from error

    def close(self) -> None:
        """Nothing is kept back."""

    def _item(self, verdict: EnrichedVerdict) -> dict[str, Any]:
        job = verdict.job
        texts = {
            "pk": f"{job['cluster']}#{job['job_id']}",
            "sk": f"{int(job['attempt']):06d}#{verdict.run_id}",
            "run_id": verdict.run_id,
            "attributed_at": verdict.attributed_at or "",
            "terminal_state": verdict.terminal_state.value,
            "sub_domain": verdict.sub_domain.value,
            "outcome": verdict.outcome.value,
            "confidence": verdict.confidence.value,
            "evidence_status": verdict.evidence_status.value,
            "root_symptom": verdict.root_cause.symptom if verdict.root_cause is not None else "",
        }
        item: dict[str, Any] = {key: {"S": text} for key, text in texts.items() if text}
        item["bad_nodes"] = {"L": [{"S": node.node} for node in verdict.bad_nodes[:100]]}
        body = verdict.model_dump_json(by_alias=True)
        if len(body.encode("utf-8", "replace")) < _LONGEST - 10_000:
            item["body"] = {"S": body}
            return item
        packed = gzip.compress(body.encode("utf-8", "replace"), mtime=0)
        if len(packed) > _LONGEST - 10_000:
            msg = f"output {self.name}: the verdict has {len(packed)} bytes even packed; an item may have 400 KB"
            raise OutputError(msg)
        item["packed"] = {"B": packed}
        return item
