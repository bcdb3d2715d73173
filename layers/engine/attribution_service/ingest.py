"""Take one observation: redact, extract, put the spill, commit."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from attribution_lib.observation_parse import parse_observation, parse_upload
from attribution_lib.parsing.limits import unpack
from attribution_service.commit import Identity, refuse_if_full
from attribution_service.deliver import UPLOAD_ROUTE_HINT, deliver, refusals
from attribution_service.errors import TooLargeError, UnsupportedMediaError
from attribution_service.live import live_session
from attribution_service.requests import read_json_object
from attribution_service.uploads import ingest_upload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_service.model import Receipt
    from attribution_service.service import Caller, Service

__all__ = ["ingest", "ingest_text"]

_JSON = "application/json"
_NDJSON = "application/x-ndjson"
_NAMES_AN_OBJECT = b'"object_key"'
_SMALL = 16_384
"""An observation that names an uploaded object is smaller than this."""


def ingest(  # noqa: PLR0913 -- the request's parts, keyword-only beyond the first four
    service: Service,
    caller: Caller,
    attributor_id: str,
    body: bytes,
    *,
    content_type: str = _JSON,
    wire_bytes: int | None = None,
) -> Receipt:
    """The receipt of a body as it came (raw bytes, gzip or not; inline, or naming an uploaded object): 201.

    ``wire_bytes`` is for bodies that came another way than through the gateway, whose limit is the default.

    Raises ``NotFoundError``, ``DuplicateObservationError``, ``ObservationConflictError``, ``TooLargeError``,
    ``UnsupportedMediaError``, ``InvalidRequestError``.
    """
    session = live_session(service, caller, attributor_id)
    media = _media(content_type)
    limits = service.settings.limits.observation
    longest = limits.wire_bytes if wire_bytes is None else wire_bytes
    if len(body) > longest:
        raise TooLargeError(f"the body has {len(body)} bytes", limit=longest, upload=UPLOAD_ROUTE_HINT)
    with refusals():
        data = unpack(body, limits.inline_bytes)
    if media == _JSON and len(data) < _SMALL and _NAMES_AN_OBJECT in data:
        fields = read_json_object(data, service.settings.limits)
        if "object_key" in fields:
            return ingest_upload(service, session, fields)
    with refusals():
        observation = parse_observation(data, content_type=media, limits=limits)
    identity = Identity(observation.observation_id, observation.digest, hashlib.sha256(data).hexdigest())
    refuse_if_full(service, session, identity.observation_id)
    return deliver(service, session, identity, [observation])


def ingest_text(
    service: Service, caller: Caller, attributor_id: str, header: Mapping[str, Any], text: bytes
) -> Receipt:
    """The receipt of raw text beside its header, as an upload has it: however it came here, it is the same observation.

    Raises what ``ingest`` raises.
    """
    session = live_session(service, caller, attributor_id)
    with refusals():
        observation = parse_upload(header, text)
    identity = Identity(observation.observation_id, observation.digest, hashlib.sha256(text).hexdigest())
    refuse_if_full(service, session, identity.observation_id)
    return deliver(service, session, identity, [observation])


def _media(content_type: str) -> str:
    """The layout that a content type names; ``UnsupportedMediaError``."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in (_JSON, ""):
        return _JSON
    if kind in (_NDJSON, "application/ndjson", "application/jsonl"):
        return _NDJSON
    raise UnsupportedMediaError(f"{kind[:100]!r} is not taken", accepted=[_JSON, _NDJSON])
