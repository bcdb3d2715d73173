"""Every page in every dress: opened, photographed, without a complaint of the browser or of axe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from browser_kit import ROOT, SHOTS

if TYPE_CHECKING:
    from browser_kit import Site

AXE = ROOT / ".tools" / "browser" / "axe.min.js"
PAGES = {
    "runs": "/",
    "runs-filtered": "/?sub_domain=hardware",
    "verdict": "/verdict/c1/partial-1/0",
    "verdict-chain": "/verdict/c1/job-013/0",
    "verdict-hostile": "/verdict/c1/hostile-0/0",
    "verdict-huge": "/verdict/c1/huge-1/0",
    "verdict-pairs": "/verdict/c1/pairs-1/0",
    "fleet": "/fleet?days=60&until=2026-06-05",
    "fleet-month": "/fleet?cluster=fleet&days=31&until=2026-04-23",
    "rules": "/rules?text=xid",
    "rule": "/rules/XID",
    "walkthrough": "/walkthrough",
    "walkthrough-final": "/walkthrough/cuda-oom-rank11-zero3-four-nodes?step=final",
    "walkthrough-verdict": "/walkthrough/cuda-oom-rank11-zero3-four-nodes?step=verdict",
    "feedback": "/feedback",
    "error": "/verdict/c1/no-such-job/0",
}
DRESSES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}},
    "no-script": {"java_script_enabled": False},
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_and_has_one_heading_and_its_landmarks(site: Site, name: str, dress: str) -> None:
    page = site.open(PAGES[name], **DRESSES[dress])
    page.screenshot(path=SHOTS / f"{name}-{dress}.png", full_page=True)
    assert page.locator("h1").count() == 1
    for landmark in ("banner", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    assert page.locator("main").inner_text().strip()


@pytest.mark.parametrize("dress", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(site: Site, name: str, dress: str) -> None:
    # Injected by the test, past the page's policy.
    page = site.open(PAGES[name], bypass_csp=True, **DRESSES[dress])
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    serious = [
        {"rule": each["id"], "impact": each["impact"], "where": [node["target"] for node in each["nodes"][:4]]}
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == [], json.dumps(serious, indent=1)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_a_phone(site: Site, name: str) -> None:
    page = site.open(PAGES[name], **DRESSES["narrow"])
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 1
