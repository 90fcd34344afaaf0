"""`lunora codegen`: makes `lunora/_generated/` from the functions of an app."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from lunorash.codegen import Generation, generate
from lunorash.config.bindings import WRANGLER, with_bindings

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    parser.add_argument("--project", type=Path, default=Path(), help="the folder of wrangler.jsonc (default: here)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail and show the difference when stale")
    parser.add_argument(
        "--format", choices=("pretty", "json"), default="pretty", help="how to report (default: pretty)"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        the exit status: 0, or 1 when there are diagnostics or, with ``--check``, stale files.
    """
    generation = with_bindings(generate(options.project))
    stale = bool(options.check and generation.changes)
    if not options.check:
        generation.write()
    ok = not (generation.diagnostics or stale)
    if options.format == "json":
        report = {
            "ok": ok,
            "changed": [change.file for change in generation.changes],
            "diagnostics": [diagnostic.to_dict() for diagnostic in generation.diagnostics],
        }
        print(json.dumps(report))
    else:
        _print(generation, check=options.check)
    return 0 if ok else 1


def _print(generation: Generation, *, check: bool) -> None:
    for diagnostic in generation.diagnostics:
        print(diagnostic, file=sys.stderr)
    count = len(generation.diagnostics)
    if count:
        print(f"lunora codegen: {count} problem{'' if count == 1 else 's'}, nothing was written", file=sys.stderr)
        return
    changed = len(generation.changes)
    if not check:
        inside = sum(change.file != WRANGLER for change in generation.changes)
        print(f"lunora codegen: {inside or 'no'} file{'' if inside == 1 else 's'} changed in lunora/_generated")
        if inside < changed:
            print(f"lunora codegen: added to {WRANGLER} what the app needs and it did not have")
    elif changed:
        for change in generation.changes:
            sys.stdout.write(change.diff())
        print(
            f"lunora codegen: {changed} file{' is' if changed == 1 else 's are'} stale; run lunora codegen",
            file=sys.stderr,
        )
    else:
        print("lunora codegen: lunora/_generated is up to date")
