"""Reads what a guide shows: its files, its commands, and what they print; runs them in a folder of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

BLOCK = re.compile(r"^```(console|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A TOML block whose first line names the file that it is the whole of."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownCommand:
    """A line that begins with ``$``, without its remark, and the lines below it."""

    line: str
    printed: tuple[str, ...]


def steps(guide: str) -> Iterator[ShownFile | ShownCommand]:
    """The blocks of a guide in their order."""
    for kind, text in BLOCK.findall(guide):
        if kind == "console":
            yield from _commands(text)
        else:
            yield ShownFile(text.splitlines()[0].removeprefix("# "), text)


def _commands(text: str) -> Iterator[ShownCommand]:
    for part in text.replace("\\\n", " ").split("$ ")[1:] if text.startswith("$ ") else []:
        first, *printed = part.splitlines()
        yield ShownCommand(re.sub(r"\s+# .*", "", first), tuple(printed))


def differences(shown: tuple[str, ...], printed: str) -> list[str]:
    """The first shown line that was not printed; ``…`` stands for any text, alone on a line for any lines."""
    lines = [line.rstrip() for line in printed.splitlines()]
    parts = ["(?:[^\n]*\n)*?" if line == "…" else _pattern(line) + "\n" for line in shown]
    if not shown or re.fullmatch("".join(parts), "".join(f"{line}\n" for line in lines)):
        return []
    for line in shown:
        if line != "…" and not any(re.fullmatch(_pattern(line), each) for each in lines):
            return [line]
    return ["the shown lines stand in another order, or others stand between them"]


def _pattern(line: str) -> str:
    return "[^\n]*".join(map(re.escape, line.rstrip().split("…")))


def run(line: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a shell line there, both streams as one; ``attribution`` is the one of this interpreter."""
    program = folder / "bin" / "attribution"
    if not program.is_file():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m attribution_cli "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return subprocess.run(  # noqa: S603 -- the lines of our own guides
        ["/bin/sh", "-c", line],
        cwd=folder,
        env={**environment, "PATH": f"{program.parent}:{environment['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
