"""Steering the scheduler: live tables, cancel, retry, pools, crons, scheduling again, and text that means no good."""

from __future__ import annotations

import re
import subprocess
import time

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.content import BIG, HOSTILE, HOUR_MS
from tests.browser.studio import NewStudio, Studio
from tests.integration.client import TOKEN, wait_for


def test_a_job_appears_runs_and_ends_before_ones_eyes(studio: Studio) -> None:
    page = studio.open("/jobs?id=live-")
    expect(page.locator(".connection")).to_have_text(re.compile("^Live"))
    expect(page.locator("main")).to_contain_text("No job is like that")
    studio.client.schedule("probes:slow", {"seconds": 3}, id="live-1")
    expect(studio.row("live-1")).to_contain_text("running", timeout=4_000)
    expect(studio.row("live-1")).to_contain_text("succeeded", timeout=8_000)


def test_a_dead_socket_is_noticed_bridged_and_mended(studio: Studio) -> None:
    sockets: list[WebSocketRoute] = []
    broken = False

    def route(socket: WebSocketRoute) -> None:
        if broken:
            socket.close()
            return
        sockets.append(socket)
        socket.connect_to_server()

    studio.page.route_web_socket(re.compile("/scheduled/live"), route)
    page = studio.open("/jobs?id=bridged-")
    connection = page.locator(".connection")
    expect(connection).to_have_text(re.compile("^Live"))
    broken = True
    sockets[-1].close()
    expect(connection).to_have_text(re.compile("^Polling. The live connection is down"))
    studio.client.schedule("probes:note", {}, id="bridged-1", delay_ms=HOUR_MS)
    expect(studio.row("bridged-1")).to_be_visible(timeout=6_000)
    broken = False
    expect(connection).to_have_text(re.compile("^Live"), timeout=15_000)


def test_a_job_is_cancelled_after_a_question(studio: Studio) -> None:
    studio.client.schedule("probes:note", {}, id="unwanted", delay_ms=HOUR_MS)
    page = studio.open("/jobs?id=unwanted")
    page.get_by_role("button", name="Cancel unwanted").click()
    page.get_by_role("button", name="No, leave it").click()
    assert studio.client.get("unwanted")["state"] == "pending"
    page.get_by_role("button", name="Cancel unwanted").click()
    page.get_by_role("button", name="Cancel the job").click()
    studio.said("Cancelled unwanted.")
    expect(studio.row("unwanted")).to_contain_text("cancelled")
    assert studio.client.get("unwanted")["state"] == "canceled"


def test_a_job_is_cancelled_with_nothing_but_the_keyboard(studio: Studio) -> None:
    studio.client.schedule("probes:note", {}, id="by-keyboard", delay_ms=HOUR_MS)
    page = studio.open("/jobs?id=by-keyboard")
    expect(studio.row("by-keyboard")).to_be_visible()

    def focused() -> str:
        told: str = page.evaluate(
            "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
        )
        return told

    page.keyboard.press("Tab")
    assert focused() == "Skip to the content"
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused() == "Cancel by-keyboard":
            break
    assert focused() == "Cancel by-keyboard"
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel by-keyboard")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Cancel the job")).to_be_focused()
    page.keyboard.press("Enter")
    studio.said("Cancelled by-keyboard.")


def test_a_waiting_job_is_run_now(studio: Studio) -> None:
    studio.client.schedule("probes:note", {}, id="impatient", delay_ms=HOUR_MS)
    page = studio.open("/job?id=impatient")
    page.get_by_role("button", name="Run now").click()
    studio.said("It is due now.")
    expect(page.locator(".verdict")).to_contain_text("Succeeded")


def test_a_dead_letter_is_retried(studio: Studio) -> None:
    page = studio.open("/job?id=dead-1")
    page.get_by_role("button", name="Retry").click()
    studio.said("It is tried again, with all its attempts.")
    expect(page.locator(".timeline")).to_contain_text(re.compile("Retried by hand 1"))
    expect(page.locator(".verdict")).to_contain_text("Gave up after 4 attempts")


def test_five_hundred_are_retried_after_a_question_that_says_so(studio: Studio) -> None:
    client = studio.client
    # a mutation cannot know that an id is taken: what it schedules under one becomes a dead letter
    taken = [f"taken-{number}" for number in range(500)]
    client.value("action", "many:schedule", {"ids": taken, "delay_ms": HOUR_MS})
    client.value("mutation", "many:book", {"ids": taken})
    conditions = {"state": "dead", "error": "DUPLICATE_SCHEDULE_ID"}

    def letters() -> int:
        counted: int = client.call("GET", "/_lunora/admin/v1/scheduled/count", **conditions).json()["count"]
        return counted

    wait_for(lambda: letters() == 500, "500 letters", 60, letters)
    page = studio.open("/dead")
    group = studio.row("DUPLICATE_SCHEDULE_ID").first
    expect(group).to_contain_text("500")
    group.get_by_role("button", name=re.compile("^Retry all of")).click()
    expect(page.get_by_role("dialog")).to_contain_text("Retry 500 jobs?")
    page.get_by_role("button", name="Retry 500 jobs").click()
    expect(page.locator(".progress")).to_contain_text("500 jobs tried again.", timeout=30_000)
    expect(studio.row("DUPLICATE_SCHEDULE_ID")).to_have_count(0)


def test_a_letter_is_dropped(studio: Studio) -> None:
    page = studio.open("/dead?function=probes:fail&error=PROBE_FAILED")
    page.get_by_role("button", name="Drop dead-2").click()
    expect(page.get_by_role("dialog")).to_contain_text("Drop 1 job?")
    page.get_by_role("button", name="Drop 1 job").click()
    studio.said("dead-2 was dropped.")
    expect(page.get_by_role("button", name="Drop dead-2")).to_have_count(0)
    assert studio.client.get("dead-2") is None


def test_a_cron_is_run_now(studio: Studio) -> None:
    page = studio.open("/crons")
    page.get_by_role("button", name="Run now: second sibling").click()
    page.get_by_role("button", name="Run it now").click()
    studio.said("CRON_JOB_FAILED")
    expect(page.locator(".cron", has_text="second sibling")).to_contain_text("failing")
    page.get_by_role("button", name="Run now: mutation").click()
    page.get_by_role("button", name="Run it now").click()
    studio.said("mutation has run.")
    expect(page.locator(".cron", has_text="mutation").locator(".marks .succeeded")).to_have_count(1)


def test_a_pool_is_paused_resumed_and_given_another_cap(studio: Studio) -> None:
    page = studio.open("/pools")
    row = studio.row("imports")
    row.get_by_role("button", name="Pause imports").click()
    page.get_by_role("button", name="Pause the pool").click()
    expect(row).to_contain_text("paused")
    row.get_by_role("button", name="Resume imports").click()
    expect(row).to_contain_text("open")
    row.get_by_role("button", name="Change cap: imports").click()
    page.get_by_label("Cap", exact=True).fill("7")
    page.get_by_role("button", name="Change the cap").last.click()
    expect(row).to_contain_text("3 / 7")


def test_a_job_is_scheduled_again_with_other_arguments_and_every_digit(studio: Studio) -> None:
    page = studio.open("/job?id=hostile")
    page.get_by_role("button", name="Schedule again").click()
    box = page.get_by_label("Arguments").last
    text = box.input_value()
    assert f'"big": {BIG}' in text
    assert '"whole": 1.0' in text
    box.fill("{")
    expect(page.locator("#args-problem")).to_contain_text("This is not JSON")
    expect(page.get_by_role("button", name="Schedule", exact=True)).to_be_disabled()
    box.fill(text.replace('"nothing": null', f'"nothing": {BIG + 2}'))
    page.get_by_label("When").select_option("in an hour")
    page.get_by_role("button", name="Schedule", exact=True).click()
    studio.said("Scheduled as ")
    expect(page).not_to_have_url(f"{studio.url}/job?id=hostile")
    args = studio.client.get(page.url.partition("id=")[2])["args"]["value"]
    assert args == {**HOSTILE, "nothing": BIG + 2}
    assert repr(args["whole"]) == "1.0"


def test_a_copied_command_schedules_the_same_whatever_is_in_it(studio: Studio) -> None:
    studio.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = studio.open("/job?id=hostile")
    page.get_by_role("button", name="Copy as curl").click()
    studio.said("Copied.")
    command = page.evaluate("navigator.clipboard.readText()")
    assert TOKEN not in command
    environment = {"PATH": "/usr/bin:/bin", "LUNORA_ADMIN_TOKEN": TOKEN}
    ran = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    job_id = re.search(r'"id": ?"([^"]+)"', ran.stdout)
    assert job_id is not None, ran.stdout
    assert studio.client.get(job_id[1])["args"] == {"value": HOSTILE}


def test_arguments_are_shown_and_never_obeyed(studio: Studio) -> None:
    page = studio.open("/job?id=hostile")
    tree = page.get_by_role("region", name="Arguments")
    expect(tree).to_contain_text(HOSTILE["markup"])
    expect(tree).to_contain_text("<b>key</b>")
    expect(tree).to_contain_text(str(BIG))
    expect(tree).to_contain_text("invoice\\u202egpj.exe")
    expect(tree).to_contain_text("🎉")
    assert page.evaluate(
        "[document.images.length, document.querySelectorAll('.json script, .json b').length, ({}).polluted ?? null]"
    ) == [0, 0, None]
    expect(page).to_have_title("probes:note · Lunora studio")


@pytest.mark.parametrize(("job", "shown"), [("large", "show all 950,000 characters"), ("nested", "1 item")])
def test_arguments_of_any_size_open_at_once(studio: Studio, job: str, shown: str) -> None:
    page = studio.open("/jobs")
    began = time.monotonic()
    page.goto(f"{studio.url}/job?id={job}")
    expect(page.get_by_role("region", name="Arguments")).to_contain_text(shown)
    assert time.monotonic() - began < 5
    for _ in range(60):  # to the innermost
        folded = page.locator('.json button[aria-expanded="false"]')
        if folded.count() == 0:
            break
        folded.first.click()
    if job == "nested":
        expect(page.locator(".json")).to_contain_text("the innermost")
    assert studio.overflow() <= 0


def test_filters_are_in_the_address(studio: Studio) -> None:
    page = studio.open("/jobs")
    page.get_by_label("State").select_option("dead")
    expect(page).to_have_url(f"{studio.url}/jobs?state=dead")
    page.get_by_label("Function").fill("probes:fail")
    expect(page).to_have_url(f"{studio.url}/jobs?state=dead&function=probes%3Afail")
    page.reload()
    expect(page.get_by_label("Function")).to_have_value("probes:fail")
    expect(studio.row("dead-0")).to_be_visible()
    expect(studio.row("later-")).to_have_count(0)


def test_pages_go_forth_and_back(studio: Studio) -> None:
    page = studio.open("/jobs?id=later-&order=soonest")
    expect(page.locator("tbody tr")).to_have_count(50)
    first = page.locator("tbody .id").first.inner_text()
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("tbody tr")).to_have_count(10)
    page.get_by_role("button", name="Back").click()
    expect(page.locator("tbody .id").first).to_have_text(first)


def test_a_function_is_run_and_scheduled_by_a_form_of_its_schema(new_studio: NewStudio) -> None:
    studio = new_studio()
    page = studio.open("/functions?path=probes:slow")
    schedule = page.get_by_role("button", name="Schedule")
    expect(schedule).to_be_disabled()
    page.get_by_label("seconds").fill("0.1")
    schedule.click()
    studio.said("Scheduled as ")
    expect(page.locator(".verdict")).to_contain_text("Succeeded")
    page.goto(f"{studio.url}/functions?path=ledger:effects")
    page.get_by_label("tag").fill("nobody")
    page.get_by_role("button", name="Run and wait").click()
    expect(page.get_by_role("region", name="Result")).to_have_text("[]")


def test_an_attempt_shows_where_the_code_broke(studio: Studio) -> None:
    studio.client.schedule(
        "kinds:break_action", {"text": "<b>boom</b>"}, id="broken", retry={"max_attempts": 1, "base_ms": HOUR_MS}
    )
    page = studio.open("/job?id=broken")
    attempt = page.locator(".timeline .failed")
    expect(attempt).to_contain_text("RuntimeError: <b>boom</b>")
    attempt.locator("summary").click()
    expect(attempt.locator("pre")).to_contain_text("break_action")


def test_jobs_are_found_by_their_tag(studio: Studio) -> None:
    job = {"target": "probes:note", "delay_ms": HOUR_MS, "options": {"id": "tagged", "tags": ["customer-7", "urgent"]}}
    assert studio.client.call("POST", "/_lunora/admin/v1/scheduled/schedule", job).status_code == 200
    page = studio.open("/job?id=tagged")
    page.get_by_role("link", name="customer-7").click()
    expect(page).to_have_url(f"{studio.url}/jobs?tag=customer-7")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(studio.row("tagged")).to_be_visible()
