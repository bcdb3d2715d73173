"""Which faults of GPUs and of the NVLink fabric explain which later ones. The host's stand in ``cascades_host.py``.

Physical facts explain what firmware, driver and program report about them. Names of other areas' symptoms are used
only where their rank alone would not settle the matter, or where the chain would not be understood without them.
"""

from __future__ import annotations

from common.machine_faults import CUDA_COMPLAINTS

from attribution_lib.rule_api import Outcome, RefinerPriority, cascade, outcomes, ranks, sxid, xid

AUTHOR = "attribution maintainers"
MINUTE = 60
HOUR = 3600
SEEN_LATE = 5 * MINUTE
"""A kernel's message or a metric's next sample may be that much later than what the program met."""
NVSWITCH = sxid(*range(10_000, 30_000))
NVLINK_FAULTS = xid(74, 136, 144, 145, 146, 149, 150, 173)
GPU_PARTS = outcomes(Outcome.GPU_HARDWARE, Outcome.GPU_MEMORY, Outcome.NVLINK, Outcome.PCIE, Outcome.POWER_THERMAL)
GPU_COMPLAINTS = xid(8, 11, 13, 25, 31, 32, 39, 40, 41, 46, 60, 61, 69, 80, 108, 109, 119, 120, 137)
FOUND_BROKEN = (
    "DCGM: GPU anomaly",
    "DCGM: GPU memory fault",
    "Drain reason names a GPU fault",
    "GPU count below configuration (Slurm)",
    "GPU double-bit ECC errors (metric)",
    "GPU fault reported by a node monitor",
    "GPU is lost",
    "GPU memory repairs (metric)",
    "GPU reset failed",
    "GPU row remap failed (metric)",
    "Hardware fault of another accelerator",
    "NVLinks down",
    "NVSwitch missing",
)
"""Parts that something found broken when it looked, whenever they broke."""
LOCKUPS = ("Soft lockup", "Hard lockup", "RCU stall", "Hung kernel task")

# --- GPUs -------------------------------------------------------------------------------------------------------------

cascade(
    "Xid171Cascade",
    author=AUTHOR,
    docs="XID 171 names the memory that failed; 48, 63, 94 and the program's contained error are its echo.",
    causes=[xid(171)],
    consequences=[xid(48, 63, 94), "cudaErrorContained"],
    scope="job",
    order="any",
)
cascade(
    "Xid172Cascade",
    author=AUTHOR,
    docs="XID 172 names the on-chip memory that failed; 48, 94 and 95 of the same GPU are its less specific echo.",
    causes=[xid(172)],
    consequences=[xid(48, 94, 95)],
    scope="device",
    order="any",
    within=10 * MINUTE,
)
cascade(
    "GpuMemoryContainment",
    author=AUTHOR,
    docs="An uncorrectable memory error (48, 140) poisons data; containment (94, 95) and repair (64) follow.",
    causes=[xid(48, 140)],
    consequences=[xid(64, 94, 95)],
    scope="device",
    order="any",
    within=10 * MINUTE,
)
cascade(
    "BrokenGpuPart",
    author=AUTHOR,
    docs="""A GPU, its memory, link or slot that broke explains what firmware and driver of that node complain about at
    that time: RPC timeouts of the GSP, engine exceptions, stuck context switches. They may be printed first.""",
    causes=[GPU_PARTS],
    consequences=[
        GPU_COMPLAINTS,
        *LOCKUPS,
        "GSP firmware fault",
        "GPU needs a reset",
        "GPU does not answer the driver's watchdog",
        "GPU removed while in use",
    ],
    scope="node",
    slack=2 * MINUTE,
    within=HOUR,
    priority=RefinerPriority.SCRUB + 10,  # after firmware that does not boot has explained RmInitAdapter
)
cascade(
    "BrokenGpuPartInProgram",
    author=AUTHOR,
    docs="A broken part of a GPU explains the CUDA errors of unclear origin in the programs of that job, from then on.",
    causes=[GPU_PARTS],
    consequences=CUDA_COMPLAINTS,
    scope="job",
    order="any",
    slack=SEEN_LATE,
    within=HOUR,
)
cascade(
    "GpuFoundBrokenAfterProgram",
    author=AUTHOR,
    docs="What a check, a counter or a tool finds broken may have failed programs before it was found.",
    causes=FOUND_BROKEN,
    consequences=CUDA_COMPLAINTS,
    scope="job",
    order="any",
    within=HOUR,
)
cascade(
    "GspFirmwareDead",
    author=AUTHOR,
    docs="""Without its system processor a GPU cannot be initialised or used: RPC timeouts, a failed
    RmInitAdapter and the program's `no device` follow.""",
    causes=[xid(119, 120), "GSP firmware fault"],
    consequences=[
        "GPU does not answer nvidia-smi",
        "GPU does not initialise",
        "GPU needs a reset",
        "GPUs not usable by the driver",
    ],
    scope="node",
    slack=MINUTE,
    within=HOUR,
)
cascade(
    "GpuDriverFault",
    author=AUTHOR,
    docs="Driver, firmware or a GPU that must be reset explain that programs find no usable GPU.",
    causes=[
        xid(62, 119, 120, 143),
        "GSP firmware fault",
        "GPU needs a reset",
        "GPU does not initialise",
        "GPU driver module cannot load",
        "GPU driver and library versions differ",
        "AMD GPU does not answer its driver",
        "AMD GPU does not start",
    ],
    consequences=CUDA_COMPLAINTS,
    scope="job",
    order="any",
    slack=SEEN_LATE,
    within=HOUR,
)
cascade(
    "XidCleanUp",
    author=AUTHOR,
    docs="Channels removed (45), stopped (43) and the recovery action (154) follow the error that they clean up after.",
    causes=[
        GPU_PARTS,
        outcomes(Outcome.GPU_DRIVER, Outcome.FABRIC_SOFTWARE, Outcome.APPLICATION_GPU_FAULT),
        GPU_COMPLAINTS,
    ],
    consequences=[xid(43, 45, 154)],
    scope="node",
    order="any",
    within=HOUR,
)
cascade(
    "LostGpuAtItsPeers",
    author=AUTHOR,
    docs="A GPU that left the bus takes its NVLinks along: link errors of peers and switch just after are the echo.",
    causes=[xid(79), "GPU is lost"],
    consequences=[xid(74), sxid(20034, 20035), "NVLinks down"],
    scope="node",
    slack=1,
    within=10 * MINUTE,
)
cascade(
    "PcieBeforeDeviceLoss",
    author=AUTHOR,
    docs="A fatal PCIe error, or a slot that went down, explains the loss of the device behind it: GPU, NIC or disk.",
    causes=["PCIe fatal error (AER)", "PCIe device lost"],
    consequences=[
        xid(79),
        "GPU is lost",
        "GPU does not initialise",
        "NIC firmware dead",
        "NIC firmware command timed out",
        "NIC does not start",
        "NIC gone from the bus",
        "NVMe device lost",
    ],
    scope="node",
    slack=10,
    within=10 * MINUTE,
)

cascade(
    "ProgramsErrorBeforeGpuException",
    author=AUTHOR,
    docs="""A GPU exception or page fault after the program's own error is the echo of that error: kernels still running
    when their process is killed. The hardware is fine.""",
    causes=[
        ranks(690, 800),
        outcomes(Outcome.APPLICATION_ERROR, Outcome.CONFIGURATION_ERROR, Outcome.DATA_ERROR, Outcome.GPU_OUT_OF_MEMORY),
    ],
    consequences=[xid(13, 31, 43, 45)],
    scope="job",
    slack=0,
    within=HOUR,
)

cascade(
    "AmdGpuHardwareError",
    author=AUTHOR,
    docs="A hardware error of an AMD GPU explains faults and hangs of the programs on it and a reset that fails.",
    causes=["AMD GPU hardware error"],
    consequences=["AMD GPU memory access fault", "AMD GPU reset failed"],
    scope="job",
    order="any",
    within=HOUR,
)
cascade(
    "AmdGpuFaultStopsRing",
    author=AUTHOR,
    docs="A kernel that touched memory it may not touch stops its ring: the hang and the reset follow.",
    causes=["AMD GPU memory access fault"],
    consequences=["AMD GPU hang", "AMD GPU was reset"],
    scope="job",
    order="any",
    within=10 * MINUTE,
)

cascade(
    "AmdGpuHangAtProgram",
    author=AUTHOR,
    docs="The kernel saw a ring of the GPU stand still: the program's launch failure or unknown error is that hang.",
    causes=["AMD GPU hang"],
    consequences=[name for name in CUDA_COMPLAINTS if name != "AMD GPU hang"],
    scope="job",
    order="any",
    within=10 * MINUTE,
)

# --- NVLink and NVSwitch ----------------------------------------------------------------------------------------------

cascade(
    "NvswitchFaultAtGpus",
    author=AUTHOR,
    docs="A fatal NVSwitch error takes links down: the GPUs at their other ends report XID 74.",
    causes=[NVSWITCH],
    consequences=[xid(74)],
    scope="node",
    slack=MINUTE,
    within=HOUR,
)
cascade(
    "NvlinkDownAtPeers",
    author=AUTHOR,
    docs="A link that failed at one GPU is reported by the GPUs at the other ends, on other nodes too.",
    causes=["XID-149-NVLINK_NETIR_ERROR", "XID-149-NVLINK_NETIR_TAKEN_DOWN", xid(150, 173)],
    consequences=["XID-149-NVLINK_NETIR_PEER_DOWN", xid(108, 137, 145)],
    scope="job",
    order="any",
    within=10 * MINUTE,
)
cascade(
    "NvlinkFaultInFabricSoftware",
    author=AUTHOR,
    docs="Broken links or switches explain that fabric manager, multicast or CUDA's fabric state never come up.",
    causes=[NVLINK_FAULTS, NVSWITCH, "NVSwitch missing"],
    consequences=[
        "Fabric manager not running",
        "NVLink multicast team set-up failed",
        "NVLS multicast cannot be set up",
        "IMEX not available",
        "MNNVL not usable (IMEX)",
        "cudaErrorSystemNotReady",
    ],
    scope="job",
    order="any",
    within=HOUR,
)
cascade(
    "FabricManagerDownAtLinks",
    author=AUTHOR,
    docs="Links stay inactive, and CUDA says `system not yet initialized`, while the fabric manager does not run.",
    causes=["Fabric manager not running"],
    consequences=["NVLinks down", "cudaErrorSystemNotReady", "NVLS multicast cannot be set up"],
    scope="job",
    order="any",
    within=HOUR,
)
