"""Every view: what it shows, that everybody can use it, and how it looks, light and dark, narrow and wide."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.studio import NewStudio, Studio

VIEWS = {
    "overview": ("", "Overview", "running"),
    "jobs": ("/jobs?function=probes&state=pending&id=later-", "Jobs", "later-"),
    "job": ("/job?id=dead-0", "probes:fail", "Gave up after 2 attempts"),
    "crons": ("/crons", "Crons", "Every day at 01:00 UTC"),
    "dead": ("/dead", "Dead letters", "PROBE_FAILED"),
    "pools": ("/pools", "Pools", "emails"),
    "functions": ("/functions?path=pools:enqueue", "Functions", "cap"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_its_data_and_axe_finds_nothing(new_studio: NewStudio, name: str, scheme: str) -> None:
    address, heading, datum = VIEWS[name]
    studio = new_studio(color_scheme=scheme)
    page = studio.open(address)
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    expect(page.locator("main")).to_contain_text(datum)
    expect(page.locator(".connection")).to_contain_text("Live")
    expect(page).to_have_title(re.compile("Lunora studio"))
    assert studio.axe() == []
    studio.shoot(f"{name}-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_to_sign_in(new_studio: NewStudio, scheme: str) -> None:
    studio = new_studio(signed_in=False, color_scheme=scheme)
    studio.open("/jobs")
    assert studio.axe() == []
    studio.shoot(f"sign-in-{scheme}")


@pytest.mark.parametrize("width", [400, 768, 2560])
def test_no_view_is_wider_than_the_window(new_studio: NewStudio, width: int) -> None:
    studio = new_studio(viewport={"width": width, "height": 900})
    for name, (address, _, datum) in [*VIEWS.items(), ("hostile", ("/job?id=hostile", "", "markup"))]:
        page = studio.open(address)
        expect(page.locator("main")).to_contain_text(datum)
        assert studio.overflow() <= 0, name
        if width != 768:
            studio.shoot(f"{name}-{width}")
    if width == 400:
        assert studio.axe() == []


def test_the_overview_says_in_a_sentence_how_all_is(studio: Studio) -> None:
    page = studio.open()
    expect(page.locator(".health")).to_contain_text(re.compile(r"dead letters|All good|Busy|Running late"))
    expect(page.locator(".tile", has_text="Backlog").locator(".value")).to_have_text(re.compile(r"^\d+$"))
    expect(page.locator(".tile", has_text="Origin").locator(".value")).to_have_text("reachable")
    expect(page.locator(".plot canvas")).to_have_count(2)


def test_a_job_says_why_it_failed(studio: Studio) -> None:
    page = studio.open("/job?id=dead-0")
    expect(page.locator(".verdict")).to_contain_text("PROBE_FAILED it always does")
    attempts = page.locator(".timeline .failed")
    expect(attempts).to_have_count(2)
    expect(attempts.first).to_contain_text(re.compile(r"Attempt 1 failed \d+ (s|min) ago · took \d+"))
    exactly = page.locator(".timeline time").first.get_attribute("title")
    assert exactly is not None
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", exactly)


def test_a_job_that_is_tried_again_counts_down(studio: Studio) -> None:
    page = studio.open("/job?id=retrying")
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text(re.compile(r"Attempt 1 failed; the next one is due in \d+ min \d+ s"))
    before = verdict.inner_text()
    expect(verdict).not_to_have_text(before)


def test_crons_tell_their_next_five_fires_and_where_they_pile_up(studio: Studio) -> None:
    page = studio.open("/crons")
    cron = page.locator(".cron", has_text="first sibling")
    cron.locator("summary").click()
    expect(cron.locator(".fires li")).to_have_count(5)
    expect(cron.locator(".fires li").first).to_contain_text(re.compile(r"01:00:00 UTC"))
    expect(page.locator(".day")).to_contain_text("At most 3 fire in one minute")
    expect(page.locator(".cron.failing h2")).to_contain_text(["for nothing"])


def test_an_address_without_a_view_leads_back(studio: Studio) -> None:
    page = studio.open("/job?id=nobody")
    expect(page.locator("main")).to_contain_text("There is no such job")
    page.get_by_role("link", name="All jobs").click()
    expect(page).to_have_url(f"{studio.url}/jobs")
    page.go_back()
    expect(page.locator("main")).to_contain_text("There is no such job")
