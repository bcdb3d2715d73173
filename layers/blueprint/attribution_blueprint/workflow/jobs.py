"""Which context a workflow is about: given as a job or a reference, or found by an adapter of the site."""

from __future__ import annotations

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from attribution_blueprint.discovery import discover, sources_of
from attribution_blueprint.errors import DiscoveryError
from attribution_blueprint.frameworks import FRAMEWORKS, settings_type
from attribution_blueprint.settings import Group
from attribution_blueprint.surfaces import Slot
from attribution_blueprint.workflow.documents import ContextDocument, context_of, dump_context, load_context
from attribution_service.model import Cluster, Identifier
from attribution_service.times import rfc3339
from attribution_service.workflow.evidence import CollectorName
from attribution_service.workflow.keys import ContextKeys, manifest_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_blueprint.context import ExecutionContext
    from attribution_blueprint.settings import Configuration
    from attribution_blueprint.workflow.host import WorkflowHost

__all__ = ["Accepted", "FleetRequest", "JobRequest", "Manifest", "accept_job", "discover_fleet", "discover_job"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JobRequest(_Model):
    """Input of the state machine ``job``: a job, a reference to one, or its id and the adapter that knows it."""

    job: dict[str, Any] | None = None
    job_ref: str | None = None
    job_id: str | None = None
    adapter: str | None = None
    """Instance of an eca; with ``job_id``."""
    cluster: Cluster | None = None
    """With ``job_id``; default: as the adapter's settings say."""
    attempt: int | None = None
    """With ``job_id``; default: the last."""
    run_id: Identifier | None = None
    """Default: the name of the execution."""
    again: bool = False
    """Attribute even what has a verdict already; the new one is another run of it."""

    @model_validator(mode="after")
    def _one(self) -> JobRequest:
        given = [part is not None for part in (self.job, self.job_ref, self.job_id)]
        if sum(given) != 1:
            msg = "job, job_ref, or job_id with adapter: exactly one of them"
            raise ValueError(msg)
        if (self.job_id is None) != (self.adapter is None):
            msg = "job_id and adapter: both or neither"
            raise ValueError(msg)
        return self


class Accepted(_Model):
    """A context that will be worked on."""

    run_id: str
    context: str
    """``cluster:job_id:attempt``."""
    job_ref: str
    collectors: list[CollectorName]
    again: bool
    started_at: str


class FleetRequest(_Model):
    """Input of the state machine ``fleet``. ``query`` overrides settings of the adapter: since, ids, queues."""

    adapter: str
    query: dict[str, Any] = {}
    run_id: Identifier | None = None
    again: bool = False


class Manifest(_Model):
    """The contexts of a fleet: ``key`` names a JSON array of references."""

    run_id: str
    bucket: str
    key: str
    count: int
    again: bool
    started_at: str


def accept_job(host: WorkflowHost, request: JobRequest, execution: str) -> Accepted:
    """Keep the context of a job that was given; ``DiscoveryError`` when it is none."""
    names = host.service.settings.names
    if request.job_ref is not None:
        context = load_context(host.service.store.objects, request.job_ref, names)
    elif request.job is not None:
        context = context_of(ContextDocument(job=request.job, adapter="job"), names)
    else:
        msg = "no job given; expected job, job_ref, or job_id with adapter"
        raise DiscoveryError(msg)
    return _accepted(host, request, execution, context, request.job_ref)


def discover_job(host: WorkflowHost, request: JobRequest, execution: str) -> Accepted:
    """Ask the adapter for one job and keep the attempt asked for; ``DiscoveryError`` when it knows none."""
    assert request.job_id is not None  # noqa: S101 -- the state machine has chosen by it
    assert request.adapter is not None  # noqa: S101 -- the request was checked
    query: dict[str, Any] = {} if request.cluster is None else {"cluster": request.cluster}
    found = _discovered(host.configuration(), request.adapter, query, request.job_id)
    fitting = [context for context in found if context.info.job_id == request.job_id]
    if request.attempt is not None:
        fitting = [context for context in fitting if context.info.attempt == request.attempt]
    if not fitting:
        which = request.job_id if request.attempt is None else f"{request.job_id}, attempt {request.attempt}"
        msg = f"eca {request.adapter}: knows no job {which}"
        raise DiscoveryError(msg)
    return _accepted(host, request, execution, max(fitting, key=lambda context: context.info.attempt))


def discover_fleet(host: WorkflowHost, request: FleetRequest, execution: str) -> Manifest:
    """Keep every context that the adapter finds and list them; ``DiscoveryError``."""
    run_id = request.run_id or execution
    asked = f"{request.adapter} {json.dumps(request.query)}"
    started = host.rows.begin(run_id, source=asked, runner=execution, again=request.again).started_at
    contexts = _discovered(host.configuration(), request.adapter, request.query)
    objects = host.service.store.objects

    def keep(context: ExecutionContext) -> str:
        key = ContextKeys(run_id, context.key).document
        objects.put(key, dump_context(context))
        return host.reference(key)

    with ThreadPoolExecutor(host.service.settings.fetch_threads, thread_name_prefix="context") as pool:
        references = list(pool.map(keep, contexts))
    objects.put(manifest_key(run_id), json.dumps(references).encode())
    host.rows.expect(run_id, len(references))
    return Manifest(
        run_id=run_id,
        bucket=host.bucket,
        key=manifest_key(run_id),
        count=len(references),
        again=request.again,
        started_at=started,
    )


def _accepted(
    host: WorkflowHost, request: JobRequest, execution: str, context: ExecutionContext, reference: str | None = None
) -> Accepted:
    run_id = request.run_id or execution
    if reference is None:
        key = ContextKeys(run_id, context.key).document
        host.service.store.objects.put(key, dump_context(context))
        reference = host.reference(key)
    collectors = [
        CollectorName(connector=one.component, instance=one.instance, source=one.collector.source.value)
        for one in sources_of(host.configuration())
    ]
    return Accepted(
        run_id=run_id,
        context=context.key,
        job_ref=reference,
        collectors=collectors,
        again=request.again,
        started_at=rfc3339(host.service.now()),
    )


def _discovered(
    configuration: Configuration, adapter: str, query: Mapping[str, Any], job_id: str | None = None
) -> list[ExecutionContext]:
    """What one adapter finds with some of its settings replaced."""
    group = next((one for one in configuration.of("eca") if one.slot.instance == adapter), None)
    slot = group.slot if group is not None else Slot("eca", adapter, adapter)
    if group is None and slot.component not in FRAMEWORKS["eca"].names:
        known = ", ".join(one.slot.instance for one in configuration.of("eca")) or "none"
        msg = f"adapter {adapter!r}: no such eca is configured; accepted: {known}"
        raise DiscoveryError(msg)
    kind = type(group.settings) if group is not None else settings_type(FRAMEWORKS["eca"], slot.component)
    given = {} if group is None else {name: getattr(group.settings, name) for name in group.settings.model_fields_set}
    try:
        settings = kind.model_validate(given | _selection(slot, query, job_id))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        msg = f"eca {adapter}: {faults}"
        raise DiscoveryError(msg) from None
    others = tuple(one for one in configuration.groups if one.slot.framework != "eca")
    found = discover(dataclasses.replace(configuration, groups=(*others, Group(slot, settings))))
    if found.errors:
        raise DiscoveryError("; ".join(found.errors))
    return found.contexts


def _selection(slot: Slot, query: Mapping[str, Any], job_id: str | None) -> dict[str, Any]:
    """Settings that select: this one job, or what the query says; ids and a stretch of time give way to one another."""
    chosen = dict(query)
    if job_id is not None:
        chosen["job_id" if slot.component == "static" else "ids"] = job_id if slot.component == "static" else [job_id]
    if "ids" in chosen:
        chosen.setdefault("since", "")
    elif "since" in chosen:
        chosen.setdefault("ids", ())
    return chosen
