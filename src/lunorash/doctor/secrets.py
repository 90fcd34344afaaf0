"""Whether the secrets of local runs are there and strong, and whether any is where others can read it.

No finding shows a secret, or any part of one. Those of deployments cannot be seen from here.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

from dotenv import dotenv_values

from lunorash.doctor.evidence import DEV_VARS, Evidence
from lunorash.doctor.finding import Finding, failed, noted, passed, warned
from lunorash.errors import LunoraError
from lunorash.scheduler.settings import decode_secret
from lunorash.studio.admin_token import MIN_TOKEN_BYTES

__all__ = ["check_admin_token", "check_dev_vars", "check_git", "check_scheduler_secret", "check_secrets_in_files"]

_SECRET: Final = "LUNORA_SCHEDULER_SECRET"  # noqa: S105 - its name
_PREVIOUS: Final = "LUNORA_SCHEDULER_SECRET_PREVIOUS"
_TOKEN: Final = "LUNORA_ADMIN_TOKEN"  # noqa: S105
_EXAMPLE: Final = ".dev.vars.example"
_MAKE_SECRET: Final = "make one with `echo whsec_$(openssl rand -base64 32)`"  # noqa: S105
_MAKE_TOKEN: Final = "make one with `openssl rand -hex 32`"  # noqa: S105
_LEAST_VARIETY: Final = 12
"""Different bytes in a random key: of 32 there are 30 as a rule, and fewer than 20 once in some 10**9 keys."""
_LEAST_CHARACTERS: Final = 8
"""Different characters in a random token: 32 hexadecimal digits have 14 as a rule."""


def check_dev_vars(evidence: Evidence) -> Iterator[Finding]:
    """``dev-vars-missing`` and ``dev-vars-unreadable``."""
    try:
        found = evidence.dev_vars
    except (OSError, UnicodeDecodeError) as error:
        # the error of a text that is not UTF-8 shows bytes of the file
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        yield failed("dev-vars-unreadable", f"{DEV_VARS} cannot be read: {reason}", "save it as UTF-8, readable by you")
        return
    if found is not None:
        return
    if (evidence.project / _EXAMPLE).is_file():
        yield noted(
            "dev-vars-missing",
            f"there is no {DEV_VARS} yet, which local runs take their settings from",
            f"`lunora dev` makes it from {_EXAMPLE}, and so does `lunora doctor --fix`",
        )
    elif evidence.uses_scheduler:
        yield warned(
            "dev-vars-missing",
            f"there is neither {DEV_VARS} nor {_EXAMPLE}, so `lunora dev` does not start",
            f"write {DEV_VARS} with LUNORA_ORIGIN_URL, {_SECRET} and {_TOKEN}",
        )


def check_scheduler_secret(evidence: Evidence) -> Iterator[Finding]:
    """``dev-vars-missing-secret`` and ``scheduler-secret-weak``."""
    if not evidence.tells_local_settings or not evidence.uses_scheduler:
        return
    settings = evidence.local_settings
    if not settings.get(_SECRET):
        yield failed(
            "dev-vars-missing-secret",
            f"{_SECRET} is not in {DEV_VARS}; the scheduler cannot sign its calls in local runs",
            f"run `lunora doctor --fix`, or {_MAKE_SECRET}",
        )
        return
    weak = False
    for name in (_SECRET, _PREVIOUS):
        why = _weakness(str(settings[name]), name) if settings.get(name) else None
        if why is not None:
            weak = True
            yield failed("scheduler-secret-weak", f"in {DEV_VARS}: {why}", _MAKE_SECRET)
    if not weak:
        yield passed("scheduler-secret-ok", f"{_SECRET} is there and strong for local runs")


def check_admin_token(evidence: Evidence) -> Iterator[Finding]:
    """``admin-token-missing``, ``admin-token-weak`` and ``admin-token-set``."""
    if not evidence.tells_local_settings:
        return
    token = evidence.local_settings.get(_TOKEN)
    if not token:
        yield warned(
            "admin-token-missing",
            f"{_TOKEN} is not in {DEV_VARS}; the admin API is closed to all in local runs",
            f"run `lunora doctor --fix`, or {_MAKE_TOKEN}",
        )
    elif len(str(token).encode()) < MIN_TOKEN_BYTES:
        yield failed(
            "admin-token-weak",
            f"{_TOKEN} in {DEV_VARS} is shorter than {MIN_TOKEN_BYTES} bytes, which closes the admin API to all",
            _MAKE_TOKEN,
        )
    elif len(set(str(token))) < _LEAST_CHARACTERS:
        yield failed("admin-token-weak", f"{_TOKEN} in {DEV_VARS} is not random", _MAKE_TOKEN)
    else:
        yield passed("admin-token-set", f"{_TOKEN} is set for local runs")


def check_secrets_in_files(evidence: Evidence) -> Iterator[Finding]:
    """``secret-in-wrangler`` and ``secret-in-example``: a secret in a file that is committed."""
    clean = True
    for environment in evidence.environments:
        for name in (_SECRET, _PREVIOUS, _TOKEN):
            if environment.vars.get(name):
                clean = False
                yield failed(
                    "secret-in-wrangler",
                    f"{name} is among the vars {environment.where} of the wrangler configuration, in clear text",
                    f"take it out, make another one, and run `npx wrangler secret put {name}{environment.flag}`",
                )
    for name in _secrets_of_example(evidence):
        clean = False
        yield failed(
            "secret-in-example",
            f"{_EXAMPLE} holds a {name} that works, and it is made to be committed",
            f'write {name}="generate" there, and use that secret nowhere else',
        )
    if clean:
        yield passed("secrets-not-committed", "no secret of the scheduler is in the wrangler configuration")
    yield noted(
        "secrets-not-visible",
        "the secrets of what is deployed cannot be seen from here",
        f"`npx wrangler secret list` names them; {_SECRET} and {_TOKEN} are needed there{_per_environment(evidence)}",
    )


def check_git(evidence: Evidence) -> Iterator[Finding]:
    """``dev-vars-tracked`` and ``dev-vars-not-ignored``."""
    tracked = _git(evidence, "ls-files", "-z", "--", DEV_VARS, f"{DEV_VARS}.*")
    if tracked is None:
        return
    committed = [name for name in tracked.split("\0") if name and not name.endswith(".example")]
    for name in committed:
        yield failed(
            "dev-vars-tracked",
            f"{name} is tracked by git, and it holds secrets",
            f"run `git rm --cached {name}`, add it to .gitignore, and make the secrets in it anew",
        )
    if committed or not evidence.has_dev_vars:
        return
    # it answers with the name if that is ignored, and with nothing if it is not
    if _git(evidence, "check-ignore", "--", DEV_VARS):
        yield passed("dev-vars-ignored", f"git ignores {DEV_VARS}")
    else:
        yield warned(
            "dev-vars-not-ignored",
            f"git does not ignore {DEV_VARS}, so the next `git add .` commits its secrets",
            f"run `lunora doctor --fix`, or add the line {DEV_VARS} to .gitignore",
        )


def _weakness(secret: str, name: str) -> str | None:
    try:
        key = decode_secret(secret.strip(), name)
    except LunoraError as error:
        return error.message
    return f"{name} is not random" if len(set(key)) < _LEAST_VARIETY else None


def _secrets_of_example(evidence: Evidence) -> list[str]:
    path = evidence.project / _EXAMPLE
    if not path.is_file():
        return []
    values = dotenv_values(path, interpolate=False)
    found = [name for name in (_SECRET, _PREVIOUS) if _weakness(values.get(name) or "", name) is None]
    token = values.get(_TOKEN) or ""
    if len(token.encode()) >= MIN_TOKEN_BYTES and len(set(token)) >= _LEAST_CHARACTERS:
        found.append(_TOKEN)
    return found


def _per_environment(evidence: Evidence) -> str:
    names = [environment.flag.strip() for environment in evidence.environments if environment.name is not None]
    return f", and for each of {', '.join(names)}" if names else ""


def _git(evidence: Evidence, *arguments: str) -> str | None:
    """What git answers; None where there is no git, or the project is in no repository."""
    program = shutil.which("git")
    if program is None:
        return None
    done = subprocess.run(  # noqa: S603
        [program, "-C", str(evidence.project), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    # 1 is check-ignore's answer "no"; 128 is "no repository"
    return done.stdout if done.returncode in (0, 1) else None
