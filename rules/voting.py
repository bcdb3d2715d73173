"""Voting over pairs: which end of failing connections the evidence points at, and when it points at neither."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from common.network_pairs import build_pairs, endpoints

from attribution_lib.rule_api import Outcome, RefinerPriority, refiner_def

if TYPE_CHECKING:
    from attribution_lib.rule_api import OutcomeChoice, RefinerContext

_ENOUGH_PAIRS = 3


@refiner_def("PeerVoting", author="attribution maintainers", priority=RefinerPriority.POST_OUTCOME)
def peer_voting(context: RefinerContext) -> None:
    """Vote over source and destination of failing connections, when nothing better explains the failure.

    Three or more distinct pairs of which more than half share one end: that end is the suspect, and the note says with
    what count. One pair: both ends are suspects, neither alone. Many unrelated pairs: the fabric. The outcome stays
    ambiguous in every case.
    """
    choice = context.choice
    if choice is None or choice.outcome is not Outcome.COMMUNICATION_FAILURE:
        return
    pairs = endpoints(build_pairs(context.event_stream, context.job))
    whole = [pair for pair in pairs if len(pair) == 2]  # noqa: PLR2004 -- a pair has two ends
    if len(whole) >= _ENOUGH_PAIRS:
        _vote(context, choice, whole)
    elif len(whole) == 1:
        _suspect(context, choice, sorted(whole[0]), "one of the two ends of the only failing pair", both=True)


def _vote(context: RefinerContext, choice: OutcomeChoice, pairs: list[frozenset[str]]) -> None:
    votes = Counter(name for pair in pairs for name in pair)
    name, count = min(votes.items(), key=lambda item: (-item[1], item[0]))
    if count * 2 > len(pairs):
        _suspect(context, choice, [name], f"end of {count} of {len(pairs)} failing pairs", both=False)
        return
    choice.notes.append(
        f"{len(pairs)} failing pairs share no end (most: {name} in {count}): the fabric between them is the suspect"
    )


def _suspect(context: RefinerContext, choice: OutcomeChoice, names: list[str], reason: str, *, both: bool) -> None:
    """Name suspects as bad nodes only where they are nodes of the job, and of one pair only both together."""
    choice.notes.append(f"{' and '.join(names)}: {reason}")
    known = [name for name in names if name in context.job.nodes]
    if len(known) == len(names) or (known and not both):
        choice.suspects = known
        choice.suspect_reason = reason
