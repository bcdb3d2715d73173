"""The dashboard in use: from a job id to the answer, by keyboard, without scripts, with a judgement at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from browser_kit import SHOTS

if TYPE_CHECKING:
    from browser_kit import Site

HOSTILE = 8
"""Kinds of hostile text in the seeded verdicts."""


def test_an_on_call_engineer_gets_from_the_job_id_to_the_answer_in_one_step(site: Site) -> None:
    page = site.open("/")
    page.keyboard.press("/")
    page.keyboard.type("partial-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/verdict/c1/partial-1/0")
    answers = page.locator(".answers").inner_text().lower()
    for asked in ("which node", "why", "how sure", "what next"):
        assert asked in answers
    assert "node-0001" in answers
    box = page.locator(".answers").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 900, "the answer is on the first screen, below what was not read"


def test_what_was_not_read_is_said_before_anything_else(site: Site) -> None:
    page = site.open("/verdict/c1/partial-1/0")
    alarm = page.locator(".alarm")
    assert "loki-prod" in alarm.inner_text()
    above = alarm.bounding_box(), page.locator(".answers").bounding_box()
    assert above[0] is not None
    assert above[1] is not None
    assert above[0]["y"] < above[1]["y"]


def test_runs_are_filtered_by_the_form_without_scripts(site: Site) -> None:
    page = site.open("/?cluster=c1", java_script_enabled=False)
    every = page.locator("tbody tr th[scope=row] a").count()
    page.get_by_label("Whose problem", exact=True).select_option("hardware")
    page.get_by_role("button", name="Filter").click()
    chips = page.locator("td .chip").all_inner_texts()
    assert chips
    assert {chip.lower() for chip in chips} == {"hardware"}
    assert len(chips) < every


def test_a_page_is_walked_through_by_keyboard(site: Site) -> None:
    page = site.open("/verdict/c1/job-013/0")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    seen = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "() => { const e = document.activeElement; const s = getComputedStyle(e); "
            "return [e.closest('svg') ? 'mark' : e.tagName, s.outlineStyle, s.outlineWidth, e.getAttribute('href')] }"
        )
        if focus[0] != "BODY":
            assert (focus[1], focus[2]) == ("solid", "3px"), focus
        seen.add(focus[0])
        if focus[0] == "mark":
            page.locator(":focus").scroll_into_view_if_needed()
            page.screenshot(path=SHOTS / "focus-on-a-mark.png")
            page.keyboard.press("Enter")
            page.wait_for_url(f"**{focus[3]}")
            break
    assert "mark" in seen


def test_the_fleet_page_names_the_cohort_and_the_offender_and_nothing_else(site: Site) -> None:
    page = site.open("/fleet?cluster=fleet&days=31&until=2026-04-23")
    assert "500 verdicts" in page.locator("main").inner_text()
    assert page.locator("article h3").all_inner_texts() == ["Leaf switch lost power: 12 jobs on node-[0701-0703]"]
    assert page.locator("section[aria-labelledby=offender-heading] tbody th a").all_inner_texts() == ["node-0042"]


def test_a_judgement_is_given_shown_and_exported(site: Site) -> None:
    page = site.open("/verdict/c1/job-002/0")
    page.get_by_label("wrong", exact=True).check()
    page.get_by_label("It was (if not right)").select_option("nvlink")
    page.get_by_label("On node").fill("node-0042")
    page.get_by_label("How do you know?").fill("<b>swapped the cable</b>")
    page.get_by_role("button", name="Send the judgement").click()
    page.wait_for_url("**/verdict/c1/job-002/0**")
    assert "<b>swapped the cable</b>" in page.locator("#feedback").inner_text()
    page.goto(f"{site.url}/feedback")
    assert "node-0042" in page.locator("main").inner_text()
    page.screenshot(path=SHOTS / "feedback-given.png", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "labelled-cases.zip"


def test_the_theme_is_switched_and_stays(site: Site) -> None:
    page = site.open("/", color_scheme="light")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark theme").click()
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert after != before
    page.goto(f"{site.url}/rules")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_the_verdict_is_copied_as_markdown(site: Site) -> None:
    page = site.open("/verdict/c1/partial-1/0", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as Markdown").click()
    page.locator("#said", has_text="Copied.").wait_for(state="attached")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "node-0001" in copied
    assert "partial-1" in copied


def test_the_chart_is_drawn_by_the_script_and_by_the_server(site: Site) -> None:
    assert site.open("/").locator(".chart canvas").count() == 1
    assert site.open("/", java_script_enabled=False).locator(".chart svg rect").count() > 0


def test_hostile_text_is_text(site: Site) -> None:
    for kind in range(HOSTILE):
        page = site.open(f"/verdict/c1/hostile-{kind}/0")
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img, main iframe").count() == 0
        assert page.locator("a[href^='javascript:'], [onmouseover], [onerror]").count() == 0
        text = page.locator("main").inner_text()
        assert "<script>" in text
        assert "\\x1b" in text
        assert "\\u202e" in text
        assert not set(text) & set("\x00\x07\x1b\u202e\u2066\u200b")
        assert page.locator("head title").text_content() != ""


def test_ten_thousand_nodes_are_a_bounded_page_whose_cost_is_measured(site: Site) -> None:
    """Bytes and elements are bounded; how long Chromium takes is printed, since the machine may be busy."""
    page = site.context().new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"{site.url}/verdict/c1/huge-1/0", wait_until="load")
    html = page.context.request.get(f"{site.url}/verdict/c1/huge-1/0").body()
    elements = page.locator("main svg, main svg *").count()
    timing = page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => setTimeout(() => { "
        "const n = performance.getEntriesByType('navigation')[0]; "
        "const p = performance.getEntriesByName('first-contentful-paint')[0]; "
        "done([n.responseEnd, n.loadEventEnd, p ? p.startTime : 0]) }, 0)))"
    )
    cost = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    print(  # noqa: T201 -- the figures
        f"10,000 nodes: {len(html):,} bytes, {elements} SVG elements, drawn {max(timing[1:]) - timing[0]:.0f} ms after "
        f"the last byte; {cost['TaskDuration'] * 1000:.0f} ms of the page's thread"
    )
    assert len(html) <= 1_000_000
    assert elements <= 2_000
