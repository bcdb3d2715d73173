"""An execution context as an object: what an adapter found, read back by whoever collects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from attribution_blueprint.context import EvidencePlace, ExecutionContext, PlaceKind
from attribution_blueprint.errors import DiscoveryError
from attribution_lib.observation import Source
from attribution_service.ports import ObjectMissingError
from attribution_service.workflow.keys import key_of

if TYPE_CHECKING:
    from attribution_lib.names import NodeNames
    from attribution_service.ports import ObjectStore

__all__ = ["ContextDocument", "dump_context", "load_context"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Place(_Model):
    kind: PlaceKind
    name: str
    part: str = ""
    source: Source | None = None
    node: str | None = None
    rank: int | None = None


class ContextDocument(_Model):
    """What a ``job_ref`` may point to; a bare ``job`` object stands for one without places."""

    job: dict[str, Any]
    """The ``job`` object of the v2 API."""
    adapter: str = "job_ref"
    places: list[_Place] = []
    workdir: str = ""
    asked: bool = True
    notes: list[str] = []


def dump_context(context: ExecutionContext) -> bytes:
    """The document of a context."""
    document = ContextDocument(
        job=dict(context.job),
        adapter=context.adapter,
        places=[_Place(**{name: getattr(place, name) for name in _Place.model_fields}) for place in context.places],
        workdir=context.workdir,
        asked=context.asked,
        notes=list(context.notes),
    )
    return document.model_dump_json().encode()


def load_context(objects: ObjectStore, reference: str, names: NodeNames | None = None) -> ExecutionContext:
    """The context that a reference names; ``DiscoveryError`` says what is wrong with it."""
    try:
        read = json.loads(objects.get(key_of(reference)))
        document = ContextDocument.model_validate(read if "job" in read else {"job": read})
    except ObjectMissingError:
        msg = f"job_ref {reference}: there is no such object in this store"
        raise DiscoveryError(msg) from None
    except (ValueError, TypeError, ValidationError) as error:
        msg = f"job_ref {reference}: {error}; expected a job object, or a context with its job and places"
        raise DiscoveryError(msg) from error
    return context_of(document, names)


def context_of(document: ContextDocument, names: NodeNames | None = None) -> ExecutionContext:
    """The checked context of a document."""
    return ExecutionContext.of(
        document.job,
        adapter=document.adapter,
        names=names,
        places=tuple(EvidencePlace(**place.model_dump()) for place in document.places),
        workdir=document.workdir,
        asked=document.asked,
        notes=tuple(document.notes),
    )
