"""The one write: a judgement, from our own page only."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from attribution_service.service import Caller
from dashboard_kit import Failure
from site_kit import HOST, browser_of

if TYPE_CHECKING:
    from dashboard_kit import Shelf
    from site_kit import Browser

PAGE = "/verdict/c1/4711/0"
FORM = f"{PAGE}/feedback"


@pytest.fixture
def browser(shelf: Shelf) -> Browser:
    shelf.fill([Failure("4711", bad=("node-0001",))])
    return browser_of(shelf)


def test_a_judgement_is_stored_and_shown(browser: Browser) -> None:
    fields = {"token": browser.token(PAGE), "judgement": "wrong", "outcome": "nvlink", "node": "node-0042"}
    sent = browser.send(FORM, {**fields, "run_id": "r1", "comment": "<b>swapped</b>\nthe cable", "author": " me "})
    assert (sent.status, sent.headers["Location"]) == (303, f"{PAGE}?run=r1#feedback")
    text = browser.page(PAGE)
    assert "&lt;b&gt;swapped&lt;/b&gt;\nthe cable" in text
    assert "node-0042" in text
    assert "node-0042" in browser.page("/feedback")


def test_judgements_are_exported_as_case_folders(browser: Browser) -> None:
    browser.send(FORM, {"token": browser.token(PAGE), "judgement": "right"})
    found = browser.get("/feedback/cases.zip")
    assert found.content_type == "application/zip"
    names = zipfile.ZipFile(io.BytesIO(found.body)).namelist()
    assert {name.rpartition("/")[2] for name in names} == {"job.toml", "expected.toml", "README.txt"}
    assert found.body == browser.get("/feedback/cases.zip").body


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": f"https://{HOST}.evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"cookie": "attribution_form=" + "x" * 43},
        {"cookie": "none=1"},
    ],
    ids=str,
)
def test_a_form_from_elsewhere_is_refused(browser: Browser, headers: dict[str, str]) -> None:
    token = browser.token(PAGE)
    refused = browser.send(FORM, {"token": token, "judgement": "right"}, **headers)
    assert refused.status == 403
    assert b"Open the verdict again" in refused.body
    assert b"Ask for access" not in refused.body
    assert "No judgement yet" in browser.page("/feedback")


@pytest.mark.parametrize("token", ["", "x" * 43, "é" * 43])
def test_a_form_without_the_token_of_the_cookie_is_refused(browser: Browser, token: str) -> None:
    browser.page(PAGE)
    assert browser.send(FORM, {"token": token, "judgement": "right"}).status == 403


def test_behind_a_proxy_its_own_name_is_ours_too(browser: Browser) -> None:
    token = browser.token(PAGE)
    origin = {"origin": "https://dashboard.corp", "x_forwarded_host": "dashboard.corp"}
    assert browser.send(FORM, {"token": token, "judgement": "right"}, **origin).status == 303


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 422),
        ({"judgement": "maybe"}, 422),
        ({"judgement": "right", "outcome": "bad luck"}, 422),
        ({"judgement": "right", "node": "a b"}, 422),
        ({"judgement": "right", "more": "1"}, 422),
        ({"judgement": "right", "comment": "x" * 40_000}, 413),
        ({"judgement": "right", "run_id": "another"}, 404),
    ],
    ids=str,
)
def test_a_form_that_means_nothing_is_refused(browser: Browser, fields: dict[str, str], status: int) -> None:
    assert browser.send(FORM, {"token": browser.token(PAGE), **fields}).status == status


def test_json_is_for_the_api(browser: Browser) -> None:
    sent = browser.send(FORM, {"token": browser.token(PAGE), "judgement": "right"}, content_type="application/json")
    assert sent.status == 422


def test_a_verdict_of_a_foreign_cluster_cannot_be_judged(shelf: Shelf) -> None:
    shelf.fill([Failure("4711"), Failure("4712", cluster="c2")])
    browser = browser_of(shelf, Caller(frozenset({"c2"})))
    token = browser.token("/verdict/c2/4712/0")
    assert browser.send(FORM, {"token": token, "judgement": "right"}).status == 404


def test_the_cookie_is_for_this_site_alone(browser: Browser) -> None:
    (cookie,) = browser.get(PAGE, x_forwarded_proto="https").cookies
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
    assert browser.get(PAGE).cookies == ()
