"""Who is calling, and which clusters are theirs: from the IAM principal or the token's claims in the event."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from attribution_lib.errors import Fault
from attribution_service.errors import InvalidRequestError
from attribution_service.service import Caller

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALL_CLUSTERS", "Access", "caller_of", "read_access"]

ALL_CLUSTERS = "*"
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Access:
    """How principals map to clusters."""

    principals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """{pattern of an IAM ARN: clusters}, the first that fits counts. Empty: whoever IAM lets in may use every one."""
    claim: str = "custom:clusters"
    """The claim of a token that lists clusters, with blanks or commas between; ``*`` stands for every cluster."""


def read_access(environment: Mapping[str, str]) -> Access:
    """From ``ATTRIBUTION_CALLERS`` (a JSON object) and ``ATTRIBUTION_CLUSTERS_CLAIM``; ``InvalidRequestError``."""
    claim = environment.get("ATTRIBUTION_CLUSTERS_CLAIM", "") or Access().claim
    text = environment.get("ATTRIBUTION_CALLERS", "").strip()
    expected = 'a JSON object such as {"arn:aws:sts::*:assumed-role/prod-*": ["prod"]}'
    try:
        given = json.loads(text) if text else {}
        principals = {str(pattern): tuple(map(str, clusters)) for pattern, clusters in dict(given).items()}
    except (ValueError, TypeError):
        fault = Fault("ATTRIBUTION_CALLERS", "", "cannot be read", expected)
        raise InvalidRequestError("the settings are not valid", [fault]) from None
    return Access(principals, claim)


def caller_of(event: Mapping[str, Any], access: Access) -> Caller:
    """The caller of an event; one that the mapping does not know has no cluster at all."""
    context = event.get("requestContext") or {}
    claims = (context.get("authorizer") or {}).get("claims")
    if claims is not None:
        name = str(claims.get("sub") or claims.get("client_id") or "")
        return Caller(_clusters(str(claims.get(access.claim, "")).replace(",", " ").split()), name)
    arn = str((context.get("identity") or {}).get("userArn") or "")
    if not access.principals:
        return Caller(None, arn)
    for pattern, clusters in access.principals.items():
        if fnmatchcase(arn, pattern):
            return Caller(_clusters(clusters), arn)
    return Caller(_NOTHING, arn)


def _clusters(names: tuple[str, ...] | list[str]) -> frozenset[str] | None:
    return None if ALL_CLUSTERS in names else frozenset(names)
