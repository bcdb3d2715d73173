"""Bodies too large for a request: announced, put directly into the store, then named by an observation."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attribution_lib.errors import Fault
from attribution_lib.fields import FieldChecker
from attribution_lib.observation import ObservationFormat
from attribution_lib.parsing.canonical import canonical_json
from attribution_lib.parsing.header import ENTRIES_KEY, read_header
from attribution_service.commit import Identity, known_batch, refuse_if_full, refuse_if_known
from attribution_service.deliver import deliver
from attribution_service.errors import InvalidRequestError, ObservationConflictError, TooLargeError
from attribution_service.live import keys_of, live_session
from attribution_service.model import UploadTicket
from attribution_service.ports import ItemChangedError, ObjectMissingError
from attribution_service.records import Upload, session_pk, upload_sk
from attribution_service.slabs import read_blocks, require_text, unpacked
from attribution_service.times import rfc3339
from attribution_service.upload_slabs import upload_slabs

if TYPE_CHECKING:
    from attribution_lib.parsing.header import Header
    from attribution_service.model import Receipt, UploadRequest
    from attribution_service.records import Session
    from attribution_service.service import Caller, Service

__all__ = ["ingest_upload", "issue_upload"]

_CONTENT_TYPE = "application/octet-stream"


def issue_upload(service: Service, caller: Caller, attributor_id: str, request: UploadRequest) -> UploadTicket:
    """A one-time URL for one object of this session: 201; ``NotFoundError``, ``TooLargeError``."""
    session = live_session(service, caller, attributor_id)
    limit = service.settings.limits.observation.upload_bytes
    if request.size > limit:
        raise TooLargeError(f"{request.size} bytes are announced", limit=limit)
    upload = Upload(
        attributor_id=attributor_id,
        generation=session.generation,
        object_key=keys_of(session).upload(secrets.token_hex(16)),
        source=request.source.value,
        format=request.format.value,
        size=request.size,
        sha256=request.sha256,
        ttl=session.expires_at + 3600,
    )
    put = service.store.objects.presign_put(
        upload.object_key,
        size=upload.size,
        sha256=upload.sha256,
        content_type=_CONTENT_TYPE,
        expires_in=max(1, min(service.settings.upload_seconds, session.expires_at - service.now())),
    )
    service.store.sessions.put(upload.item(), if_absent=True)
    return UploadTicket(
        upload_url=put.url,
        headers=dict(put.headers),
        object_key=upload.object_key,
        expires_at=rfc3339(put.expires_at),
    )


def ingest_upload(service: Service, session: Session, fields: dict[str, Any]) -> Receipt:
    """The receipt of an observation whose body was uploaded. Read twice: to verify it, then to extract it.

    The object is removed once it is committed: unlike everything else it still holds what a redactor would mask.
    """
    upload = _announced(service, session, fields)
    header = _header(fields, upload)
    if upload.taken_by:
        _refuse_taken(service, session, upload, header)
    try:
        identity = _verified(service, upload, header)
        refuse_if_known(known_batch(service, session, identity.observation_id), identity)
        refuse_if_full(service, session, identity.observation_id)
        with service.store.objects.open(upload.object_key) as stream:
            limits = service.settings.limits
            blocks = unpacked(read_blocks(stream), limits.observation.upload_bytes)
            receipt = deliver(service, session, identity, upload_slabs(fields, header, identity, blocks, limits))
    except ObjectMissingError:
        fault = Fault("object_key", "", "nothing was put there yet", "the PUT of upload_url before this request")
        raise InvalidRequestError("there is no such upload", [fault]) from None
    _take(service, upload, identity, header)
    return receipt


def _announced(service: Service, session: Session, fields: dict[str, Any]) -> Upload:
    key = fields.pop("object_key")
    item = None
    if isinstance(key, str) and key.startswith(keys_of(session).upload("")) and key.isascii():
        sk = upload_sk(session.generation, key)
        item = service.store.sessions.get(session_pk(session.attributor_id), sk)
    upload = None if item is None else Upload.of(item)
    if upload is None or upload.object_key != key:
        fault = Fault("object_key", "", "not issued for this session", "the object_key of an upload ticket")
        raise InvalidRequestError("there is no such upload", [fault])
    return upload


def _header(fields: dict[str, Any], upload: Upload) -> Header:
    check = FieldChecker()
    header = read_header(fields, check)
    if ENTRIES_KEY in fields:
        check.fault(ENTRIES_KEY, "given beside an uploaded object", "one of the two")
    if header is not None:
        for name in ("source", "format"):
            announced = getattr(upload, name)
            if getattr(header, name) != announced:
                check.fault(name, "not what was announced for this upload", announced)
    if header is None or check.faults:
        raise InvalidRequestError("the observation is not valid", check.faults)
    return header


def _verified(service: Service, upload: Upload, header: Header) -> Identity:
    """Who the batch is: the object read once, its size and content as announced, unpacked within the limit."""
    head = service.store.objects.head(upload.object_key)
    if head.size != upload.size:
        fault = Fault("object_key", "", f"the object has {head.size} bytes", f"{upload.size} as announced")
        raise InvalidRequestError("the upload is not what was announced", [fault])
    wire, raw = hashlib.sha256(), hashlib.sha256()
    canonical = hashlib.sha256(canonical_json(header.canonical()) + b"\n")
    with service.store.objects.open(upload.object_key) as stream:
        limit = service.settings.limits.observation.upload_bytes
        blocks = unpacked(read_blocks(stream, wire), limit)
        for block in require_text(blocks) if header.format is ObservationFormat.TEXT else blocks:
            raw.update(block)
            canonical.update(block)
    if wire.hexdigest() != upload.sha256:
        fault = Fault("object_key", "", f"the object's SHA-256 is {wire.hexdigest()}", f"{upload.sha256} as announced")
        raise InvalidRequestError("the upload is not what was announced", [fault])
    digest = canonical.hexdigest()
    return Identity(header.observation_id or digest, digest, raw.hexdigest())


def _refuse_taken(service: Service, session: Session, upload: Upload, header: Header) -> None:
    """What a redelivery of the same header is told; with another header it is not delivered, and its object is gone."""
    known = known_batch(service, session, upload.taken_by)
    if known is None:
        return
    if upload.taken_header not in ("", _header_digest(header)):
        raise ObservationConflictError(
            "this upload became another observation, under another header; announce and put it again",
            observation_id=known.observation_id,
        )
    refuse_if_known(known, Identity(known.observation_id, known.digest, known.raw_sha))


def _header_digest(header: Header) -> str:
    return hashlib.sha256(canonical_json(header.canonical())).hexdigest()


def _take(service: Service, upload: Upload, identity: Identity, header: Header) -> None:
    """Note what became of it, then remove it; a crash between leaves it to the session's end."""
    pk, sk = session_pk(upload.attributor_id), upload_sk(upload.generation, upload.object_key)
    with suppress(ItemChangedError):
        taken = {"taken_by": identity.observation_id, "taken_header": _header_digest(header)}
        service.store.sessions.update(pk, sk, taken, expect={})
        service.store.objects.delete(upload.object_key)
