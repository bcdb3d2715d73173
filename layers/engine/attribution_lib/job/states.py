"""What raw scheduler states and exit codes mean: one case-insensitive table for every scheduler.

The spelling is compared without case, blanks, ``_``, ``-`` and ``.``: ``NODE_FAIL``, ``NodeFail`` and ``node fail`` are
one state. Nothing here reads logs; a state says how a job ended, never why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from attribution_lib.job.model import StateClass

__all__ = [
    "ExitStatus",
    "NamedFault",
    "StateReading",
    "cancelling_user",
    "named_fault",
    "parse_exit_code",
    "read_state",
]

_STATES: dict[StateClass, str] = {
    StateClass.COMPLETED: """
        completed cd
        succeeded complete done successcriteriamet
        completionsreached successpolicy
    """,
    StateClass.FAILED: """
        failed f bootfail bf outofmemory oom launchfailed specialexit se reconfigfail
        failure error failuretarget oomkilled containercannotrun starterror crashloopbackoff imagepullbackoff
        errimagepull errimageneverpull invalidimagename createcontainerconfigerror createcontainererror
        runcontainererror containerstatusunknown unexpectedadmissionerror exit
        backofflimitexceeded podfailurepolicy maxfailedindexesexceeded failedindexes
        failedjobs reachedmaxrestarts podsreadytimeout admissioncheck deactivatedduetorequeuinglimitexceeded
        terminationbykubelet
    """,
    StateClass.NODE_FAIL: """
        nodefail nf
        nodelost nodefailures nodefailure deletionbytaintmanager deletionbypodgc
    """,
    StateClass.CANCELLED: """
        cancelled canceled ca
        stopped stopping
        deactivated clusterqueuestopped localqueuestopped terminated aborted
    """,
    StateClass.PREEMPTED: """
        preempted pr preempting
        evicted preemptionbyscheduler evictionbyevictionapi evictedonmanagercluster
        inclusterqueue incohortreclamation incohortfairsharing incohortreclaimwhileborrowing
        reclaimed consolidated interrupted
    """,
    StateClass.TIMEOUT: """
        timeout to deadline dl
        deadlineexceeded deactivatedduetomaximumexecutiontimeexceeded maxruntimeexceeded maxwaittimeexceeded
        jobattemptdurationexceededtimeout
    """,
    StateClass.RUNNING: """
        running r pending pd suspended s completing cg configuring cf resizing rs stageout so signaling si
        expediting updatedb powerupnode
        active suspending terminating created restarting unschedulable schedulererror schedulinggated podinitializing
        containercreating quotareserved admitted podsready inqueue startuppolicyinprogress startuppolicycompleted
        submitted runnable starting
        inprogress launchingmlinstances preparingtrainingstack downloading downloadingtrainingimage training
        uploading updating
    """,
    # Listed, but they do not say how this attempt ended.
    StateClass.UNKNOWN: """
        unknown requeued rq requeuefed rf requeuehold rh resvdelhold rd revoked rv
        finished disruptiontarget clusterqueuerestarted localqueuerestarted
    """,
}
"""Lines of a class: Slurm (long and squeue's short form), Kubernetes and its jobs, Kueue/JobSet/KAI, AWS."""

_CLASS_OF = {name: state_class for state_class, names in _STATES.items() for name in names.split()}

_CARRIERS = frozenset({"evicted", "finished", "disruptiontarget", "requeued", "preempted", "deactivated"})
"""Kubernetes conditions that name no ending of their own: the condition's reason decides where the table knows it."""
_FAILED_REASONS = frozenset(
    {
        "deadlineexceeded",
        "maxruntimeexceeded",
        "maxwaittimeexceeded",
        "jobattemptdurationexceededtimeout",
        "preempting",
        "preemptionbyscheduler",
        "nodelost",
        "deletionbytaintmanager",
        "deletionbypodgc",
    }
)
"""Reasons with which Kubernetes, Batch and SageMaker report ``Failed`` or ``Stopped`` for what was no plain failure."""


class NamedFault(StrEnum):
    """Failed states and reasons that name what failed."""

    MEMORY = "memory"
    BOOT = "boot"


_NAMED_FAULTS = {
    "outofmemory": NamedFault.MEMORY,
    "oom": NamedFault.MEMORY,
    "oomkilled": NamedFault.MEMORY,
    "bootfail": NamedFault.BOOT,
    "bf": NamedFault.BOOT,
}

_FINISHED = "finished"
"""The condition of Kueue and JobSet that a workload ended, one way or the other."""
_CANCELLED_BY = re.compile(r"\s*cancell?ed\s+by\s+(\S+)\s*", re.IGNORECASE)
_EXIT_CODE = re.compile(r"\s*(-?\d{1,12})(?::(-?\d{1,12}))?\s*")
_HIGHEST_SIGNAL = 64
_SHELL_OFFSET = 128


@dataclass(frozen=True, slots=True)
class StateReading:
    """What a raw state stands for; ``listed`` is False when one was given that the table does not know."""

    state_class: StateClass
    listed: bool


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """An exit code taken apart; ``signal`` is 0 when no signal ended the job."""

    code: int
    signal: int

    @property
    def failed(self) -> bool:
        """True for a non-zero code or any signal; ``0:0`` alone proves nothing."""
        return self.code != 0 or self.signal != 0


def read_state(state: str, *, reason: str = "", exit_code: str = "") -> StateReading:
    """The class of a raw state, with the condition's reason where the state alone names no ending.

    An absent, unlisted or undecided state is failed when the exit code is not zero; a ``Finished`` one is completed
    when it is zero.
    """
    listed_class = _class_of(state, reason)
    state_class = listed_class or StateClass.UNKNOWN
    if state_class is StateClass.UNKNOWN:
        status = parse_exit_code(exit_code)
        if status is not None and status.failed:
            state_class = StateClass.FAILED
        elif status is not None and _normal(state) == _FINISHED:
            state_class = StateClass.COMPLETED
    return StateReading(state_class, listed=listed_class is not None or not state.strip())


def cancelling_user(state: str) -> str:
    """Who ``CANCELLED by 1234`` names; empty when the state names nobody."""
    match = _CANCELLED_BY.fullmatch(state)
    return match.group(1) if match else ""


def named_fault(state: str, *, reason: str = "") -> NamedFault | None:
    """The fault that the state or its reason names; None for those that only say that the job failed."""
    parts = [*re.split(r"[,|/]", state), reason]
    found = (_NAMED_FAULTS.get(_listed_name(part) or "") for part in parts)
    return next((fault for fault in found if fault is not None), None)


def parse_exit_code(text: str) -> ExitStatus | None:
    """``code:signal`` or a bare code, taken apart: ``-6`` and ``134`` mean signal 6; None when it is neither."""
    match = _EXIT_CODE.fullmatch(text)
    if match is None:
        return None
    code, signal = int(match.group(1)), abs(int(match.group(2) or 0))
    if signal == 0:
        if -_HIGHEST_SIGNAL <= code < 0:
            signal = -code
        elif _SHELL_OFFSET < code <= _SHELL_OFFSET + _HIGHEST_SIGNAL:
            signal = code - _SHELL_OFFSET
    return ExitStatus(code, signal)


def _class_of(state: str, reason: str) -> StateClass | None:
    if _CANCELLED_BY.fullmatch(state):
        return StateClass.CANCELLED
    known = [name for part in re.split(r"[,|/]", state) if (name := _listed_name(part))]
    if not known:
        return None
    # slurmrestd writes base state and flags together ("COMPLETING,FAILED"), Kubernetes "condition/reason": what says
    # how the job ended wins.
    best = min(known, key=lambda name: (_weight(_CLASS_OF[name]), name in _CARRIERS))
    by_reason = _CLASS_OF.get(_normal(reason))
    if by_reason is not None and _weight(by_reason) == 0:
        reason_decides = _normal(reason) in _FAILED_REASONS and best in {"failed", "failuretarget", "stopped"}
        if best in _CARRIERS or reason_decides:
            return by_reason
    return _CLASS_OF[best]


def _weight(state_class: StateClass) -> int:
    return {StateClass.RUNNING: 2, StateClass.UNKNOWN: 1}.get(state_class, 0)


def _normal(text: str) -> str:
    return re.sub(r"[\s_.\-]+", "", text.casefold())


def _listed_name(text: str) -> str | None:
    """The table's name for one spelling; sacct cuts long ones to ``OUT_OF_ME+`` and ``CANCELLED+``."""
    name = _normal(text)
    if name in _CLASS_OF:
        return name
    # "FAILED+COMPLETING" (scontrol flags) and a truncated "OUT_OF_ME+" both use the plus sign.
    head, plus, tail = name.partition("+")
    if plus and not tail and len(head) > 2:  # noqa: PLR2004 -- shorter prefixes would fit too many states
        fitting = {candidate for candidate in _CLASS_OF if candidate.startswith(head)}
        if len({_CLASS_OF[candidate] for candidate in fitting}) == 1:
            return min(fitting)
    return head if plus and tail and head in _CLASS_OF else None
