"""`app.py`: `define_app` with everything that was found filled in."""

from __future__ import annotations

from typing import Final

from lunorash.codegen.document import document

__all__ = ["emit_app", "emit_package"]

_TEXT: Final = '''\
from __future__ import annotations

from lunorash import server

from .crons import LUNORA_CRONS
from .registry import AGENTS, FUNCTIONS, MIGRATIONS, WORKFLOWS

__all__ = ["define_app"]


def define_app() -> server.AppBuilder:
    """Start to put this app's Worker together: its functions, migrations, workflows, agents and crons are in it."""
    return (
        server.define_app()
        .functions(FUNCTIONS)
        .migrations(MIGRATIONS)
        .workflows(WORKFLOWS)
        .agents(AGENTS)
        .crons(LUNORA_CRONS)
    )
'''


def emit_app() -> str:
    """The text of ``app.py``, the same for every app."""
    return document("The app, ready to be wired to its bindings in src/worker.py.", [_TEXT.splitlines()])


def emit_package() -> str:
    """The text of ``__init__.py``."""
    return document("What `lunora codegen` makes of this app. Nothing here is written by hand.", [])
