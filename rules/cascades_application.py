"""Which application failure explains which: the first failure of the program over what follows from it.

Wrappers, launchers' reports and errors after the first failure name no cause of their own. Every relation here stands
in the verdict's chain under its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.application import AUTHOR, application_symptoms, before, general_readings, seconds_between
from common.first_failures import FirstFailures
from common.machine_faults import PROGRAM_ONLY, SignsOfFaults, is_machine_fault

from attribution_lib.rule_api import RefinerPriority, cascade, outcomes, ranks, refiner_def, xid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.rule_api import Event, RefinerContext

_INJECTED = ("NVRx synthetic fault injection", "Fault injector acts", "Simulated fault (Megatron)")
_GENERAL_EXCEPTIONS = ("Python RuntimeError", "Python exception", "Uncaught Python exception")
_WRAPPERS = (
    "Inference engine died",
    "Ray task or actor failed",
    "Launcher reports a failed worker",
    "Child command failed",
    "Python process pool broken",
    "SystemExit",
    "XLA call ended by another task",
    "DataLoader worker exited unexpectedly",
    "Exception in a DataLoader worker",
    "Dataset generation failed",
    "Checkpoint save or load failed on some ranks",
    "PyTorch internal assert",
    "Process aborted",
    "KeyboardInterrupt",
)
_PROGRAM_GPU_FAULTS = (
    "cudaErrorIllegalAddress",
    "cudaErrorAssert",
    "cudaErrorMisalignedAddress",
    "cudaErrorInvalidAddressSpace",
    "cudaErrorLaunchTimeout",
    "Device-side assertion",
)
_LAUNCH_FAILURE = "cudaErrorLaunchFailure"
"""A kernel died, of itself or of its GPU: the kernel log says which."""
_GPU_ECHOES = (
    "cudaErrorUnknown",
    "CUDA teardown error",
    "CUDA error of unclear domain",
    "CUDA initialisation failed",
    "GPU library call failed",
    "GPU library did not start",
    _LAUNCH_FAILURE,
)
_AMBIGUOUS_GPU_FAULTS = (
    "cudaErrorUnknown",
    "cudaErrorIllegalInstruction",
    "cudaErrorInvalidPc",
    "cudaErrorHardwareStackError",
    "DataLoader worker killed by a bus error",
)
_COLLECTIVE_FAILED = ("NCCL watchdog collective timeout", "NCCL operations failed or timed out")
_WINDOW_SECONDS = 2700
"""Collectives and stores wait up to 30 minutes before they fail over a rank that died."""
_PRIMARY_RANK = 600
_LATE = RefinerPriority.FINAL + 500

cascade(
    "InjectedFaultExplainsFailures",
    author=AUTHOR,
    docs="A fault that a test harness injected explains whatever looks like a failure in the same half hour.",
    causes=_INJECTED,
    consequences=(ranks(300, 775), ranks(781, 1000)),  # all but the injected faults themselves
    scope="job",
    order="any",
    within=1800,
    priority=RefinerPriority.FINAL + 1,
)

cascade(
    "InjectedFaultExplainsItsAction",
    author=AUTHOR,
    docs="What the injector logs while it acts is the fault that it announced or raised.",
    causes=("NVRx synthetic fault injection", "Simulated fault (Megatron)"),
    consequences=("Fault injector acts",),
    scope="job",
    order="any",
)

cascade(
    "AcceleratorExplainsException",
    author=AUTHOR,
    docs="What an accelerator's run-time reports itself explains the exception that the framework makes of it.",
    causes=(
        "Driver of another accelerator missing",
        "Hardware fault of another accelerator",
        "Memory of another accelerator exhausted",
        "TPU could not be initialised",
    ),
    consequences=("Run-time of another accelerator failed", *_GENERAL_EXCEPTIONS),
    scope="job",
    order="any",
    within=60,
)

cascade(
    "ProgramGpuFaultExplainsXids",
    author=AUTHOR,
    docs="XID 13, 31, 43 and 45 record a kernel fault that the program reports itself, or the end of the program.",
    causes=_PROGRAM_GPU_FAULTS,
    consequences=(xid(13, 31, 43, 45),),
    scope="job",
    order="any",
    within=600,
)

cascade(
    "XidExplainsLaunchFailure",
    author=AUTHOR,
    docs="XID 13 and 31 say which fault of the program it was that CUDA only calls a failed launch.",
    causes=(xid(13, 31),),
    consequences=(_LAUNCH_FAILURE,),
    scope="job",
    order="any",
    within=30,
    priority=RefinerPriority.FINAL,
)

cascade(
    "ProgramGpuFaultExplainsGpuErrors",
    author=AUTHOR,
    docs="After a kernel fault every later CUDA call of the process fails, with whatever text.",
    causes=(*_PROGRAM_GPU_FAULTS, _LAUNCH_FAILURE),
    consequences=_GPU_ECHOES,
    scope="job",
    order="before",
    slack=0,
    within=600,
)

cascade(
    "OutOfSyncExplainsGarbledData",
    author=AUTHOR,
    docs="Workers that ran apart read each other's data of another step: it cannot be unpickled or has another shape.",
    causes=("Workers out of sync",),
    consequences=(
        "Checkpoint file cannot be read",
        "Pickle cannot be read",
        "Tensor shape mismatch",
        "Text cannot be decoded",
    ),
    scope="job",
    order="any",
    within=300,
)

cascade(
    "IrreproducibleResultExplainsNaN",
    author=AUTHOR,
    docs="A NaN that the same GPU does not produce again, or another GPU does not, may be the GPU's.",
    causes=("Result differs when computed again", "Result wrong on one GPU only"),
    consequences=("NaN or Inf in training", "NaN or Inf in gradient"),
    scope="job",
    order="any",
    within=1800,
)

cascade(
    "StorageExplainsCheckpointFailure",
    author=AUTHOR,
    docs="A full disk, a quota or a failing file system is why a checkpoint could not be written, in whatever order.",
    causes=(
        "Disk quota exceeded",
        "No space left on device",
        "Node-local disk full for the program",
        "Stale file handle",
        "File system connection lost",
        "I/O error reported to the program",
        "Read-only file system reported to the program",
    ),
    consequences=("Checkpoint write failure", "Checkpoint save or load failed on some ranks"),
    scope="job",
    order="any",
    within=600,
)

cascade(
    "FailureExplainsWrappers",
    author=AUTHOR,
    docs="A wrapper or a launcher's report that some worker failed is explained by any failure that is named.",
    causes=(ranks(445, 690), ranks(693, 1000)),
    consequences=(*_WRAPPERS, "Heap corruption detected", "Unhandled C++ exception", "Fatal check in native code"),
    scope="job",
    order="any",
    within=_WINDOW_SECONDS,
    priority=_LATE + 20,
)


@refiner_def(
    "FirstApplicationFailure",
    AUTHOR,
    priority=_LATE,
    symptoms=(
        outcomes("application_error", "data_error", "checkpoint_error", "configuration_error", "dependency_error"),
        outcomes("application_gpu_fault", "gpu_out_of_memory", "host_out_of_memory", "numerical_error"),
    ),
)
def first_application_failure(context: RefinerContext) -> None:
    """The first failure explains the program's later failures, on whatever rank, for three quarters of an hour.

    First by time, else by line within one stream. What names a part or a service is never explained here, a wrapper
    explains nothing, and a fault of a machine explains nothing that only the program brings about.
    """
    bad, registry = context.my_bad_nodes, context.registry
    names = sorted(name for name in bad.symptoms if name is not None)
    explained = application_symptoms(names, registry) | _AFTERMATH
    general = general_readings(names, registry)
    causes = [name for name in names if _may_explain(name, context)]
    failures = FirstFailures(bad.of(causes, in_order=False), within=_WINDOW_SECONDS)
    first = failures.kept()
    if all(failure.timestamp is not None and failure.timestamp == failure.first[0] for failure in first):
        # No other event explains anything: once it is known which of these stand, the rest may come in any order.
        events = [*(failure for failure in first if failure.symptom in explained), *bad.of(explained, in_order=False)]
    else:
        events = bad.of(explained)
    signs = SignsOfFaults(context.event_stream, registry)

    def in_reach(cause: Event, event: Event) -> bool:
        return _explains(cause, event, general) and (
            event.symptom not in PROGRAM_ONLY
            or not is_machine_fault(cause.symptom, registry)
            or signs.lead_to(event, cause)
        )

    for event, cause in failures.explained(events, in_reach):
        context.event_stream.discard(event, by="FirstApplicationFailure", explained_by=cause)


_AFTERMATH = frozenset({"Segmentation fault", "Bus error", "Trace trap", "Process killed", "Python TimeoutError"})


def _may_explain(name: str, context: RefinerContext) -> bool:
    symptom = context.registry.get(name)
    primary = symptom.rank >= _PRIMARY_RANK and name not in _WRAPPERS
    return symptom.root and (primary or name in (*_AMBIGUOUS_GPU_FAULTS, _LAUNCH_FAILURE))


def _explains(cause: Event, event: Event, general: Mapping[str, int]) -> bool:
    if not before(cause, event):
        return False
    if cause.symptom == event.symptom and not (cause.first.timestamp is None and event.first.timestamp is not None):
        return False
    if cause.symptom == _LAUNCH_FAILURE and event.symptom in _PROGRAM_GPU_FAULTS:
        return False
    if cause.symptom in _AMBIGUOUS_GPU_FAULTS and event.symptom not in general:
        return False
    seconds = seconds_between(cause, event)
    return seconds is None or seconds <= _WINDOW_SECONDS


@refiner_def(
    "FailedCollectiveExplainsLaterException",
    AUTHOR,
    priority=_LATE + 10,
    symptoms=_COLLECTIVE_FAILED,
)
def failed_collective_explains_later_exception(context: RefinerContext) -> None:
    """An exception of a rank after its own collective failed works on data that never arrived."""
    failed: dict[tuple[str, str, int | None], Event] = {}
    for event in context.my_bad_nodes:
        if event.symptom in _COLLECTIVE_FAILED and event.state == "active":
            place = (event.source, event.stream, event.rank)
            if place not in failed or before(event, failed[place]):
                failed[place] = event
    general = general_readings((event.symptom for event in context.my_bad_nodes), context.registry)
    for event in context.my_bad_nodes:
        cause = failed.get((event.source, event.stream, event.rank))
        class_alone = general.get(event.symptom or "", 0) >= _CLASS_ALONE
        if class_alone and cause is not None and event.state == "active" and before(cause, event):
            by = "FailedCollectiveExplainsLaterException"
            context.event_stream.discard(event, by=by, explained_by=cause)


_CLASS_ALONE = 2
"""From this generality on a reading says no more than an exception's class."""
