"""Whether the scheduler can call the Worker back at ``LUNORA_ORIGIN_URL``.

No local run shows that a Worker cannot call itself: workerd ignores the flag that this is about.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urlsplit

from lunorash.doctor.environment import Environment
from lunorash.doctor.evidence import DEV_VARS, Evidence
from lunorash.doctor.finding import Finding, failed, passed, warned
from lunorash.errors import LunoraError, shown
from lunorash.scheduler.settings import read_batch_sizes, read_log, read_loopback, read_origin, read_retention

__all__ = ["check_local_origin", "check_origin"]

_NAME: Final = "LUNORA_ORIGIN_URL"
_PUBLIC: Final = "global_fetch_strictly_public"
_CODES: Final = {
    "DISPATCH_INVALID": "dispatch-invalid",
    "BATCH_SIZE_INVALID": "batch-size-invalid",
    "HISTORY_INVALID": "history-invalid",
    "DEAD_RETENTION_INVALID": "dead-retention-invalid",
    "LOG_INVALID": "log-invalid",
}


def check_origin(evidence: Evidence) -> Iterator[Finding]:
    """``origin-missing``, ``-invalid``, ``-not-https``, ``-local``, ``-cannot-call-itself``; what `_CODES` has."""
    if evidence.uses_scheduler:
        for environment in evidence.environments:
            yield _check_deployed(environment)


def check_local_origin(evidence: Evidence) -> Iterator[Finding]:
    """``dev-vars-missing-origin``; ``origin-invalid``, ``-not-https`` and what `_CODES` has, for local runs."""
    # a .dev.vars that is not there, or cannot be read, is a finding of its own
    if evidence.uses_scheduler and (evidence.tells_local_settings or evidence.local_settings.get(_NAME)):
        yield _check_local(evidence.local_settings)


def _check_local(settings: Mapping[str, Any]) -> Finding:
    try:
        origin = read_origin(SimpleNamespace(**settings))
        _read_options(SimpleNamespace(**settings))
    except LunoraError as error:
        if error.code == "ORIGIN_NOT_CONFIGURED":
            return warned(
                "dev-vars-missing-origin",
                f"{_NAME} is not set for local runs; whatever schedules a job fails there",
                f'run `lunora doctor --fix`, or add {_NAME}="http://localhost:8787" to {DEV_VARS}',
            )
        return _refused(error, "for local runs", f"correct it in {DEV_VARS}")
    return _not_https(origin, "for local runs") or passed("origin-ok", f"{_NAME} is {origin} for local runs")


def _check_deployed(environment: Environment) -> Finding:
    where = environment.where
    if not isinstance(environment.vars.get(_NAME, ""), str):
        written = shown(environment.vars[_NAME])
        return failed(
            "origin-invalid",
            f"{_NAME} is {written} {where}; it must be a text",
            'write it in quotes: "https://app.example.com"',
        )
    settings = SimpleNamespace(**environment.vars)
    try:
        loopback = _read_options(settings)
        origin = read_origin(settings)
    except LunoraError as error:
        if error.code != "ORIGIN_NOT_CONFIGURED":
            return _refused(error, where, f"correct it in the vars {where} of the wrangler configuration")
        if environment.has_set(_NAME):
            return passed("origin-ok", f"{_NAME} {where} is a secret that wrangler asks for")
        return warned(
            "origin-missing",
            f"{_NAME} is not among the vars {where}; unless it is a secret there, whatever schedules a job fails with "
            "ORIGIN_NOT_CONFIGURED",
            f"add it to the vars {where}, or run `npx wrangler secret put {_NAME}{environment.flag}`",
        )
    host = urlsplit(origin).hostname or ""
    if _is_local(host):
        return warned(
            "origin-local",
            f"{_NAME} is {origin} {where}; once deployed, the scheduler cannot reach the Worker there",
            f"set the Worker's public origin {where}, and keep the local one in {DEV_VARS}",
        )
    insecure = _not_https(origin, where)
    if insecure is not None:
        return insecure
    why = None if loopback or _PUBLIC in environment.flags else _not_callable(host, environment)
    if why is not None:
        return failed(
            "origin-cannot-call-itself",
            f"{_NAME} is {origin} {where}: {why}",
            f'add "{_PUBLIC}" to compatibility_flags, or set LUNORA_DISPATCH to "loopback" in the vars {where}',
        )
    return passed("origin-ok", f"{_NAME} is {origin} {where}")


def _read_options(settings: SimpleNamespace) -> bool:
    """Read what else may be said about dispatches; returns whether they stay inside the Worker."""
    read_batch_sizes(settings)
    read_retention(settings)
    read_log(settings)
    return read_loopback(settings)


def _refused(error: LunoraError, where: str, fix: str) -> Finding:
    return failed(_CODES.get(error.code, "origin-invalid"), f"{where}: {error.message}", fix)


def _not_https(origin: str, where: str) -> Finding | None:
    parts = urlsplit(origin)
    if parts.scheme == "https" or _is_local(parts.hostname or ""):
        return None
    return failed(
        "origin-not-https",
        f"{_NAME} is {origin} {where}; jobs carry arguments and results, so only this machine is called without TLS",
        f"write https://{parts.netloc}",
    )


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _not_callable(host: str, environment: Environment) -> str | None:
    """Why a Worker's own fetch to a host does not arrive at it; None when it does."""
    if host.endswith(".workers.dev"):
        return "a Worker that calls its own workers.dev address gets error 1042"
    for route in environment.routes():
        pattern = route["pattern"].rpartition("://")[2].partition("/")[0].lower()
        if route.get("custom_domain") is not True and fnmatchcase(host, pattern):
            return f"that is the route {route['pattern']}, and a Worker's call to its own zone goes past the Worker"
    return None
