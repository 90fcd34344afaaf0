"""Where Chromium is; without it the browser tests do not run. ``python -m tests.browser.chromium`` says so loudly."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

__all__ = ["REQUIRED", "find_chromium"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

REQUIRED: Final = os.environ.get("LUNORA_BROWSER_TESTS") == "required"
"""Whether it is an error that there is none."""


def find_chromium() -> str | None:
    """The program: what ``LUNORA_CHROMIUM`` names, or the first that is on the path."""
    named = os.environ.get("LUNORA_CHROMIUM")
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


if __name__ == "__main__" and find_chromium() is None:
    print(
        "\n*** There is no Chromium, so the tests of the studio in a browser DO NOT RUN. ***\n"
        "*** Install it (`apt-get install chromium`), or name it in LUNORA_CHROMIUM.    ***\n",
        file=sys.stderr,
    )
    sys.exit(1 if REQUIRED else 0)
