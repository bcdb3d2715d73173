"""What people hand over as a log and is none: archives, programs, journals, raw bytes."""

from __future__ import annotations

__all__ = ["no_log"]

_HEAD = 1 << 16
"""Bytes that are looked at to tell what a file is."""
_NO_LOGS = (
    (0, b"PK\x03\x04", "is a ZIP archive", "a log: unpack it and give the files inside"),
    (257, b"ustar", "is a tar archive", "a log: unpack it and give the files inside"),
    (0, b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "a log: unpack it and give the files inside"),
    (0, b"\x7fELF", "is a program or a core dump", "a log"),
    (0, b"LPKSHHRH", "is a binary journal", "its text: journalctl --file FILE -o short-iso"),
)
"""(offset, magic, what it is, what is expected): files that people hand over and that hold no lines."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_NO_TEXT = bytes(sorted({*range(1, 32), 127} - {*b"\t\n\r\f\v\b\a\x1b"}))
"""Control characters that logs do not hold; NULs are not among them: a log has runs of them after a crash."""
_MOST_NO_TEXT = 0.05


def no_log(data: bytes) -> tuple[str, str] | None:
    """What this is and what was expected, told from its first bytes; None where it may be a log."""
    for offset, magic, found, expected in _NO_LOGS:
        if data.startswith(magic, offset):
            return found, expected
    head = data[:_HEAD]
    if not head.startswith(_UTF_16) and len(head.translate(None, _NO_TEXT)) < len(head) * (1 - _MOST_NO_TEXT):
        return "is binary data", "a log"
    return None
