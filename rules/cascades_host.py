"""Which faults of a host explain which later ones: its hardware, kernel, memory and disks, and what people did to it.

Names of other areas' symptoms are used only where their rank alone would not settle the matter, or where the chain
would not be understood without them.
"""

from __future__ import annotations

from attribution_lib.rule_api import Outcome, RefinerPriority, cascade, outcomes

AUTHOR = "attribution maintainers"
MINUTE = 60
HOUR = 3600
LOCKUPS = ("Soft lockup", "Hard lockup", "RCU stall", "Hung kernel task")

cascade(
    "OperatorTookTheNodeDown",
    author=AUTHOR,
    docs="""A reboot or crash that somebody asked for explains what follows on that node: the oops of sysrq, links
    that go down, daemons that stop, a scheduler that calls the node down or unexpectedly rebooted.""",
    causes=[outcomes(Outcome.MAINTENANCE)],
    consequences=[
        outcomes(Outcome.NODE_DOWN),
        "Kernel oops",
        "Kernel panic",
        "InfiniBand link down",
        "Ethernet link down",
        "Network link flapping",
        "Fabric manager not running",
        "Slurm daemon failed on the node",
        *LOCKUPS,
    ],
    scope="node",
    slack=5,
)
cascade(
    "HostHardwareBeforeCrash",
    author=AUTHOR,
    docs="A machine check, an uncorrected memory error or lost power explains the crash of the node's kernel.",
    causes=[outcomes(Outcome.HOST_HARDWARE, Outcome.POWER_THERMAL, Outcome.PCIE)],
    consequences=["Kernel panic", "Kernel oops", "Process crashed (kernel log)", "Bus error", *LOCKUPS],
    scope="node",
    slack=MINUTE,
    within=HOUR,
)
cascade(
    "OopsBeforePanic",
    author=AUTHOR,
    docs="A panic of `Fatal exception` or of hung and locked-up tasks is the end of the oops or lockup before it.",
    causes=["Kernel oops", "Kernel panic for lack of memory"],
    consequences=["Kernel panic", *LOCKUPS],
    scope="node",
    slack=5,
    within=HOUR,
)
cascade(
    "NodesLastWords",
    author=AUTHOR,
    docs="What a node printed before it went down explains that the scheduler lost it.",
    causes=[
        outcomes(Outcome.HOST_HARDWARE, Outcome.HOST_OS, Outcome.PCIE, Outcome.POWER_THERMAL),
        "Soft lockup",
        "Hard lockup",
        "RCU stall",
        "Kernel panic for lack of memory",
    ],
    consequences=[outcomes(Outcome.NODE_DOWN), "Task launch lost contact with a node"],
    scope="node",
    order="any",
    within=6 * HOUR,
)
cascade(
    "ProtectiveShutdown",
    author=AUTHOR,
    docs="A platform that overheats or loses power shuts the operating system down in order: nobody asked for that.",
    causes=["Node overheated", "Power supply failed"],
    consequences=["Operator rebooted the node", "Power button pressed"],
    scope="node",
    slack=5,
    within=10 * MINUTE,
)
cascade(
    "PowerOrHeatBeforeGpuLoss",
    author=AUTHOR,
    docs="Power or temperature that failed before a GPU left the bus or a part broke is why; the node stays bad.",
    causes=[outcomes(Outcome.POWER_THERMAL)],
    consequences=[
        "XID-79-GPU_HAS_FALLEN_OFF_THE_BUS",
        "GPU is lost",
        "PCIe fatal error (AER)",
        "PCIe device lost",
        "Machine check",
        "Uncorrected memory error (DIMM)",
    ],
    scope="node",
    slack=30,
    within=HOUR,
)
cascade(
    "ChassisBeforeItsProcessors",
    author=AUTHOR,
    docs="""A chassis that overheats or lost a power supply explains the GPUs and CPUs in it that are hot or slow: the
    room, the fans or the supply are the fault, not the processor.""",
    causes=["Node overheated", "Power supply failed"],
    consequences=[
        "GPU overheated",
        "GPU slowed down by its hardware",
        "GPU hot (metric)",
        "CPU throttled for heat",
    ],
    scope="node",
    slack=MINUTE,
    within=HOUR,
)
cascade(
    "KernelBeforeBmcLog",
    author=AUTHOR,
    docs="A part that the kernel itself reports explains the entry that the BMC made of the same fault.",
    causes=["Machine check", "Uncorrected memory error (DIMM)", "PCIe fatal error (AER)"],
    consequences=["Chassis fault in the BMC's log"],
    scope="node",
    order="any",  # the BMC keeps a clock of its own
    within=10 * MINUTE,
)
cascade(
    "LostLinkAtServices",
    author=AUTHOR,
    docs="A node that lost its Ethernet link reaches no service outside: what its programs say of them is the echo.",
    causes=["Ethernet link down"],
    consequences=["External service not reachable", "Network unreachable from the program", "Host name not resolved"],
    scope="node",
    slack=5,
    within=HOUR,
)
cascade(
    "KernelKilledForMemory",
    author=AUTHOR,
    docs="The kernel's record of a kill for memory explains every process that just vanished with SIGKILL.",
    causes=["Kernel OOM kill", "Kernel OOM kill (cgroup limit)"],
    consequences=[
        "Kernel OOM report",
        "Worker killed (SIGKILL)",
        "Process killed",
        "DataLoader worker killed",
        "DataLoader worker exited unexpectedly",
        "MPI rank killed",
        "Task killed (srun)",
        "Python process pool broken",
    ],
    scope="job",
    order="any",
    within=10 * MINUTE,
)
cascade(
    "DiskFaultInProgram",
    author=AUTHOR,
    docs="A disk of the node that fails explains the file system on it, and the program's EIO and EROFS.",
    causes=[outcomes(Outcome.STORAGE_HARDWARE)],
    consequences=[
        "I/O error reported to the program",
        "Read-only file system reported to the program",
        "Python OSError",
        "Access beyond the end of a device",
        "Hung kernel task",
    ],
    scope="job",
    order="any",
    within=HOUR,
)
cascade(
    "RemoteDiskAtItsFileSystem",
    author=AUTHOR,
    docs="A disk behind the network that is lost takes the file system on it along: no disk of the node broke.",
    causes=["Remote disk lost"],
    consequences=[
        "Buffer I/O error",
        "Disk I/O error",
        "File system error on a local disk",
        "File system remounted read-only",
        "NVMe device lost",
        "NVMe request timed out",
        "Superblock cannot be written",
        "XFS shut down",
    ],
    scope="node",
    order="any",
    within=HOUR,
    priority=RefinerPriority.SCRUB + 5,  # before the disk explains what programs met
)
cascade(
    "FullThinPoolBelowFileSystems",
    author=AUTHOR,
    docs="A thin pool without free blocks fails the writes of the file systems above it: no disk broke.",
    causes=["Thin pool of the node is full"],
    consequences=[
        "Buffer I/O error",
        "File system error on a local disk",
        "File system remounted read-only",
        "Superblock cannot be written",
        "XFS shut down",
    ],
    scope="node",
    order="any",
    within=HOUR,
    priority=RefinerPriority.SCRUB + 6,  # before the disk explains what programs met
)
cascade(
    "StuckOnStorageOrDriver",
    author=AUTHOR,
    docs="A task that hangs in the kernel waits for what failed: a storage service, the GPU driver.",
    causes=[outcomes(Outcome.STORAGE_SERVICE, Outcome.GPU_DRIVER)],
    consequences=["Hung kernel task", "Soft lockup", "Unkillable processes on the node"],
    scope="node",
    order="any",
    within=HOUR,
)
cascade(
    "HealthCheckExplainsProlog",
    author=AUTHOR,
    docs="A prolog that runs the node's health check fails for what the check found.",
    causes=[
        "Drain reason names a GPU fault",
        "Drain reason names a hardware fault",
        "Health check misses a file system",
        "Health check misses a service of the node",
        "DCGM diagnostic failed",
        "DCGM: GPU memory fault",
        "NVLinks down",
    ],
    consequences=["Slurm prolog failed"],
    scope="node",
    order="any",
    within=5 * 60,
)
