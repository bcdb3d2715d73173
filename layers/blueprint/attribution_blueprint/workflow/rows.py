"""What became of each context of a run: one object each, so that writers never meet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict

from attribution_service.ports import ObjectExistsError, ObjectMissingError
from attribution_service.workflow.keys import row_key, row_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_service.ports import ObjectStore

__all__ = ["ContextRow", "ObjectRows", "RowStatus", "RunRows"]


class RowStatus(StrEnum):
    """How a context ended."""

    ATTRIBUTED = "attributed"
    """A verdict was had, in this run or, where that was not asked for again, before."""
    CONFLICTED = "conflicted"
    """Somebody else's session is open."""
    FAILED = "failed"
    """No verdict could be had."""


class ContextRow(BaseModel):
    """One context of a run. Times are RFC 3339."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_id: str
    context: str
    """``cluster:job_id:attempt``; of a request that named no job that could be found, what it named."""
    status: RowStatus
    attributor_id: str = ""
    """The session used, or the one in the way."""
    verdict_run: str = ""
    """The run whose verdict this is: this one, or an earlier one that was found."""
    verdict_key: str = ""
    """Object of the enriched verdict; empty when it was found."""
    outcome: str = ""
    sub_domain: str = ""
    terminal_state: str = ""
    evidence_status: str = ""
    written: tuple[str, ...] = ()
    """The sinks that took it."""
    reason: str = ""
    """Why there is no verdict, or what a sink said."""
    left_behind: bool = False
    """The session may still be open."""
    started_at: str = ""
    ended_at: str = ""

    @property
    def succeeded(self) -> bool:
        """A verdict was had and at least one sink has it."""
        return self.status is RowStatus.ATTRIBUTED and bool(self.written)


class RunRows(Protocol):
    """Where rows are kept; the row of a context written twice is there once."""

    def put(self, row: ContextRow, *, if_absent: bool = False) -> None:
        """Keep a row; with ``if_absent`` one that is there already stays."""
        ...

    def rows(self, run_id: str) -> Iterator[ContextRow]:
        """The rows of a run, in no order to rely on."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectRows:
    """Rows as objects under ``runs/{run_id}/rows/``."""

    objects: ObjectStore

    def put(self, row: ContextRow, *, if_absent: bool = False) -> None:
        """One object."""
        try:
            key = row_key(row.run_id, row.context)
            self.objects.put(key, row.model_dump_json().encode(), if_absent=if_absent)
        except ObjectExistsError:
            return

    def rows(self, run_id: str) -> Iterator[ContextRow]:
        """One read an object; one that is removed meanwhile is left out."""
        for info in self.objects.list(row_prefix(run_id)):
            try:
                yield ContextRow.model_validate_json(self.objects.get(info.key))
            except ObjectMissingError:
                continue
