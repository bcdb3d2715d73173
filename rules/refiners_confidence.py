"""Verdicts that stand, but rest on less than their words would claim."""

from __future__ import annotations

import re

from attribution_lib.rule_api import (
    Confidence,
    Outcome,
    RefinerContext,
    RefinerPriority,
    Scope,
    Source,
    outcomes,
    refiner_def,
    xid,
)

AUTHOR = "attribution maintainers"
_ILLEGAL_ADDRESS = "cudaErrorIllegalAddress"
_LAUNCH_FAILURE = "cudaErrorLaunchFailure"
_NO_SPACE = "No space left on device"
_HELD_AT_START = "GPU memory held by another process at start"
_PATH = re.compile(r"(?:^|[\s'\"(=:`])/\w")


@refiner_def(
    "IllegalAddressWithoutItsXid", author=AUTHOR, priority=RefinerPriority.POST_OUTCOME, symptoms=(_ILLEGAL_ADDRESS,)
)
def illegal_address_without_its_xid(context: RefinerContext) -> None:
    """The kernel's XID 31 or 13 proves that a kernel of the program went astray; memory that lies leaves other ones."""
    choice = context.choice
    if choice is None or choice.root is None or choice.root.symptom != _ILLEGAL_ADDRESS:
        return
    confirming = context.registry.resolve([xid(13, 31)])
    if context.event_stream.lists(symptom=sorted(confirming), active=False):
        return
    choice.lower(Confidence.MEDIUM, "no XID 31 or 13 of the kernel log confirms it")
    choice.wanted.append(Source.SYSLOG)


@refiner_def(
    "ResourceOfWhomIsNotSaid",
    author=AUTHOR,
    priority=RefinerPriority.POST_OUTCOME,
    symptoms=(_NO_SPACE, _HELD_AT_START),
)
def resource_of_whom_is_not_said(context: RefinerContext) -> None:
    """A disk without a name may be the node's own, and who holds a GPU before the job begins may be somebody else."""
    choice = context.choice
    if choice is None or choice.root is None:
        return
    if choice.root.symptom == _HELD_AT_START:
        choice.lower(Confidence.MEDIUM, "the process that holds the GPU may be another job's")
    elif choice.root.symptom == _NO_SPACE and not _PATH.search(choice.root.datum):
        choice.lower(Confidence.MEDIUM, "the line does not say which disk is full")


@refiner_def(
    "LaunchFailureBeforeTheRoot", author=AUTHOR, priority=RefinerPriority.POST_OUTCOME, symptoms=(_LAUNCH_FAILURE,)
)
def launch_failure_before_the_root(context: RefinerContext) -> None:
    """A kernel that died before the root, and that nothing explains, may be the failure that the job really had."""
    choice = context.choice
    if choice is None or choice.root is None or choice.root.symptom == _LAUNCH_FAILURE:
        return
    at = choice.root.first.timestamp
    for event in context.my_bad_nodes.of((_LAUNCH_FAILURE,)):
        if at is not None and event.first.timestamp is not None and event.first.timestamp < at:
            choice.lower(Confidence.MEDIUM, f"{_LAUNCH_FAILURE} came before it, and nothing explains that")


@refiner_def(
    "LostNodeNamesNoPart",
    author=AUTHOR,
    priority=RefinerPriority.POST_OUTCOME,
    symptoms=(outcomes(Outcome.NODE_DOWN),),
)
def lost_node_names_no_part(context: RefinerContext) -> None:
    """That a node was lost is a fact; what of it failed is not said, and unless it is named not even which one."""
    choice = context.choice
    if choice is None or choice.root is None or choice.outcome is not Outcome.NODE_DOWN:
        return
    scope = context.registry.get(choice.root.symptom or "").scope
    bearing = choice.root.node if scope is not Scope.JOB else None  # else it is who printed the line
    named = bearing or choice.suspects or context.job.failed_node
    alike = "a crash, power, the network and the node's daemon look alike from here"
    choice.lower(*((Confidence.MEDIUM, alike) if named else (Confidence.LOW, f"no node is named, and {alike}")))
    choice.wanted.append(Source.SYSLOG)
