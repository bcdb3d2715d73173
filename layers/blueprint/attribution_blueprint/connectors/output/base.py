"""What a sink is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attribution_blueprint.setting_types import ComponentSettings
    from attribution_service.result import EnrichedVerdict

__all__ = ["HISTORY_SECONDS", "HistoryKeeper", "OutputConnector"]

HISTORY_SECONDS = 30 * 86_400
"""How far back the history of a node goes."""


class OutputConnector(Protocol):
    """Takes enriched verdicts.

    ``write`` returns once the verdict is safe, or raises ``OutputError``; the same (cluster, job, attempt, run_id)
    written twice is stored once. It is called from several threads. ``close`` is called once, after the last.
    """

    Settings: ClassVar[type[ComponentSettings]]

    def __init__(self, name: str, settings: ComponentSettings) -> None: ...

    def write(self, verdict: EnrichedVerdict) -> None:
        """Store one verdict."""
        ...

    def close(self) -> None:
        """Finish; ``OutputError`` when something written is lost after all."""
        ...


@runtime_checkable
class HistoryKeeper(Protocol):
    """A sink that can be asked about the verdicts that it keeps."""

    def history(self, cluster: str, nodes: Sequence[str]) -> Mapping[str, int]:
        """{node: attempts of the last 30 days whose verdict blames it}; ``OutputError``."""
        ...
