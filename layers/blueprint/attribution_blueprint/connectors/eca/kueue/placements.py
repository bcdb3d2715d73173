"""Where pods ran and how they ended, kept while they are there: one JSON object a line, appended and flushed."""

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
_ENDING = ("end", "reason", "exit_code")


def owner_of(labels: object) -> str:
    """The JobSet or Job that a pod's labels name; empty for other pods."""
    known = labels if isinstance(labels, dict) else {}
    return next((str(known[label]) for label in _OWNER_LABELS if known.get(label)), "")


class Recorder:
    """Appends each placement once, and once more how it ended; a line on disk survives whatever happens next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = {key for pods in read_placements(path).values() for pod in pods for key in _keys(pod)}

    def record(self, owner: str, pods: Iterable[PodFacts]) -> int:
        """Keep those that have a node, and of which not as much is kept yet; how many they were."""
        new = [pod for pod in pods if pod.node and _keys(pod)[-1] not in self._seen]
        if not new:
            return 0
        lines = [
            json.dumps({"owner": owner, **{key: value for key, value in asdict(pod).items() if key in _kept(pod)}})
            for pod in new
        ]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._seen.update(key for pod in new for key in _keys(pod))
        return len(new)


def _kept(pod: PodFacts) -> tuple[str, ...]:
    return (*_FIELDS, *_ENDING) if pod.end else _FIELDS


def _keys(pod: PodFacts) -> list[tuple[str, str, bool]]:
    """What is known of a pod: where it ran, and how it ended."""
    return [(pod.uid, pod.node, False), (pod.uid, pod.node, True)][: 1 + bool(pod.end)]


def read_placements(path: Path) -> dict[tuple[str, str], list[PodFacts]]:
    """What was recorded, by namespace and owner; a line that was cut off by a crash is left out.

    ``DiscoveryError`` when the file is there and cannot be read.
    """
    found: dict[tuple[str, str], dict[str, PodFacts]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    except OSError as error:
        msg = f"{path}: placements cannot be read ({error})"
        raise DiscoveryError(msg) from error
    for line in lines:
        try:
            row = json.loads(line)
            ended = {key: row[key] for key in _ENDING if key in row}
            pod = PodFacts(**{key: row[key] for key in _FIELDS}, containers=(), **ended)
            found.setdefault((pod.namespace, str(row["owner"])), {})[pod.uid] = pod
        except (ValueError, KeyError, TypeError):
            continue
    return {owner: list(pods.values()) for owner, pods in found.items()}
