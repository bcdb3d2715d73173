"""A real HTTP server on the loopback that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. ``cut`` closes the connection after so many bytes of the body; ``seconds`` is how long it takes."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float


@dataclass(slots=True)
class Scripted:
    """The server: answers in turn, then the last one again and again."""

    url: str
    answers: deque[Answer]
    asked: list[Asked] = field(default_factory=list)

    def next(self) -> Answer:
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]


@contextmanager
def scripted(*answers: Answer) -> Iterator[Scripted]:
    """Serve these answers on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            names = {name.lower(): value for name, value in self.headers.items()}
            script.asked.append(Asked(self.command, self.path, names, body, time.monotonic()))
            answer = script.next()
            time.sleep(answer.seconds)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.cut])
            if answer.cut is not None:
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 -- the base class's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script = Scripted(f"http://127.0.0.1:{server.server_port}", deque(answers or [Answer()]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
