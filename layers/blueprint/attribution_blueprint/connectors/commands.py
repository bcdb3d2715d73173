"""Commands of schedulers and clusters: run without a shell, bounded in time and output."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Protocol

from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attribution_blueprint.connectors.base import Budget

__all__ = ["CommandRunner", "command_output", "run_command"]

_LONGEST = 256 << 20
_TICK = 0.05
_SAID = 400
_NOT_FOUND = 127
"""What ``env`` ends with when there is no such program."""


class CommandRunner(Protocol):
    """Runs a command and gives its standard output; ``CollectError`` with what it said when it failed."""

    def __call__(self, words: Sequence[str], budget: Budget) -> bytes:
        """Its standard output."""
        ...


def run_command(words: Sequence[str], budget: Budget) -> bytes:
    """Standard output of a command that exits with 0 within the budget.

    ``CollectError`` when it is not there, fails, takes too long, or prints more than 256 MiB.
    """
    with command_output(words, budget) as out:
        return out.read()


@contextmanager
def command_output(words: Sequence[str], budget: Budget, *, longest: int = _LONGEST) -> Iterator[BinaryIO]:
    """The same as a file, for output that should not be held in memory."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(  # noqa: S603 -- no shell; callers check each word that is not theirs
                list(words), stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        except OSError as error:
            msg = f"{_program(words)}: cannot be run ({error.strerror or error}); expected the program on PATH"
            raise CollectError(msg) from error
        try:
            while process.poll() is None:
                budget.remaining()
                _bounded(os.fstat(out.fileno()).st_size, longest, words)
                time.sleep(_TICK)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        err.seek(max(0, os.fstat(err.fileno()).st_size - _SAID))  # what it said last is the reason
        said = " ".join(err.read(_SAID).decode("utf-8", "replace").split())
        if process.returncode == _NOT_FOUND and words[0] == "env":
            msg = f"{_program(words)}: is not there; expected the program on PATH"
            raise CollectError(msg)
        if process.returncode:
            msg = f"{_program(words)}: failed ({process.returncode}): {said or 'it said nothing'}"
            raise CollectError(msg)
        _bounded(os.fstat(out.fileno()).st_size, longest, words)
        out.seek(0)
        yield out


def _bounded(size: int, longest: int, words: Sequence[str]) -> None:
    if size > longest:
        msg = f"{_program(words)}: printed more than {longest >> 20} MiB; ask for fewer jobs or a shorter time"
        raise CollectError(msg)


def _program(words: Sequence[str]) -> str:
    """The program of a command, without ``env`` and what it sets."""
    rest = [word for word in words if word != "env" and "=" not in word]
    return rest[0] if rest else words[0]
