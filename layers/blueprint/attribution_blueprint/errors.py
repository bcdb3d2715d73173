"""Every error the orchestrator raises.

    BlueprintError
    ├── DeploymentError   the template or a function that it names cannot be used; names the file
    ├── RuleHistoryError  a revision of the rules cannot be had
    └── EvidenceError     a case folder, a job file or a log file cannot be used; names the path

Messages say what was expected and what to do.
"""

from __future__ import annotations

__all__ = ["BlueprintError", "DeploymentError", "EvidenceError", "RuleHistoryError"]


class BlueprintError(Exception):
    """Root of the tree."""


class DeploymentError(BlueprintError):
    """The template, or a function that it names, cannot be used; the message names the file."""


class EvidenceError(BlueprintError):
    """A path given as evidence is unusable; the message names it, what was expected and what to do."""


class RuleHistoryError(BlueprintError):
    """A git revision of the rules cannot be had; the message holds git's reason."""
