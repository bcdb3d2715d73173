"""Every error the orchestrator raises.

    BlueprintError
    └── EvidenceError     a case folder, a job file or a log file cannot be used; names the path

Messages say what was expected and what to do.
"""

from __future__ import annotations

__all__ = ["BlueprintError", "EvidenceError"]


class BlueprintError(Exception):
    """Root of the tree."""


class EvidenceError(BlueprintError):
    """A path given as evidence is unusable; the message names it, what was expected and what to do."""
