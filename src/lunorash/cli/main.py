"""The `lunora` command."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lunorash.cli.build import STAGED, build
from lunorash.errors import LunoraError

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 1 after an error, which is printed."""
    parser = argparse.ArgumentParser(prog="lunora", description="Durable deferred jobs for Python on Cloudflare.")
    commands = parser.add_subparsers(dest="command", required=True)
    staging = commands.add_parser("build", help="put the Worker's files together for wrangler")
    staging.add_argument("--project", type=Path, default=Path(), help="the folder of wrangler.jsonc (default: here)")
    options = parser.parse_args(arguments)
    try:
        changed = build(options.project)
    except LunoraError as error:
        print(f"lunora: {error}", file=sys.stderr)
        return 1
    print(f"lunora build: {changed or 'no'} file{'' if changed == 1 else 's'} changed in {options.project / STAGED}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
