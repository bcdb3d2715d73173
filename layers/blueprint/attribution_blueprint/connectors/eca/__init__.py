"""Execution-context adapters: which jobs there are. One file a component, named in this table."""

from __future__ import annotations

from attribution_blueprint.connectors.base import Component

__all__ = ["COMPONENTS"]

_HERE = "attribution_blueprint.connectors.eca"

COMPONENTS: tuple[Component, ...] = (
    Component("static", f"{_HERE}.static:StaticAdapter", "One workload by hand, or a folder of cases."),
    Component("slurm", f"{_HERE}.slurm.adapter:SlurmAdapter", "Jobs of a Slurm cluster, by sacct."),
    Component("slurmrestd", f"{_HERE}.slurm.rest:SlurmRestAdapter", "Jobs of a Slurm cluster, by its REST API."),
    Component("kueue", f"{_HERE}.kueue.adapter:KueueAdapter", "Workloads of Kueue and PodGroups of KAI, by kubectl."),
    Component("awsbatch", f"{_HERE}.awsbatch:AwsBatchAdapter", "Jobs of AWS Batch.", extra="aws"),
    Component("sagemaker", f"{_HERE}.sagemaker:SagemakerAdapter", "Training jobs of SageMaker.", extra="aws"),
)
