r"""Expanding ``[[extractor_family]]``: a template and its members become distinct rules.

A ``{key}`` of a member is replaced verbatim, in the pattern too, so that a member may be an alternation
(``exc = "ImportError|ModuleNotFoundError"``) or any other piece of regex; write ``\.`` where a dot is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_lib.rules.emits import fill_emit
from attribution_lib.rules.templates import fill, placeholders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_lib.rules.model import Emit
    from attribution_lib.rules.tables import TableReader

__all__ = ["Member", "expand_family"]


@dataclass(frozen=True, slots=True)
class Member:
    """What one member makes of the template."""

    id: str
    match_re: str
    emit: Emit


def expand_family(reader: TableReader, match_re: str, emit: Emit) -> Iterator[tuple[int, Member]]:
    """The members with their index in the array; what is wrong with one is noted and the member left out."""
    members = _read_members(reader)
    every_key = {key for _, member in members for key in member}
    used = {"id", *placeholders(match_re)}
    for text in (emit.type, emit.symptom, emit.node, emit.rank, emit.peer, emit.device, *emit.payload.values()):
        used.update(placeholders(text))
    ids: set[str] = set()
    for index, member in members:
        for key in sorted(every_key - member.keys()):
            reader.fault(
                "members", f"member {member.get('id', index + 1)} lacks {key!r}", "as other members have", index
            )
        for key in sorted(member.keys() - used):
            reader.fault("members", f"key {key!r} is used by no template", "a {" + key + "} in match_re or emit", index)
        if member["id"] in ids:
            reader.fault("members", f"two members have the id {member['id']!r}", "distinct ids", index)
            continue
        ids.add(member["id"])
        yield index, Member(member["id"], fill(match_re, member), fill_emit(emit, member))


def _read_members(reader: TableReader) -> list[tuple[int, dict[str, str]]]:
    values: Any = reader.raw("members")
    if not isinstance(values, list) or not values:
        reader.fault("members", "is missing or empty", 'an array of tables like [ { id = "…", … } ]')
        return []
    members = []
    for index, value in enumerate(values):
        if not isinstance(value, dict) or not value.get("id"):
            reader.fault("members", f"member {index + 1} has no id", 'a table like { id = "…", … }', index)
            continue
        wrong = [key for key, item in value.items() if isinstance(item, bool) or not isinstance(item, str | int)]
        for key in wrong:
            reader.fault("members", f"{key} is {value[key]!r}", "a string", index)
        if not wrong:
            members.append((index, {key: str(item) for key, item in value.items()}))
    return members
