"""How verdicts are had: of the service in this process, or over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_blueprint.connectors.attribution.base import AttributionConnector, AttributionSettings

__all__ = ["connect"]


def connect(settings: AttributionSettings) -> AttributionConnector:
    """The service that the settings name; imported only when used."""
    if settings.service_url:
        from attribution_blueprint.connectors.attribution.http import HttpAttribution  # noqa: PLC0415 -- see above

        return HttpAttribution(settings)
    from attribution_blueprint.connectors.attribution.inprocess import (  # noqa: PLC0415 -- likewise
        InProcessAttribution,
    )

    return InProcessAttribution(settings)
