"""Every error the orchestrator raises.

    BlueprintError
    ├── RuleHistoryError  a revision of the rules cannot be had
    └── EvidenceError     a case folder, a job file or a log file cannot be used; names the path

Messages say what was expected and what to do.
"""

from __future__ import annotations

__all__ = ["BlueprintError", "EvidenceError", "RuleHistoryError"]


class BlueprintError(Exception):
    """Root of the tree."""


class EvidenceError(BlueprintError):
    """A path given as evidence is unusable; the message names it, what was expected and what to do."""


class RuleHistoryError(BlueprintError):
    """A git revision of the rules cannot be had; the message holds git's reason."""
