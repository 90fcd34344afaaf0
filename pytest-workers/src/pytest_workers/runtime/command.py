"""The command line of `wrangler dev`, and the environment variables that go with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_workers.runtime import ports
from pytest_workers.runtime.preparation import Prepared
from pytest_workers.runtime.project import Project
from pytest_workers.runtime.toolchain import tool_path


def dev_command(
    prepared: Prepared,
    project: Project,
    *,
    port: int,
    persist_to: Path,
    variables: Mapping[str, str],
    extra: Sequence[str],
) -> list[str]:
    """Build the command that serves a project locally.

    Args:
        prepared: the programs.
        project: the project.
        port: the port of localhost.
        persist_to: the state folder.
        variables: values for the Worker's variables; "{origin}" becomes the server's origin.
        extra: further arguments.

    Returns:
        The program and its arguments.
    """
    command = [str(prepared.toolchain.node), str(prepared.toolchain.wrangler), "dev"]
    command += ["--config", str(project.config.path)]
    command += ["--compatibility-flags", *project.config.local_flags()]
    command += ["--port", str(port)]
    # Without a port of its own every server would want 9229 for its inspector.
    command += ["--inspector-port", str(ports.pick_free(frozenset({port})))]
    command += ["--persist-to", str(persist_to), "--show-interactive-dev-session", "false"]
    for name, value in variables.items():
        command += ["--var", f"{name}:{value.replace('{origin}', f'http://localhost:{port}')}"]
    return [*command, *extra]


def dev_environment(prepared: Prepared, extra: Mapping[str, str], *, traces: bool = False) -> dict[str, str]:
    """Build the environment of `wrangler dev`: quiet, offline, and with this environment's programs first.

    Args:
        prepared: the programs.
        extra: variables that win over all others.
        traces: whether wrangler keeps a trace of each request.

    Returns:
        The environment variables.
    """
    values = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    values |= {
        "PATH": tool_path(),
        "MINIFLARE_WORKERD_PATH": str(prepared.workerd),
        "WRANGLER_SEND_METRICS": "false",
        "WRANGLER_WRITE_LOGS": "false",
        # The banner asks the npm registry for a newer version.
        "WRANGLER_HIDE_BANNER": "true",
        "CLOUDFLARE_CF_FETCH_ENABLED": "false",
        "NO_COLOR": "1",
    }
    if not traces:
        # wrangler's collector is a Worker that is told of each request, call, query and line: half as much work again.
        values["X_LOCAL_OBSERVABILITY"] = "false"
    return values | dict(extra)
