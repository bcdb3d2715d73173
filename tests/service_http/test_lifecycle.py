"""The life of a session over HTTP, and every status that a route can answer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from attribution_service.attribute import attribute_later
from attribution_service.errors import InvalidRequestError
from attribution_service.settings import Settings
from http_kit import JOB, SESSION, invoke, observation, running

if TYPE_CHECKING:
    from pathlib import Path

    from http_kit import Api

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_780_438_449.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_opened_once(api: Api) -> None:
    first = api.open()
    assert (first.status, first.headers["location"]) == (201, SESSION)
    assert first.json["attributor_id"] == "prod:4711:0"
    again = api.open()
    assert (again.status, again.slug, again.json["attributor_id"]) == (409, "duplicate-session", "prod:4711:0")


def test_open_sessions_are_listed_page_by_page(api: Api) -> None:
    for number in range(3):
        api.open({**JOB, "job_id": str(number)})
    first = api("GET", "/v2/attributor?limit=2").json
    rest = api("GET", f"/v2/attributor?limit=2&cursor={first['cursor']}").json
    assert [session["job_id"] for session in first["sessions"] + rest["sessions"]] == ["0", "1", "2"]
    assert rest["cursor"] is None


def test_an_observation_is_delivered_once(api: Api) -> None:
    api.open()
    first = api.observe(OOM)
    assert (first.status, first.json["lines"], first.json["redacted"]) == (201, 1, 0)
    again = api.observe(OOM)
    assert (again.status, again.slug, again.json["receipt"]) == (409, "duplicate-observation", first.json)


def test_another_content_under_the_same_id_is_a_conflict_and_not_delivered(api: Api) -> None:
    api.open()
    assert api.observe("one", observation_id="batch-1").status == 201
    other = api.observe("two", "three", observation_id="batch-1")
    assert (other.status, other.slug) == (409, "observation-conflict")
    assert api("GET", f"{SESSION}/attribution").json["evidence"]["lines"] == 1


def test_a_verdict_has_a_version_and_late_facts_make_another(api: Api) -> None:
    api.open()
    api.observe(OOM)
    first = api("GET", f"{SESSION}/attribution")
    assert (first.status, first.json["outcome"]) == (200, "gpu_out_of_memory")
    etag = first.headers["etag"]
    same = api("GET", f"{SESSION}/attribution", If_None_Match=etag)
    assert (same.status, same.body, same.headers["etag"]) == (304, b"", etag)

    late = {"state": "CANCELLED", "execution_cancellation": {"record_id": "4711", "cancelled_by": "ada"}}
    late["execution_cancellation"]["time"] = "2026-06-02T22:11:30Z"  # type: ignore[index]  # a dict, as written above
    put = api("PUT", f"{SESSION}/job", late)
    assert (put.status, put.json["job"]["state"]) == (200, "CANCELLED")
    new = api("GET", f"{SESSION}/attribution", If_None_Match=etag)
    assert new.status == 200
    assert new.headers["etag"] != etag
    assert new.json["job"]["state"] == "CANCELLED"


def test_a_field_that_was_given_cannot_change(api: Api) -> None:
    api.open()
    refused = api("PUT", f"{SESSION}/job", {"nodes": ["gpu-0009"]})
    assert (refused.status, refused.slug) == (422, "invalid-request")
    assert "nodes" in refused.json["faults"][0]["field"]


def test_a_deleted_session_is_gone_for_every_route(api: Api) -> None:
    api.open()
    assert api("DELETE", SESSION).status == 204
    routes = [
        ("GET", ""),
        ("DELETE", ""),
        ("PUT", "/job"),
        ("POST", "/observation"),
        ("POST", "/observation/upload"),
        ("GET", "/attribution"),
    ]
    upload = {"source": "applog", "format": "text", "size": 1, "sha256": "0" * 64}
    bodies = {"/job": {"state": "FAILED"}, "/observation": observation("x"), "/observation/upload": upload}
    for method, path in routes:
        gone = api(method, SESSION + path, bodies.get(path))
        assert (gone.status, gone.slug) == (404, "not-found"), path


def test_an_unknown_route_is_404_and_a_wrong_method_405_in_the_same_envelope(api: Api) -> None:
    assert api("GET", "/v2/nothing").slug == "not-found"
    wrong = api("POST", "/v2/health", {})
    assert (wrong.status, wrong.slug, wrong.headers["allow"]) == (405, "method-not-allowed", "GET")


def test_what_takes_long_is_put_off_and_a_crash_of_it_is_taken_over_after_the_lease(folder: Path) -> None:
    clock = Clock()
    started: list[str] = []
    settings = Settings(inline_spills=2, attribute_seconds=60)
    with running(folder, settings=settings, clock=clock, invoke_later=started.append) as api:
        api.open({**JOB, "start": "2026-06-02T20:00:00Z"}, ttl_seconds=86_400)
        for number in range(3):
            api.observe(f"{OOM} {number}")
        pending = api("GET", f"{SESSION}/attribution")
        assert (pending.status, pending.json["status"]) == (202, "pending")
        assert int(pending.headers["retry-after"]) > 0
        assert api("GET", f"{SESSION}/attribution").status == 202
        assert started == ["prod:4711:0"], "the second request joins the first's work"

        clock.now += 61  # the invocation crashed and left its lease behind
        assert api("GET", f"{SESSION}/attribution").status == 202
        assert len(started) == 2
        assert api.host is not None
        attribute_later(api.host.service, started[1])
        done = api("GET", f"{SESSION}/attribution")
        assert (done.status, done.json["based_on"]["batches"]) == (200, 3)


def test_requests_of_many_threads_never_see_each_other(api: Api) -> None:
    """Powertools' own resolver keeps the event on a class: nearly every request would see another's."""
    seen: list[tuple[str, str]] = []
    barrier = threading.Barrier(8)

    def open_some(worker: int) -> None:
        barrier.wait()
        for number in range(12):
            job_id = f"{worker}-{number}"
            seen.append((job_id, api.open({**JOB, "job_id": job_id}).json["job_id"]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(open_some, range(8)))
    assert len(seen) == 96
    assert all(sent == answered for sent, answered in seen)


def test_a_crash_inside_a_route_is_a_500_in_the_envelope_and_says_nothing_of_its_cause(folder: Path) -> None:
    def broken() -> float:
        raise RuntimeError("secret")  # noqa: EM101 -- what must not be shown

    with running(folder, clock=broken) as api:
        failed = api("GET", SESSION)
    assert (failed.status, failed.slug) == (500, "internal-error")
    assert b"secret" not in failed.body


def test_errors_of_the_service_carry_the_request_id_of_the_header(api: Api) -> None:
    missing = api("GET", SESSION)
    assert missing.json["request_id"] == missing.headers["x-request-id"]


def test_a_handler_that_is_given_no_request_says_what_it_takes(api: Api) -> None:
    assert api.host is not None
    with pytest.raises(InvalidRequestError, match="attribute_later"):
        invoke("attribute", {"what": "ever"}, api.host)
