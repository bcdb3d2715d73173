"""Reading what every rule carries: name, author, status, version, dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rules.model import Provenance, RuleStatus

if TYPE_CHECKING:
    from attribution_lib.rules.tables import TableReader

__all__ = ["read_provenance"]


def read_provenance(
    reader: TableReader, *, name: str | None = None, line_of: tuple[str, int] | None = None
) -> Provenance:
    """The provenance of a declaration, or of one member of it (``name`` and the array element it stands in)."""
    definition = reader.text("name")
    return Provenance(
        name=name or definition,
        author=reader.text("author"),
        location=reader.at(*line_of) if line_of else reader.location,
        definition=definition,
        status=reader.member("status", RuleStatus, default=RuleStatus.STABLE),
        version=reader.integer("version", default=1, low=1),
        depends_on=reader.texts("depends_on"),
    )
