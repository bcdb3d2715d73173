"""The ``@rule_type`` decorator and the table that the loader looks declarations up in."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attribution_lib.rules.declared import Declared, RawRule

__all__ = ["RuleType", "RuleTypes", "rule_type"]


class RuleType(Protocol):
    """Knows how to turn one kind of declaration into rules."""

    type_name: ClassVar[str]
    """``collector``, ``extractor``, ``filter`` or ``refiner``."""
    kinds: ClassVar[tuple[str, ...]]
    """The TOML tables and decorators that declare rules of this type."""

    def build(self, raw: RawRule, declared: Declared) -> None:
        """Check one declaration and add its rules, or the faults found, to ``declared``."""
        ...


_T = TypeVar("_T")


def rule_type(name: str, *kinds: str) -> Callable[[type[_T]], type[_T]]:
    """Mark a class as the rule type ``name`` that is declared by these TOML tables and Python decorators."""

    def decorate(cls: type[_T]) -> type[_T]:
        cls.type_name = name  # type: ignore[attr-defined] # the attributes are what the decorator adds
        cls.kinds = kinds  # type: ignore[attr-defined] # likewise
        return cls

    return decorate


class RuleTypes:
    """The rule types that one loader has registered, by the kind of declaration."""

    def __init__(self) -> None:
        self._by_kind: dict[str, RuleType] = {}

    def register(self, types: Iterable[RuleType]) -> None:
        """Add rule types; a kind that is already taken is a programming error."""
        for found in types:
            for kind in found.kinds:
                if kind in self._by_kind:
                    msg = f"two rule types read [[{kind}]]: {self._by_kind[kind].type_name} and {found.type_name}"
                    raise ValueError(msg)
                self._by_kind[kind] = found

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind of declaration that can be read, sorted."""
        return tuple(sorted(self._by_kind))

    def get(self, kind: str) -> RuleType | None:
        """The rule type that reads this kind of declaration."""
        return self._by_kind.get(kind)
