"""What explains what among lost nodes, launches and tasks: a cause the echoes that daemons and launchers print."""

from __future__ import annotations

from attribution_lib.rule_api import CascadeScope, Order, Outcome, RefinerPriority, cascade, outcomes, ranks

AUTHOR = "Attribution maintainers"
NODE_FACTS = (
    "Node down (scheduler)",
    "Node lost (cluster manager)",
    "Node not ready (Kubernetes)",
    "Node unexpectedly rebooted",
    "Nodes rebooted together",
    "Slurm node failure",
)
"""Node-down facts that name no part."""
LOST_NODE = (
    "Job ended by a node failure",
    "Pod removed because its node was lost",
    "Nodes of the job did not boot",
    "Scheduler state BOOT_FAIL",
)
LAUNCH_CONTACT = ("Task launch lost contact with a node", "Tasks never started (Slurm)", "PMIx wire-up error")

cascade(
    "ChangedConfigurationEndsJob",
    author=AUTHOR,
    docs="A controller that aborts a job for its changed configuration records it as failed for its nodes.",
    causes=["Job aborted for a changed configuration (Slurm)"],
    consequences=["Slurm node failure", "Job ended by a node failure"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    within=3600,
)

cascade(
    "PhysicalFaultExplainsLostNode",
    author=AUTHOR,
    docs="A part or a kernel that failed on a node takes the node down: the scheduler only notices that it is gone.",
    causes=[ranks(800, 990)],
    consequences=[
        *NODE_FACTS,
        "Unkillable processes on the node",
        "Slurm daemon failed on the node",
        "Node service down, reported by a node monitor",
        "Kernel trouble reported by a node monitor",
    ],
    scope=CascadeScope.NODE,
    order=Order.BEFORE,
    slack=120,
    within=7200,
    priority=RefinerPriority.SCRUB + 400,
)

cascade(
    "OperatorExplainsLostNode",
    author=AUTHOR,
    docs=(
        "A node that its operators rebooted, drained or took for maintenance is reported as down, not responding or "
        "unexpectedly rebooted: the scheduler was not told."
    ),
    causes=[outcomes(Outcome.MAINTENANCE)],
    consequences=[*NODE_FACTS, *LOST_NODE],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 400,
)

cascade(
    "LostNodeExplainsJobEnd",
    author=AUTHOR,
    docs="A node that is named as failed explains that its job ended by a node failure and that launches were lost.",
    causes=[*NODE_FACTS[:5]],
    consequences=[*LOST_NODE[:2], *LAUNCH_CONTACT],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 410,
)

cascade(
    "MissingMachineExplainsDownNode",
    author=AUTHOR,
    docs="A cloud or power-saving node that never got a machine is reported as failed: nothing was there to break.",
    causes=["Cloud capacity missing for a node", "Node did not come up in time (scheduler)"],
    consequences=[*NODE_FACTS, *LOST_NODE, *LAUNCH_CONTACT],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 395,
)

cascade(
    "PrologFolderExplainsProlog",
    author=AUTHOR,
    docs="A prolog that slurmd cannot read is why the prolog failed.",
    causes=["Slurm prolog or epilog not readable"],
    consequences=["Slurm prolog failed"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 420,
)

cascade(
    "RefusedLaunchExplainsTheRest",
    author=AUTHOR,
    docs="A launch that was refused for a stated reason explains tasks that never started and a job that is held.",
    causes=[
        "MPI plug-in of Slurm failed",
        "Slurm authentication failed",
        "Slurm cgroup set-up failed",
        "Slurm controller unreachable",
        "Slurm daemon failed on the node",
        "Slurm job credential expired",
        "Slurm prolog failed",
        "Slurm prolog or epilog not readable",
        "User not known on a node (Slurm)",
        "slurmd could not prepare the job",
    ],
    consequences=[
        *LAUNCH_CONTACT,
        "Job held after a failed launch (Slurm)",
        "Slurm could not start the program",
        "Slurm plug-in failed",
    ],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 430,
)

cascade(
    "ExecveExplainsLaunch",
    author=AUTHOR,
    docs="The errno of execve() says why slurmd could not start the program.",
    causes=["Program not found by Slurm (execve)", "Exec format error"],
    consequences=["Slurm could not start the program"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 430,
)

cascade(
    "MissingGpuExplainsDaemon",
    author=AUTHOR,
    docs="slurmd refuses to start when a GPU of its configuration has no device file: the daemon itself is well.",
    causes=["GPU device file missing (Slurm)", "GPU count below configuration (Slurm)"],
    consequences=["Slurm daemon failed on the node"],
    scope=CascadeScope.NODE,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 424,
)

cascade(
    "VanishedScriptExplainsExecve",
    author=AUTHOR,
    docs="A job script that slurmd itself wrote and cannot start is no program that the user named wrongly.",
    causes=["Job script vanished on the node (Slurm)"],
    consequences=["Program not found by Slurm (execve)", "Slurm could not start the program"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 425,
)

cascade(
    "MemoryKillExplainsKilledTasks",
    author=AUTHOR,
    docs="The memory limit of the job ends tasks by SIGKILL; launchers then report killed or missing tasks.",
    causes=[
        "Container OOM killed (Kubernetes)",
        "Memory limit exceeded (batch system)",
        "Memory limit of the job exceeded (Slurm)",
        "Pod evicted: node low on memory",
        "Scheduler state OUT_OF_MEMORY",
    ],
    consequences=["Task killed (srun)", "Memory limit touched (Slurm)", "Process killed", "Worker killed (SIGKILL)"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 440,
)

cascade(
    "EarlierFailureExplainsKilledTasks",
    author=AUTHOR,
    docs="srun kills the other tasks of a step when one ends badly: a task killed after another failure is its echo.",
    causes=[ranks(300, 990)],
    consequences=["Task killed (srun)"],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=0,
    priority=RefinerPriority.FINAL + 700,
)

cascade(
    "EarlierErrorExplainsCrashedTasks",
    author=AUTHOR,
    docs="A program that has already failed with an error of its own often crashes while it is torn down.",
    causes=[ranks(550, 990)],
    consequences=["Task crashed by signal (srun)"],
    scope=CascadeScope.JOB,
    order=Order.BEFORE,
    slack=0,
    priority=RefinerPriority.FINAL + 710,
)

cascade(
    "CrashNamedTwice",
    author=AUTHOR,
    docs="The process's own crash report, or a launcher's that knows the rank, says more than srun's line about it.",
    causes=[
        "Bus error",
        "Crash in the program's native code",
        "Illegal instruction",
        "Segmentation fault",
        "Trace trap",
        "Worker crashed by signal",
    ],
    consequences=["Task crashed by signal (srun)"],
    scope=CascadeScope.JOB,
    order=Order.ANY,
    priority=RefinerPriority.FINAL + 720,
)
