"""How a run behaves."""

from __future__ import annotations

from pydantic import Field

from attribution_blueprint.setting_types import Seconds, SettingsGroup

__all__ = ["RunSettings"]


class RunSettings(SettingsGroup):
    """How a run behaves: the framework without components ``run``."""

    concurrency: int = Field(default=4, ge=1, le=256, description="Contexts that are worked on at the same time.")
    include_completed: bool = Field(default=False, description="Also attribute jobs that completed.")
    strict: bool = Field(default=False, description="Fail unless every verdict's evidence is complete.")
    retry_conflicts: int = Field(default=0, ge=0, le=100, description="How often to try conflicting contexts again.")
    retry_conflicts_seconds: Seconds = Field(default=30.0, description="Pause before conflicts are tried again.")
