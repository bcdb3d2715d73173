"""The service in this process, over the local store: no server, no network."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.connectors.attribution.base import Delivered, Handle
from attribution_blueprint.connectors.attribution.wire import NDJSON, encode, header_of
from attribution_blueprint.errors import AttributionFailedError, AttributorConflictError, SubmissionError
from attribution_blueprint.local_service import local_service
from attribution_blueprint.places import data_folder
from attribution_lib.errors import AttributionError
from attribution_lib.observation import ObservationFormat
from attribution_lib.verdict import Verdict
from attribution_service.attribute import attribute
from attribution_service.errors import (
    DuplicateObservationError,
    DuplicateSessionError,
    NotFoundError,
    ObservationConflictError,
    ServiceError,
)
from attribution_service.history import node_history
from attribution_service.ingest import ingest, ingest_text
from attribution_service.model import OpenRequest
from attribution_service.service import EVERYTHING
from attribution_service.sessions import delete_session, open_session
from attribution_service.settings import Settings
from attribution_service.stores.local import open_local

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from attribution_blueprint.connectors.attribution.base import AttributionSettings
    from attribution_blueprint.connectors.base import Budget
    from attribution_lib.observation import Observation
    from attribution_service.service import Service

__all__ = ["InProcessAttribution"]


class InProcessAttribution:
    """Calls the service's functions. Several processes may share the folder of the store."""

    def __init__(self, settings: AttributionSettings) -> None:
        self.settings = settings
        folder = Path(settings.data).expanduser() if settings.data else data_folder()
        try:
            # Sessions here live as long as one context's turn: after a power failure the run is repeated anyway.
            self._back_end = open_local(folder, durable=False)
        except (OSError, sqlite3.Error, ServiceError) as error:
            msg = f"[attribution] data {folder}: cannot be opened ({error}); expected a folder that can be written"
            raise AttributionFailedError(msg) from error
        rules = Path(settings.rules) if settings.rules else None
        self._service = local_service(self._back_end, Settings(), rules)

    @property
    def service(self) -> Service:
        """The service itself: its store also holds verdicts and the records of runs."""
        return self._service

    def check(self) -> None:
        """The rules must load."""
        with _failures("rules"):
            self._service.engine()

    def open(self, job: Mapping[str, Any]) -> Handle:
        """A new session of the local store."""
        request = OpenRequest(job=dict(job), ttl_seconds=int(self.settings.ttl_seconds))
        try:
            with _failures("open"):
                return Handle(open_session(self._service, EVERYTHING, request).attributor_id)
        except AttributionFailedError as error:
            refusal = error.__cause__
            if isinstance(refusal, DuplicateSessionError):
                raise AttributorConflictError(str(refusal.extras["attributor_id"])) from refusal
            raise

    def submit(self, handle: Handle, observation: Observation) -> Delivered:
        """Text goes in as it is; everything else takes the way of the wire."""
        try:
            if observation.format is ObservationFormat.TEXT:
                header = header_of(observation)
                ingest_text(self._service, EVERYTHING, handle.attributor_id, header, observation.text)
            else:
                body = encode(observation)
                ingest(self._service, EVERYTHING, handle.attributor_id, body, content_type=NDJSON)
        except DuplicateObservationError:
            return Delivered.DUPLICATE
        except (ServiceError, AttributionError, OSError, sqlite3.Error) as error:
            conflict = isinstance(error, ObservationConflictError)
            msg = f"{observation.stream}:{observation.first_line}: {error}"
            raise SubmissionError(msg, conflict=conflict) from error
        return Delivered.NEW

    def verdict(self, handle: Handle, budget: Budget) -> Verdict:
        """At once: there is no queue in one process."""
        budget.remaining()
        with _failures("attribute"):
            found = attribute(self._service, EVERYTHING, handle.attributor_id)
            return Verdict.model_validate_json(found.verdict)

    def delete(self, handle: Handle) -> None:
        """Remove the session and its objects."""
        with _failures("delete"):
            try:
                delete_session(self._service, EVERYTHING, handle.attributor_id)
            except NotFoundError:
                return

    def history(self, cluster: str, nodes: Sequence[str]) -> Mapping[str, int]:
        """Of the verdicts in the local store."""
        with _failures("history"):
            return node_history(self._service, EVERYTHING, cluster, list(nodes))

    def close(self) -> None:
        """Release the store."""
        self._back_end.close()


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """What the service and its store raise, as our errors."""
    try:
        yield
    except (ServiceError, AttributionError, OSError, sqlite3.Error) as error:
        msg = f"{what}: {error}"
        raise AttributionFailedError(msg) from error
