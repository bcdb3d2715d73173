"""The life of a session through a client that openapi-python-client made: ``drive_generated_client.py FOLDER URL``."""

from __future__ import annotations

import sys

sys.path.insert(0, sys.argv[1])

from generated import Client  # type: ignore[import-not-found]
from generated.api.attribute import get_attribution  # type: ignore[import-not-found]
from generated.api.ingest import post_observation  # type: ignore[import-not-found]
from generated.api.open_attributor import (  # type: ignore[import-not-found]
    delete_attributor,
    describe_attributor,
    list_attributors,
    open_attributor,
    put_job,
)
from generated.api.verdicts import list_verdicts, show_health, show_rules  # type: ignore[import-not-found]
from generated.models import (  # type: ignore[import-not-found]
    Job,
    LogEntry,
    Observation,
    ObservationFormat,
    ObservationSource,
    OpenRequest,
    Problem,
    SubDomain,
)

LINE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def main(url: str) -> None:
    """Every step is asserted; the exit status says whether all held."""
    client = Client(base_url=url)
    assert show_health.sync(client=client).status == "ok"
    assert show_rules.sync(client=client).rules_digest
    job = Job(job_id="generated-1", cluster="contract", nodes=["node-0001"])
    session = open_attributor.sync(client=client, body=OpenRequest(job=job))
    again = open_attributor.sync(client=client, body=OpenRequest(job=job))
    assert isinstance(again, Problem)
    assert again.attributor_id == session.attributor_id
    name = session.attributor_id
    batch = Observation(
        source=ObservationSource.APPLOG,
        format_=ObservationFormat.JSON,
        stream="train.log",
        entry_timeseries=[LogEntry(line=LINE, ts="2026-06-02T22:10:47Z", node="node-0001")],
    )
    receipt = post_observation.sync(name, client=client, body=batch)
    assert receipt.lines == 1
    duplicate = post_observation.sync(name, client=client, body=batch)
    assert isinstance(duplicate, Problem)
    assert duplicate.receipt.observation_id == receipt.observation_id
    put_job.sync(name, client=client, body=Job(state="FAILED", exit_code="1:0"))
    assert describe_attributor.sync(name, client=client).job.state == "FAILED"
    first = get_attribution.sync_detailed(name, client=client)
    assert first.parsed.outcome.value == "gpu_out_of_memory"
    same = get_attribution.sync_detailed(name, client=client, if_none_match=first.headers["ETag"])
    assert same.status_code == 304
    assert name in [found.attributor_id for found in list_attributors.sync(client=client, limit=500).sessions]
    assert list_verdicts.sync(client=client, sub_domain=SubDomain.HARDWARE).verdicts == []
    assert delete_attributor.sync_detailed(name, client=client).status_code == 204
    assert isinstance(describe_attributor.sync(name, client=client), Problem)


if __name__ == "__main__":
    main(sys.argv[2])
