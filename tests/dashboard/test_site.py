"""The site: every page over every store, its headers, its twins, what it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from attribution_service.service import Caller
from dashboard.pages.assets import assets
from dashboard_kit import Failure
from site_kit import browser_of

if TYPE_CHECKING:
    from dashboard_kit import Shelf

PAGES = {
    "/": "/index.json",
    "/?cluster=c1&node=node-0001": "/index.json?cluster=c1&amp;node=node-0001",
    "/verdict/c1/4711/0": "/verdict/c1/4711/0.json",
    "/fleet?cluster=c1&days=7": "/fleet.json?cluster=c1&amp;days=7",
    "/rules?text=xid": "/rules.json?text=xid",
    "/rules/XID": "/rules/XID.json",
    "/walkthrough/xid79-gpu-at-95c": "/walkthrough/xid79-gpu-at-95c.json",
    "/walkthrough/xid79-gpu-at-95c?step=verdict": "/walkthrough/xid79-gpu-at-95c.json",
    "/feedback": "/feedback.json",
}
ERRORS = {"/nothing": 404, "/verdict/c1/none/0": 404, "/?bad=1": 422, "/rules/None": 404, "/fleet?days=0": 422}


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    shelf.fill([Failure("4711", bad=("node-0001",)), Failure("4712", cluster="c2", at=shelf_time(shelf) - 60)])
    return shelf


def shelf_time(shelf: Shelf) -> int:
    return int(shelf.now[0])


@pytest.mark.parametrize("address", PAGES)
def test_every_page_is_there_over_every_store(filled: Shelf, address: str) -> None:
    text = browser_of(filled).page(address)
    assert text.startswith("<!doctype html>")
    assert text.count("<h1") == 1


@pytest.mark.parametrize(("address", "twin"), PAGES.items())
def test_every_page_names_its_twin_which_is_of_the_same_page(filled: Shelf, address: str, twin: str) -> None:
    browser = browser_of(filled)
    text = browser.page(address)
    assert f'<link rel="alternate" type="application/json" href="{twin}">' in text
    found = browser.get(twin.replace("&amp;", "&"))
    assert (found.status, found.content_type) == (200, "application/json")
    title = re.search(r"<title>(.*) · GPU job attribution</title>", text)
    assert title is not None
    assert json.loads(found.body)["title"] == title[1]


@pytest.mark.parametrize("address", [*PAGES, *ERRORS, "/static/style.css"])
def test_every_answer_has_the_fixed_headers(sqlite: Shelf, address: str) -> None:
    sqlite.fill([Failure("4711")])
    headers = browser_of(sqlite).get(address).headers
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"].startswith("public" if address.startswith("/static") else "private")


@pytest.mark.parametrize("address", [*PAGES, *ERRORS])
def test_no_page_has_inline_code_or_an_address_elsewhere(sqlite: Shelf, address: str) -> None:
    sqlite.fill([Failure("4711", bad=("node-0001",))])
    text = browser_of(sqlite).get(address).body.decode()
    assert not re.search(r"<style|<script(?![^>]* src=)|<[^>]+ (?:style|on\w+)=", text)
    for target in re.findall(r'(?:href|src|action)="([^"]*)"', text):
        assert re.match(r"/(?!/)|#", target), target


def test_templates_name_only_files_that_are_there(sqlite: Shelf) -> None:
    sqlite.fill([Failure("4711")])
    browser = browser_of(sqlite)
    named = {name for address in PAGES for name in re.findall(r"/static/([^\"]+)", browser.page(address))}
    assert named
    for name in named:
        file, _, version = name.partition("?v=")
        assert assets()[file].version == version
        assert browser.get(f"/static/{name}").headers["Cache-Control"].endswith("immutable")


def test_what_is_not_ours_has_its_licence_beside_it() -> None:
    for name in assets():
        if name.startswith("uplot"):
            assert "MIT License" in assets()["uplot.LICENSE.txt"].body.decode()


@pytest.mark.parametrize(("address", "status"), ERRORS.items())
def test_an_error_is_a_page_that_says_what_to_do(sqlite: Shelf, address: str, status: int) -> None:
    found = browser_of(sqlite).get(address)
    assert (found.status, found.content_type) == (status, "text/html; charset=utf-8")
    assert "<h1" in found.body.decode()


def test_the_error_of_a_twin_is_json(sqlite: Shelf) -> None:
    found = browser_of(sqlite).get("/verdict/c1/none/0.json")
    assert (found.status, json.loads(found.body)["page"]) == (404, "error")


def test_another_method_is_refused_and_the_right_one_named(sqlite: Shelf) -> None:
    browser = browser_of(sqlite)
    assert browser.get("/", method="POST").headers["Allow"] == "GET"
    assert browser.get("/verdict/c1/4711/0/feedback").headers["Allow"] == "POST"


def test_a_page_that_did_not_change_is_not_sent_again(sqlite: Shelf) -> None:
    sqlite.fill([Failure("4711")])
    browser = browser_of(sqlite)
    first = browser.get("/")
    sqlite.now[0] += 60
    assert browser.get("/", if_none_match=first.headers["ETag"]).status == 304
    sqlite.fill([Failure("4712")])
    assert browser.get("/", if_none_match=first.headers["ETag"]).status == 200


def test_a_job_is_found_by_its_id_alone(filled: Shelf) -> None:
    browser = browser_of(filled)
    assert browser.get("/job?id=4712").headers["Location"] == "/verdict/c2/4712/0"
    assert browser.get("/verdict/c2/4712").headers["Location"] == "/verdict/c2/4712/0"
    assert browser.get("/verdict/c2/none").status == 404


def test_a_job_that_is_nowhere_is_searched_for_where_the_store_can(filled: Shelf) -> None:
    found = browser_of(filled).get("/job?id=pretrain")
    if filled.kind == "sqlite":
        assert (found.status, found.headers["Location"]) == (303, "/?text=pretrain&job=pretrain")
    else:
        assert found.status == 404


def test_a_job_with_an_open_session_only_is_told_how_its_verdict_is_kept(filled: Shelf) -> None:
    browser = browser_of(filled)
    browser.library = replace(browser.library, open_sessions=lambda _, job_id: [f"prod:{job_id}:0"])
    if filled.kind != "sqlite":
        page = browser.get("/job?id=90211")
        assert page.status == 404
        assert "attribution keep prod:90211:0" in str(page.body)


def test_a_job_without_a_verdict_is_never_passed_over_for_one_whose_words_fit(sqlite: Shelf) -> None:
    sqlite.fill([Failure("1519")])
    browser = browser_of(sqlite)
    listed = browser.page(browser.get("/job?id=151").headers["Location"])
    assert "There is no verdict on a job &#39;151&#39;" in listed
    assert "/verdict/c1/1519/0" in listed
    assert "There is no verdict on a job" in browser.page("/index.json?text=151&job=151")
    assert "There is no verdict" not in browser.page("/?text=1519&job=151")


def test_what_a_field_shows_as_an_example_is_taken(sqlite: Shelf) -> None:
    sqlite.fill([Failure("1519")])
    browser = browser_of(sqlite)
    for address in ("/", "/fleet"):
        for name, example in re.findall(r'name="(since|until)"[^>]*placeholder="(2[^"]+)"', browser.page(address)):
            assert browser.get(f"{address}?{name}={example}").status == 200


def test_a_job_of_several_clusters_says_which(sqlite: Shelf) -> None:
    sqlite.fill([Failure("7"), Failure("7", cluster="c2")])
    browser = browser_of(sqlite)
    assert "several clusters: c1, c2" in browser.page(browser.get("/job?id=7").headers["Location"])


def test_a_caller_sees_the_own_clusters_only(filled: Shelf) -> None:
    browser = browser_of(filled, Caller(frozenset({"c2"})))
    assert browser.get("/verdict/c1/4711/0").status == 404
    assert browser.get("/verdict/c1/4711/0/raw.json").status == 404
    assert browser.get("/job?id=4711").headers.get("Location") != "/verdict/c1/4711/0"
    assert "4711" not in browser.page("/?cluster=c2&day=2026-06-02" if filled.kind != "sqlite" else "/")
    assert browser.get("/verdict/c2/4712/0").status == 200


def test_on_a_stage_every_address_stands_below_it(sqlite: Shelf) -> None:
    sqlite.fill([Failure("4711")])
    browser = browser_of(sqlite, base="/prod")
    for address in PAGES:
        for target in re.findall(r'(?:href|src|action)="([^"#]+)', browser.page(address)):
            assert target.startswith("/prod/"), target
    assert browser.get("/job?id=4711").headers["Location"] == "/prod/verdict/c1/4711/0"


def test_the_verdict_itself_and_the_text_for_a_ticket_have_addresses(filled: Shelf) -> None:
    browser = browser_of(filled)
    raw = browser.get("/verdict/c1/4711/0/raw.json")
    assert json.loads(raw.body)["job"]["job_id"] == "4711"
    text = browser.get("/verdict/c1/4711/0.md")
    assert text.content_type == "text/markdown; charset=utf-8"
    assert "node-0001" in text.body.decode()


def test_a_failure_of_ours_is_a_page_that_tells_no_secrets(sqlite: Shelf) -> None:
    browser = browser_of(sqlite)
    sqlite.reader.database.close()  # type: ignore[attr-defined]  # the shelf is of this kind
    found = browser.get("/")
    assert found.status in (500, 503)
    assert "Traceback" not in found.body.decode()


def test_where_a_store_lists_by_cluster_and_time_the_newest_are_one_step_away(filled: Shelf) -> None:
    browser = browser_of(filled)
    text = browser.page("/")
    if filled.kind == "sqlite":
        assert "4711" in text
        return
    (first,) = re.findall(r'<a href="([^"]+)">since yesterday</a>', text)[:1]
    assert "4711" in browser.page(first.replace("&amp;", "&"))
