"""Judged verdicts as a zip of case folders, the same bytes for the same judgements."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

from dashboard.pages.exchange import PageAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.contexts.feedback import LabelledCase

__all__ = ["cases_archive"]

_EPOCH = (1980, 1, 1, 0, 0, 0)


def cases_archive(cases: Sequence[LabelledCase]) -> PageAnswer:
    """One folder a case, with ``job.toml``, ``expected.toml`` and what is missing in ``README.txt``."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for case in cases:
            files = {"job.toml": case.job_toml, "expected.toml": case.expected_toml, "README.txt": f"{case.note}\n"}
            for name, text in files.items():
                archive.writestr(zipfile.ZipInfo(f"{case.slug}/{name}", _EPOCH), text)
    headers = {"Content-Disposition": 'attachment; filename="labelled-cases.zip"'}
    return PageAnswer(200, buffer.getvalue(), "application/zip", headers)
