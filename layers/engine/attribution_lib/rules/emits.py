"""Reading ``emit = { … }`` and checking that its templates can be filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attribution_lib.rules.model import EMIT_TYPES, Emit
from attribution_lib.rules.templates import fill, placeholders

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from attribution_lib.rules.tables import TableReader

__all__ = ["check_emit", "fill_emit", "read_emit"]

_KEYS = ("type", "symptom", "node", "rank", "peer", "device")
_NEEDS_SYMPTOM = frozenset({"bad_node", "interesting_node", "stop"})


def read_emit(reader: TableReader) -> Emit:
    """The emission of a declaration, as written."""
    values = reader.table("emit", required=True)
    payload = values.pop("payload", {})
    if not isinstance(payload, dict):
        reader.fault("emit", "payload is not a table", 'a table like { kind = "rank_host" }')
        payload = {}
    texts: dict[str, str] = {}
    for key, value in values.items():
        if key not in _KEYS:
            reader.fault("emit", f"unknown key {key!r}", f"one of {', '.join(_KEYS)}, payload")
        elif isinstance(value, bool) or not isinstance(value, str | int):
            reader.fault("emit", f"{key} is {value!r}", "a string")
        else:
            texts[key] = str(value)
    if "type" not in texts and reader.has("emit"):
        reader.fault("emit", "type is missing", f"one of {', '.join(EMIT_TYPES)}")
    texts.setdefault("type", "info")
    return Emit(**texts, payload={str(key): _payload_text(value) for key, value in payload.items()})


def _payload_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def fill_emit(emit: Emit, values: Mapping[str, str]) -> Emit:
    """The emission with the keys of a family member put in."""
    return Emit(
        **{key: fill(getattr(emit, key), values) for key in _KEYS},
        payload={key: fill(value, values) for key, value in emit.payload.items()},
    )


def check_emit(
    reader: TableReader,
    emit: Emit,
    captures: Collection[str] | None,
    columns: Collection[str] = (),
    index: int | None = None,
) -> None:
    """Note what cannot be filled: unknown types, names that nothing provides, a symptom that a line could invent.

    ``columns`` are those of the rule's catalogue: only they may vary the type or the symptom. ``captures`` None means
    that any name may turn up.
    """
    key = "emit" if index is None else "members"
    _check_type(reader, emit, columns, key, index)
    for name in placeholders(emit.symptom):
        if name not in columns:
            problem = f"symptom names {{{name}}}, which is no member key and no catalogue column"
            reader.fault(key, problem, "a name that is known when the rules are loaded", index)
    _check_names(reader, [emit.node, emit.rank, emit.peer, emit.device], captures, (), key, index)
    _check_names(reader, list(emit.payload.values()), captures, columns, key, index)
    if emit.type in _NEEDS_SYMPTOM and not emit.symptom:
        reader.fault(key, f"type {emit.type} without a symptom", 'symptom = "…"', index)


def _check_type(reader: TableReader, emit: Emit, columns: Collection[str], key: str, index: int | None) -> None:
    names = placeholders(emit.type)
    if names and emit.type == f"{{{names[0]}}}":
        if names[0] not in columns:
            reader.fault(key, f"type names {{{names[0]}}}, which is no catalogue column", "a catalogue column", index)
    elif emit.type not in EMIT_TYPES:
        reader.fault(key, f"type is {emit.type!r}", f"one of {', '.join(EMIT_TYPES)}", index)


def _check_names(  # noqa: PLR0913, PLR0917 -- some templates, what may fill them and where they stand
    reader: TableReader,
    texts: list[str],
    captures: Collection[str] | None,
    columns: Collection[str],
    key: str,
    index: int | None,
) -> None:
    if captures is None:
        return
    known = {*captures, *columns}
    for name in sorted({name for text in texts for name in placeholders(text)} - known):
        expected = ", ".join(sorted(known)) or "no name at all: the pattern has no named group"
        reader.fault(key, f"names {{{name}}}, which the pattern does not capture", f"one of {expected}", index)
