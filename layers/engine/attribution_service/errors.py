"""Every error the service answers with; the HTTP status and the problem type of each stand here and nowhere else.

    ServiceError
    ├── NotFoundError              404 not-found            no such session, generation, verdict or object
    ├── DuplicateSessionError      409 duplicate-session    carries the existing attributor_id
    ├── DuplicateObservationError  409 duplicate-observation  delivered before; carries the first receipt
    ├── ObservationConflictError   409 observation-conflict  same id, other content: not delivered
    ├── TooLargeError              413 too-large            names the upload route where that helps
    ├── UnsupportedMediaError      415 unsupported-media-type
    ├── InvalidRequestError        422 invalid-request      carries every fault with its field path
    ├── ForbiddenError             403 forbidden            outside of the caller's clusters
    └── StoreError                 503 store-unavailable    the back end failed; nothing was acknowledged

Each carries its status and problem type as class attributes; ``extras`` are members of the problem document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attribution_lib.errors import Fault

__all__ = [
    "DuplicateObservationError",
    "DuplicateSessionError",
    "ForbiddenError",
    "InvalidRequestError",
    "NotFoundError",
    "ObservationConflictError",
    "ServiceError",
    "StoreError",
    "TooLargeError",
    "UnsupportedMediaError",
]


class ServiceError(Exception):
    """Root of the tree. ``extras`` are the additional members of the problem document (RFC 9457)."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal-error"
    title: ClassVar[str] = "The service failed"

    def __init__(self, detail: str, **extras: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extras: Mapping[str, Any] = extras


class NotFoundError(ServiceError):
    """There is no such session, generation, verdict or object; or it is none of the caller's business."""

    status = 404
    slug = "not-found"
    title = "Not found"


class DuplicateSessionError(ServiceError):
    """An open session of this id exists; ``attributor_id`` names it."""

    status = 409
    slug = "duplicate-session"
    title = "A session of this id is open"


class DuplicateObservationError(ServiceError):
    """The very same batch was delivered before; ``receipt`` is the answer of the first delivery."""

    status = 409
    slug = "duplicate-observation"
    title = "This observation was delivered before"


class ObservationConflictError(ServiceError):
    """Another content was delivered under this id; this one was not taken."""

    status = 409
    slug = "observation-conflict"
    title = "Another observation has this id"


class TooLargeError(ServiceError):
    """A body or a part of it is over its limit; ``limit`` and, where it helps, ``upload`` name the way out."""

    status = 413
    slug = "too-large"
    title = "Over a limit"

    def __init__(self, detail: str, *, limit: int, upload: str = "") -> None:
        way = f", or what {upload} takes" if upload else ""
        super().__init__(
            f"{detail}; expected at most {limit}{way}", limit=limit, **({"upload": upload} if upload else {})
        )


class UnsupportedMediaError(ServiceError):
    """A content type or encoding that the route does not take."""

    status = 415
    slug = "unsupported-media-type"
    title = "Unsupported media type"


class InvalidRequestError(ServiceError):
    """A request that is refused as a whole; ``faults`` lists every field that is wrong."""

    status = 422
    slug = "invalid-request"
    title = "The request is not valid"

    def __init__(self, detail: str, faults: Sequence[Fault] = (), **extras: Any) -> None:
        shown = [
            {"field": f"{fault.address}{' ' + fault.subject if fault.subject else ''}", "problem": fault.problem}
            | ({"expected": fault.expected} if fault.expected else {})
            for fault in faults
        ]
        super().__init__(detail, faults=shown, **extras)
        self._text = ": ".join([detail, *filter(None, [", ".join(map(str, faults))])])

    def __str__(self) -> str:
        """All of it, for who reads no problem document."""
        return self._text


class ForbiddenError(ServiceError):
    """The caller's clusters do not include this one."""

    status = 403
    slug = "forbidden"
    title = "Not one of the caller's clusters"


class StoreError(ServiceError):
    """The back end did not do what was asked; nothing was acknowledged and a retry is safe."""

    status = 503
    slug = "store-unavailable"
    title = "The store is unavailable"
