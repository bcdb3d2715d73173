"""Fails when a Python file or function grew past what a reader accepts without a reason.

Aims: 300 lines a file, 30 a function. Up to 400 and 60 a line says why; past that the code is split. The reason stands
in ``scripts/size_reasons.toml``, keyed by path or ``path::function``.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("layers", "functions", "dashboard", "rules", "scripts")
FILE_AIM, FUNCTION_AIM = 300, 30
FILE_LIMIT, FUNCTION_LIMIT = 400, 60


def main() -> int:
    """Print every file and function that is too long and has no reason; 1 when there is one."""
    reasons = tomllib.loads((ROOT / "scripts" / "size_reasons.toml").read_text(encoding="utf-8"))
    used: set[str] = set()
    complaints = []
    for address, size, aim, limit in _sizes():
        if size <= aim:
            continue
        if size <= limit and address in reasons:
            used.add(address)
            continue
        complaints.append(f"{address}: {size} lines; aim {aim}, with a reason up to {limit}")
    complaints += [
        f"{address}: has a reason but is within its aim; remove it" for address in sorted(set(reasons) - used)
    ]
    print("\n".join(complaints) or "sizes: every file and function is within its aim or has its reason")
    return 1 if complaints else 0


def _sizes() -> Iterator[tuple[str, int, int, int]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            text = path.read_text(encoding="utf-8")
            yield name, text.count("\n"), FILE_AIM, FILE_LIMIT
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{name}::{node.name}", _code_lines(node), FUNCTION_AIM, FUNCTION_LIMIT


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without its docstring: a signature and a docstring are read, not followed."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (node.end_lineno or 0) - body[0].lineno + 1 if body else 0


if __name__ == "__main__":
    sys.exit(main())
