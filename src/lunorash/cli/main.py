"""The `lunora` command."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lunorash.cli import codegen
from lunorash.cli.build import STAGED, build
from lunorash.cli.local_server import DEFAULT_PORT, vendor_packages

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 1 after an error, which is printed."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "dev":
            from lunorash.cli.dev import dev

            return dev(options.project, port=options.port)
        if options.command == "demo":
            from lunorash.cli.demo import demo

            return demo(options.project)
        if options.command == "codegen":
            return codegen.run(options)
        changed = build(options.project)
        vendor_packages(options.project, lambda line: print(f"lunora build: {line}", flush=True))
        print(f"lunora build: {changed or 'no'} file{'' if changed == 1 else 's'} changed in {STAGED}")
    except Exception as error:
        # our own and pytest-workers' say what to do; anything else is a bug, and its traceback helps
        if getattr(error, "code", None) is None:
            raise
        print(f"lunora: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lunora", description="Durable deferred jobs for Python on Cloudflare.")
    commands = parser.add_subparsers(dest="command", required=True)
    generating = commands.add_parser("codegen", help="make lunora/_generated from the app's functions")
    codegen.add_arguments(generating)
    for name, text in (
        ("dev", "serve the Worker locally, on the real runtime"),
        ("demo", "tell a short story on a Worker of its own"),
        ("build", "put the Worker's files together for wrangler"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "--project", type=Path, default=Path(), help="the folder of wrangler.jsonc (default: here)"
        )
        if name == "dev":
            command.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"default: {DEFAULT_PORT}")
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a whole number from 1 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
