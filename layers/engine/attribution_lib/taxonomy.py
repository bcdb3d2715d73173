"""The closed vocabularies of a verdict and the deterministic maps between them.

Nothing here looks at evidence: an outcome has one sub-domain, a winning ending has one terminal state.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Confidence", "Outcome", "SubDomain", "TerminalState", "sub_domain_of", "terminal_state_of"]


class SubDomain(StrEnum):
    """Whose problem it is."""

    HARDWARE = "hardware"
    SYSTEM_SOFTWARE = "system_software"
    APPLICATION = "application"
    AMBIGUOUS = "ambiguous"
    UNATTRIBUTED = "unattributed"
    NONE = "none"


class TerminalState(StrEnum):
    """How the job ended."""

    SUCCESS = "success"
    FAIL = "fail"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


class Confidence(StrEnum):
    """How sure the decision is; ENGINE: high, medium if time or place was missing or only the rank margin decided."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Outcome(StrEnum):
    """The failure category that a symptom stands for."""

    GPU_HARDWARE = "gpu_hardware"
    GPU_MEMORY = "gpu_memory"
    NVLINK = "nvlink"
    PCIE = "pcie"
    NETWORK_HARDWARE = "network_hardware"
    HOST_HARDWARE = "host_hardware"
    NODE_DOWN = "node_down"
    POWER_THERMAL = "power_thermal"
    STORAGE_HARDWARE = "storage_hardware"
    GPU_DRIVER = "gpu_driver"
    FABRIC_SOFTWARE = "fabric_software"
    NETWORK_CONFIGURATION = "network_configuration"
    COMM_LIBRARY = "comm_library"
    HOST_OS = "host_os"
    CONTAINER_RUNTIME = "container_runtime"
    SCHEDULER_SYSTEM = "scheduler_system"
    STORAGE_SERVICE = "storage_service"
    ENVIRONMENT = "environment"
    MAINTENANCE = "maintenance"
    APPLICATION_ERROR = "application_error"
    APPLICATION_GPU_FAULT = "application_gpu_fault"
    GPU_OUT_OF_MEMORY = "gpu_out_of_memory"
    HOST_OUT_OF_MEMORY = "host_out_of_memory"
    DATA_ERROR = "data_error"
    CHECKPOINT_ERROR = "checkpoint_error"
    CONFIGURATION_ERROR = "configuration_error"
    DEPENDENCY_ERROR = "dependency_error"
    NUMERICAL_ERROR = "numerical_error"
    APPLICATION_HANG = "application_hang"
    INJECTED_FAULT = "injected_fault"
    COMMUNICATION_FAILURE = "communication_failure"
    AMBIGUOUS = "ambiguous"
    UNKNOWN = "unknown"
    SUCCESS = "success"
    USER_CANCELLED = "user_cancelled"
    OPERATOR_CANCELLED = "operator_cancelled"
    PREEMPTED = "preempted"
    TIME_LIMIT = "time_limit"


_HARDWARE = (
    Outcome.GPU_HARDWARE,
    Outcome.GPU_MEMORY,
    Outcome.NVLINK,
    Outcome.PCIE,
    Outcome.NETWORK_HARDWARE,
    Outcome.HOST_HARDWARE,
    Outcome.NODE_DOWN,
    Outcome.POWER_THERMAL,
    Outcome.STORAGE_HARDWARE,
)
_SYSTEM_SOFTWARE = (
    Outcome.GPU_DRIVER,
    Outcome.FABRIC_SOFTWARE,
    Outcome.NETWORK_CONFIGURATION,
    Outcome.COMM_LIBRARY,
    Outcome.HOST_OS,
    Outcome.CONTAINER_RUNTIME,
    Outcome.SCHEDULER_SYSTEM,
    Outcome.STORAGE_SERVICE,
    Outcome.ENVIRONMENT,
    Outcome.MAINTENANCE,
)
_APPLICATION = (
    Outcome.APPLICATION_ERROR,
    Outcome.APPLICATION_GPU_FAULT,
    Outcome.GPU_OUT_OF_MEMORY,
    Outcome.HOST_OUT_OF_MEMORY,
    Outcome.DATA_ERROR,
    Outcome.CHECKPOINT_ERROR,
    Outcome.CONFIGURATION_ERROR,
    Outcome.DEPENDENCY_ERROR,
    Outcome.NUMERICAL_ERROR,
    Outcome.APPLICATION_HANG,
    Outcome.INJECTED_FAULT,
)
_SUB_DOMAINS: dict[Outcome, SubDomain] = {
    **dict.fromkeys(_HARDWARE, SubDomain.HARDWARE),
    **dict.fromkeys(_SYSTEM_SOFTWARE, SubDomain.SYSTEM_SOFTWARE),
    **dict.fromkeys(_APPLICATION, SubDomain.APPLICATION),
    Outcome.COMMUNICATION_FAILURE: SubDomain.AMBIGUOUS,
    Outcome.AMBIGUOUS: SubDomain.AMBIGUOUS,
    Outcome.UNKNOWN: SubDomain.UNATTRIBUTED,
    Outcome.SUCCESS: SubDomain.NONE,
    Outcome.USER_CANCELLED: SubDomain.NONE,
    Outcome.OPERATOR_CANCELLED: SubDomain.NONE,
    Outcome.PREEMPTED: SubDomain.NONE,
    Outcome.TIME_LIMIT: SubDomain.NONE,
}


_TERMINAL_STATES: dict[Outcome, TerminalState] = {
    Outcome.SUCCESS: TerminalState.SUCCESS,
    Outcome.USER_CANCELLED: TerminalState.CANCELLED,
    Outcome.OPERATOR_CANCELLED: TerminalState.CANCELLED,
    Outcome.PREEMPTED: TerminalState.PREEMPTED,
    Outcome.TIME_LIMIT: TerminalState.TIMEOUT,
}


def sub_domain_of(outcome: Outcome | str) -> SubDomain:
    """The one sub-domain an outcome belongs to."""
    return _SUB_DOMAINS[Outcome(outcome)]


def terminal_state_of(outcome: Outcome | str, *, failed: bool) -> TerminalState:
    """The terminal state of a verdict with this outcome.

    ``failed`` says that the scheduler's state class is failed or that failure evidence survived; without it an
    ``unknown`` outcome leaves the terminal state unknown.
    """
    outcome = Outcome(outcome)
    if outcome in _TERMINAL_STATES:
        return _TERMINAL_STATES[outcome]
    if outcome is Outcome.UNKNOWN and not failed:
        return TerminalState.UNKNOWN
    return TerminalState.FAIL
