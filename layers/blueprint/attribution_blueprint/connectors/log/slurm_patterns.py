"""Slurm's patterns of output paths (``sbatch`` manual, "filename pattern"): ``%j %J %A %a %b %x %u %N %n %t %s %%``.

What the job itself decides is filled in; what differs by node, task or step is searched for and read back from the
names that are found.
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.job.model import JobInfo

__all__ = ["RAW_JOB_ID", "FoundFile", "is_open", "matching_files"]

RAW_JOB_ID = "slurm_job_id"
"""Label under which an adapter gives the number behind an array task's id, which is what ``%j`` stands for."""
_TOKEN = re.compile(r"%(?:%|(\d*)([A-Za-z]))")
_OPEN = {"N": r"(?P<node>[^/]+?)", "n": r"\d+", "t": r"(?P<rank>\d+)", "s": r"[^/.]+?"}
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and whose its name says it is."""

    path: Path
    node: str | None = None
    rank: int | None = None


def is_open(pattern: str, *, globs: bool) -> bool:
    """Whether a pattern may fit any number of files, none included."""
    tokens = {found[2] for found in _TOKEN.finditer(pattern)} - {None}
    return bool(tokens & _OPEN.keys()) or "J" in tokens or (globs and _GLOB.search(pattern) is not None)


def matching_files(pattern: str, job: JobInfo, *, globs: bool = False) -> list[FoundFile]:
    """The files that an absolute pattern means for a job, sorted by path; with ``globs``, ``*?[]`` are wildcards.

    Files of nodes that are not the job's are left out, where its nodes are known.
    """
    searched, read = "", ""
    named: set[str] = set()
    for text, width, letter in _pieces(pattern):
        if letter is None:
            searched += text if globs else glob.escape(text)
            read += re.escape(text) if not globs else _as_regex(text)
            continue
        value = _value(letter, job, width)
        if value is not None:
            searched += glob.escape(value)
            read += re.escape(value)
        elif letter in _OPEN:
            searched += "*"
            group = _OPEN[letter]
            read += group if group not in named else ".*?"
            named.add(group)
        else:  # %J is the job id, of a step with .STEP; what this Slurm does not know is as good as any text
            start = (_value("j", job, width) or "") if letter == "J" else ""
            searched += glob.escape(start) + "*"
            read += re.escape(start) + (r"(?:\.\w+)?" if start else "[^/]*")
    form = re.compile(read, re.DOTALL)
    return [found for path in sorted(_search(searched)) for found in _found(path, form, job)]


def _search(pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 -- absolute patterns, which Path.glob does not take


def _found(path: str, form: re.Pattern[str], job: JobInfo) -> Iterator[FoundFile]:
    match = form.fullmatch(path)
    if match is None or not Path(path).is_file():
        return
    groups = match.groupdict()
    node = groups.get("node")
    if node is not None and job.names is not None:
        node = job.names.of_job(job.nodes).canonical(node)
    if node is not None and job.nodes and node not in job.nodes:
        return
    rank = groups.get("rank")
    yield FoundFile(Path(path), node, None if rank is None else int(rank))


def _pieces(pattern: str) -> Iterator[tuple[str, int, str | None]]:
    """Literal text, or a token with its width."""
    position = 0
    for found in _TOKEN.finditer(pattern):
        if found.start() > position:
            yield pattern[position : found.start()], 0, None
        if found[2] is None:
            yield "%", 0, None
        else:
            yield "", int(found[1] or 0), found[2]
        position = found.end()
    if position < len(pattern):
        yield pattern[position:], 0, None


def _value(letter: str, job: JobInfo, width: int) -> str | None:
    """What the job says of a token; None when it differs by file or is not known."""
    array, _, task = job.job_id.partition("_")
    known = {
        "j": job.labels.get(RAW_JOB_ID) or (job.job_id if not task else None),
        "A": array,
        "a": task or None,
        "b": str(int(task) % 10) if task.isdecimal() else None,
        "x": job.name or None,
        "u": job.user or None,
    }
    value = known.get(letter)
    return value.zfill(width) if value is not None and value.isdecimal() else value


def _as_regex(text: str) -> str:
    """A wildcard pattern as an expression over the whole path."""
    out, rest = "", text
    while rest:
        if rest.startswith("**"):
            out, rest = out + ".*", rest[2:]
        elif rest[0] in "*?":
            out, rest = out + ("[^/]*" if rest[0] == "*" else "[^/]"), rest[1:]
        elif rest[0] == "[" and "]" in rest:
            end = rest.index("]")
            body = rest[1:end]
            out, rest = out + "[" + ("^" + body[1:] if body[:1] == "!" else body) + "]", rest[end + 1 :]
        else:
            out, rest = out + re.escape(rest[0]), rest[1:]
    return out
