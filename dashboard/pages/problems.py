"""Refusals of the site itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attribution_lib.errors import Fault
from attribution_service.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["form_error", "method_error", "parameter_faults"]


class _MethodError(ServiceError):
    status = 405
    slug = "method-not-allowed"
    title = "Not possible here"


class _FormError(ServiceError):
    status = 403
    slug = "foreign-form"
    title = "This form cannot be taken"


def form_error() -> ServiceError:
    """403 for a form without our origin, cookie and token: nothing about clusters."""
    return _FormError("This form did not come from this site's own page.")


def method_error(allowed: str) -> ServiceError:
    """405, naming the method that the path takes."""
    return _MethodError(f"This address takes {allowed} only.", allow=allowed)


def parameter_faults(given: Iterable[str], known: frozenset[str]) -> list[Fault]:
    """One fault a parameter that the page does not take."""
    expected = ", ".join(sorted(known)) or "none"
    return [Fault(name[:100], "", "no such parameter", expected) for name in sorted(set(given) - known)]
