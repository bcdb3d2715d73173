"""Writes ``docs/reference/openapi.json`` from the code; with ``--check`` fails when the committed one is another."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from attribution_service.openapi import openapi_document

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "openapi.json"


def main() -> int:
    """0 when the file is, or was made, what the code says."""
    made = json.dumps(openapi_document(), indent=1) + "\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(made, encoding="utf-8")
    elif not FILE.is_file() or FILE.read_text(encoding="utf-8") != made:
        print(f"{FILE} is not what the code says; run: python scripts/write_openapi.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
