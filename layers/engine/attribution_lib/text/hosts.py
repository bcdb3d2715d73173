"""Whether a word in front of a line is the host that printed it.

Launchers put ``node-0012: `` in front of what a node prints, and so do ``python3: ``, ``epoch-3: `` and
``nvidia-nvswitch0: ``. A wrong guess places an event on a node that does not exist, a missed one leaves it to the
mappings of ranks to hosts; so this errs on the side of no.
"""

from __future__ import annotations

import re

__all__ = ["is_address", "is_level", "looks_like_host"]

_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}", re.ASCII)
_HOST = re.compile(r"(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)(?P<domain>(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*)", re.ASCII)
_NUMBERED = re.compile(
    r".*-\w*\d"  # node-0012, ip-10-0-0-1, a100-n3
    r"|[a-z]+(?:0\d+|\d{3,})"  # gpu01, nid001234
    r"|(?:node|host|nid|dgx|hgx|cn|gn|compute|gpunode|server)\d+",
    re.ASCII,
)
_NOT_HOSTS = frozenset(
    {
        # counters and places of a training run
        *("rank", "step", "epoch", "iter", "iteration", "stage", "phase", "layer", "batch", "shard", "bucket", "run"),
        *("trial", "task", "job", "attempt", "round", "seed", "fold", "line", "test", "version", "v", "part", "chunk"),
        *("ep", "tp", "dp", "pp", "cp", "expert", "block", "head", "frame", "thread", "process", "proc", "pid"),
        # errors and codes
        *("error", "errno", "code", "exit", "signal", "xid", "sxid", "sm", "cve", "issue", "rc"),
        # software, models, number formats
        *("python", "cuda", "cudnn", "nccl", "torch", "cu", "fp", "bf", "int", "uint", "float", "utf", "sha", "md"),
        *("gpt", "bert", "llama", "qwen", "mistral", "gemma", "resnet", "vit", "opt", "t"),
        # devices
        *("cpu", "tpu", "npu", "dev", "device", "eth", "ib", "mlx", "nvme", "sd", "dm", "nvlink", "rtx", "port"),
        *("card", "bus", "channel", "slot", "dimm", "fan", "psu", "nvidia-nvswitch"),
    }
)
_ONE_DEVICE = re.compile(r"(?:gpu|cuda|nic|hca|disk|link|nvswitch)-?\d", re.ASCII)
_FILE_TYPES = frozenset(
    {
        *("py", "pyx", "c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hpp", "go", "rs", "sh", "so", "js", "ts"),
        *("txt", "json", "yaml", "yml", "toml", "log", "pt", "bin", "cfg"),
    }
)
_LEVELS = frozenset(
    {
        *("TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "ERR", "CRITICAL", "CRIT", "FATAL"),
        *("SEVERE", "EMERG", "ALERT", "EMERGENCY"),
    }
)


def is_address(token: str) -> bool:
    """True for an IPv4 address."""
    return _ADDRESS.fullmatch(token) is not None


def is_level(token: str) -> bool:
    """True for a log level in any case, which stands where a host might."""
    return not token[-1:].isdigit() and token.strip("[]:").upper() in _LEVELS  # most hosts have a number


def looks_like_host(token: str) -> bool:
    """True for an IPv4 address and for lower-case names that are numbered like machines (``node-0012``, ``gpu01``)."""
    if is_address(token):
        return True
    match = _HOST.fullmatch(token) if len(token) < 254 else None  # noqa: PLR2004 - the longest DNS name
    if match is None:
        return False
    name, labels = match["name"], match["domain"].split(".")
    if labels[-1] in _FILE_TYPES or not any(map(str.isalpha, name)) or _ONE_DEVICE.fullmatch(token):
        return False
    words = name.rstrip("0123456789").rstrip("-").split("-")
    if words[0].rstrip("0123456789") in _NOT_HOSTS or "-".join(words) in _NOT_HOSTS:
        return False
    in_domain = len(labels) > 2 and any(map(str.isdigit, name))  # noqa: PLR2004 - gpu1.cluster.local
    return in_domain or _NUMBERED.fullmatch(name) is not None
