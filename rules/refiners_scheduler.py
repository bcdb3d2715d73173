"""What the job's own record adds once the outcome is known."""

from __future__ import annotations

from attribution_lib.rule_api import RefinerContext, RefinerPriority, refiner_def

_UNNAMED_NODE_FAILURE = "Job ended by a node failure"


@refiner_def(
    name="FailedNodeOfTheRecord",
    author="attribution maintainers",
    priority=RefinerPriority.POST_OUTCOME,
    symptoms=(_UNNAMED_NODE_FAILURE,),
)
def failed_node_of_the_record(context: RefinerContext) -> None:
    """A line that says "due to node failure" is printed by a survivor; the scheduler's record names the node."""
    choice, failed = context.choice, context.job.failed_node
    if choice is None or choice.root is None or choice.root.symptom != _UNNAMED_NODE_FAILURE or failed is None:
        return
    choice.suspects = [failed]
    choice.suspect_reason = "the scheduler's record names it as the failed node"
