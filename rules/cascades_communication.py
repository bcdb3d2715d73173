"""What explains what among communication failures: the first one the later ones, causes their echoes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rule_api import (
    CascadeScope,
    Order,
    Outcome,
    RefinerPriority,
    SubDomain,
    cascade,
    outcomes,
    ranks,
    refiner_def,
)

if TYPE_CHECKING:
    from attribution_lib.rule_api import Event, RefinerContext

AUTHOR = "attribution maintainers"

PRIMARY = ranks(372, 389)
"""Communication failures that say what was lost or waited for."""
LATER = ranks(372, 386)
"""Those of them that name no missing rank or task; the ones that do stay beside an earlier failure."""
RESULT_CODES = ("ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclRemoteError", "ncclInvalidUsage")
ECHOES = (
    *RESULT_CODES[:4],
    "Connection closed",
    "Connection reset by peer",
    "Elastic agents ended apart",
    "Gloo connection closed by peer",
    "Horovod shut down",
    "IB Error-5",
    "JAX service ended the task",
    "NCCL communicator aborted",
    "NCCL communicator set-up failed",
    "NCCL follow-up error",
    "NCCL operations failed or timed out",
    "NCCL socket call failed",
    "Rendezvous closed",
    "Rendezvous connection failed",
    "Slingshot endpoint gone",
    "TCPStore connection lost",
    "UCX peer failure",
    "torch.distributed error",
    "Task killed or aborted (srun)",
    "Worker aborted (SIGABRT)",
    "Process aborted",
    "MPI job aborted",
)
"""What every survivor prints once a peer or a transport is gone."""
IB_STATUS = tuple(f"IB Error-{status}" for status in (*range(1, 5), *range(6, 24)))

cascade(
    "FirstCommunicationFailure",
    author=AUTHOR,
    docs=(
        "The first rank that gives up takes its connections with it: a time-out on one side makes the other side's "
        "requests fail, and the other way round. Only the earlier one may be shown as the root."
    ),
    causes=[PRIMARY],
    consequences=[LATER],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=0,
    priority=RefinerPriority.FINAL + 300,
)

cascade(
    "VainWaitOnTheDeviceExplainsLaunchFailure",
    author=AUTHOR,
    docs="A kernel that waits in vain for another GPU's data traps when its patience ends: a launch that failed.",
    causes=("NVSHMEM transport failed",),
    consequences=("cudaErrorLaunchFailure", "CUDA error of unclear domain"),
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=0,
    within=600,
)

cascade(
    "CommunicationEchoes",
    author=AUTHOR,
    docs="Result codes, closed connections and lost stores follow from the failure that a rank reported before.",
    causes=[PRIMARY],
    consequences=ECHOES,
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=60,
    priority=RefinerPriority.FINAL + 310,
)

cascade(
    "FabricReasonExplainsMpiCall",
    author=AUTHOR,
    docs="The reason that the network's library gives at the end of MPI's error stack explains the call at its head.",
    causes=[
        "MPI network completion error",
        "Omni-Path adapter has no free context",
        "Omni-Path endpoint cannot be opened",
        "Omni-Path peer not reached",
        "Slingshot NIC out of match entries",
        "Slingshot endpoint gone",
        "Slingshot event queue overflow",
        "Slingshot transfer undeliverable",
        "UCX transport retry exceeded",
    ],
    consequences=["MPI call failed"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    within=60,
    priority=RefinerPriority.FINAL + 190,
)

cascade(
    "QueuePairFault",
    author=AUTHOR,
    docs="A fatal event on a queue pair ends the requests on it, here with status 4 or 5, on the peer with 9 or 10.",
    causes=["IB QP fatal event", "IB device fatal event"],
    consequences=["IB Error", *IB_STATUS, "IB Error-5"],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=5,
    priority=RefinerPriority.FINAL + 200,
)

cascade(
    "DeviceFault",
    author=AUTHOR,
    docs="A NIC that reports a catastrophic error loses its ports, queue pairs and resources.",
    causes=["IB device fatal event"],
    consequences=[
        "IB port error",
        "IB QP fatal event",
        "IB resources unavailable",
        "IB connection set-up failed (ibv_modify_qp)",
    ],
    scope=CascadeScope.NODE,
    order=Order.BEFORE,
    slack=5,
)

cascade(
    "PortErrorExplainsTransport",
    author=AUTHOR,
    docs="A port that lost its link makes requests run out of retries, on this host and on its peers.",
    causes=["IB port error"],
    consequences=["IB Error-12", "IB Error-13", "IB Error-5", "UCX transport retry exceeded"],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=5,
    priority=RefinerPriority.FINAL + 210,
)

cascade(
    "MissingAdapterExplainsMissingNetwork",
    author=AUTHOR,
    docs="An adapter that did not start, or left the bus, is why the communication library finds no network to use.",
    causes=["NIC does not start", "NIC gone from the bus", "NIC firmware dead", "EFA adapter does not answer"],
    consequences=[
        "NCCL network plugin missing",
        "NCCL invalid NIC selection",
        "No RDMA device on the node",
        "OFI plugin cannot start",
    ],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 215,
)

cascade(
    "LostHostExplainsUnreachable",
    author=AUTHOR,
    docs="A host that is down cannot be reached: no route, no handshake and no queue pair are then no configuration.",
    causes=[outcomes(Outcome.NODE_DOWN, Outcome.HOST_HARDWARE, Outcome.POWER_THERMAL, Outcome.NETWORK_HARDWARE)],
    consequences=["No route to host", "EFA unresponsive receiver", "IB connection set-up failed (ibv_modify_qp)"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 220,
)

cascade(
    "DeadPeerExplainsHandshake",
    author=AUTHOR,
    docs="A peer whose process ended is unresponsive, too, and its memory is gone: an earlier failure explains both.",
    causes=[ranks(400, 800)],
    consequences=["EFA unresponsive receiver", "IB Error-4"],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=0,
    priority=RefinerPriority.FINAL + 220,
)

cascade(
    "GarbageAfterFailedCollective",
    author=AUTHOR,
    docs=(
        "A buffer that a failed collective should have filled holds garbage: decoding or unpickling it then fails. "
        "PyTorch warns of exactly this."
    ),
    causes=["NCCL operations failed or timed out", "NCCL watchdog collective timeout"],
    consequences=["Text cannot be decoded", "Pickle cannot be read", "JSON or serialised input cannot be parsed"],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=0,
    priority=RefinerPriority.FINAL + 100,
)


@refiner_def("RootExplainsCommunication", AUTHOR, priority=RefinerPriority.POST_OUTCOME + 500)
def root_explains_communication(context: RefinerContext) -> None:
    """Once a cause is chosen, communication failures that do not precede it are its consequences in the chain."""
    choice = context.choice
    if choice is None or choice.root is None or choice.root.symptom is None:
        return
    symptom = context.registry.get(choice.root.symptom)
    if symptom.outcome is Outcome.COMMUNICATION_FAILURE or context.registry.sub_domain(symptom.name) is SubDomain.NONE:
        return
    for event in context.my_bad_nodes.of(context.registry.resolve([outcomes(Outcome.COMMUNICATION_FAILURE)])):
        if not _precedes(event, choice.root):
            context.event_stream.discard(event, by="RootExplainsCommunication", explained_by=choice.root)


def _precedes(event: Event, root: Event) -> bool:
    if event.first.timestamp is not None and root.first.timestamp is not None:
        return event.first.timestamp < root.first.timestamp
    same = (event.source, event.stream) == (root.source, root.stream)
    return same and (event.first.line_num or 0) < (root.first.line_num or 0)
