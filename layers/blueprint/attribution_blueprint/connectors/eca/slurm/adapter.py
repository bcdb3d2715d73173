"""``slurm``: jobs as ``sacct`` shows them."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from attribution_blueprint.connectors.commands import run_command
from attribution_blueprint.connectors.eca.slurm.contexts import ContextMaker, attempts_of, meant, ran
from attribution_blueprint.connectors.eca.slurm.json_jobs import parse_jobs
from attribution_blueprint.connectors.eca.slurm.parsable import columns_of, parse_controller_jobs, parse_sacct
from attribution_blueprint.connectors.eca.slurm.rows import known_text
from attribution_blueprint.connectors.eca.slurm.selection import SlurmSelection, local_timezone, moment
from attribution_blueprint.errors import CollectError, DiscoveryError
from attribution_blueprint.setting_types import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from attribution_blueprint.connectors.base import Budget
    from attribution_blueprint.connectors.commands import CommandRunner
    from attribution_blueprint.connectors.eca.slurm.rows import SlurmJob
    from attribution_blueprint.context import ExecutionContext

__all__ = ["SlurmAdapter", "SlurmSettings"]

_log = logging.getLogger(__name__)
_ENDED = "BF,CA,DL,F,NF,OOM,PR,RQ,TO"
_IDS_AT_ONCE = 200
_MONTH = 30 * 86_400


class SlurmSettings(SlurmSelection):
    """Jobs of a Slurm cluster by ``sacct``: by ids, or those that failed since a while ago."""

    format: Literal["parsable2", "json"] = Field(
        default="parsable2", description="How sacct is asked. The JSON of 22.05 holds no exit codes."
    )
    prefix: Texts = Field(default=(), description="Words before each command, such as ssh,login1.")
    controller: bool = Field(
        default=True, description="Before 24.05, ask scontrol where jobs write their output; accounting does not say."
    )


class SlurmAdapter:
    """Asks ``sacct`` twice at most: which jobs, then everything about all attempts of these."""

    Settings: ClassVar[type[SlurmSettings]] = SlurmSettings

    def __init__(
        self,
        name: str,
        settings: SlurmSettings,
        run: CommandRunner = run_command,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.settings = settings
        self._run = run
        self._clock = clock
        self._maker = ContextMaker(
            name,
            settings.cluster,
            settings.timezone or local_timezone(),
            settings.output,
            settings.superseded_output,
        )

    def discover(self, budget: Budget) -> list[ExecutionContext]:
        """The jobs that were named, or that ended within the time; ``DiscoveryError`` with what Slurm said."""
        chosen = self.settings
        now = self._clock()
        try:
            if chosen.ids:
                attempts = attempts_of(self._jobs(chosen.ids, 0, budget))
                return self._maker.contexts([one for one in attempts if one.last or ran(one)], asked=True)
            since, until = moment(chosen.since, now), moment(chosen.until or "0s", now)
            assert since is not None, chosen.since  # noqa: S101 -- the settings have been checked
            assert until is not None, chosen.until  # noqa: S101 -- likewise
            ids = self._ended(since, until, budget)
            attempts = attempts_of(self._jobs(ids, since - _MONTH, budget)) if ids else []
        except CollectError as error:
            msg = f"eca {self.name}: {error}"
            raise DiscoveryError(msg) from error
        return self._maker.contexts(
            [one for one in attempts if meant(one, since, until, failed_only=chosen.failed_only)], asked=False
        )

    def _ended(self, since: int, until: int, budget: Budget) -> list[str]:
        """Ids of what ended within the time."""
        chosen = self.settings
        # Without --endtime, --state selects nothing.
        words = ["--starttime", _stamp(since), "--endtime", _stamp(max(until, since + 1)), "--allocations"]
        words += ["--state", _ENDED if chosen.failed_only else f"{_ENDED},CD"]
        words += ["--user", ",".join(chosen.users)] if chosen.users else ["--allusers"]
        words += ["--partition", ",".join(chosen.partitions)] if chosen.partitions else []
        out = self._sacct([*words, "--parsable2", "--noheader", "--duplicates", "--format", "JobID"], budget)
        lines = out.decode("utf-8", "replace").split()
        ids = [line for line in lines if line[:1].isdecimal()]
        if lines and not ids:
            msg = f"sacct: printed {' '.join(lines)[:80]!r}; expected ids of jobs"
            raise CollectError(msg)
        return list(dict.fromkeys(line.partition("+")[0] for line in ids if "[" not in line))

    def _jobs(self, ids: Sequence[str], since: int, budget: Budget) -> list[SlurmJob]:
        """Every attempt of these jobs, with their steps."""
        as_json = self.settings.format == "json"
        columns = [] if as_json else columns_of(self._sacct(["--helpformat"], budget))
        shape = ["--json"] if as_json else ["--parsable2", "--noheader", "--format", ",".join(columns)]
        found: list[SlurmJob] = []
        for at in range(0, len(ids), _IDS_AT_ONCE):
            chunk = ",".join(ids[at : at + _IDS_AT_ONCE])
            words = ["--jobs", chunk, "--duplicates", *shape, "--starttime", _stamp(since)]
            out = self._sacct(words, budget)
            jobs, unread = parse_jobs(out) if as_json else parse_sacct(out, columns)
            found += jobs
            for line in unread:
                _log.warning("eca %s: left out, since it is no job: %s", self.name, line[:200])
        return self._with_output(found, budget) if self.settings.controller else found

    def _with_output(self, jobs: list[SlurmJob], budget: Budget) -> list[SlurmJob]:
        """With what the controller still knows of their files; it forgets a job some minutes after its end."""
        if not any(job.stdout is None for job in jobs):
            return jobs
        try:
            known = parse_controller_jobs(self._command(["scontrol", "--oneliner", "show", "jobs"], budget))
        except CollectError as error:
            _log.warning("eca %s: where jobs write is guessed: %s", self.name, error)
            return jobs
        said = {number: (pairs.get("StdOut"), pairs.get("StdErr")) for number, pairs in known.items()}
        return [_placed(job, *said.get(job.raw_id, (None, None))) for job in jobs]

    def _sacct(self, words: Iterable[str], budget: Budget) -> bytes:
        return self._command(["sacct", *words], budget)

    def _command(self, words: Sequence[str], budget: Budget) -> bytes:
        # Through env, so that it also works behind ssh. Times are printed and taken as UTC; the JSON of 22.05 is
        # refused ("Unable to parse time format") when SLURM_TIME_FORMAT says anything else.
        prefix = [*self.settings.prefix, "env", "TZ=UTC", "SLURM_TIME_FORMAT=standard"]
        return self._run([*prefix, *words], budget)


def _placed(job: SlurmJob, stdout: str | None, stderr: str | None) -> SlurmJob:
    if job.stdout is not None or stdout is None:
        return job
    return replace(job, stdout=known_text(stdout), stderr=known_text(stderr or ""))


def _stamp(seconds: int) -> str:
    return datetime.fromtimestamp(max(seconds, 0), UTC).strftime("%Y-%m-%dT%H:%M:%S")
