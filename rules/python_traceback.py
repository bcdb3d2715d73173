"""Python stacks of several lines: tracebacks (which user code raised what) and the stacks of Python's fault handler.

The exception line itself is read by the family in python.toml; here stands what one line cannot say: the innermost
frame of the user's own code, and an exception class that nobody listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.rule_api import Emission, accumulator_def

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attribution_lib.rule_api import JobIdentity

AUTHOR = "Application rules"
UNCAUGHT = "Uncaught Python exception"
_MESSAGE = 500
_LIBRARY = re.compile(r"site-packages|dist-packages|/lib(?:64)?/python\d|^<|/usr/(?:local/)?lib/")
"""Frames of installed packages and of the standard library; everything else is the job's own code."""
_EXIT_HANDLER = re.compile(
    r"multiprocessing/util\.py (?:_run_finalizers|_exit_function)$|weakref\.py _exitfunc$|threading\.py _shutdown$"
    r"|concurrent/futures/(?:thread|process)\.py _python_exit$"
)
"""File and function that run what is left to do when the interpreter ends."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack."""

    file: str
    line: str
    function: str

    def is_users(self) -> bool:
        """Whether the frame lies in the job's own code."""
        return _LIBRARY.search(self.file) is None

    def is_exit_handler(self) -> bool:
        """Whether the interpreter was cleaning up at its end."""
        return _EXIT_HANDLER.search(f"{self.file} {self.function}") is not None


class Traceback:
    """One traceback: frames until the line that stands as far left as the header, which is the exception."""

    _FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?')
    _RICH = re.compile(r"[│|]\s+(?P<file>\S+\.py):(?P<line>\d+) in (?P<function>\S+)")
    _EXCEPTION = re.compile(r"(?P<exception>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::[ \t]+(?P<message>\S.*))?\s*$")
    _BOX = "│╭╰❱"
    _BLANKS = 2
    """Empty lines that a prefix or a box may leave inside of a stack."""

    def __init__(self, header: str, *, ignored: bool, chained: str) -> None:
        self._ignored = ignored
        self._chained = chained
        self._column = max(header.find("Traceback"), 0)
        self._frames: list[Frame] = []
        self._fed = 0
        self._blank = 0
        self._found: re.Match[str] | None = None
        self.complete = False
        """True once the exception line was taken: nothing after it belongs to the traceback."""

    def feed(self, line: str) -> bool:
        """Take a line of the stack; the exception line is the last one."""
        self._fed += 1
        if self._is_stack(line):
            return self._blank <= self._BLANKS
        self._found = self._EXCEPTION.match(line[self._column :] if self._column else line)
        self.complete = self._found is not None
        return self.complete

    def _is_stack(self, line: str) -> bool:
        frame = self._FRAME.search(line) or self._RICH.search(line)
        if frame is not None:
            if not self._frames and 'File "' in line:
                self._column = max(line.index('File "') - 2, 0)
            self._frames.append(Frame(frame["file"], frame["line"], (frame["function"] or "").strip()))
            return True
        body = line[self._column :]
        if not body.strip():
            self._blank += 1
            return True
        introduced = self._ignored or self._chained != ""
        header = introduced and not self._frames and "Traceback (most recent call last)" in line
        return body[:1].isspace() or header or any(mark in line for mark in self._BOX)

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """A fact with exception and frames; the exception as an error of its own, unless it came at the very end.

        A sentence that chains two tracebacks yields only the fact that the second follows from the first.
        """
        if self._found is None:
            return
        if self._chained:
            how = "while handling it" if self._chained.startswith("During") else "caused by it"
            chained = {"kind": "chained_exception", "exception": self._found["exception"], "how": how}
            yield Emission("info", payload=chained, line_index=self._fed)
            return
        inner = self._frames[-1] if self._frames else Frame("", "", "")
        users = next((frame for frame in reversed(self._frames) if frame.is_users()), Frame("", "", ""))
        payload = {
            "exception": self._found["exception"],
            "message": (self._found["message"] or "")[:_MESSAGE],
            "frame": _shown(inner),
            "user_frame": _shown(users),
            "frames": str(len(self._frames)),
            "truncated": truncated,
        }
        if self._ignored or any(frame.is_exit_handler() for frame in self._frames):
            yield Emission("interesting_node", "Exception ignored at teardown", payload=payload, line_index=self._fed)
            return
        yield Emission("info", payload={"kind": "traceback", **payload}, line_index=self._fed)
        yield Emission("bad_node", UNCAUGHT, payload=payload, line_index=self._fed)


@accumulator_def(
    "PythonTraceback",
    AUTHOR,
    trigger_re=(
        r"Traceback \(most recent call last\)|(?P<ignored>Exception ignored in)|"
        r"(?P<chained>During handling of the above exception|The above exception was the direct cause)"
    ),
    sources=("applog",),
    key=("exception", "message"),
)
def python_traceback(_job: JobIdentity, captures: Mapping[str, str], line: str) -> Traceback:
    """Where a Python program failed: exception, message, innermost frame and innermost frame of the user's own code."""
    return Traceback(line, ignored=bool(captures.get("ignored")), chained=captures.get("chained", ""))


class FaultHandlerStack:
    """The stack of Python's fault handler: 'Current thread … (most recent call first):' and its frames."""

    _FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)')
    _SHARED = re.compile(
        r"/(?:torch|nccl|jax|jaxlib|vllm|sglang|deepspeed|megatron|transformer_engine|triton|cupy|ray)/"
    )
    """Code in front of the GPU, the driver or the network: a crash there is not the program's for certain."""
    _LINES = 400

    def __init__(self) -> None:
        self._current = False
        self._frames: list[Frame] = []
        self._fed = 0

    def feed(self, line: str) -> bool:
        """Take a line; the current thread's frames are the ones that count."""
        self._fed += 1
        if "(most recent call first)" in line:
            if self._current and self._frames:
                return False
            self._current = "Current thread" in line
            return True
        frame = self._FRAME.search(line)
        if frame is not None and self._current:
            self._frames.append(Frame(frame["file"], frame["line"], frame["function"].strip()))
        return self._fed < self._LINES and (frame is not None or not self._frames)

    def finalize(self, *, truncated: bool) -> Iterator[Emission]:
        """The crash as the program's own, when its own code or an ordinary library was running."""
        if not self._frames or self._SHARED.search(self._frames[0].file):
            return
        users = next((frame for frame in self._frames if frame.is_users()), None)
        if users is not None:
            payload = {"frame": _shown(self._frames[0]), "user_frame": _shown(users), "truncated": truncated}
            yield Emission("bad_node", "Crash in the program's native code", payload=payload)


@accumulator_def(
    "FaultHandlerStack",
    AUTHOR,
    trigger_re=r"Fatal Python error: (?:Segmentation fault|Bus error|Illegal instruction|Floating[ -]point)",
    sources=("applog",),
)
def fault_handler_stack(_job: JobIdentity, _captures: Mapping[str, str], _line: str) -> FaultHandlerStack:
    """Whose code was running when a native crash hit."""
    return FaultHandlerStack()


def _shown(frame: Frame) -> str:
    return f"{frame.file}:{frame.line} in {frame.function}" if frame.file else ""
