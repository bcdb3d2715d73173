"""Writes one configuration a sample case into ``samples/configs``, as a site would that has one job a file.

``--check`` writes nothing and fails when one is missing or old.
"""

from __future__ import annotations

import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
LOGS = (
    ("app", "applog", "applog.log"),
    ("system", "syslog", "syslog.log"),
    ("scheduler", "scheduler", "scheduler.log"),
)
METRICS = "node_metrics.json"


def main() -> int:
    """Write what is not as it should be; 1 when checking and something is not."""
    check = "--check" in sys.argv[1:]
    stale = []
    wanted = {f"{case.name}.toml": _config(case) for case in sorted((SAMPLES / "cases").iterdir()) if case.is_dir()}
    folder = SAMPLES / "configs"
    folder.mkdir(exist_ok=True)
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.toml"):
        if path.name not in wanted:
            stale.append(path.name)
            if not check:
                path.unlink()
    print(f"sample configurations: {len(stale)} of {len(wanted)} {'out of date' if check else 'written'}")
    return 1 if check and stale else 0


def _config(case: Path) -> str:
    place = f"../cases/{case.name}"
    parts = [f'[eca.static]\njob_file = "{place}/job.toml"\n']
    for name, source, file in LOGS:
        if (case / file).is_file():
            parts.append(f'[log.{name}.file]\nsource = "{source}"\npaths = ["{place}/{file}"]\n')
    if (case / METRICS).is_file():
        parts.append(f'[metric.node.file]\npaths = ["{place}/{METRICS}"]\n')
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
