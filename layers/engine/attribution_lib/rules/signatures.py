"""What a Python rule's function may ask for.

Extractors never get the event stream: they must not depend on each other.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_lib.rules.tables import TableReader

__all__ = ["check_accumulator", "check_arguments"]

_READS_STREAM = ("EventStream", "FilterContext", "RefinerContext", "CollectorContext", "event_stream")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def check_arguments(reader: TableReader, target: Callable[..., object], *names: str) -> None:
    """Note a function that cannot be called with exactly these positional arguments."""
    parameters = list(inspect.signature(target).parameters.values())
    required = [p for p in parameters if p.default is p.empty and p.kind not in _VARIADIC]
    fits = len(required) == len(names) and all(p.kind in _POSITIONAL for p in required)
    if not fits:
        given = ", ".join(p.name for p in required) or "nothing"
        reader.fault("", f"the function takes ({given})", f"({', '.join(names)})")


def check_accumulator(reader: TableReader, factory: Callable[..., object]) -> None:
    """Note a factory that asks for more than the job's identity, the captures and the line, or makes no accumulator."""
    check_arguments(reader, factory, "job", "captures", "line")
    for parameter in inspect.signature(factory).parameters.values():
        asked = f"{parameter.name}: {parameter.annotation}"
        if any(word in asked for word in _READS_STREAM):
            reader.fault(
                "",
                f"the factory asks for the event stream ({parameter.name})",
                "(job, captures, line): extractors only write events, they cannot read them",
            )
    if inspect.isclass(factory):
        for method in ("feed", "finalize"):
            if not callable(getattr(factory, method, None)):
                reader.fault("", f"the accumulator has no {method}()", "feed(line) and finalize(*, truncated)")
