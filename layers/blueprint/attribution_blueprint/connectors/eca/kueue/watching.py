"""Pods of jobs as they are placed: what is there, then every change, for as long as anybody listens."""

from __future__ import annotations

import json
import logging
import subprocess
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from attribution_blueprint.connectors.base import Budget
from attribution_blueprint.connectors.eca.kueue.objects import facts_of
from attribution_blueprint.connectors.eca.kueue.placements import Recorder, owner_of
from attribution_blueprint.errors import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_blueprint.connectors.kubectl import Kubectl

__all__ = ["record_placements"]

_log = logging.getLogger(__name__)
_PODS = "/api/v1/pods"
_OF_JOBS = "job-name"
"""Every pod of a Job carries this label, those of JobSets too."""
_WATCH_SECONDS = 300
_LIST_SECONDS = 120.0
_PAUSE = 5.0


def record_placements(kubectl: Kubectl, recorder: Recorder, stop: threading.Event, pause: float = _PAUSE) -> None:
    """Record until ``stop``; what fails is logged and begun again, so that no cluster upgrade ends the record."""
    while not stop.is_set():
        try:
            for pod in _pods(kubectl, stop):
                _record(recorder, pod)
        except (CollectError, OSError) as error:
            _log.warning("placements: %s; trying again", error)
        stop.wait(pause)


def _record(recorder: Recorder, pod: dict[str, Any]) -> None:
    facts = facts_of(pod)
    owner = owner_of(pod.get("metadata", {}).get("labels"))
    if facts is not None and owner and recorder.record(owner, [facts]):
        _log.info("placed: %s/%s on %s", facts.namespace, facts.name, facts.node)


def _pods(kubectl: Kubectl, stop: threading.Event) -> Iterator[dict[str, Any]]:
    """What is there, then changes until the server ends the watch, as it does from time to time."""
    listed = kubectl.get(f"{_PODS}?{urlencode({'labelSelector': _OF_JOBS})}", Budget.of(_LIST_SECONDS)) or {}
    yield from (pod for pod in listed.get("items") or () if isinstance(pod, dict))
    version = str(listed.get("metadata", {}).get("resourceVersion", ""))
    asked = {"watch": "true", "labelSelector": _OF_JOBS, "resourceVersion": version, "timeoutSeconds": _WATCH_SECONDS}
    words = kubectl.words("get", f"--raw={_PODS}?{urlencode(asked)}")
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:  # noqa: S603 -- no shell
        ended = threading.Event()
        threading.Thread(target=_stopper, args=(process, stop, ended), daemon=True).start()
        try:
            assert process.stdout is not None  # noqa: S101 -- a pipe was asked for
            for line in process.stdout:
                event = _event(line)
                if event.get("type") == "ERROR":  # 410 Gone: the version is too old; list again
                    return
                if isinstance(event.get("object"), dict):
                    yield event["object"]
        finally:
            ended.set()
            process.terminate()


def _stopper(process: subprocess.Popen[bytes], stop: threading.Event, ended: threading.Event) -> None:
    while not ended.wait(0.2):
        if stop.is_set():
            process.terminate()
            return


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
