"""Does one heavy thing in a process of its own and prints its cost: ``python tests/service_memory.py bomb|upload``."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sys
import time
import urllib.request
from pathlib import Path

from attribution_lib.observation import ObservationFormat, Source
from attribution_lib.rules.loader import load_engine
from attribution_service.errors import TooLargeError
from attribution_service.ingest import ingest
from attribution_service.model import UploadRequest
from attribution_service.service import EVERYTHING
from attribution_service.uploads import issue_upload
from engine_kit import engine_of
from service_kit import World, body_of, fast_folder, local_folder_store, seaweed_store

MIB = 1 << 20


def bomb(world: World, _folder: Path) -> None:
    """200 MB that came as 200 KB."""
    head, tail = body_of("@").split(b"@")
    packer = gzip.compress
    body = packer(head) + b"".join([packer(b"x" * 10_000_000)] * 20) + packer(tail)
    started = time.process_time()
    try:
        ingest(world.service, EVERYTHING, "s", body)
    except TooLargeError:
        report(started)


def upload(world: World, folder: Path) -> None:
    """200 MB of log text with a failure at its end, through the upload route."""
    line = b"2026-06-01 03:14:02,123 INFO trainer: %08d samples seen, throughput steady at 1234.5 samples/s\n"
    digest, size = hashlib.sha256(), 0
    path = folder / "big.log"
    with path.open("wb") as file:
        for block in range(200):
            text = b"".join([line % number for number in range(block * 10_500, (block + 1) * 10_500)])
            size += file.write(text)
            digest.update(text)
        tail = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        size += file.write(tail)
        digest.update(tail)
    request = UploadRequest(source=Source.APPLOG, format=ObservationFormat.TEXT, size=size, sha256=digest.hexdigest())
    ticket = issue_upload(world.service, EVERYTHING, "s", request)
    with path.open("rb") as file:
        if "ATTRIBUTION_TEST_S3" in os.environ:
            request = urllib.request.Request(ticket.upload_url, file, ticket.headers, method="PUT")  # noqa: S310 -- loopback
            urllib.request.urlopen(request).close()  # noqa: S310 -- loopback
        else:
            world.service.store.objects.put(ticket.object_key, file)
    path.unlink()
    fields = {"source": "applog", "format": "text", "stream": "big.log", "object_key": ticket.object_key}
    started = time.process_time()
    receipt = ingest(world.service, EVERYTHING, "s", json.dumps(fields).encode())
    report(started, size=size, lines=receipt.lines, outcome=world.verdict()["outcome"])


def peak_memory() -> int:
    """MiB; of this process alone, which ``ru_maxrss`` is not when a larger one started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def report(started: float, **more: object) -> None:
    """Seconds of CPU (a busy machine is no finding) and the most memory that this process ever had, in MiB."""
    peak = peak_memory()
    print(json.dumps({"seconds": time.process_time() - started, "peak": peak, "before": BEFORE, **more}))  # noqa: T201 -- its output is its result


BEFORE = 0


def main() -> None:
    """Set up a session, then do it."""
    global BEFORE  # noqa: PLW0603 -- a script's one figure
    folder = fast_folder()
    try:
        with seaweed_store() if "ATTRIBUTION_TEST_S3" in os.environ else local_folder_store(folder / "store") as store:
            world = World(store, engine_of(folder / "rules") if sys.argv[1] == "bomb" else load_engine())
            world.open()
            world.send("warm")
            BEFORE = peak_memory()
            {"bomb": bomb, "upload": upload}[sys.argv[1]](world, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
