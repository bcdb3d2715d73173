"""``sagemaker``: training jobs of SageMaker."""

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

__all__ = ["SagemakerAdapter", "SagemakerSettings"]

_log = logging.getLogger(__name__)
_GROUP = "/aws/sagemaker/TrainingJobs"
_REASON = 8000


class SagemakerSettings(AdapterSettings, AwsSettings):
    """Training jobs by name, or those that ended since a while ago."""

    ids: Texts = Field(default=(), description="Names of training jobs.")
    since: str = Field(default="", description="Jobs that ended since: 2h, 7d, or an RFC 3339 time.")
    failed_only: bool = Field(default=True, description="With since: leave out jobs that completed.")

    @model_validator(mode="after")
    def _selected(self) -> SagemakerSettings:
        if bool(self.ids) == bool(self.since):
            msg = "ids, or since: exactly one of them"
            raise ValueError(msg)
        if self.since and moment(self.since, 0) is None:
            msg = "since: expected 2h, 7d, or an RFC 3339 time with its offset"
            raise ValueError(msg)
        return self


class SagemakerAdapter:
    """Asks ``ListTrainingJobs`` where no names are given, then describes each."""

    Settings: ClassVar[type[SagemakerSettings]] = SagemakerSettings

    def __init__(self, name: str, settings: SagemakerSettings, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.settings = settings
        self._aws = AwsClients(settings)
        self._clock = clock

    def discover(self, budget: Budget) -> list[ExecutionContext]:
        """The selected jobs; ``DiscoveryError`` with what AWS said."""
        found = []
        try:
            for name in self.settings.ids or self._ended(budget):
                budget.remaining()
                job = self._aws.client("sagemaker").describe_training_job(TrainingJobName=name)
                try:
                    found.append(self._context(job))
                except (DiscoveryError, KeyError, TypeError) as error:
                    _log.warning("eca %s: job %s is left out: %s", self.name, name, error)
        except AWS_ERRORS as error:
            msg = f"eca {self.name}: {reason_of(error)}"
            raise DiscoveryError(msg) from error
        return found

    def _ended(self, budget: Budget) -> Iterator[str]:
        since = moment(self.settings.since, self._clock())
        assert since is not None, self.settings.since  # noqa: S101 -- the settings have been checked
        wanted = {"Failed", "Stopped"} if self.settings.failed_only else {"Failed", "Stopped", "Completed"}
        asked: dict[str, Any] = {"LastModifiedTimeAfter": datetime.fromtimestamp(since, UTC)}
        while True:
            budget.remaining()
            page = self._aws.client("sagemaker").list_training_jobs(**asked)
            for job in page.get("TrainingJobSummaries", ()):
                ended = job.get("TrainingEndTime") or job.get("LastModifiedTime")
                if job["TrainingJobStatus"] in wanted and (ended is None or ended.timestamp() >= since):
                    yield job["TrainingJobName"]
            if not page.get("NextToken"):
                return
            asked["NextToken"] = page["NextToken"]

    def _context(self, job: dict[str, Any]) -> ExecutionContext:
        name = job["TrainingJobName"]
        resources = job.get("ResourceConfig") or {}
        groups = resources.get("InstanceGroups") or ()
        count = int(resources.get("InstanceCount") or sum(group.get("InstanceCount", 0) for group in groups) or 1)
        # SageMaker names hosts by their number within the job; which machines they were it does not tell.
        nodes = [f"algo-{number}" for number in range(1, count + 1)]
        # "Stopped" says nothing of MaxRuntimeExceeded and Interrupted, which the secondary status names.
        secondary = str(job.get("SecondaryStatus") or "")
        own = secondary in ("MaxRuntimeExceeded", "MaxWaitTimeExceeded", "Interrupted")
        fields = {
            "job_id": name,
            "cluster": self.settings.cluster or "default",
            "scheduler": "sagemaker",
            "name": name,
            "partition": str(resources.get("InstanceType") or ""),
            "state": secondary if own else job["TrainingJobStatus"],
            "reason": str(job.get("FailureReason") or "")[:_REASON],
            "nodes": nodes,
            "start": _instant(job.get("TrainingStartTime") or job.get("CreationTime")),
            "end": _instant(job.get("TrainingEndTime")),
        }
        places = tuple(EvidencePlace(PlaceKind.CLOUDWATCH, _GROUP, f"{name}/{node}-*", node=node) for node in nodes)
        return ExecutionContext.of(
            {key: value for key, value in fields.items() if value not in ("", None)},
            adapter=self.name,
            places=places,
            asked=bool(self.settings.ids),
            notes=("machines unknown: SageMaker names hosts only within the job",),
        )


def _instant(value: Any) -> str | None:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else None
