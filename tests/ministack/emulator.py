"""Ministack as it is, with fewer children of a map at once: each is a process of its own here, and cores are few.

Lambda scales to fifty contexts at a time by itself; fifty cold starts on two cores end in time-outs.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ministack.app import main
from ministack.services import stepfunctions

_AT_ONCE = 2


class _Few(ThreadPoolExecutor):
    """A pool of few threads, whatever was asked for; each map and each task has its own."""

    def __init__(self, max_workers: int | None = None, *arguments: Any, **named: Any) -> None:
        super().__init__(min(max_workers or _AT_ONCE, _AT_ONCE), *arguments, **named)


stepfunctions.ThreadPoolExecutor = _Few

if __name__ == "__main__":
    sys.exit(main())
