"""What every connector that asks somebody has to stand: the same faults for all of them, over real connections.

Errors are of our own tree, name who was asked, come within their time, and cost no other instance anything.
"""

from __future__ import annotations

import threading
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

from attribution_blueprint.collecting import Collecting, Source
from attribution_blueprint.frameworks import FRAMEWORKS
from conformance_kit import COMMANDS, LOCAL, SERVED, Commanded, Outcome, Served, context, exercise, make
from replay_kit import Answer, Asked, replaying

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

served = pytest.mark.parametrize("subject", SERVED, ids=lambda one: f"{one.framework}-{one.name}")
commanded = pytest.mark.parametrize("subject", COMMANDS, ids=lambda one: f"{one.framework}-{one.name}")
PATIENCE = 20.0
"""Longer than a try, a pause and another try, on a machine that has other things to do."""


def ask(subject: Served, url: str, seconds: float = PATIENCE, **more: Any) -> Outcome:
    return exercise(subject.framework, subject.made(url, **more), seconds, *subject.places)


def always(answer: Answer) -> Callable[[Asked, int], Answer]:
    return lambda *_: answer


def first(answer: Answer, good: bytes, times: int = 1) -> Callable[[Asked, int], Answer]:
    """Then good replies; of an object what is asked for of it."""

    def reply(asked: Asked, number: int) -> Answer:
        if number < times:
            return answer
        if "range" not in asked.headers:
            return Answer(good)
        begin = int(asked.headers["range"].removeprefix("bytes=").rstrip("-"))
        return Answer(good[begin:], 206, {"Content-Range": f"bytes {begin}-{len(good) - 1}/{len(good)}"})

    return reply


def assert_told(outcome: Outcome, subject: Served, url: str, *words: str) -> None:
    assert outcome.found == []
    assert outcome.reason is not None
    for word in (subject.address.format(url=url), *words):
        assert word in outcome.reason


def test_every_component_has_its_place_in_this_suite() -> None:
    known = {(one.framework, one.name) for one in (*SERVED, *COMMANDS)} | LOCAL
    parts = [(name, part.name) for name, framework in FRAMEWORKS.items() for part in framework.components]
    assert set(parts) <= known, "a component without conformance: add it to tests/conformance_kit.py"


@served
def test_a_good_reply_is_taken(subject: Served) -> None:
    with replaying(always(Answer(subject.good))) as server:
        outcome = ask(subject, server.url)
    assert outcome.reason is None
    assert len(outcome.found) == (subject.framework in ("log", "metric", "eca"))


@served
def test_a_server_that_hangs_costs_no_more_than_its_time(subject: Served) -> None:
    with replaying(always(Answer(subject.good, after=1.4))) as server:
        outcome = ask(subject, server.url, tries=1)
    assert_told(outcome, subject, server.url)
    assert "time" in str(outcome.reason).lower()


@served
@pytest.mark.parametrize("status", [429, 503])
def test_a_storm_ends_after_the_tries_that_were_allowed(subject: Served, status: int) -> None:
    with replaying(always(Answer(b'{"title": "too busy"}', status))) as server:
        outcome = ask(subject, server.url)
    assert len(server.asked) == 2
    assert_told(outcome, subject, server.url, str(status))


@served
@pytest.mark.parametrize("form", ["seconds", "date"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_when_it_says(subject: Served, status: int, form: str) -> None:
    # A date has whole seconds: two of them are one at least.
    later = "1" if form == "seconds" else formatdate(time.time() + 2, usegmt=True)
    began = time.monotonic()
    with replaying(first(Answer(b"{}", status, {"Retry-After": later}), subject.good)) as server:
        outcome = ask(subject, server.url)
    assert outcome.reason is None
    assert len(server.asked) == 1 + subject.requests
    assert time.monotonic() - began >= 0.9


@served
def test_half_a_reply_is_asked_for_again(subject: Served) -> None:
    whole = subject.good or b"{}"
    with replaying(first(Answer(whole, cut=1), subject.good)) as server:
        outcome = ask(subject, server.url)
    assert outcome.reason is None
    with replaying(always(Answer(whole, cut=1))) as server:
        outcome = ask(subject, server.url)
    assert outcome.reason is not None
    assert subject.address.format(url=server.url) in outcome.reason


@served
def test_what_is_no_reply_is_told(subject: Served) -> None:
    if "wrong" in subject.unaware:
        pytest.skip(subject.unaware["wrong"])
    for body in (b"<html>please log in</html>", b'{"cut": [1, 2', b"\xff\xfe\x00", b"[]"):
        with replaying(always(Answer(body))) as server:
            assert_told(ask(subject, server.url), subject, server.url)


@served
def test_an_expired_token_is_told(subject: Served) -> None:
    with replaying(always(subject.expired)) as server:
        assert_told(ask(subject, server.url), subject, server.url, subject.refused)


@served
def test_a_name_that_does_not_resolve_is_told(subject: Served) -> None:
    outcome = ask(subject, "http://no-such-host.invalid", tries=1)
    assert_told(outcome, subject, "http://no-such-host.invalid", "no-such-host.invalid")


@served
def test_a_server_that_is_away_is_told(subject: Served) -> None:
    with replaying(always(Answer())) as gone:
        pass
    assert_told(ask(subject, gone.url), subject, gone.url)


WINDOWED = [one for one in SERVED if one.window is not None]
PAGED = [one for one in SERVED if one.pages is not None]
PAGED_SETTINGS: dict[str, dict[str, Any]] = {
    "promql": {"points": 16, "step": 15},
    "s3": {"urls": "s3://bucket/7/"},
    "awsbatch": {"ids": "", "since": "2026-11-29T17:00:00Z", "queues": "q"},
    "sagemaker": {"ids": "", "since": "2026-11-29T17:00:00Z"},
}


@pytest.mark.parametrize("subject", WINDOWED, ids=lambda one: one.name)
def test_only_the_job_s_time_is_asked_for(subject: Served) -> None:
    with replaying(always(Answer(subject.good))) as server:
        ask(subject, server.url)
    asked = server.asked[0]
    assert subject.window is not None
    assert subject.window({**asked.query, **asked.body})


@pytest.mark.parametrize("subject", PAGED, ids=lambda one: one.name)
def test_every_page_is_read_and_nothing_comes_twice(subject: Served) -> None:
    pages = subject.pages
    assert pages is not None
    with replaying(lambda asked, _: Answer(pages(asked))) as server:
        outcome = ask(subject, server.url, **PAGED_SETTINGS.get(subject.name, {}))
    assert outcome.reason is None
    things = [thing for found in outcome.found for thing in _things(found)]
    assert len(things) == len(set(things)) == 3


def _things(found: Any) -> list[Any]:
    """Lines, samples or jobs."""
    if hasattr(found, "key"):
        return [found.key]
    if found.series:
        return [sample for series in found.series for sample in series.samples]
    return list(found.entries.lines) or found.text.splitlines()


COLLECTORS = [one for one in SERVED if one.framework in ("log", "metric")]


@pytest.mark.parametrize("subject", COLLECTORS, ids=lambda one: one.name)
def test_an_instance_that_fails_costs_no_other_its_evidence(subject: Served, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("hello\n")
    good = make("log", "file", {"paths": str(tmp_path / "a.log")})
    with replaying(always(Answer(b"busy", 503))) as server:
        sources = [Source(subject.name, "bad", subject.made(server.url), 9), Source("file", "good", good, 9)]
        collecting = Collecting(sources, context(*subject.places), threading.Event())
        brought = [source.instance for source, _ in collecting]
    assert brought == ["good"]
    reports = {report.instance: (report.status.value, report.reason) for report in collecting.reports}
    assert reports["good"] == ("ok", None)
    assert reports["bad"][0] == "error"
    assert "503" in str(reports["bad"][1])


def run(subject: Commanded, folder: Path, script: str, seconds: float = PATIENCE) -> Outcome:
    return exercise(subject.framework, subject.made(folder, script), seconds, *subject.places)


def printing(folder: Path, body: bytes) -> str:
    (folder / "reply").write_bytes(body)
    return f"cat {folder / 'reply'}"


@commanded
def test_a_program_that_answers_is_taken(subject: Commanded, tmp_path: Path) -> None:
    outcome = run(subject, tmp_path, printing(tmp_path, subject.good))
    assert outcome.reason is None


@commanded
def test_a_program_that_hangs_is_ended_at_the_end_of_the_time(subject: Commanded, tmp_path: Path) -> None:
    outcome = run(subject, tmp_path, "exec sleep 60", seconds=0.5)
    assert outcome.reason is not None
    assert "timeout_seconds" in outcome.reason


@commanded
@pytest.mark.parametrize("fault", ["expired", "name", "busy"])
def test_what_a_program_says_is_told(subject: Commanded, fault: str, tmp_path: Path) -> None:
    said = subject.refusals[fault]
    outcome = run(subject, tmp_path, f"echo '{said}' >&2; exit 1")
    assert outcome.found == []
    assert outcome.reason is not None
    assert said in outcome.reason


@commanded
@pytest.mark.parametrize("fault", ["half", "wrong"])
def test_what_a_program_should_not_print_is_told(subject: Commanded, fault: str, tmp_path: Path) -> None:
    if fault in subject.unaware:
        pytest.skip(subject.unaware[fault])
    body = subject.good[:-5] if fault == "half" else b"<html>please log in</html>"
    outcome = run(subject, tmp_path, printing(tmp_path, body))
    assert outcome.found == []
    assert outcome.reason is not None


@commanded
def test_a_program_that_is_not_there_is_told(subject: Commanded, tmp_path: Path) -> None:
    connector = make(subject.framework, subject.name, {subject.program: str(tmp_path / "nowhere"), **subject.settings})
    outcome = exercise(subject.framework, connector, PATIENCE, *subject.places)
    assert "cannot be run" in str(outcome.reason)
