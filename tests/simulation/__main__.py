"""Runs simulations: one seed with its trace, or many.

::

    python -m tests.simulation 42
    python -m tests.simulation --seeds 10000 --start 0 --jobs 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterator

from .world import World

__all__ = ["main"]

_EVERY = 20


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; returns 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", nargs="?", type=int, help="replay this one seed and show its trace")
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds to run")
    parser.add_argument("--start", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run them")
    parser.add_argument("--lines", type=int, default=80, help="lines of the trace to show")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        return _replay(options.seed, options.lines)
    return _run(range(options.start, options.start + options.seeds), options.jobs, options.lines)


def _replay(seed: int, lines: int) -> int:
    world = World(seed)
    violation = world.run()
    print(world.report(lines))
    return int(violation is not None)


def _run(seeds: range, jobs: int, lines: int) -> int:
    failed: list[int] = []
    with multiprocessing.Pool(jobs) as pool:
        reports: Iterator[tuple[int, str | None]] = pool.imap(_simulate, ((seed, lines) for seed in seeds), chunksize=4)
        for number, (seed, report) in enumerate(reports, start=1):
            if report is not None:
                failed.append(seed)
                print(f"\n{report}")
            if number % _EVERY == 0 or number == len(seeds):
                print(f"\r{number:,} of {len(seeds):,} seeds, {len(failed)} failed", end="", flush=True)
    print()
    if failed:
        print("failed: " + " ".join(map(str, failed)))
    return int(bool(failed))


def _simulate(work: tuple[int, int]) -> tuple[int, str | None]:
    seed, lines = work
    world = World(seed)
    return seed, None if world.run() is None else world.report(lines)


if __name__ == "__main__":
    sys.exit(main())
