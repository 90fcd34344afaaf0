"""Runs simulations: many seeds on all cores, or one with its trace.

::

    python -m tests.simulation --seeds 10000 --start 0
    python -m tests.simulation --seed 7 --jobs 3 --without network-loss crash --calm-after 120

The first seed that breaks a promise stops the others. It is cut down to what it takes to break that promise, and
what is printed says how to see it again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from typing import Final

from .faults import KINDS
from .scenario import Scenario
from .shrinking import shrink
from .world import World

__all__ = ["main"]

_CHUNK: Final = 4


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; returns 1 if a promise was broken."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="replay this one seed and show its trace")
    parser.add_argument("--jobs", type=int, help="of it: only so many jobs")
    parser.add_argument(
        "--without", nargs="+", choices=KINDS, default=(), metavar="FAULT", help=f"of it: without {', '.join(KINDS)}"
    )
    parser.add_argument("--calm-after", type=float, metavar="S", help="of it: without faults after S seconds")
    parser.add_argument("--shrink", action="store_true", help="if it breaks a promise: cut it down first")
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds to run")
    parser.add_argument("--start", type=int, default=0, help="the first of them")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many run them; one for each core")
    parser.add_argument("--lines", type=int, default=80, help="lines of the trace to show")
    options = parser.parse_args(arguments)
    if options.seed is None:
        return _run(range(options.start, options.start + options.seeds), options.processes, options.lines)
    scenario = Scenario(options.seed, options.jobs, frozenset(options.without), options.calm_after)
    return _replay(scenario, options.lines, smaller=options.shrink)


def _replay(scenario: Scenario, lines: int, *, smaller: bool) -> int:
    world = World(scenario)
    broken = world.run() is not None
    print((shrink(scenario) if broken and smaller else world).report(lines))
    return int(broken)


def _run(seeds: range, processes: int, lines: int) -> int:
    began = time.monotonic()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for number, (seed, broken) in enumerate(pool.imap_unordered(_breaks, seeds, chunksize=_CHUNK), start=1):
            if broken:
                pool.terminate()
                print(f"\nseed {seed} breaks a promise; looking for the least that does", flush=True)
                print(shrink(Scenario(seed)).report(lines))
                return 1
            if sys.stdout.isatty() or number == len(seeds):
                print(f"\r{number:,} of {len(seeds):,} seeds in {time.monotonic() - began:.0f} s", end="", flush=True)
    print()
    return 0


def _breaks(seed: int) -> tuple[int, bool]:
    return seed, World(seed).run() is not None


if __name__ == "__main__":
    sys.exit(main())
