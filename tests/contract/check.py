"""The API judged from outside: schemathesis against ``attribution serve``, then a generated client's whole lifecycle.

``python tests/contract/check.py TOOLS`` where TOOLS is the environment of ``requirements.txt`` (``make contract``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs" / "reference" / "openapi.json"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method"
)
EXAMPLES = os.environ.get("EXAMPLES", "25")


def main() -> int:
    """0 when both are content."""
    tools = Path(sys.argv[1]).absolute() / "bin"
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "data") as url:
        fuzz = [str(tools / "schemathesis"), "run", f"{url}/v2/openapi.json", "--url", url, "--checks", CHECKS]
        fuzz += ["--max-examples", EXAMPLES, "--workers", "2", "--seed", "20260602", "--phases", "coverage,fuzzing"]
        fuzz += ["--suppress-health-check", "all", "--warnings", "off", "--continue-on-failure", "--no-color"]
        fuzzed = run(fuzz, folder)
        generator = [str(tools / "openapi-python-client"), "generate", "--meta", "none"]
        generator += ["--path", str(DOCUMENT), "--output-path", str(Path(folder) / "generated")]
        made = run(generator, folder)
        driver = [str(tools / "python"), str(HERE / "drive_generated_client.py"), folder, url]
        driven = run(driver, folder) if made == 0 else 1
    print(f"schemathesis: {fuzzed}, generator: {made}, generated client: {driven}")  # noqa: T201 -- the result
    return 1 if fuzzed or made or driven else 0


def run(command: list[str], folder: str) -> int:
    """The exit status of a tool; its output is ours."""
    return subprocess.run(command, cwd=folder, check=False, timeout=900).returncode  # noqa: S603 -- our own tools


@contextmanager
def serving(data: Path) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    command = [sys.executable, "-m", "attribution_cli", "serve", "--port", "0", "--data", str(data)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 -- our own interpreter
        assert process.stderr is not None
        line = process.stderr.readline()
        try:
            yield f"http://127.0.0.1:{re.findall(r':([0-9]+)/v2', line)[0]}"
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
