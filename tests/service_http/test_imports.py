"""Importing a handler reaches no network, needs no setting and loads neither rules nor a client library."""

from __future__ import annotations

import subprocess
import sys

import pytest

from http_kit import ROOT

PROGRAM = """
import importlib.util, socket, sys

def refuse(*arguments, **options):
    raise AssertionError(f"a handler opened a connection at import: {arguments}")

for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = refuse
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert callable(module.handler)
print(sorted({"boto3", "hyperscan", "sqlite_utils", "click"} & set(sys.modules)))
"""


@pytest.mark.parametrize("file", sorted((ROOT / "functions").glob("*/app.py")), ids=lambda file: file.parent.name)
def test_importing_a_handler_reaches_no_network_and_loads_no_client(file: object) -> None:
    path = f"{ROOT / 'layers' / 'engine'}"
    done = subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-c", PROGRAM, str(file)],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
