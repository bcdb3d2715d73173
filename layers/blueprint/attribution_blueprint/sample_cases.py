"""The labelled samples as the dashboard's walkthrough shows them."""

from __future__ import annotations

import tomllib
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from attribution_blueprint.case_files import read_case_folder
from dashboard.site import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attribution_lib.job.model import JobInfo
    from attribution_lib.observation import Observation

__all__ = ["sample_cases", "sample_folder"]

_FIRST = (
    "cuda-oom-rank11-zero3-four-nodes",
    "slurm-drain-reason-hc-gpu-ecc-after-xid48",
    "hbm-failing-behind-rpc-timeout",
    "xid79-gpu-at-95c",
)
"""Shown first: their cascades have something in every phase."""
_LABEL = "expected.toml"


def sample_folder() -> Path:
    """The samples of this checkout, or those that an installed package carries; the folder may not be there."""
    package = Path(__file__).resolve().parent
    installed = package / "samples"
    return installed if installed.is_dir() else package.parents[2] / "samples" / "cases"


@cache
def sample_cases(folder: Path) -> Sequence[Sample]:
    """Those with most to see first, then by name; evidence is read when a sample is loaded."""
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    first = [name for name in _FIRST if name in names]
    rest = [name for name in names if name not in first]
    return tuple(_sample(folder / name) for name in [*first, *rest])


def _sample(folder: Path) -> Sample:
    title = folder.name.replace("-", " ")
    return Sample(folder.name, f"{title[:1].upper()}{title[1:]}", _story(folder / _LABEL), partial(_evidence, folder))


def _story(label: Path) -> str:
    """What happened, as the case's own label tells it; the engine never sees it."""
    why = str(tomllib.loads(label.read_text(encoding="utf-8")).get("why", "")) if label.is_file() else ""
    return why.partition("[provenance:")[0].strip()


def _evidence(folder: Path) -> tuple[JobInfo, Sequence[Observation]]:
    evidence = read_case_folder(folder)
    return evidence.job, evidence.observations
