"""What a Catch of a state machine leaves of an error."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

__all__ = ["Failure"]

_REASON = 500


class Failure(BaseModel):
    """As a Catch leaves it: the error's name, and its cause as text or as JSON of a function's error."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    Error: str = ""
    Cause: str = ""

    @property
    def reason(self) -> str:
        """On one line, for people."""
        try:
            said = str(json.loads(self.Cause)["errorMessage"])
        except (ValueError, TypeError, KeyError):
            said = self.Cause
        return f"{self.Error}: {' '.join(said.split())}"[:_REASON]
