"""One-time upload URLs of the local back end: a small file remembers each one, in every process."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import tempfile
from typing import TYPE_CHECKING, BinaryIO

from attribution_service.errors import InvalidRequestError, NotFoundError, ObservationConflictError, TooLargeError
from attribution_service.ports import ObjectExistsError, PresignedPut

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from attribution_service.ports import ObjectStore

__all__ = ["UPLOAD_ROUTE", "LocalUploads"]

UPLOAD_ROUTE = "/_upload/"
"""The local server hands ``PUT {UPLOAD_ROUTE}{token}`` to ``LocalUploads.accept``."""
_TOKEN = re.compile(r"[0-9a-f]{32}")
_BLOCK = 1 << 20


class LocalUploads:
    """Issues URLs under ``base_url`` and takes the bodies that are put there."""

    def __init__(self, folder: Path, clock: Callable[[], float], base_url: str) -> None:
        self._folder = folder / "uploads"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self._base_url = base_url.rstrip("/")

    def issue(self, key: str, *, size: int, sha256: str, content_type: str, expires_in: int) -> PresignedPut:
        """A URL for exactly this object."""
        token = secrets.token_hex(16)
        expires_at = int(self._clock()) + expires_in
        note = {"key": key, "size": size, "sha256": sha256, "expires_at": expires_at}
        self._path(token).write_text(json.dumps(note), encoding="utf-8")
        url = f"{self._base_url}{UPLOAD_ROUTE}{token}"
        return PresignedPut(url, {"Content-Type": content_type, "If-None-Match": "*"}, expires_at)

    def accept(self, token: str, body: BinaryIO, objects: ObjectStore) -> None:
        """Take the body of a PUT: stored once if size and content are as announced.

        ``NotFoundError`` for a URL that is unknown, used or expired; ``TooLargeError`` and ``InvalidRequestError`` for
        another body than announced; ``ObservationConflictError`` when two put at once.
        """
        try:
            note = json.loads(self._path(token).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise NotFoundError("there is no such upload, or it was used") from None
        if note["expires_at"] < self._clock():
            raise NotFoundError("this upload has expired; ask for another")
        with tempfile.TemporaryFile(dir=self._folder) as file:
            digest = _copy(body, file, note["size"])
            if digest != note["sha256"]:
                raise InvalidRequestError(f"the body's SHA-256 is {digest}; announced was {note['sha256']}")
            file.seek(0)
            try:
                objects.put(note["key"], file, if_absent=True)
            except ObjectExistsError:
                raise ObservationConflictError("this upload was put before") from None
        self._path(token).unlink(missing_ok=True)

    def sweep(self) -> int:
        """Forget URLs that have expired; how many there were."""
        removed = 0
        for path in self._folder.glob("*.json"):
            if json.loads(path.read_text(encoding="utf-8"))["expires_at"] < self._clock():
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def _path(self, token: str) -> Path:
        if not _TOKEN.fullmatch(token):
            raise NotFoundError("there is no such upload")
        return self._folder / f"{token}.json"


def _copy(body: BinaryIO, file: BinaryIO, size: int) -> str:
    digest = hashlib.sha256()
    copied = 0
    while block := body.read(min(_BLOCK, size - copied + 1)):
        copied += len(block)
        if copied > size:
            raise TooLargeError("the body is longer than announced", limit=size)
        digest.update(block)
        file.write(block)
    if copied != size:
        raise InvalidRequestError(f"the body has {copied} bytes; announced were {size}")
    return digest.hexdigest()
