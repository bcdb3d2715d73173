"""Bearer tokens: given, kept in a file that somebody renews, or printed by a command."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from attribution_blueprint.errors import AuthError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CommandToken", "FileToken", "FixedToken", "TokenSource", "token_source"]

_COMMAND_SECONDS = 30


class TokenSource(Protocol):
    """Gives the token of the next request."""

    def token(self, *, renew: bool = False) -> str:
        """The token; ``renew`` after the last one was refused. ``AuthError`` when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class FixedToken:
    """A token that stands in the settings."""

    value: str = field(repr=False)

    def token(self, *, renew: bool = False) -> str:  # noqa: ARG002 -- the protocol's
        """Always the same."""
        return self.value


@dataclass(frozen=True, slots=True)
class FileToken:
    """A token in a file, read for every request: whoever rotates it replaces the file."""

    path: Path

    def token(self, *, renew: bool = False) -> str:  # noqa: ARG002 -- the protocol's
        """What the file holds now."""
        try:
            text = self.path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            msg = f"token_file {self.path}: cannot be read ({error}); expected a file that holds the token"
            raise AuthError(msg) from error
        if not text:
            msg = f"token_file {self.path}: is empty; expected a file that holds the token"
            raise AuthError(msg)
        return text


@dataclass(slots=True)
class CommandToken:
    """A token printed by a command, which runs again when the token was refused."""

    command: Sequence[str]
    _known: str = field(default="", repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def token(self, *, renew: bool = False) -> str:
        """What the command printed last."""
        with self._lock:
            if renew or not self._known:
                self._known = self._run()
            return self._known

    def _run(self) -> str:
        try:
            done = subprocess.run(  # noqa: S603 -- the operator's own command, without a shell
                list(self.command), capture_output=True, text=True, check=True, timeout=_COMMAND_SECONDS
            )
        except (OSError, subprocess.SubprocessError) as error:
            # Its output may hold the token: only how it ended is told.
            msg = f"token_command {self.command[0]}: failed ({type(error).__name__}); expected it to print a token"
            raise AuthError(msg) from None
        if not done.stdout.strip():
            msg = f"token_command {self.command[0]}: printed nothing; expected a token"
            raise AuthError(msg)
        return done.stdout.strip()


def token_source(token: str, token_file: str, token_command: Sequence[str]) -> TokenSource:
    """The source that the settings name; ``AuthError`` unless it is exactly one."""
    given = [bool(token), bool(token_file), bool(token_command)]
    if sum(given) != 1:
        msg = f"auth = bearer: {sum(given)} of token, token_file and token_command given; expected exactly one"
        raise AuthError(msg)
    if token:
        return FixedToken(token)
    return FileToken(Path(token_file)) if token_file else CommandToken(token_command)
