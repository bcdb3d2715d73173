"""How requests to the service prove who sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from attribution_blueprint.connectors.auth.tokens import token_source
from attribution_service.client import Anonymous, RefusedError, SignedV4

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attribution_blueprint.connectors.auth.tokens import TokenSource
    from attribution_blueprint.setting_types import Secret
    from attribution_service.client import Credentials

__all__ = ["RenewableToken", "ServiceAuth", "renewing", "service_credentials"]

T = TypeVar("T")
_UNAUTHORISED = 401


class ServiceAuth(Protocol):
    """The settings that say how."""

    @property
    def auth(self) -> str: ...  # noqa: D102 -- settings describe themselves

    @property
    def token(self) -> Secret: ...  # noqa: D102

    @property
    def token_file(self) -> str: ...  # noqa: D102

    @property
    def token_command(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def region(self) -> str: ...  # noqa: D102


@dataclass(slots=True)
class RenewableToken:
    """A bearer token that is had anew after a refusal."""

    source: TokenSource
    renew: bool = field(default=False)

    def headers(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:  # noqa: ARG002 -- the protocol's
        """The token as it is now."""
        renew, self.renew = self.renew, False
        return {"Authorization": f"Bearer {self.source.token(renew=renew)}"}


def service_credentials(settings: ServiceAuth) -> Credentials:
    """What the settings say; ``AuthError`` when they name no token, or several."""
    if settings.auth == "sigv4":
        return SignedV4(settings.region)
    if settings.auth == "bearer":
        token = settings.token.get_secret_value()
        return RenewableToken(token_source(token, settings.token_file, settings.token_command))
    return Anonymous()


def renewing(credentials: Credentials, call: Callable[[], T]) -> T:
    """What the call gives; once more with a new token when the token was refused."""
    try:
        return call()
    except RefusedError as error:
        if error.status != _UNAUTHORISED or not isinstance(credentials, RenewableToken):
            raise
        credentials.renew = True
        return call()
