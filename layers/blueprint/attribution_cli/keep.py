"""``attribution keep``: the verdict of an open session into the table that the dashboard and queries read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from attribution_blueprint.cache import cache_folder
from attribution_blueprint.errors import BlueprintError
from attribution_blueprint.local import require_rules
from attribution_cli.stores import recorded_store
from attribution_cli.terminal import complain, one_rules_option
from attribution_lib.errors import AttributionError
from attribution_lib.text.escape import shown
from attribution_service.engine_source import EngineSource
from attribution_service.enrichment import EnrichRequest, enriched_verdict
from attribution_service.errors import ServiceError
from attribution_service.requests import validated
from attribution_service.service import EVERYTHING, Service
from attribution_service.settings import read_settings
from attribution_service.verdicts import write_verdict

__all__ = ["keep"]


@click.command()
@click.argument("attributor_ids", metavar="ATTRIBUTOR_ID…", nargs=-1, required=True)
@click.option("--data", type=click.Path(path_type=Path), help="Folder that serve was given.")
@one_rules_option("Rules that serve was given.")
@click.option("--run", default="kept", show_default=True, help="Name of the run; the same name again replaces it.")
def keep(attributor_ids: tuple[str, ...], data: Path | None, rules_dir: Path | None, run: str) -> None:
    """Store the verdict of an open session, for the dashboard and queries.

    The session stays open, and the service may go on serving the folder. Exit status 2 when a verdict cannot be had.
    """
    try:
        with recorded_store(data) as store:
            settings, cache = read_settings(os.environ), cache_folder()
            engine = EngineSource(
                store.objects,
                settings.rules_release,
                folder=cache / "releases",
                cache=cache,
                clock=time.time,
                bundled=rules_dir,
            )
            require_rules(engine(), rules_dir)
            service = Service(store, engine, time.time, settings)
            for attributor_id in attributor_ids:
                _keep(service, attributor_id, run)
    except (AttributionError, BlueprintError, ServiceError) as error:
        complain(str(error))
        raise SystemExit(2) from None


def _keep(service: Service, attributor_id: str, run: str) -> None:
    request = validated(EnrichRequest, {"attributor_id": attributor_id, "run_id": run})
    verdict = enriched_verdict(service, EVERYTHING, request)
    kept = write_verdict(service, EVERYTHING, verdict)
    place = f"/verdict/{kept.cluster}/{kept.job_id}/{kept.attempt}"
    click.echo(f"kept    {shown(attributor_id)}  {verdict.outcome.value}  {shown(place)}")
