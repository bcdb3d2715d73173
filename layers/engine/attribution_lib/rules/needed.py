"""Reading ``[[needed_evidence]]``: which evidence would decide a verdict that is not sure, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from attribution_lib.observation import Source
from attribution_lib.rules.model import Location  # noqa: TC001 -- read at run time: kept declarations are decoded
from attribution_lib.taxonomy import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from attribution_lib.rules.faults import FaultLog
    from attribution_lib.rules.tables import TableReader

__all__ = ["NeededDef", "Place", "check_needed", "needs_of", "read_needed"]

_LONGEST = 7 * 24 * 3600


class Place(StrEnum):
    """Whose evidence is asked for, in terms of the root symptom."""

    SYMPTOM = "symptom"
    """The node that bears it, or that a rule suspects."""
    PEERS = "peers"
    """The node that bears it and the peers that it names."""
    ALL = "all"
    """Every node of the job: whoever bears it only waited for another."""


@dataclass(frozen=True, slots=True)
class NeededDef:
    """What one source would tell about some symptoms, about the symptoms of some outcomes, or (neither) about any."""

    name: str
    source: Source
    place: Place
    before: int
    after: int
    """Seconds around the root symptom."""
    why: str
    location: Location
    rest: str = ""
    """Why it is asked for where other nodes' was read and of this node nothing; empty: then it is not."""
    symptoms: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it is about; one empty word for anything."""
        return (*self.symptoms, *self.outcomes) or ("",)


def read_needed(reader: TableReader) -> NeededDef:
    """One declaration."""
    outcomes = reader.texts("outcomes")
    for index, name in enumerate(outcomes):
        if name not in set(Outcome):
            reader.fault("outcomes", f"element {index + 1} is {name!r}", f"one of {', '.join(Outcome)}", index)
    needed = NeededDef(
        name=reader.text("name"),
        source=reader.member("source", Source),
        place=reader.member("place", Place, default=Place.SYMPTOM),
        before=reader.integer("before", high=_LONGEST),
        after=reader.integer("after", high=_LONGEST),
        why=reader.text("why"),
        location=reader.location,
        rest=reader.text("rest", default=""),
        symptoms=reader.texts("symptoms"),
        outcomes=tuple(Outcome(name) for name in outcomes if name in set(Outcome)),
    )
    reader.finish()
    return needed


def check_needed(declared: Iterable[NeededDef], known: Iterable[str], faults: FaultLog) -> None:
    """Note unknown symptoms, names given twice and two voices for one source of one symptom or outcome."""
    symptoms = frozenset(known)
    names: dict[str, Location] = {}
    voices: dict[tuple[str, str], NeededDef] = {}
    for needed in declared:
        first = names.setdefault(needed.name, needed.location)
        if first is not needed.location:
            faults.add(needed.location, needed.name, f"is already declared at {first}", "a name of its own")
        for symptom in needed.symptoms:
            if symptom not in symptoms:
                problem = f"unknown symptom {symptom!r}"
                faults.add(needed.location, f"{needed.name} symptoms", problem, "a declared [[symptom]]")
        for subject in needed.subjects:
            other = voices.setdefault((needed.source, subject), needed)
            if other is not needed:
                about = repr(subject) if subject else "any verdict"
                problem = f"the {needed.source} for {about} is already asked for by {other.name} at {other.location}"
                faults.add(needed.location, needed.name, problem, "one declaration a source")


def needs_of(needed: Sequence[NeededDef], symptom: str | None, outcome: Outcome) -> Iterator[NeededDef]:
    """What to ask for, at most once a source: what is said of the symptom, else of the outcome, else of any."""
    about = {(one.source, subject): one for one in needed for subject in one.subjects}
    for source in (Source.APPLOG, Source.SYSLOG, Source.SCHEDULER, Source.NODE_METRICS):
        found = next((about[source, word] for word in (symptom or "", outcome, "") if (source, word) in about), None)
        if found is not None:
            yield found
