"""Who may use the studio: signing in and out, sessions that end, and pages of strangers."""

from __future__ import annotations

import re

import httpx
from playwright.sync_api import expect

from tests.browser.studio import NewStudio, Studio
from tests.integration.client import TOKEN, Client


def test_signing_in_leads_to_the_view_that_was_asked_for(new_studio: NewStudio) -> None:
    studio = new_studio(signed_in=False)
    page = studio.open("/jobs?state=dead")
    studio.sign_in("wrong")
    expect(page.get_by_role("alert")).to_contain_text("this is not the LUNORA_ADMIN_TOKEN of this Worker")
    studio.sign_in()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    expect(page).to_have_url(f"{studio.url}/jobs?state=dead")


def test_no_script_and_no_address_ever_has_the_token(new_studio: NewStudio) -> None:
    studio = new_studio(signed_in=False)
    page = studio.open()
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    studio.sign_in()
    expect(page.locator(".connection")).to_contain_text("Live")
    kept = page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    assert kept == '["",{},{}]'
    assert not [address for address in addresses if TOKEN in address]
    (cookie,) = [cookie for cookie in studio.context.cookies() if "lunora" in cookie["name"]]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/_lunora")
    assert TOKEN not in cookie["value"]


def test_signing_out_ends_it(studio: Studio) -> None:
    page = studio.open()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Admin token")).to_be_visible()
    assert studio.context.request.get(f"{studio.client.worker.url}/_lunora/admin/scheduled/status").status == 403
    page.reload()
    expect(page.get_by_label("Admin token")).to_be_visible()


def test_a_session_that_has_ended_is_begun_again_where_one_was(studio: Studio) -> None:
    page = studio.open("/pools")
    studio.context.clear_cookies()
    page.get_by_role("link", name="Crons").click()
    expect(page.locator("form")).to_contain_text("Your session has ended")
    studio.sign_in()
    expect(page.get_by_role("heading", level=1)).to_have_text("Crons")


def test_a_page_of_a_stranger_cannot_use_the_cookie(studio: Studio) -> None:
    (cookie,) = [cookie for cookie in studio.context.cookies() if "lunora" in cookie["name"]]
    url = studio.client.worker.url
    with httpx.Client(headers={"cookie": f"{cookie['name']}={cookie['value']}"}, timeout=30) as stranger:
        own, other = {"origin": url}, {"origin": "https://evil.example.com"}
        pause = f"{url}/_lunora/admin/scheduled/pools/pause"
        for headers in ({}, other):
            answer = stranger.post(pause, json={"name": "nobody"}, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ADMIN_FORBIDDEN")
        assert stranger.post(pause, json={"name": "nobody"}, headers=own).json()["error"]["code"] == "POOL_NOT_FOUND"
        upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        key = {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
        live = f"{url}/_lunora/admin/v1/scheduled/live"
        assert stranger.get(live, headers={**upgrade, **key, **other}).status_code == 403
        assert stranger.get(live, headers={**upgrade, **key}).status_code == 403
        assert stranger.get(live, headers=own).status_code == 426


def test_the_page_is_served_with_headers_that_shut_it_in(client: Client) -> None:
    answer = httpx.get(f"{client.worker.url}/_lunora/studio/crons")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert re.search(r'src="/_lunora/studio/studio\.js"', answer.text)
    assert httpx.get(answer.url, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
