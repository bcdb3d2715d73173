"""Exclusions: ``lint/exclusions.toml`` in a rules folder, each with a reason.

[[exclude]]
check = "strict-start"
subject = "PythonTraceback"      # the rule, definition or symptom that the issue names
reason = "the launcher prints it without a prefix"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.rules.toml_rules import read_document

if TYPE_CHECKING:
    from attribution_lib.rules.declared import RuleFolder
    from attribution_lib.rules.faults import FaultLog
    from attribution_lib.rules.model import Location

__all__ = ["EXCLUSIONS_FILE", "Exclusion", "read_exclusions"]

EXCLUSIONS_FILE = "lint/exclusions.toml"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One issue that the authors accept."""

    location: Location
    check: str
    subject: str
    reason: str

    def covers(self, subject: str) -> bool:
        """True for the excluded rule or symptom, and for every member of an excluded family."""
        return subject == self.subject or subject.startswith(f"{self.subject}.")


def read_exclusions(folder: RuleFolder, faults: FaultLog) -> list[Exclusion]:
    """The exclusions of a rules folder; none when it has no such file."""
    path = folder.path / EXCLUSIONS_FILE
    if not path.is_file():
        return []
    document = read_document(path, f"{folder.label}/{EXCLUSIONS_FILE}", faults)
    if document is None:
        return []
    found = []
    for reader in document.tables(("exclude",), (), {}, faults):
        found.append(
            Exclusion(reader.location, reader.text("check"), reader.text("subject"), reason=reader.text("reason"))
        )
        reader.finish()
    return found
