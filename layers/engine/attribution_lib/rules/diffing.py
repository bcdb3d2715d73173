"""What two rule sets differ in: rules by their locks, symptoms by what decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attribution_lib.rules.model import SymptomDef
    from attribution_lib.rules.registry import GeneratedSymptomRegistry

__all__ = ["SymptomChange", "compare_symptoms"]

_DECIDES = ("outcome", "rank", "scope", "root", "teardown")


@dataclass(frozen=True, slots=True)
class SymptomChange:
    """One symptom that came, went, or decides otherwise than before."""

    kind: str
    """added, removed or changed."""
    symptom: str
    detail: str = ""


def compare_symptoms(old: GeneratedSymptomRegistry, new: GeneratedSymptomRegistry) -> list[SymptomChange]:
    """The differences by name."""
    before, after = old.metadata(), new.metadata()
    changes = []
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            changes.append(SymptomChange("added" if name not in before else "removed", name))
            continue
        detail = _detail(before[name], after[name])
        if detail:
            changes.append(SymptomChange("changed", name, detail))
    return changes


def _detail(before: SymptomDef, after: SymptomDef) -> str:
    changed = [name for name in _DECIDES if getattr(before, name) != getattr(after, name)]
    return ", ".join(f"{name} {getattr(before, name)} → {getattr(after, name)}" for name in changed)
