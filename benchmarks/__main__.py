"""Measures how fast it is, on real workerd.

One JSON document goes to stdout, and how it goes to stderr::

    python -m benchmarks > speed.json
    python -m benchmarks --only enqueue --only lateness
    python -m benchmarks --quick
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

from pytest_workers.runtime import Project, prepare

from benchmarks.bench_worker import APP, BenchWorker, NotThereError
from benchmarks.figures import FIGURES, FULL, QUICK, Figure, Sizes
from benchmarks.machine import facts
from benchmarks.measurement import gather
from benchmarks.report import Failed, Measured, Outcome, Skipped, document

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; returns 1 if a figure went wrong."""
    options = _parser().parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    given = {name: getattr(options, name) for name in ("drained", "stored") if getattr(options, name) is not None}
    sizes = replace(sizes, **given)
    runs = options.runs or (1 if options.quick else 5)
    project = Project.load(APP)
    machine = facts(project)
    prepare(project, _say)
    figures: dict[str, tuple[str, Outcome]] = {}
    for name in options.only or FIGURES:
        figures[name] = FIGURES[name].what, _measure(project, name, FIGURES[name], sizes, runs)
    settings = {"quick": options.quick, "runs": runs, **asdict(sizes)}
    print(json.dumps(printed := document(machine, settings, figures), indent=2))
    return 0 if printed["ok"] else 1


def _measure(project: Project, name: str, figure: Figure, sizes: Sizes, runs: int) -> Outcome:
    stored = sizes.stored if figure.many else 0
    measured = []
    try:
        with BenchWorker(project, loopback=figure.loopback, stored=stored, say=_say) as worker:
            for number in range(1, 2 if figure.once else runs + 1):
                measured.append(dict(figure.measure(worker, sizes)))
                shown = ", ".join(f"{what} {value:,.1f} {figure.units[what]}" for what, value in measured[-1].items())
                _say(f"{name}, run {number}: {shown}")
    except NotThereError as error:
        _say(f"{name}: skipped, {error}")
        return Skipped(str(error))
    except Exception as error:  # noqa: BLE001 - the other figures are still worth their time
        _say(f"{name}: failed, {error}")
        return Failed(f"{type(error).__name__}: {error}")
    return Measured(gather(figure.units, measured))


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", choices=list(FIGURES), metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--quick", action="store_true", help="little of everything, to see that it works")
    parser.add_argument("--runs", type=_positive, help="runs of each figure: 5, or 1 with --quick")
    parser.add_argument("--drained", type=_positive, help=f"jobs that fall due at once: {FULL.drained:,}")
    parser.add_argument("--stored", type=_positive, help=f"far-future jobs, where many are stored: {FULL.stored:,}")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
