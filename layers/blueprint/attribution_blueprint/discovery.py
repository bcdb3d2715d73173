"""Which contexts a configuration means, and what would be read for each."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_blueprint.collecting import Source
from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.errors import BlueprintError, DiscoveryError
from attribution_lib.job.model import StateClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attribution_blueprint.context import ExecutionContext
    from attribution_blueprint.settings import Configuration

__all__ = ["Discovery", "discover", "planned", "sources_of"]

_GRACE = 1.0


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the adapters of a configuration found."""

    contexts: list[ExecutionContext]
    """To be attributed, each once."""
    discovered: int
    """With those that are left out because they completed."""
    errors: list[str]
    """Of adapters that could not say."""


def discover(configuration: Configuration) -> Discovery:
    """Ask every adapter; one that fails costs only its own contexts."""
    found: dict[str, ExecutionContext] = {}
    errors: list[str] = []
    for group in configuration.of("eca"):
        try:
            contexts = _asked(group.make(), float(getattr(group.settings, "timeout_seconds", 120.0)))
        except BlueprintError as error:
            errors.append(str(error))
            continue
        for context in contexts:
            found.setdefault(context.key, context)
    everything = configuration.run.include_completed
    wanted = [
        context
        for context in found.values()
        if context.asked or everything or context.info.state_class is not StateClass.COMPLETED
    ]
    return Discovery(wanted, len(found), errors)


def sources_of(configuration: Configuration) -> list[Source]:
    """The collectors of a configuration, sorted by name, logs first."""
    return [
        Source(group.slot.component, group.slot.instance, group.make(), float(vars(group.settings)["timeout_seconds"]))
        for framework in ("log", "metric")
        for group in configuration.of(framework)
    ]


def planned(sources: Sequence[Source], context: ExecutionContext) -> Iterator[tuple[str, str]]:
    """(instance, place) of everything that would be read for a context; a plan that cannot be made says why."""
    for source in sources:
        try:
            yield from ((source.instance, place) for place in source.collector.plan(context))
        except BlueprintError as error:
            yield source.instance, f"not known: {error}"


def _asked(adapter: Any, seconds: float) -> Sequence[ExecutionContext]:
    """What an adapter finds, in a thread that is left behind when it hangs."""
    box: list[Sequence[ExecutionContext] | BaseException] = []

    def work() -> None:
        try:
            box.append(adapter.discover(Budget.of(seconds)))
        # Raised again by whoever waits.
        except BaseException as error:  # noqa: BLE001 -- see above
            box.append(error)

    thread = threading.Thread(target=work, name=f"discover {adapter.name}", daemon=True)
    thread.start()
    thread.join(seconds + _GRACE)
    found = box[0] if box else TimeoutError(f"hung: no answer within timeout_seconds = {seconds:g}")
    if isinstance(found, BlueprintError):
        raise found
    if isinstance(found, BaseException):
        msg = f"eca {adapter.name}: {type(found).__name__}: {found}"
        raise DiscoveryError(msg) from found
    return found
