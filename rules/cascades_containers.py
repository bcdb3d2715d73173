"""What explains what among containers, file systems and what programs then say of them."""

from __future__ import annotations

from attribution_lib.rule_api import CascadeScope, Order, Outcome, RefinerPriority, cascade, outcomes

AUTHOR = "Attribution maintainers"
MISSING_FILES = ("Job script command failed", "File or path not found", "Program not found by Slurm (execve)")
IMAGE_REASONS = (
    "Image reference wrong",
    "Image pull not authorised",
    "Registry failed during the pull",
    "Exec format error",
)
START_REASONS = (
    *IMAGE_REASONS,
    "CDI device not described on the node",
    "Container command not found",
    "Container mount source missing",
    "Container run time failed",
    "Container storage of the node not usable",
    "Driver not reachable for containers",
    "Image requires a newer driver",
    "NVIDIA container toolkit failed",
    "Requested GPU unknown on the node",
)
START_ECHOES = ("Container could not be started", "Image import failed", "Image pull keeps failing")
FILE_SYSTEM_FACTS = (
    "File system mount failed",
    "GPFS daemon down or expelled",
    "Lustre client bug",
    "Lustre client evicted",
    "Lustre connection lost",
    "NFS server not responding",
    "NFS state lost",
    "Parallel file system client lost its server",
    "Remote disk lost",
)

cascade(
    "StartReasonExplainsContainer",
    author=AUTHOR,
    docs="A named reason why a container did not start or an image was not imported explains the plug-in's summary.",
    causes=START_REASONS,
    consequences=[*START_ECHOES, "Slurm plug-in failed"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 450,
)

cascade(
    "ContainerStorageExplainsMissingImage",
    author=AUTHOR,
    docs="""What the plug-in itself could not write is missing afterwards, and its refused write is no fault of the
    program: not a wrong name, not the program's rights.""",
    causes=["Container storage of the node not usable"],
    consequences=["Image reference wrong", "Filesystem permission denied"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 448,
)

cascade(
    "FullDiskExplainsContainer",
    author=AUTHOR,
    docs="A hook, import or run time that cannot write for a full disk or quota only reports that it failed.",
    causes=["No space left on device", "Node-local disk full for the program", "Disk quota exceeded"],
    consequences=["Container run time failed", *START_ECHOES],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=5,
    within=300,
    priority=RefinerPriority.FINAL + 446,
)

cascade(
    "ContainerStorageExplainsUnkillable",
    author=AUTHOR,
    docs="A container plug-in that cannot clean up in the epilog leaves the node drained with `Kill task failed`.",
    causes=["Container storage of the node not usable", "Slurm cgroup set-up failed"],
    consequences=["Unkillable processes on the node"],
    scope=CascadeScope.NODE,
    order=Order.BEFORE,
    slack=300,
)

cascade(
    "GpuFaultExplainsRefusedDevices",
    author=AUTHOR,
    docs=(
        "A GPU that failed makes the device plug-in refuse pods, the node register with fewer GPUs, and the container "
        "toolkit or NVML fail."
    ),
    causes=[outcomes(Outcome.GPU_HARDWARE, Outcome.GPU_MEMORY, Outcome.NVLINK, Outcome.PCIE, Outcome.POWER_THERMAL)],
    consequences=[
        "CDI device not described on the node",
        "Container lost access to its GPUs",
        "Device claim could not be prepared",
        "Driver not reachable for containers",
        "GPU allocation refused by the node",
        "GPU marked unhealthy by its device plug-in",
        "NVIDIA container toolkit failed",
        "Node offers too few GPUs",
        "Requested GPU unknown on the node",
        "Unified memory driver gave up",
    ],
    scope=CascadeScope.NODE,
    order=Order.ANY,
    priority=RefinerPriority.SCRUB + 410,
)

cascade(
    "DriverExplainsToolkit",
    author=AUTHOR,
    docs="A driver that is not loaded or does not match explains the container toolkit's failure on that node.",
    causes=[outcomes(Outcome.GPU_DRIVER)],
    consequences=[
        "CDI device not described on the node",
        "Device claim could not be prepared",
        "NVIDIA container toolkit failed",
        "GPU allocation refused by the node",
        "Node offers too few GPUs",
    ],
    scope=CascadeScope.NODE,
    order=Order.ANY,
    priority=RefinerPriority.SCRUB + 420,
)

cascade(
    "ImexExplainsClaims",
    author=AUTHOR,
    docs="A daemon of the NVLink domain that does not come up keeps the claims for its channels from being prepared.",
    causes=["IMEX not available"],
    consequences=["Device claim could not be prepared"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 444,
)

cascade(
    "FullNodeDiskExplainsPrograms",
    author=AUTHOR,
    docs="On a node whose own disk is full, shells, scripts and programs cannot write and do not find their files.",
    causes=["Disk of the node itself is full", "Thin pool of the node is full"],
    consequences=["No space left on device", "Container storage of the node not usable", *MISSING_FILES],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    within=900,
    priority=RefinerPriority.FINAL + 447,
)

cascade(
    "FileSystemExplainsProgramErrors",
    author=AUTHOR,
    docs="A file system client that lost its server makes programs fail with EIO or ESTALE and wait for locks.",
    causes=FILE_SYSTEM_FACTS,
    consequences=[
        "Shared lock never freed",
        "I/O error reported to the program",
        "Stale file handle",
        "File system connection lost",
        "NFS write-back hang",
        "Hung kernel task",
    ],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=120,
    within=7200,
    priority=RefinerPriority.FINAL + 460,
)

cascade(
    "EvictionExplainsLostConnection",
    author=AUTHOR,
    docs="The lost connection to a Lustre target is how its eviction began.",
    causes=["Lustre client evicted"],
    consequences=["Lustre connection lost", "Lustre network errors"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 455,
)

cascade(
    "DiskPressureExplainsPods",
    author=AUTHOR,
    docs="A node under disk pressure refuses pods and its run time fails to unpack images.",
    causes=["Node disk pressure"],
    consequences=["Container storage of the node not usable", *START_ECHOES, "Pod evicted: its own storage use"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 445,
)

cascade(
    "MountExplainsMissingFiles",
    author=AUTHOR,
    docs="A file system that a node did not mount, or lost, is why work directories, programs and files are not found.",
    causes=["File system mount failed", "GPFS daemon down or expelled", "Health check misses a file system"],
    consequences=["Work directory missing on a node", "Program or script not found", *MISSING_FILES],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    within=7200,
    priority=RefinerPriority.FINAL + 465,
)

cascade(
    "WorkDirectoryExplainsMissingFiles",
    author=AUTHOR,
    docs="Tasks that were started in /tmp for want of their work directory do not find what they look for by its name.",
    causes=["Work directory missing on a node"],
    consequences=[*MISSING_FILES[:2]],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 466,
)

cascade(
    "NamedVolumeFaultExplainsWaiting",
    author=AUTHOR,
    docs="What keeps one volume of a pod from being mounted is why the kubelet gave up waiting for its volumes.",
    causes=["Volume refers to a missing object", "Volume could not be mounted"],
    consequences=["Volume not there in time"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 467,
)

cascade(
    "LostLinkAtFileSystems",
    author=AUTHOR,
    docs="A node that lost its link loses the servers of its file systems: servers and network are well.",
    causes=["Ethernet link down", "InfiniBand link down", "NIC firmware dead", "NIC gone from the bus"],
    consequences=[
        "GPFS daemon down or expelled",
        "Lustre client evicted",
        "Lustre connection lost",
        "Lustre network errors",
        "NFS server not responding",
        "NFS state lost",
        "Parallel file system client lost its server",
    ],
    scope=CascadeScope.NODE,
    order=Order.BEFORE,
    slack=5,
    within=600,
    priority=RefinerPriority.FINAL + 468,  # after these have explained what programs met
)
