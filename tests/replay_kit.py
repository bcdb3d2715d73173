"""A server that replays recorded answers, whole, slow or cut off, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Answer", "Asked", "Replay", "replaying"]


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    """Of the address, or of a form."""
    headers: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)
    """Its JSON, if it is an object."""


@dataclass(frozen=True)
class Answer:
    """One answer; ``cut`` leaves out so many bytes of what Content-Length promises."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int = 0
    after: float = 0.0


@dataclass
class Replay:
    """Where it listens, and what it was asked."""

    answer: Callable[[Asked, int], Answer]
    """Gives the answer to a request, which is the n-th from 0."""
    asked: list[Asked] = field(default_factory=list)
    url: str = ""


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def replaying(answer: Callable[[Asked, int], Answer]) -> Iterator[Replay]:
    """Serve on loopback until left."""
    replay = Replay(answer)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            form = body.decode("utf-8", "replace") if "form" in self.headers.get("Content-Type", "") else ""
            query = {name: values[-1] for name, values in parse_qs(parts.query + "&" + form).items()}
            with lock:
                number = len(replay.asked)
                headers = {name.lower(): value for name, value in self.headers.items()}
                replay.asked.append(Asked(self.command, parts.path, query, headers, _object(body)))
            given = replay.answer(replay.asked[number], number)
            time.sleep(given.after)
            try:
                self.send_response(given.status)
                for name, value in given.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(given.body)))
                self.end_headers()
                self.wfile.write(given.body[: len(given.body) - given.cut])
                self.close_connection = self.close_connection or bool(given.cut)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_GET = do_POST = do_PUT = _serve  # noqa: N815 -- the handler's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    replay.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield replay
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
