r"""What stands in front of a message: its time, its host, its rank, in whatever order launchers and loggers nest them.

Forms are read from the left until none fits. Of nested statements the outermost wins, except that a better clock
replaces a worse one (utc > local > yearless > uptime) and a host's name replaces its address. A form that does not
know a fact leaves it None; nothing is guessed from the message itself. Understood forms, by name:

    form                         example                                                        tells
    ---------------------------  -------------------------------------------------------------  -----------------------
    kernel ring buffer
    seconds since boot           [ 5234.123456] · [12.3][  T4021] · [5234.1 <    0.000316>]     uptime
    dmesg -T, Fabric Manager     [Mon Jan  5 10:11:12 2026] · [Jan 05 2026 10:11:12] [INFO] …   local
    dmesg -e minute              [Jan05 10:11]                                                  yearless
    dmesg -e delta               [  +0.000316]                                                  nothing
    dmesg -x, Talos              kern  :err   : · kern: warning:                                nothing
    kmsg priority                <4>[ 5234.123456]                                              nothing
    kmsg record                  4,1234,5234123456,-;                                           uptime
    message repeated             message repeated 3 times: [ …                                  repeated
    syslog and journal
    RFC 3164, journal            Jan  5 10:11:12 node-a kernel:                                 yearless node program
    RFC 5424                     <4>1 2026-01-05T10:11:12.123456Z node-a kernel - - -           utc node program
    ISO syslog, journal          2026-01-05T10:11:12+0000 node-a slurmd[13562]:                 utc node program
    journal short-full           Mon 2026-01-05 10:11:12 UTC node-a kernel:                     utc|local node program
    date and host                Jan  5 10:11:12 node-0001 -- MARK --                           yearless node
    bare date                    Fri Jun 12 08:31:40 UTC 2026                                   utc|local|yearless
    wall message                 Message from syslogd@node-0025 at Jun 11 05:23:42 ...          yearless node
    host and kernel              node-a kernel:                                                 node program
    host and program             node-a nv-fabricmanager[1929]:                                 node program pid
    program                      nv-fabricmanager[1929]:                                        program pid
    kernel                       kernel:                                                        program
    IPMI event log                1 | 12/24/2022 | 13:58:36 |                                   local|utc
    containers and Kubernetes
    CRI                          2026-01-05T10:11:12.123456789Z stdout F                        utc
    Kubernetes event             2026-06-17T04:58:40Z Normal NodeHasDiskPressure node/node-0135 utc node
    kubectl get events           12m   Warning   NodeNotReady   node/node-0100                  node
    kubectl logs --prefix        [pod/train-0/trainer]                                          nothing
    (JSON)                       Docker json-file, journalctl -o json, Loki, structured loggers what its fields say
    Loki labels                  {host="node-a", unit="kernel"}                                 node
    logfmt                       time="2026-01-05T10:11:12Z" level=error msg="                  utc|local
    Slurm
    date in brackets             [2026-06-02T22:10:47.114] · [2026-09-15 22:10:58 TP0]          local|utc
    Slurm step                   [63532.0] error:                                               nothing
    Slurm program                srun: error: · slurmstepd: error:                              program
    srun task                    srun: error: node-0187: task 0:                                node task
    Slurm cancellation           *** STEP 63532.0 ON node-0106 CANCELLED AT 2026-…  (read, kept) local node
    ranks
    srun --label                 12:                                                            task
    MPI tag                      [1,12]<stdout>:                                                task
    PRRTE tag                    [prterun-node-0001-4711@1,12]<stderr>:                         task
    Horovod tag                  [12]<stderr>:                                                  task
    Hydra -prepend-rank          [12]                                        (applog, outermost) task
    SageMaker tag                [1,mpirank:12,algo-2]<stderr>:                                 rank node
    global rank                  [rank12]: · [rank: 12] · [rank=12] · [RANK:12]                 rank
    torchrun --tee               [default3]:                                                    local_rank
    NVRx                         [workload:9(1) infra:9(1)]                                     rank local_rank
    default process group        [PG ID 0 PG GUID 0(default_pg) Rank 3]                         rank
    process group                [PG ID 5 PG GUID 7563(TENSOR_MODEL_PARALLEL_GROUP) Rank 0]     nothing: rank in a group
    rank of a group              [Rank 3]                                  rank, if no tag and no label tells another
    PID in brackets              [PID:5120]                                                     pid
    Ray, vLLM worker             (TrainWorker pid=123, ip=10.0.0.1) · (VllmWorker rank=1 pid=2) pid node rank repeated
    Ray daemon                   (raylet, ip=10.0.0.1)                                          node
    SkyPilot                     (worker1, rank=1, pid=15406, ip=10.0.0.2)     pid node; its rank is a node's
    Determined container         [2024-03-15T16:29:06Z] 5c902731 [rank=0] ||                    nothing
    Determined separator         ||                                                             nothing
    Determined agent             <info> [2022-05-09 22:47:55]                                   nothing
    hosts
    NCCL                         node-a:1810:1901 [3] ib_plugin.c:1105 NCCL WARN                node pid device
    address label                10.0.0.119:                                                    node
    host label                   node-0012:                      (applog; see ``hosts``)        node
    host label of a system line  node-0012: [ 5234.123456]                                      node
    bare host                    node-0012 [rank18]:                                            node
    host and stream              job-a.node-0004 [stderr]                                       node
    host in brackets             [node-0063]                                                    node
    OpenMPI, UCX                 [node-0011:901  :0:1440]                                       node pid
    pdsh                         pdsh@node-0001:                                                program
    loggers
    date                         2026-06-15 01:12:03,501 · 20260423-09:58:50.008                local|utc
    US date                      06/20/2026 10:00:00                                            local
    US date in brackets          [06/20/2026-10:00:00]                                          local
    month and day                INFO 08-20 04:11:20 · 12/09 06:49:23                           yearless
    month and day in brackets    [10/23 09:12:44 d2.utils.events]:                              yearless
    time of day                  10:46:04                                                       nothing: no date
    time of day in brackets      [15:58:30]                                                     nothing: no date
    epoch                        1780569870.4198806                                             utc
    epoch in brackets            [1780569870.419880]                                            utc
    glog                         E0601 03:14:02.110204 4711 file.cc:123] · I20260601 …          yearless|local
    Abseil before init           E0000 00:00:1731234567.123456 4711 file.cc:12]                 utc
    c10                          [E620 15:34:12.110204481 ProcessGroupNCCL.cpp:629]             yearless
    TensorFlow                   2019-06-13 01:17:08.886805: E external/a/local_client.cc:672]  nothing
    Python basicConfig           ERROR:composer.cli.launcher:                                   nothing
    Python logging               2026-06-15 01:12:03 - name - WARNING -                         nothing
    level                        WARNING                                                        nothing
    level in brackets            [ERROR] · [INFO|trainer.py:1234]                               nothing
    level in colons              2025-08-18 09:02:11,771:INFO:                                  nothing
    loguru, fairseq              2021-09-02 14:20:31 | INFO | fairseq.trainer |                 nothing
    ESPnet                       2026-06-09 03:00:12,110 (train:341) INFO:                      nothing
    Transformers                 [INFO|trainer.py:12] 2026-06-09 10:00:00,123 >>                nothing
    logger and level             [2024-11-26 02:04:28,495] torch.distributed: [WARNING]         nothing
    logger in brackets           [2023-06-07 22:26:57,402] [INFO] [loss_scaler.py:181:update]   nothing
    file                         2026-04-07 13:11:40,221 [CRITICAL] inject_fault.py:222         nothing
    tool                         wandb: ERROR · pyxis:                                          program
    C++ terminate                  what():                                                      nothing
    Megatron exit                [exiting program after 3 minutes] datetime: 2026-… (read, kept) local
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attribution_lib.events.event import Clock
from attribution_lib.text.prefix_app import APPLICATION_FORMS
from attribution_lib.text.prefix_forms import Draft, Forms, table_of
from attribution_lib.text.prefix_json import read_json_line
from attribution_lib.text.prefix_system import SYSTEM_FORMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attribution_lib.observation import Source

__all__ = ["Draft", "Prefix", "parse_prefix", "prefix_of", "read_forms"]

_MAX_FORMS = 16
_BLANK = frozenset(" \t")
_bare: Any = tuple.__new__
"""Makes a named tuple without its Python-level constructor."""
_TABLE = table_of((*SYSTEM_FORMS, *APPLICATION_FORMS))


class Prefix(NamedTuple):
    """What stands in front of a line's message; None where the line does not say."""

    timestamp: int | None = None
    """µs on ``clock``."""
    clock: Clock = Clock.NONE
    node: str | None = None
    """The host that printed the line, as spelled there: short, FQDN or address."""
    rank: int | None = None
    """Global rank."""
    task: int | None = None
    """The launcher's task number: the global rank only if it started one task per rank."""
    local_rank: int | None = None
    device: str | None = None
    """CUDA device index on its host."""
    pid: int | None = None
    program: str | None = None
    """Syslog's program or unit, or the launcher's tool (``srun``, ``slurmstepd``)."""
    repeated: int = 1
    """N of ``message repeated N times: [ … ]`` and of Ray's ``[repeated Nx across cluster]``."""
    body_start: int = 0
    """Offset at which the message begins; its own indentation belongs to it."""


def parse_prefix(line: str, source: Source) -> Prefix:
    """Everything that the prefixes of one normalised line say; never fails, whatever the line holds."""
    draft = Draft(source)
    return prefix_of(draft, read_forms(line, 0, draft))


def read_forms(line: str, body: int, draft: Draft, most: int = _MAX_FORMS) -> int:
    """Read on from ``body`` until no form fits or the draft has so many; where the next one, or the message, begins.

    A draft is ``settled`` where nothing fitted: nor would it behind another prefix after which a draft stands alike.
    """
    table = _TABLE[draft.source]
    while draft.forms < most:
        end = _read_next(line, body, table, draft)
        if end is None:
            break
        body = end
    return body


def prefix_of(draft: Draft, body: int) -> Prefix:
    """What a draft says, of a line whose message begins at ``body``."""
    rank = draft.rank
    if rank is None and draft.task is None:
        rank = draft.group_rank
    prefix: Prefix = _bare(
        Prefix,
        (
            draft.timestamp,
            draft.clock,
            draft.node,
            rank,
            draft.task,
            draft.local_rank,
            draft.device,
            draft.pid,
            draft.program,
            1 if draft.repeated is None else draft.repeated,
            body,
        ),
    )
    return prefix


def _read_next(line: str, body: int, table: Mapping[str, Forms], draft: Draft) -> int | None:
    """Reads the form that begins at ``body`` and returns where it ends; None where the message begins."""
    start = body
    key = line[start : start + 1]
    while key in _BLANK:
        start += 1
        key = line[start : start + 1]
    if key == "{" and line.startswith('{"', start):
        end = read_json_line(line, start, draft)
        return end if end > start else None
    forms = table.get(line[start : start + 2] if key == "[" else key)
    found = None if forms is None else forms.first(line, start, draft)
    if found is None:
        draft.settled = True
        return None
    form, match = found
    form.apply(match, draft)
    return None if form.peek else match.end()
