"""`lunora run`: call a function of a running Worker, internal ones too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lunorash.cli.admin_access import connect
from lunorash.cli.options import DEFAULT_URL, FormatOption, ProjectOption, UrlOption
from lunorash.cli.output import Format, Output
from lunorash.cli.records import ADMIN
from lunorash.codec import MAX_ARGS_BYTES, decode_json, encode_args
from lunorash.errors import LunoraError
from lunorash.refs import check_function_path

__all__ = ["run"]

_ROUTE: Final = f"{ADMIN}/run"


def run(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The function: module.path:name.")],
    args: Annotated[str, typer.Argument(metavar="ARGS", help="A JSON object; - reads it from stdin.")] = "{}",
    *,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="KEY", help="The shard, of a query or a mutation.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """Call a function of a running Worker, as nobody in particular, and show what it returns.

    JSON: {"value": ...}. Exits with 1 if the function fails.

    Example: lunora run presence:sweep '{"room_id": "lobby"}' --shard rooms
    """
    from lunorash.cli.api import LONG_S

    try:
        check_function_path(path)
    except LunoraError as error:
        raise typer.BadParameter(error.message, param_hint="PATH") from None
    body: dict[str, Any] = {"path": path, "args": _read_args(args)}
    if shard is not None:
        body["shard_key"] = shard
    with connect(url, project) as api:
        answer = api.post(_ROUTE, body, wait_s=LONG_S)
    if "value" not in answer:
        raise LunoraError("BAD_ANSWER", f"the answer of {_ROUTE} holds no value")
    value = answer["value"]
    Output(format).document({"value": value}, pretty=json.dumps(value, indent=2, ensure_ascii=False))


def _read_args(text: str) -> dict[str, Any]:
    """The arguments, checked as the Worker will."""
    try:
        given = sys.stdin.buffer.read(MAX_ARGS_BYTES + 1) if text == "-" else text
        if len(given) > MAX_ARGS_BYTES:
            raise typer.BadParameter(f"it takes more than {MAX_ARGS_BYTES:,} bytes", param_hint="ARGS")
        args = decode_json(given, what="it")
        encode_args(args, what="it")
    except LunoraError as error:
        raise typer.BadParameter(error.message, param_hint="ARGS") from None
    return dict(args)
