"""Write the JSON schemas of the dashboard's pages to ``docs/reference/dashboard/``; ``--check`` tells of old ones."""

from __future__ import annotations

import sys
from pathlib import Path

from dashboard.contexts.model import PageName
from dashboard.schemas import schema_text

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference" / "dashboard"


def main() -> int:
    """1 with ``--check`` when a file is not what it would be."""
    wanted = {FOLDER / f"{page.value}.json": schema_text(page) for page in PageName}
    if "--check" in sys.argv[1:]:
        old = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
        old += sorted(set(FOLDER.glob("*.json")) - set(wanted))
        print(
            "\n".join(f"{path}: old; run scripts/write_dashboard_schemas.py" for path in old) or "schemas: up to date"
        )
        return 1 if old else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
