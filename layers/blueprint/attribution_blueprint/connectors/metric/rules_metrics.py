"""Which metrics some rule reads, as the service that will judge them says (``GET /v2/rules``)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_blueprint.connectors.attribution.credentials import renewing, service_credentials
from attribution_blueprint.errors import CollectError
from attribution_service.client import ClientError, Transport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.connectors.metric.promql import PromqlSettings
    from attribution_blueprint.setting_types import Secret

__all__ = ["rules_metrics"]

_METRIC = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")


@dataclass(frozen=True, slots=True)
class _RulesAuth:
    auth: str
    token: Secret
    token_file: str
    token_command: Sequence[str]
    region: str


def rules_metrics(settings: PromqlSettings, budget: Budget) -> tuple[str, ...]:
    """Names of metrics, sorted; ``CollectError`` with the address when the service does not say, ``AuthError``."""
    address = f"{settings.rules_url}/v2/rules"
    chosen = _RulesAuth(
        settings.rules_auth,
        settings.rules_token,
        settings.rules_token_file,
        settings.rules_token_command,
        settings.rules_region,
    )
    credentials = service_credentials(chosen)
    seconds = budget.remaining(settings.request_seconds)
    transport = Transport(settings.rules_url, credentials, timeout=seconds, tries=settings.tries, sleep=budget.sleep)
    try:
        reply: Any = json.loads(renewing(credentials, lambda: transport.call("GET", "/v2/rules")).body)
    except (ClientError, ValueError) as error:
        msg = f"{address}: {' '.join(str(error).split())[:300]}; expected the address of the service"
        raise CollectError(msg) from error
    names = reply.get("metrics") if isinstance(reply, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) and _METRIC.fullmatch(name) for name in names):
        msg = f"{address}: no list of metrics; expected the address of the service"
        raise CollectError(msg)
    return tuple(sorted(names))
