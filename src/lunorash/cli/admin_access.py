"""Which Worker a command talks to, and the admin token that it shows there."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import typer

from lunorash.cli.dev_vars import FILE, read_dev_vars
from lunorash.errors import LunoraError, shown

if TYPE_CHECKING:
    from lunorash.cli.api import Api

__all__ = ["check_url", "connect", "find_token", "is_local"]

_TOKEN: Final = "LUNORA_ADMIN_TOKEN"  # noqa: S105 - the variable's name
_HOST: Final = re.compile(r"(?=.{1,254}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?|[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII)
_SENDABLE: Final = re.compile(r"[!-~]+", re.ASCII)


def connect(url: str, project: Path) -> Api:
    """Make an `Api` for a command.

    Args:
        url: the Worker's origin.
        project: the folder whose ``.dev.vars`` may hold the token.

    Raises:
        typer.BadParameter: for a URL that is no origin, or that would carry the token in the clear.
        LunoraError: ``ADMIN_TOKEN_MISSING`` or ``ADMIN_TOKEN_INVALID``.
    """
    from lunorash.cli.api import Api

    check_url(url)
    token, found_in = find_token(project, os.environ)
    return Api(url, token, token_from=found_in, proxied=not is_local(url))


def check_url(url: str) -> None:
    """Refuse what is not the origin of a Worker, or what the token may not be sent to.

    Over plain http anybody on the way can read the token, so that is for this machine only. There is no option to do it
    all the same: a tunnel makes any Worker one of this machine.

    Raises:
        typer.BadParameter: with the reason and the way out.

    Example:
        >>> check_url("http://localhost:8787")
        >>> try:
        ...     check_url("http://example.com")
        ... except typer.BadParameter as error:
        ...     print(str(error).partition(";")[0])
        http://example.com would carry the admin token unencrypted
    """
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host or "") or not _SENDABLE.fullmatch(url):
        raise typer.BadParameter(
            f"{shown(url)} is not a Worker's origin; write it like http://localhost:8787 or https://app.example.com",
            param_hint="--url",
        )
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise typer.BadParameter(
            "write the Worker's origin only: scheme, host and port, without a path, a query or a password",
            param_hint="--url",
        )
    if parts.scheme == "http" and not is_local(url):
        raise typer.BadParameter(
            f"{url} would carry the admin token unencrypted; use https, or a tunnel to a port of localhost",
            param_hint="--url",
        )


def is_local(url: str) -> bool:
    """Whether a URL is one of this machine. A name below localhost is not: some resolvers ask the network for it.

    Example:
        >>> [is_local(url) for url in ("http://localhost:1", "http://[::1]:1", "http://localhost.example.com")]
        [True, True, False]
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def find_token(project: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """The admin token, and where it was found.

    Args:
        project: the folder of ``.dev.vars``, which is read if the environment has none.
        environment: the environment variables.

    Raises:
        LunoraError: ``ADMIN_TOKEN_MISSING`` naming the places, ``ADMIN_TOKEN_INVALID`` for one that no header carries.
    """
    path = project.absolute() / FILE
    token, found_in = environment.get(_TOKEN, ""), f"the environment variable {_TOKEN}"
    if not token:
        token, found_in = read_dev_vars(project).get(_TOKEN, ""), str(path)
    if not token:
        here = f"{path} has none" if path.is_file() else f"there is no {path}"
        raise LunoraError(
            "ADMIN_TOKEN_MISSING",
            f"there is no admin token: the environment variable {_TOKEN} is not set, and {here}. Set the variable to "
            "the Worker's token, or name the project's folder with --project",
        )
    if not _SENDABLE.fullmatch(token):
        raise LunoraError(
            "ADMIN_TOKEN_INVALID",
            f"the admin token in {found_in} holds a space, a control or a non-ASCII character, so it cannot be sent",
        )
    return token, found_in
