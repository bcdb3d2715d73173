"""What tests of workflows and fleets share."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from service_kit import fast_folder, local_folder_store, moto_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attribution_service.ports import Store


@contextmanager
def fresh_store(kind: str) -> Iterator[Store]:
    """An empty store, ``local`` or ``aws``, that is gone afterwards."""
    if kind == "aws":
        with moto_store() as made:
            yield made
        return
    folder = fast_folder()
    try:
        with local_folder_store(folder) as made:
            yield made
    finally:
        shutil.rmtree(folder)
