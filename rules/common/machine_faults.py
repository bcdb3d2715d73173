"""What only a program itself brings about, and whether a program met a fault of its machines at all.

A GPU that breaks is met by programs as errors of CUDA or of communication, as a crash or as silence. It misspells no
name, moves no file and takes no memory away.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from typing import TYPE_CHECKING

from common.application import UNCAUGHT, before

from attribution_lib.rule_api import EventType, Outcome, Source, SubDomain, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attribution_lib.rule_api import Event, EventStream, GeneratedSymptomRegistry

__all__ = ["CUDA_COMPLAINTS", "FAULTS", "PROGRAM_ONLY", "Beside", "Met", "SignsOfFaults", "is_machine_fault"]

FAULTS = (
    outcomes(Outcome.GPU_HARDWARE, Outcome.GPU_MEMORY, Outcome.NVLINK, Outcome.PCIE, Outcome.POWER_THERMAL),
    outcomes(Outcome.NETWORK_HARDWARE, Outcome.HOST_HARDWARE, Outcome.GPU_DRIVER, Outcome.FABRIC_SOFTWARE),
)
"""Faults of GPUs, links, hosts and the software that drives them; storage is none of them, since it loses files."""
PROGRAM_ONLY = (
    "Argument validation failure",
    "Autograd error",
    "CUDA API misuse",
    "CUDA code not built for this GPU",
    "CUDA out of memory",
    "CUDA used after fork",
    "Checkpoint compatibility mismatch",
    "Checkpoint does not fit the model",
    "Checkpoint loading refused",
    "Checkpoint not found",
    "Configuration validation failure",
    "Container command not found",
    "DDP reduction not finished",
    "Dataset not found or not as expected",
    "Disk quota exceeded",
    "Error in the job script",
    "Exec format error",
    "File already exists",
    "File or path not found",
    "Filesystem permission denied",
    "Model or object not found in hub or store",
    "Model or tokenizer configuration refused",
    "No memory left for the KV cache",
    "Not the expected kind of path",
    "Package installation failed",
    "Program or script not found",
    "Python AttributeError",
    "Python IndexError",
    "Python KeyError",
    "Python NameError",
    "Python NotImplementedError",
    "Python SyntaxError",
    "Python TypeError",
    "Python ValueError",
    "Python import error",
    "Python module not found",
    "Software environment not found",
    "Tensor shape mismatch",
)
"""No fault of a machine brings these about; a program whose CUDA call or collective failed before may stumble so."""
_SHORTAGES = frozenset({"CUDA out of memory", "No memory left for the KV cache"})
"""Those of the program's own errors that it meets on a GPU: a fault at that time is no mere neighbour."""
_OF_SHELLS = frozenset(
    {
        "Error in the job script",
        "File already exists",
        "File or path not found",
        "Filesystem permission denied",
        "Not the expected kind of path",
        "Package installation failed",
        "Program or script not found",
        "Software environment not found",
    }
)
"""What a shell says as well, whose script goes on after it: `module: command not found`, `rm: cannot remove …`."""
_CODES = ("XID-", "SXID-")
_CONSEQUENCE = 300
_ACCOMPANIMENTS = frozenset(
    {
        UNCAUGHT,
        "Child command failed",
        "Elastic agents ended apart",
        "Job script command failed",
        "KeyboardInterrupt",
        "Launcher reports a failed worker",
        "Program stopped with an error of its own",
        "Ray task or actor failed",
        "SystemExit",
        "Exception in a Ray task",
    }
)
"""What is printed about a program that ended, whatever ended it."""
CUDA_COMPLAINTS = (
    "AMD GPU hang",
    "CUDA error of unclear domain",
    "CUDA initialisation failed",
    "GPU library call failed",
    "GPU library did not start",
    "NCCL Cuda failure",
    "cudaErrorDevicesUnavailable",
    "cudaErrorHardwareStackError",
    "cudaErrorIllegalInstruction",
    "cudaErrorInvalidPc",
    "cudaErrorLaunchFailure",
    "cudaErrorLaunchTimeout",
    "cudaErrorNoDevice",
    "cudaErrorUnknown",
)
"""Errors of CUDA calls that a broken GPU and a broken program bring about alike."""
_DIRECT = (*CUDA_COMPLAINTS, outcomes(Outcome.APPLICATION_GPU_FAULT), "Bus error", "cudaErrorInvalidDevice")
"""What a program prints that itself met a fault of its GPU or host, and never because a peer of it ended."""
_NEVER = -math.inf
_ALWAYS = -(2.0**63)
"""Before any time in µs."""
_SECOND = 1_000_000
_SLACK = 120 * _SECOND
"""Clocks that differ, and a kernel that logs late."""
_SCRAPES = 300 * _SECOND
"""A metric shows a fault at one of the next samples."""


def is_machine_fault(symptom: str | None, registry: GeneratedSymptomRegistry) -> bool:
    """Whether it is a fault of a GPU, a link or a host, or a code of the GPU's driver, whoever caused it."""
    return symptom is not None and (symptom.startswith(_CODES) or symptom in registry.resolve(FAULTS))


class Met(Enum):
    """Whether the program's own output shows that it met a fault."""

    NO = auto()
    PERHAPS = auto()
    """The error explains what else was printed, memory of a GPU ran out, or a shell complained and may have gone on."""
    YES = auto()


class SignsOfFaults:
    """What a program printed that a fault of its machine may have brought about."""

    def __init__(self, stream: EventStream, registry: GeneratedSymptomRegistry) -> None:
        own, direct = registry.resolve(PROGRAM_ONLY), registry.resolve([*FAULTS, *_DIRECT])
        names = [name for name in sorted(stream.symptoms()) if _is_sign(name, registry) and name not in own]
        lists = stream.lists(symptom=names, source=Source.APPLOG, type=EventType.BAD_NODE, active=False)
        signs = [event for events in lists for event in events if event.state == "active" or event.explained_by]
        self._direct_signs = [event for event in signs if event.symptom in direct]
        self._direct = max(map(_end, self._direct_signs), default=_NEVER)
        self._others = [event for event in signs if event.symptom not in direct]
        self._by_time = _Earliest((_end(sign), sign.first[0]) for sign in signs if sign.first[0] is not None)
        self._by_line = {
            place: _Earliest((_end(sign), sign.first[2] or 0) for sign in inside)
            for place, inside in _by_stream(signs).items()
        }

    def direct_beside(self, faults: Iterable[Event]) -> bool:
        """Whether the program itself met a fault, on another line than the messages that ``faults`` were read from."""
        lines = {(event.source, *event.first[1:]) for event in faults}
        return any((sign.source, *sign.first[1:]) not in lines for sign in self._direct_signs)

    def lead_to(self, error: Event, fault: Event) -> bool:
        """Whether a sign of the fault stands before an error, in time or in its stream."""
        since, started = _since(fault), error.first.timestamp
        in_stream = self._by_line.get((error.source, error.stream))
        if in_stream is not None and in_stream.since(since) < (error.first.line_num or 0):
            return True
        return started is not None and self._by_time.since(since) < started

    def beside(self, error: Event) -> Beside:
        """What tells whether the program met a fault although it printed ``error``, which is its own."""
        near = [sign for sign in self._others if (sign.source, *sign.first) != (error.source, *error.first)]
        after = [before(error, sign) for sign in near]
        return Beside(
            error,
            max((_end(sign) for sign, late in zip(near, after, strict=True) if not late), default=_NEVER),
            max((_end(sign) for sign, late in zip(near, after, strict=True) if late), default=_NEVER),
            self._direct,
        )


@dataclass(frozen=True, slots=True)
class Beside:
    """When the last signs of faults were seen beside an error that is only the program's."""

    error: Event
    ahead: float
    """Those that are not known to come after the error."""
    after: float
    direct: float

    def met(self, fault: Event) -> Met:
        """Whether the program met the fault."""
        since, started = _since(fault), self.error.first.timestamp
        if max(self.direct, self.ahead) >= since:
            return Met.YES
        timed = started is not None and since != _ALWAYS
        at_that_time = timed and started is not None and started >= since
        if self.error.symptom in _OF_SHELLS and "Error: " not in self.error.datum:
            return Met.YES if self.after >= since else Met.PERHAPS
        if self.error.symptom in _SHORTAGES:
            return Met.PERHAPS if at_that_time or not timed else Met.NO
        return Met.PERHAPS if self.after >= since and not at_that_time else Met.NO


class _Earliest:
    """The earliest beginning among things that end at some time or later."""

    def __init__(self, spans: Iterable[tuple[float, int]]) -> None:
        """``spans``: end and beginning of each."""
        ordered = sorted(spans, reverse=True)
        self._ends = [-end for end, _ in ordered]
        self._beginnings = list(accumulate((beginning for _, beginning in ordered), min))

    def since(self, end: float) -> float:
        count = bisect_right(self._ends, -end)
        return self._beginnings[count - 1] if count else math.inf


def _by_stream(signs: Iterable[Event]) -> dict[tuple[str, str], list[Event]]:
    found: dict[tuple[str, str], list[Event]] = {}
    for sign in signs:
        found.setdefault((sign.source, sign.stream), []).append(sign)
    return found


def _is_sign(symptom: str, registry: GeneratedSymptomRegistry) -> bool:
    if symptom.startswith(_CODES) or symptom in _ACCOMPANIMENTS or registry.get(symptom).rank < _CONSEQUENCE:
        return False
    return registry.sub_domain(symptom) is not SubDomain.NONE


def _since(fault: Event) -> float:
    """From when on something may be an effect of the fault."""
    started = fault.first.timestamp
    if started is None:
        return _ALWAYS
    return started - (_SCRAPES if fault.source == Source.NODE_METRICS else _SLACK)


def _end(sign: Event) -> float:
    """When it was last seen; without a time it may have been at any."""
    return math.inf if sign.last.timestamp is None else sign.last.timestamp
