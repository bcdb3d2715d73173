"""``slurmrestd``: jobs of a Slurm cluster by its REST API, for whoever has no ``sacct``."""

from __future__ import annotations

import base64
import json
import logging
import time
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote, urlencode

from pydantic import Field

from attribution_blueprint.connectors.auth.tokens import token_source
from attribution_blueprint.connectors.eca.slurm.contexts import ContextMaker, attempts_of, meant, ran
from attribution_blueprint.connectors.eca.slurm.json_jobs import parse_jobs
from attribution_blueprint.connectors.eca.slurm.selection import SlurmSelection, local_timezone, moment
from attribution_blueprint.connectors.web import WebClient, WebSettings, addressed
from attribution_blueprint.errors import AuthError, CollectError, DiscoveryError, WebError

if TYPE_CHECKING:
    from collections.abc import Callable

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.connectors.eca.slurm.rows import SlurmJob
    from attribution_blueprint.context import ExecutionContext

__all__ = ["SlurmRestAdapter", "SlurmRestSettings"]

_log = logging.getLogger(__name__)
_UNAUTHORISED = 401
_SACCT_TIMES = 39


class SlurmRestSettings(SlurmSelection, WebSettings):
    """Jobs by slurmrestd; the JWT is what ``token``, ``token_file`` or ``token_command`` (scontrol token) gives."""

    api: str = Field(default="v0.0.40", pattern=r"^v0\.0\.\d\d$", description="Version of the API that the server has.")
    jwt_user: str = Field(default="", description="X-SLURM-USER-NAME; empty: whom the token names.")


class SlurmRestAdapter:
    """Asks ``/slurmdb``; what it says of a job is what ``sacct --json`` says."""

    Settings: ClassVar[type[SlurmRestSettings]] = SlurmRestSettings

    def __init__(self, name: str, settings: SlurmRestSettings, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.settings = settings
        self._client = WebClient(settings)
        self._clock = clock
        zone = settings.timezone or local_timezone()
        self._maker = ContextMaker(name, settings.cluster, zone, settings.output, settings.superseded_output)

    def discover(self, budget: Budget) -> list[ExecutionContext]:
        """The jobs that were named, or that ended within the time; ``DiscoveryError`` with what Slurm said."""
        chosen, now = self.settings, self._clock()
        try:
            if chosen.ids:
                jobs = [job for number in chosen.ids for job in self._ask(f"job/{quote(number, safe='')}", budget)]
                attempts = attempts_of(jobs)
                return self._maker.contexts([one for one in attempts if one.last or ran(one)], asked=True)
            since, until = moment(chosen.since, now), moment(chosen.until or "0s", now)
            assert since is not None, chosen.since  # noqa: S101 -- the settings have been checked
            assert until is not None, chosen.until  # noqa: S101 -- likewise
            # Until v0.0.39 times are read as sacct reads them, which takes seconds by this prefix.
            mark = "uts" if int(chosen.api.rpartition(".")[2]) <= _SACCT_TIMES else ""
            asked = {"start_time": f"{mark}{since}", "end_time": f"{mark}{until}"}
            asked |= {"users": ",".join(chosen.users)} if chosen.users else {}
            asked |= {"partition": ",".join(chosen.partitions)} if chosen.partitions else {}
            attempts = attempts_of(self._ask(f"jobs/?{urlencode(asked)}", budget))
        except (CollectError, WebError, AuthError) as error:
            msg = f"eca {self.name}: {error}"
            raise DiscoveryError(msg) from error
        fitting = [one for one in attempts if meant(one, since, until, failed_only=chosen.failed_only)]
        return self._maker.contexts(fitting, asked=False)

    def _ask(self, path: str, budget: Budget) -> list[SlurmJob]:
        """The jobs of one reply; a token that was refused is asked for once more."""
        for renew in (False, True):
            try:
                reply = self._client.send(
                    "GET", f"/slurmdb/{self.settings.api}/{path}", budget, headers=self._headers(renew=renew)
                )
            except WebError as error:
                if error.status == _UNAUTHORISED and not renew:
                    continue
                raise
            with addressed(reply.address):
                jobs, unread = parse_jobs(reply.body)
            for line in unread:
                _log.warning("eca %s: left out: %s", self.name, line[:200])
            return jobs
        raise AssertionError  # the second round returns or raises

    def _headers(self, *, renew: bool) -> dict[str, str]:
        chosen = self.settings
        given = token_source(chosen.token.get_secret_value(), chosen.token_file, chosen.token_command)
        token = given.token(renew=renew).removeprefix("SLURM_JWT=")
        # 22.05 refuses a token without the name beside it.
        user = chosen.jwt_user or _user_of(token)
        return {"X-SLURM-USER-TOKEN": token, **({"X-SLURM-USER-NAME": user} if user else {})}


def _user_of(token: str) -> str:
    """Whom a token names (claim ``sun``, or ``username``); nothing when it cannot be read."""
    payload = token.partition(".")[2].partition(".")[0]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return ""
    named = (claims.get("sun") or claims.get("username")) if isinstance(claims, dict) else ""
    return named if isinstance(named, str) and named.isprintable() else ""
