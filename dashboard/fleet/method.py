"""How the fleet page decides, for its readers. Each sentence says what the functions of this package do."""

from __future__ import annotations

__all__ = ["METHOD"]

_TEXT = """
Counted is the latest verdict of each attempt, by the time of its attribution; success, cancellation, preemption and
time limits are no failures.

Failures of one part less than an hour apart are one episode: what breaks once takes every job on it along.

A verdict that blames more than 20 nodes counts for none of them.

An offender has at least 3 episodes, and so many that the chance of any part of its kind and cluster having them is
below 1 in 1,000 (Poisson truncated at zero, since parts that never failed are not known; the rate is that of the parts
that are no offenders, plus one episode; Bonferroni over the parts).

Where one device has at least 80 % of the episodes of its node, the device is named and the node is not.

A trend is rising or falling when the two halves of the window share the episodes so unevenly that chance would do it
in less than 1 of 10 cases.

A cohort is at least 3 jobs with the same root symptom on at least 2 neighbouring nodes, linked by at most an hour
between failures of the same node or of neighbours, where chance would bring it about in less than 1 of 100 windows.

Neighbours are nodes with consecutive numbers in one pattern of names: gpu-007 and gpu-008.

Applications are in no cohort and no offender: their failures follow the code, not the machine.

GPU-hours are from a job's start to its end, times its label gpus, or its nodes times the GPUs a node.

Mean time between failures is the window over the failed jobs of hardware and system software, with the 95 % interval
of a Poisson count.
"""
METHOD = tuple(" ".join(paragraph.split()) for paragraph in _TEXT.strip().split("\n\n"))
