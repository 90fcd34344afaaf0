"""The studio in a browser, as its tests use it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Locator, Page, expect

from tests.integration.client import TOKEN, Client

__all__ = ["AXE", "SHOTS", "Studio"]

ROOT: Final = Path(__file__).parents[2]
AXE: Final = ROOT / "studio" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS: Final = ROOT / ".screenshots"

# what a browser itself says of an answer that is an error; the page says it in its own words
_EXPECTED: Final = re.compile(r"Failed to load resource|WebSocket connection to .* failed|ERR_INTERNET_DISCONNECTED")


class Studio:
    """A page of the studio.

    Args:
        context: the browser's window, with cookies of its own.
        client: the Worker.
    """

    def __init__(self, context: BrowserContext, client: Client) -> None:
        self.context = context
        self.client = client
        self.url = f"{client.worker.url}/_lunora/studio"
        self.problems: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not _EXPECTED.search(message.text):
            self.problems.append(message.text)

    def _asked(self, dialog: Dialog) -> None:
        """The page asks nothing by dialogs of the browser: whoever does is somebody else's text."""
        self.problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, view: str = "") -> Page:
        """Go to a view and wait until it shows something."""
        self.page.goto(self.url + view)
        expect(self.page.locator("h1")).to_be_visible()
        expect(self.page.locator(".waiting, .health.asking")).to_have_count(0)
        return self.page

    def sign_in(self, token: str = TOKEN) -> None:
        """Sign in by the form that is shown."""
        self.page.get_by_label("Admin token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()

    def row(self, text: str) -> Locator:
        """The row of a table that has a text in it."""
        return self.page.get_by_role("row").filter(has_text=text)

    def said(self, text: str | re.Pattern[str]) -> None:
        """Wait until the page says what it has done."""
        expect(self.page.locator(".said")).to_contain_text(text)

    def axe(self) -> list[str]:
        """What axe-core finds; it runs beside the page, which lets no script in."""
        session = self.context.new_cdp_session(self.page)
        frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})["executionContextId"]

        def run(code: str) -> Any:
            told = session.send(
                "Runtime.evaluate",
                {"expression": code, "contextId": world, "awaitPromise": True, "returnByValue": True},
            )
            assert "exceptionDetails" not in told, told
            return told["result"].get("value")

        run(AXE.read_text(encoding="utf-8") + "; undefined")
        rules = '{runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}'
        found = run(f"axe.run(document, {rules}).then((told) => told.violations)")
        session.detach()
        return [
            f"{one['id']}: {one['help']}: {node['html'][:200]} {node['failureSummary']}"
            for one in found
            for node in one["nodes"]
        ]

    def shoot(self, name: str) -> None:
        """Keep a picture of what is seen."""
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide


NewStudio = Callable[..., Studio]
