"""Rules apart from the code: published into the store under their digest, named by a setting, rolled back.

Objects ``rules/{digest}/rules.zip`` (immutable) and ``rules/current.json`` (which digest is active, and which were).
Rule files hold Python: whoever may write here may run code in the service, so only the release role may.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import shutil
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from attribution_lib.rules.folders import all_files, digest_of, resolve_folders
from attribution_lib.rules.loader import load_engine
from attribution_service.errors import InvalidRequestError, NotFoundError, StoreError
from attribution_service.ports import ObjectExistsError, ObjectMissingError

if TYPE_CHECKING:
    from attribution_service.ports import ObjectStore

__all__ = ["CURRENT", "Release", "activate", "active_release", "fetch_rules", "publish_rules", "roll_back"]

CURRENT = "current"
"""As a setting: whatever was activated last."""
_POINTER = "rules/current.json"
_KEPT = 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 64 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Release:
    """Which rules are active, since when (seconds since the epoch), and which were before, latest first."""

    digest: str
    at: int
    previous: tuple[str, ...] = ()


def publish_rules(objects: ObjectStore, folder: Path) -> str:
    """Store a folder's rules and return their digest; nothing changes until it is activated or named by a setting.

    ``RuleLoadError`` when they do not load: what is published can be run.
    """
    digest = load_engine([folder]).digest
    with suppress(ObjectExistsError):
        objects.put(_key(digest), _packed(folder), if_absent=True)
    return digest


def activate(objects: ObjectStore, digest: str, *, at: int) -> Release:
    """Make a published release the current one; ``NotFoundError`` when it was never published."""
    try:
        objects.head(_key(digest))
    except ObjectMissingError:
        raise _unpublished(digest) from None
    before = active_release(objects)
    if before is not None and before.digest == digest:
        return before
    previous = () if before is None else (before.digest, *before.previous)
    release = Release(digest, at, tuple(dict.fromkeys(name for name in previous if name != digest))[:_KEPT])
    fields = {"digest": release.digest, "at": release.at, "previous": list(release.previous)}
    objects.put(_POINTER, json.dumps(fields).encode())
    return release


def roll_back(objects: ObjectStore, *, at: int) -> Release:
    """Activate the release before the current one; ``InvalidRequestError`` when there was none."""
    current = active_release(objects)
    if current is None or not current.previous:
        raise InvalidRequestError("there is no earlier release to go back to")
    return activate(objects, current.previous[0], at=at)


def active_release(objects: ObjectStore) -> Release | None:
    """The current release; None when none was ever activated."""
    try:
        fields = json.loads(objects.get(_POINTER))
    except ObjectMissingError:
        return None
    return Release(str(fields["digest"]), int(fields["at"]), tuple(fields["previous"]))


def fetch_rules(objects: ObjectStore, digest: str, cache: Path) -> Path:
    """The folder of a published release below ``cache``, fetched and verified unless it is there.

    Safe for several processes at once. ``NotFoundError`` when it was never published, ``StoreError`` when what is
    stored are other rules than its name says.
    """
    key = _key(digest)
    target = cache / digest / "rules"
    if target.is_dir():
        return target
    try:
        data = objects.get(key)
    except ObjectMissingError:
        raise _unpublished(digest) from None
    draft = cache / f"{digest}.{secrets.token_hex(8)}"
    try:
        _unpack(data, draft / "rules")
        found = digest_of(resolve_folders([draft / "rules"]), include_staged=True)
        if found != digest:
            raise StoreError(f"rules {digest[:12]}: what is stored has the digest {found[:12]}")
        with suppress(OSError):  # another process was faster
            draft.rename(cache / digest)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _key(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise _unpublished(digest)
    return f"rules/{digest}/rules.zip"


def _unpublished(digest: str) -> NotFoundError:
    return NotFoundError(f"rules {digest[:80]!r} were not published")


def _packed(folder: Path) -> bytes:
    """Everything that a load reads, the same bytes for the same files."""
    (resolved,) = resolve_folders([folder])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(all_files(resolved)):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())
    return buffer.getvalue()


def _unpack(data: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(info.file_size for info in archive.infolist()) > _MAX_BYTES:
            raise StoreError(f"a release of rules has more than {_MAX_BYTES} bytes")
        for info in archive.infolist():
            name = PurePosixPath(info.filename)
            if name.is_absolute() or ".." in name.parts:
                raise StoreError(f"a release of rules holds {info.filename[:100]!r}")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(info))
