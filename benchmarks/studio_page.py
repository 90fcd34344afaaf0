"""How long the studio's page takes to show its table, in a real browser."""

from __future__ import annotations

import os
from typing import Final

from benchmarks.bench_worker import ADMIN_TOKEN, NotThereError
from tests.browser.chromium import find_chromium

__all__ = ["first_table_ms"]

# the clock starts with the navigation, so what it takes to load the page counts
_SHOWN: Final = "() => document.querySelector('tbody tr') && Math.round(performance.now())"


def first_table_ms(url: str) -> float:
    """From opening ``/_lunora/studio/jobs``, by somebody who is signed in, to its first row: milliseconds.

    Args:
        url: of the Worker.

    Raises:
        NotThereError: there is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    program = find_chromium()
    if program is None:
        raise NotThereError("there is no Chromium")
    # Chromium's own sandbox does not start as root
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        page = browser.new_page()
        page.request.post(f"{url}/_lunora/studio/session", data={"token": ADMIN_TOKEN}, headers={"origin": url})
        page.goto(f"{url}/_lunora/studio/jobs")
        shown: float = page.wait_for_function(_SHOWN, polling=10, timeout=60_000).json_value()
        browser.close()
    return shown
