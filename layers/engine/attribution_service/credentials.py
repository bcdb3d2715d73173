"""What proves to the API who is calling: a signature, a token, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Anonymous", "BearerToken", "Credentials", "SignedV4"]


class Credentials(Protocol):
    """Headers that prove who sends a request."""

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """Further headers of this very request."""
        ...


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Nothing: the local server on the loopback."""

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:  # noqa: ARG002 -- the protocol's
        """None."""
        return {}


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token of the user pool, or of the local server."""

    token: str = field(repr=False)

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:  # noqa: ARG002 -- the protocol's
        """The token."""
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class SignedV4:
    """AWS Signature Version 4, by botocore and with the process's own credentials unless a session is given."""

    region: str
    session: Any = None
    """A ``botocore.session.Session``."""

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        """The signature; ``LookupError`` when there are no credentials, ``ImportError`` without botocore."""
        from botocore.auth import SigV4Auth  # noqa: PLC0415 -- only who signs needs botocore
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 -- likewise
        from botocore.session import Session  # noqa: PLC0415 -- likewise

        found = (self.session or Session()).get_credentials()
        if found is None:
            msg = "no AWS credentials are configured; the API takes signed requests only"
            raise LookupError(msg)
        request = AWSRequest(method=method, url=url, data=body, headers=dict(headers))
        SigV4Auth(found.get_frozen_credentials(), "execute-api", self.region).add_auth(request)
        return {name: str(value) for name, value in request.headers.items() if name not in headers}
