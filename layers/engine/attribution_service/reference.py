"""What the service says of itself: rules, symptoms, versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from attribution_service.model import Health
    from attribution_service.service import Service

__all__ = ["health", "rules_reference"]


def rules_reference(service: Service) -> dict[str, Any]:
    """``GET /v2/rules``: the running rules, the symptoms and the metrics that metric rules need."""
    raise NotImplementedError


def health(service: Service) -> Health:
    """``GET /v2/health``: versions and accepted schema versions."""
    raise NotImplementedError
