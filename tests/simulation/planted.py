"""Plants each of the bugs and says which seed finds it.

::

    python -m tests.simulation.planted
    python -m tests.simulation.planted --only "leases are not renewed"
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from typing import Final

import pytest

from .faults import Faults
from .journal import Violation
from .planted_bugs import BUGS
from .world import World

__all__ = ["SEEDS", "find", "main"]

_ALL: Final = range(500)
_CROWDS: Final = [seed for seed in _ALL if Faults(seed).mood == "crowd"]
SEEDS: Final = tuple(dict.fromkeys((*_ALL[:60], *_CROWDS, *_ALL)))
"""Some bugs show only in a crowd, and these are few."""


def find(bug: str) -> tuple[int, Violation] | None:
    """Plant a bug, and look for a seed that breaks a promise because of it."""
    with pytest.MonkeyPatch.context() as patch:
        BUGS[bug](patch)
        for seed in SEEDS:
            violation = World(seed).run()
            if violation is not None:
                return seed, violation
    return None


def main(arguments: list[str] | None = None) -> int:
    """Plant what the command line names; returns 1 if a bug was not found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation.planted",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=BUGS, default=[*BUGS], metavar="BUG", help="plant only these")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many look; one for each core")
    options = parser.parse_args(arguments)
    missed = 0
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        for bug, found in zip(options.only, pool.imap(find, options.only), strict=True):
            missed += found is None
            told = f"seed {found[0]}: {found[1].invariant}" if found else f"NOT FOUND in {len(SEEDS)} seeds"
            print(f"{bug:<60} {told}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
