"""What is asked of a Prometheus and how its replies are read; asks nobody itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attribution_blueprint.errors import CollectError
from attribution_lib.errors import ObservationError
from attribution_lib.observation_parse import parse_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from attribution_lib.observation import MetricSeries

__all__ = ["Stretch", "halves", "read_reply", "selectors", "stretches"]

_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$])")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time that one query asks for: seconds since the epoch, both ends meant, in whole steps."""

    start: int
    end: int
    step: int

    @property
    def points(self) -> int:
        """Samples that each series may have in it."""
        return (self.end - self.start) // self.step + 1


def stretches(start: int, end: int, step: int, points: int) -> list[Stretch]:
    """A window (seconds) cut into stretches of so many points; on multiples of the step, so that none is twice."""
    first = start // step * step
    span = (points - 1) * step
    found = []
    while first <= end:
        found.append(Stretch(first, min(first + span, end), step))
        first += span + step
    return found


def halves(stretch: Stretch) -> tuple[Stretch, Stretch]:
    """The stretch in two, without a point in both."""
    middle = stretch.start + (stretch.points // 2 - 1) * stretch.step
    return (
        Stretch(stretch.start, middle, stretch.step),
        Stretch(middle + stretch.step, stretch.end, stretch.step),
    )


def selectors(metrics: Sequence[str], nodes: Sequence[str], labels: Sequence[str], extra: str = "") -> Iterator[str]:
    """One selector for each label that may hold the node's name; no series fits two of them.

    Values may be followed by a domain and a port: ``node-0003.cluster:9400``.
    """
    names = "|".join(metrics)
    hosts = "(?:" + "|".join(_SPECIAL.sub(r"\\\1", node) for node in nodes) + r")(?:\..*)?(?::\d+)?"
    quoted = hosts.replace("\\", "\\\\").replace('"', '\\"')
    excluded: list[str] = []
    for label in labels:
        matchers = [f'__name__=~"{names}"', f'{label}=~"{quoted}"', *excluded]
        yield "{" + ",".join([*matchers, extra] if extra else matchers) + "}"
        excluded.append(f'{label}!~"{quoted}"')


def read_reply(reply: Any) -> tuple[list[MetricSeries], list[str]]:
    """The series of a reply of ``query_range``, and its warnings: what a partial answer leaves out.

    ``CollectError`` when it is no such reply.
    """
    if not isinstance(reply, dict) or reply.get("status") != "success":
        said = reply.get("error", reply) if isinstance(reply, dict) else reply
        msg = f"no answer of the query API: {str(said)[:200]}"
        raise CollectError(msg)
    data = reply.get("data")
    if not isinstance(data, dict) or data.get("resultType") != "matrix" or not isinstance(data.get("result"), list):
        msg = f"expected a matrix, got {str(data)[:120]}"
        raise CollectError(msg)
    # Native histograms have no "values": no rule reads them.
    found = [series for series in data["result"] if not isinstance(series, dict) or "values" in series]
    warnings = [str(warning)[:300] for warning in reply.get("warnings") or ()]
    try:
        return parse_matrix(found), warnings
    except ObservationError as error:
        msg = f"the matrix cannot be read: {error}"
        raise CollectError(msg) from error
