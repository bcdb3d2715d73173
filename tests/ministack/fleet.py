"""A fleet of samples over the deployed state machines, and the same jobs by ``attribution run`` and in one process.

The command line does all three; what it kept is compared: the same verdicts, all fields but run ids and times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import boto3

from attribution_service.run_rows import RunRows
from attribution_service.stores.aws import AwsNames, aws_clients, aws_store
from attribution_service.verdict_database import VerdictDatabase

sys.path.append(str(Path(__file__).parents[1]))
from fleet_kit import copy_samples, samples_configuration

__all__ = ["drive_fleet"]

_CONTEXTS = 50
_RUN = "ministack-1"
_ATTRIBUTION = Path(sys.executable).with_name("attribution")
_VOLATILE = ("run_id", "attributed_at")


def drive_fleet(endpoint: str, stack: str, region: str, folder: Path) -> str:
    """Every step is asserted; how long they took, in words."""
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": region}
    environment = {**os.environ, **keys, "AWS_ENDPOINT_URL": endpoint}
    cases = copy_samples(folder, _CONTEXTS)
    outputs = _outputs(endpoint, stack, keys)
    site = _configuration(folder, "cloud", cases)
    client = boto3.client("s3", endpoint_url=endpoint, region_name=region, **_credentials(keys))
    client.put_object(Bucket=outputs["BucketName"], Key="config/site.toml", Body=site.read_bytes())

    began = time.monotonic()
    arguments = ["--state-machine", outputs["FleetWorkflow"], "--adapter", "static", "--run-id", _RUN, "--wait"]
    told = _attribution(environment, "fleet", "start", *arguments, "--json")
    cloud_seconds = time.monotonic() - began
    assert told["status"] == "SUCCEEDED", told
    wanted = {"contexts": _CONTEXTS, "attributed": _CONTEXTS, "conflicted": 0, "failed": 0, "succeeded": _CONTEXTS}
    assert {name: told["totals"][name] for name in wanted} == wanted, told["totals"]
    where = {
        "ATTRIBUTION_BUCKET": outputs["BucketName"],
        "ATTRIBUTION_SESSIONS_TABLE": outputs["SessionsTable"],
        "ATTRIBUTION_VERDICTS_TABLE": outputs["VerdictsTable"],
    }
    summary = _attribution({**environment, **where}, "fleet", "summary", _RUN, "--json")
    assert {name: summary["totals"][name] for name in wanted} == wanted, summary

    local = {name: _local(folder, name, cases, environment) for name in ("run", "fleet")}
    stored = _stored(endpoint, region, where, keys)
    for name, (verdicts, _) in {**local, "sink of the cloud": (_database(folder / "cloud.db"), 0.0)}.items():
        _same(name, verdicts, stored)
    return (
        f"{_CONTEXTS} contexts: over the state machines {cloud_seconds:.0f} s, attribution run "
        f"{local['run'][1]:.0f} s, attribution fleet in one process {local['fleet'][1]:.0f} s; the verdicts are equal"
    )


def _configuration(folder: Path, name: str, cases: Path) -> Path:
    """The same connectors; a database of its own, and a store where there is one."""
    file = folder / f"{name}.toml"
    own = f'[output.db.sqlite]\npath = "{folder / name}.db"\n[attribution]\ndata = "{folder / name}-store"\n'
    file.write_text(samples_configuration(cases) + own)
    return file


def _local(folder: Path, name: str, cases: Path, environment: dict[str, str]) -> tuple[dict[str, Any], float]:
    """The verdicts of ``attribution run`` or of a fleet in one process, and how long it took."""
    file = _configuration(folder, name, cases)
    arguments = ["run"] if name == "run" else ["fleet", "start", "--json"]
    began = time.monotonic()
    _attribution(environment, *arguments, "--configs", str(file))
    return _database(folder / f"{name}.db"), time.monotonic() - began


def _attribution(environment: dict[str, str], *arguments: str) -> Any:
    """What the command printed, as JSON where it is."""
    done = subprocess.run(  # noqa: S603 -- our own command
        [_ATTRIBUTION, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        msg = f"attribution {' '.join(arguments)}: exit status {done.returncode}"
        raise SystemExit(msg)
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


def _stored(endpoint: str, region: str, where: dict[str, str], keys: dict[str, str]) -> dict[str, Any]:
    """The verdicts in the deployment's table, by context, found through the rows of the run."""
    os.environ |= keys
    clients = aws_clients(region=region, s3_endpoint=endpoint, dynamodb_endpoint=endpoint)
    store = aws_store(AwsNames(*where.values()), *clients)
    found = {}
    for row in RunRows.of(store, time.time).rows(_RUN):
        item = store.verdicts.get(f"{row.cluster}#{row.job_id}", f"{row.attempt:06d}#{_RUN}")
        assert item is not None, row
        body = item["body"] if item.get("body") else store.objects.get(item["object"])
        found[row.context] = _plain(json.loads(body))
    return found


def _database(path: Path) -> dict[str, Any]:
    database = VerdictDatabase.open(path)
    bodies = database.connection.execute("SELECT verdict FROM attribution_run").fetchall()
    database.close()
    verdicts = [_plain(json.loads(body)) for (body,) in bodies]
    return {verdict["attributor_id"]: verdict for verdict in verdicts}


def _plain(verdict: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in verdict.items() if name not in _VOLATILE}


def _same(name: str, verdicts: dict[str, Any], stored: dict[str, Any]) -> None:
    assert sorted(verdicts) == sorted(stored), name
    for context, verdict in verdicts.items():
        other = stored[context]
        differing = {field: (verdict[field], other[field]) for field in verdict if verdict[field] != other[field]}
        assert not differing, f"{name}: {context}: {differing}"


def _outputs(endpoint: str, stack: str, keys: dict[str, str]) -> dict[str, str]:
    client = boto3.client(
        "cloudformation", endpoint_url=endpoint, region_name=keys["AWS_DEFAULT_REGION"], **_credentials(keys)
    )
    (found,) = client.describe_stacks(StackName=stack)["Stacks"]
    return {one["OutputKey"]: one["OutputValue"] for one in found["Outputs"]}


def _credentials(keys: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in keys.items() if name.startswith("AWS_ACCESS") or "SECRET" in name}
