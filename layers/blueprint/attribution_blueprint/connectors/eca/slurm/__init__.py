"""Slurm: what its accounting keeps of jobs, by ``sacct`` or by ``slurmrestd``."""
