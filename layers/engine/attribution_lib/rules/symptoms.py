"""Reading ``[[symptom]]`` and ``symptom_def``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.rules.model import Scope, SymptomDef
from attribution_lib.taxonomy import Outcome

if TYPE_CHECKING:
    from attribution_lib.rules.tables import TableReader

__all__ = ["HIGHEST_RANK", "read_symptom"]

HIGHEST_RANK = 999


def read_symptom(reader: TableReader) -> SymptomDef:
    """One declared symptom. A missing rank is a fault: an unranked symptom could never be compared."""
    symptom = SymptomDef(
        name=reader.text("name"),
        outcome=reader.member("outcome", Outcome),
        rank=reader.integer("rank", low=0, high=HIGHEST_RANK),
        scope=reader.member("scope", Scope),
        location=reader.location,
        root=reader.flag("root", default=True),
        teardown=reader.flag("teardown", default=False),
        docs=reader.text("docs", default=""),
        aliases=reader.texts("aliases"),
        action=reader.text("action", default=""),
    )
    reader.finish()
    return symptom
