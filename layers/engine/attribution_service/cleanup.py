"""Removing what a session generation left: nobody can see any of it any more, so order and crashes do not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_service.records import Keys

if TYPE_CHECKING:
    from attribution_service.service import Service

__all__ = ["remove_generation"]


def remove_generation(service: Service, attributor_id: str, generation: str) -> int:
    """Delete every object of a generation that is no session's any more; how many there were.

    Its items carry their expiry and cannot be reached: their keys name the generation.
    """
    objects = service.store.objects
    return objects.delete_all([info.key for info in objects.list(Keys(attributor_id, generation).prefix)])
