"""``awsbatch``: jobs of AWS Batch, each attempt by itself."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from attribution_blueprint.connectors.aws import AWS_ERRORS, AwsClients, AwsSettings, reason_of
from attribution_blueprint.connectors.eca.base import AdapterSettings
from attribution_blueprint.connectors.eca.slurm.selection import moment
from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import DiscoveryError
from attribution_blueprint.setting_types import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attribution_blueprint.connectors.base import Budget

__all__ = ["AwsBatchAdapter", "AwsBatchSettings"]

_log = logging.getLogger(__name__)
_AT_ONCE = 100
_MILLIS = 1000
_GROUP = "/aws/batch/job"


class AwsBatchSettings(AdapterSettings, AwsSettings):
    """Jobs of AWS Batch by id, or those of queues that ended since a while ago."""

    ids: Texts = Field(default=(), description="Job ids; children of arrays as id:index.")
    since: str = Field(default="", description="Jobs that ended since: 2h, 7d, or an RFC 3339 time; needs queues.")
    queues: Texts = Field(default=(), description="With since: names or ARNs of job queues.")
    failed_only: bool = Field(default=True, description="With since: leave out jobs that succeeded.")

    @model_validator(mode="after")
    def _selected(self) -> AwsBatchSettings:
        if bool(self.ids) == bool(self.since):
            msg = "ids, or since: exactly one of them"
            raise ValueError(msg)
        if self.since and (moment(self.since, 0) is None or not self.queues):
            msg = "since: expected 2h, 7d, or an RFC 3339 time with its offset, and queues"
            raise ValueError(msg)
        return self


class AwsBatchAdapter:
    """Asks ``ListJobs`` where no ids are given, then ``DescribeJobs``."""

    Settings: ClassVar[type[AwsBatchSettings]] = AwsBatchSettings

    def __init__(self, name: str, settings: AwsBatchSettings, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.settings = settings
        self._aws = AwsClients(settings)
        self._clock = clock

    def discover(self, budget: Budget) -> list[ExecutionContext]:
        """Every attempt of the selected jobs; ``DiscoveryError`` with what AWS said."""
        try:
            ids = list(self.settings.ids) or list(self._ended(budget))
            found: list[ExecutionContext] = []
            for at in range(0, len(ids), _AT_ONCE):
                budget.remaining()
                for job in self._aws.client("batch").describe_jobs(jobs=ids[at : at + _AT_ONCE]).get("jobs", ()):
                    found += self._contexts(job)
        except AWS_ERRORS as error:
            msg = f"eca {self.name}: {reason_of(error)}"
            raise DiscoveryError(msg) from error
        return found

    def _ended(self, budget: Budget) -> Iterator[str]:
        since = moment(self.settings.since, self._clock())
        assert since is not None, self.settings.since  # noqa: S101 -- the settings have been checked
        for queue in self.settings.queues:
            for status in ("FAILED",) if self.settings.failed_only else ("FAILED", "SUCCEEDED"):
                asked: dict[str, Any] = {"jobQueue": queue, "jobStatus": status}
                while True:
                    budget.remaining()
                    page = self._aws.client("batch").list_jobs(**asked)
                    for job in page.get("jobSummaryList", ()):
                        if job.get("stoppedAt", 0) >= since * _MILLIS:
                            yield job["jobId"]
                    if not page.get("nextToken"):
                        break
                    asked["nextToken"] = page["nextToken"]

    def _contexts(self, job: dict[str, Any]) -> list[ExecutionContext]:
        attempts = job.get("attempts") or [{}]
        found = []
        for number, attempt in enumerate(attempts):
            try:
                found.append(self._context(job, number, attempt, last=number == len(attempts) - 1))
            except (DiscoveryError, KeyError, TypeError, ValueError) as error:
                _log.warning("eca %s: job %s is left out: %s", self.name, job.get("jobId"), error)
        return found

    def _context(self, job: dict[str, Any], number: int, attempt: dict[str, Any], *, last: bool) -> ExecutionContext:
        container = attempt.get("container") or job.get("container") or {}
        node = str(container.get("containerInstanceArn") or "").rpartition("/")[2]
        reasons = (container.get("reason"), attempt.get("statusReason"), job.get("statusReason") if last else "")
        code = container.get("exitCode")
        fields = {
            "job_id": job["jobId"],
            "attempt": number,
            "cluster": self.settings.cluster or "default",
            "scheduler": "batch",
            "name": job.get("jobName", ""),
            "partition": str(job.get("jobQueue", "")).rpartition("/")[2],
            "state": job["status"] if last else "FAILED",
            "exit_code": "" if code is None else str(code),
            "reason": next((text for text in reasons if text), ""),
            "nodes": [node] if node else [],
            "start": _instant(attempt.get("startedAt") or (job.get("startedAt") if last else None)),
            "end": _instant(attempt.get("stoppedAt") or (job.get("stoppedAt") if last else None)),
        }
        stream = container.get("logStreamName")
        options = ((job.get("container") or {}).get("logConfiguration") or {}).get("options") or {}
        group = str(options.get("awslogs-group") or _GROUP)
        places = (EvidencePlace(PlaceKind.CLOUDWATCH, group, stream, node=node or None),) if stream else ()
        return ExecutionContext.of(
            {key: value for key, value in fields.items() if value not in ("", [], None)},
            adapter=self.name,
            places=places,
            asked=bool(self.settings.ids),
            notes=() if node else ("placement unknown: Batch names no instance of this attempt",),
        )


def _instant(millis: Any) -> str | None:
    return datetime.fromtimestamp(millis / _MILLIS, UTC).isoformat() if isinstance(millis, int) and millis else None
