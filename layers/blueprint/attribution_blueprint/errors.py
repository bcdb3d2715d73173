"""Every error the orchestrator raises.

    BlueprintError
    ├── DeploymentError         the template or a function that it names cannot be used; names the file
    ├── RuleHistoryError        a revision of the rules cannot be had
    ├── EvidenceError           a case folder, a job file or a log file cannot be used; names the path
    ├── ConfigError             settings are refused; a line a fault: surface, key, value, what is accepted
    ├── DiscoveryError          an adapter cannot say which jobs there are
    ├── CollectError            a collector could not bring everything; what it brought before still counts
    ├── AttributionFailedError  no verdict could be had of the service
    │   ├── AttributorConflictError   the session is open and somebody else's; the HTTP error is its cause
    │   └── SubmissionError           one observation was not taken
    ├── WebError                a server refused or could not be reached; carries the HTTP status
    ├── AuthError               what should prove who we are is missing or unusable
    └── OutputError             a sink did not take a verdict

Messages say what was expected and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AttributionFailedError",
    "AttributorConflictError",
    "AuthError",
    "BlueprintError",
    "CollectError",
    "ConfigError",
    "DeploymentError",
    "DiscoveryError",
    "EvidenceError",
    "OutputError",
    "RuleHistoryError",
    "SubmissionError",
    "WebError",
]


class BlueprintError(Exception):
    """Root of the tree."""


class DeploymentError(BlueprintError):
    """The template, or a function that it names, cannot be used; the message names the file."""


class EvidenceError(BlueprintError):
    """A path given as evidence is unusable; the message names it, what was expected and what to do."""


class RuleHistoryError(BlueprintError):
    """A git revision of the rules cannot be had; the message holds git's reason."""


class ConfigError(BlueprintError):
    """Settings are refused; ``faults`` holds one line for each."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class DiscoveryError(BlueprintError):
    """An adapter cannot say which jobs there are; the message names the instance and the reason."""


class CollectError(BlueprintError):
    """A collector could not bring everything it should; what it yielded before still counts."""


class AttributionFailedError(BlueprintError):
    """The service gave no verdict."""


class AttributorConflictError(AttributionFailedError):
    """A session of this id is open and not ours; it is left alone. The service's refusal is the cause."""

    def __init__(self, attributor_id: str) -> None:
        self.attributor_id = attributor_id
        super().__init__(
            f"session {attributor_id} is open and somebody else's; try again when its owner has deleted it"
        )


class SubmissionError(AttributionFailedError):
    """One observation was not taken; ``conflict`` when other content was delivered under its id."""

    def __init__(self, message: str, *, conflict: bool = False) -> None:
        self.conflict = conflict
        super().__init__(message)


class OutputError(BlueprintError):
    """A sink did not take a verdict; the message names the sink and what to do."""


class WebError(BlueprintError):
    """A server refused, could not be reached, or answered what is no answer; ``status`` is 0 without an answer."""

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


class AuthError(BlueprintError):
    """A token or a certificate is missing or unusable."""
