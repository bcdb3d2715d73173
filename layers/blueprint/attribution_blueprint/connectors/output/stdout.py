"""``stdout``: verdicts on standard output."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from attribution_blueprint.errors import OutputError
from attribution_blueprint.setting_types import ComponentSettings

if TYPE_CHECKING:
    from attribution_service.result import EnrichedVerdict

__all__ = ["StdoutSettings", "StdoutSink"]


class StdoutSettings(ComponentSettings):
    """Verdicts on standard output, for people or for pipes."""

    format: Literal["json", "table", "none"] = Field(
        default="json", description="json: one verdict a line, at once; table: one row each, at the end."
    )


class StdoutSink:
    """JSON lines as they come; a table is kept for whoever shows it (``rows``)."""

    Settings: ClassVar[type[StdoutSettings]] = StdoutSettings

    def __init__(self, name: str, settings: StdoutSettings) -> None:
        self.name = name
        self.settings = settings
        self.rows: list[EnrichedVerdict] = []
        self._lock = threading.Lock()

    def write(self, verdict: EnrichedVerdict) -> None:
        """Print or keep one verdict."""
        if self.settings.format == "table":
            with self._lock:
                self.rows.append(verdict)
            return
        if self.settings.format == "none":
            return
        line = verdict.model_dump_json(by_alias=True)
        try:
            with self._lock:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
        except (OSError, ValueError) as error:
            msg = f"output {self.name}: standard output does not take it ({error})"
            raise OutputError(msg) from error

    def close(self) -> None:
        """Nothing is held."""
