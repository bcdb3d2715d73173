"""The symptom registry: every symptom the loaded rules declare, with its outcome, rank and docs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attribution_lib.taxonomy import Outcome, SubDomain, sub_domain_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attribution_lib.rules.model import SymptomDef

__all__ = [
    "CodeMatcher",
    "GeneratedSymptomRegistry",
    "OutcomeMatcher",
    "RankMatcher",
    "SymptomMatcher",
    "UnknownSymptomError",
]


class UnknownSymptomError(LookupError):
    """A rule names a symptom that no rule file declares."""


@dataclass(frozen=True, slots=True)
class CodeMatcher:
    """Symptoms of one catalogue family by vendor code: ``xid(48, 63)``."""

    family: str
    codes: frozenset[int]


@dataclass(frozen=True, slots=True)
class OutcomeMatcher:
    """All symptoms of some outcomes."""

    outcomes: frozenset[Outcome]


@dataclass(frozen=True, slots=True)
class RankMatcher:
    """All symptoms whose rank lies in [low, high)."""

    low: int
    high: int


SymptomMatcher = str | CodeMatcher | OutcomeMatcher | RankMatcher


class GeneratedSymptomRegistry:
    """Immutable look-up of symptoms by name or alias; built once from the loaded declarations."""

    def __init__(self, symptoms: Iterable[SymptomDef]) -> None:
        self._by_name: dict[str, SymptomDef] = {symptom.name: symptom for symptom in symptoms}
        self._aliases = {alias: symptom.name for symptom in self._by_name.values() for alias in symptom.aliases}
        # Cascades ask for the same matchers once per node; the answer depends on nothing that can change.
        self._resolved: dict[tuple[SymptomMatcher, ...], frozenset[str]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._by_name or name in self._aliases

    def __iter__(self) -> Iterator[SymptomDef]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> SymptomDef:
        """The declaration behind a name or an alias; ``UnknownSymptomError`` when nobody declared it."""
        symptom = self._by_name.get(self._aliases.get(name, name))
        if symptom is None:
            raise UnknownSymptomError(name)
        return symptom

    def resolve(self, matchers: Iterable[SymptomMatcher]) -> frozenset[str]:
        """The names that the matchers stand for; a plain name that is unknown raises ``UnknownSymptomError``."""
        key = tuple(matchers)
        names = self._resolved.get(key)
        if names is None:
            names = frozenset(name for matcher in key for name in self._resolve_one(matcher))
            self._resolved[key] = names
        return names

    def _resolve_one(self, matcher: SymptomMatcher) -> Iterable[str]:
        match matcher:
            case str():
                return (self.get(matcher).name,)
            case CodeMatcher():
                return (s.name for s in self if s.family == matcher.family and s.code in matcher.codes)
            case OutcomeMatcher():
                return (s.name for s in self if s.outcome in matcher.outcomes)
            case RankMatcher():
                return (s.name for s in self if matcher.low <= s.rank < matcher.high)

    def sub_domain(self, name: str) -> SubDomain:
        """The sub-domain that a symptom's outcome belongs to."""
        return sub_domain_of(self.get(name).outcome)

    def metadata(self) -> Mapping[str, SymptomDef]:
        """All declarations by name."""
        return dict(self._by_name)
