"""The Worker on this machine's own workerd, as `lunora dev` and `lunora demo` start it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lunorash.cli.build import write_generated
from lunorash.cli.dev_vars import FILE, ensure_dev_vars
from lunorash.codegen import generate
from lunorash.config.reconcile import with_bindings
from lunorash.config.wrangler import find_wrangler
from lunorash.errors import LunoraError

if TYPE_CHECKING:
    from pytest_workers.runtime import DevServer

__all__ = ["DEFAULT_PORT", "make_server", "vendor_packages"]

DEFAULT_PORT: Final = 8787
HEALTH_PATH: Final = "/_lunora/health"
_NOT_INSTALLED: Final = LunoraError(
    "RUNTIME_NOT_INSTALLED", "the local runtime is not installed; run `uv add --dev 'lunorash[cli]'`"
)


def vendor_packages(project: Path, say: Callable[[str], None], *, refresh: bool = False) -> None:
    """Put the Python packages that the Worker needs into ``python_modules/``, where wrangler takes them from.

    For a plain `wrangler deploy` or `wrangler dev` on a new machine. A folder that is there is left as it is: whoever
    made it, `lunora dev` or `pywrangler sync`, keeps it in step with the pins.

    Args:
        project: the folder of wrangler.jsonc.
        say: told what is done, a line at a time.
        refresh: bring a folder that is there in step with the pins as well.

    Raises:
        LunoraError: ``RUNTIME_NOT_INSTALLED`` when they are not there and the package pytest-workers is not either;
            ``WRANGLER_TOML``.
        pytest_workers.errors.WorkersError: whatever is missing or does not fit, with the way out.
    """
    if ((project / "python_modules").is_dir() and not refresh) or find_wrangler(project) is None:
        return
    try:
        from pytest_workers.runtime import Project
        from pytest_workers.runtime.toolchain import Toolchain
        from pytest_workers.runtime.vendoring import vendor
    except ImportError as error:
        raise _NOT_INSTALLED from error
    loaded = Project.load(project)
    vendor(loaded, Toolchain.find(loaded), say)


def make_server(
    project: Path,
    *,
    port: int,
    persist_to: Path | None,
    say: Callable[[str], None],
    echo: Callable[[str], None] | None = None,
) -> DevServer:
    """Make everything that a local run needs, and the server, not started yet.

    Args:
        project: the folder of wrangler.jsonc.
        port: where it will answer; 0 picks a free port.
        persist_to: where Durable Objects keep their state; None is where wrangler keeps it.
        say: told what is done, a line at a time.
        echo: told each line of the server's log.

    Raises:
        LunoraError: ``RUNTIME_NOT_INSTALLED`` without the package pytest-workers.
        pytest_workers.errors.WorkersError: whatever is missing or does not fit, with the way out.
    """
    try:
        from pytest_workers.runtime import DevServer, Project, prepare
    except ImportError as error:
        raise _NOT_INSTALLED from error
    if ensure_dev_vars(project):
        say(f"made {FILE} with fresh secrets")
    if (project / "lunora").is_dir():
        generation = with_bindings(generate(project))
        write_generated(generation)
        for change in generation.changes:
            say(f"generated {change.file}")
    loaded = Project.load(project)
    prepare(loaded, say)
    # On any other port .dev.vars would send the scheduler's calls to the wrong server.
    own_origin = {} if port == DEFAULT_PORT else {"LUNORA_ORIGIN_URL": "{origin}"}
    return DevServer(
        loaded,
        port=port,
        persist_to=persist_to,
        vars=own_origin,
        health_path=HEALTH_PATH,
        traces=True,
        echo=echo,
        progress=say,
    )
