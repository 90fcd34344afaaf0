"""Runs a soak, then two storms: prints reports as JSON, and what was broken.

::

    python -m tests.soak --seconds 300
    python -m tests.soak --seconds 60 --storm-seconds 0 --seed 4711
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from tests.soak.soak import soak
from tests.soak.storm import storms

__all__ = ["main"]

_KILL_BETWEEN: Final = (15.0, 25.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300, help="how long jobs are sent: 300, 0 for no soak")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="how many are sent at most")
    parser.add_argument("--backlog", type=int, default=1_500, help="how many are due or run at a time: 1500")
    parser.add_argument("--seed", type=int, help="draws jobs and kills; a fresh one by default")
    parser.add_argument("--storm-seconds", type=float, default=60, help="how long each storm lasts: 60, 0 for none")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    _say(f"seed {seed}")
    reports: dict[str, object] = {}
    broken: list[str] = []
    if options.seconds:
        outcome = soak(
            seconds=options.seconds,
            seed=seed,
            kill_between=_KILL_BETWEEN,
            say=_say,
            most=options.jobs,
            backlog=options.backlog,
        )
        reports["soak"] = outcome.report
        broken += outcome.violations
    if options.storm_seconds:
        weathered = storms(seconds=options.storm_seconds, seed=seed, say=_say)
        reports["storms"] = asdict(weathered)
        broken += weathered.violations(resident=True)
    print(json.dumps({"ok": not broken, "seed": seed, **reports, "broken": broken}, indent=2))
    return int(bool(broken))


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
