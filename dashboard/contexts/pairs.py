"""Pairs of hosts that lost each other, as a matrix."""

from __future__ import annotations

from dashboard.contexts.model import Context

__all__ = ["MAX_ENDS", "PairCell", "PairMatrix", "PairRow"]

MAX_ENDS = 32


class PairCell(Context):
    """Errors between two hosts."""

    row: int
    """Index of the reporting host in ``hosts``."""
    column: int
    """Index of the lost host in ``hosts``."""
    count: int
    """Errors."""
    weight: float
    """Share of the largest cell, above 0 to 1: how strongly to colour it."""
    label: str
    """In words: both hosts, the port, the status, the times."""


class PairRow(Context):
    """One pair, for the table beside the matrix."""

    source: str
    """The reporting host: its node, else its address."""
    target: str
    """The lost host."""
    count: int
    """Errors."""
    hca: str
    """The adapter; empty when unknown."""
    status: str
    """Completion status; empty when unknown."""
    vendor_error: str
    """The vendor's error code; empty when unknown."""
    first_seen: str
    """Empty when untimed."""
    last_seen: str
    """Empty when untimed."""


class PairMatrix(Context):
    """At most 32 hosts by 32, the ones with most errors; the table has at most 100 pairs."""

    hosts: tuple[str, ...]
    """Labels of rows and columns, by falling number of pairs."""
    cells: tuple[PairCell, ...]
    """The cells with errors."""
    rows: tuple[PairRow, ...]
    """The pairs, first error first."""
    total: int
    """How many pairs there are."""
    summary: str
    """What the matrix shows, as a sentence: whether the pairs share an end."""
    omitted: str
    """What is not shown, as a sentence; empty when everything is."""
