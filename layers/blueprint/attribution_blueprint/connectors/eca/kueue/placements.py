"""Where pods ran, kept while they live: one JSON object a line, appended and flushed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from attribution_blueprint.connectors.eca.kueue.objects import PodFacts
from attribution_blueprint.errors import DiscoveryError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Recorder", "owner_of", "read_placements"]

_OWNER_LABELS = ("jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-name", "job-name")
_FIELDS = ("namespace", "name", "uid", "node", "attempt", "start")


def owner_of(labels: object) -> str:
    """The JobSet or Job that a pod's labels name; empty for other pods."""
    known = labels if isinstance(labels, dict) else {}
    return next((str(known[label]) for label in _OWNER_LABELS if known.get(label)), "")


class Recorder:
    """Appends each placement once; a line that is on disk survives whatever happens next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = {(pod.uid, pod.node) for pods in read_placements(path).values() for pod in pods}

    def record(self, owner: str, pods: Iterable[PodFacts]) -> int:
        """Keep those that have a node and are not kept yet; how many they were."""
        new = [pod for pod in pods if pod.node and (pod.uid, pod.node) not in self._seen]
        if not new:
            return 0
        lines = [
            json.dumps({"owner": owner, **{key: value for key, value in asdict(pod).items() if key in _FIELDS}})
            for pod in new
        ]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._seen.update((pod.uid, pod.node) for pod in new)
        return len(new)


def read_placements(path: Path) -> dict[tuple[str, str], list[PodFacts]]:
    """What was recorded, by namespace and owner; a line that was cut off by a crash is left out.

    ``DiscoveryError`` when the file is there and cannot be read.
    """
    found: dict[tuple[str, str], list[PodFacts]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    except OSError as error:
        msg = f"{path}: placements cannot be read ({error})"
        raise DiscoveryError(msg) from error
    for line in lines:
        try:
            row = json.loads(line)
            pod = PodFacts(**{key: row[key] for key in _FIELDS}, containers=())
            found.setdefault((pod.namespace, str(row["owner"])), []).append(pod)
        except (ValueError, KeyError, TypeError):
            continue
    return found
