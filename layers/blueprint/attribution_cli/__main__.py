"""``python -m attribution_cli``: the same as ``attribution``."""

from __future__ import annotations

from attribution_cli.main import main

main()
