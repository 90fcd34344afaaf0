"""An app with something for cron jobs to run, around the module of crons that a test writes."""

from __future__ import annotations

from typing import Final

__all__ = ["APP", "HEAD", "crons_module"]

APP: Final[dict[str, str | bytes]] = {
    "__init__.py": "",
    "presence.py": """
        from lunora._generated.server import internal_mutation, internal_query, mutation, query


        @internal_mutation
        def sweep(ctx, room_id: str = "lobby", n: int = 0): ...
        @internal_mutation
        def forget(ctx, room_id: str): ...
        @mutation
        def here(ctx): ...
        @internal_query
        def count(ctx): ...
        def bare(ctx): ...
        """,
    "deep/er/jobs.py": """
        from pydantic import BaseModel
        from lunora._generated.server import internal_action


        class Batch(BaseModel): ...
        @internal_action
        def run(ctx): ...
        @internal_action
        def load(ctx, batch: Batch): ...
        """,
    "workflows.py": "from workers import WorkflowEntrypoint\nclass Onboarding(WorkflowEntrypoint): ...\n",
    "agents.py": "from lunorash.server.agents import Agent\nclass Support(Agent): ...\n",
}

HEAD: Final = """\
from datetime import timedelta
from lunora._generated.agents import agents
from lunora._generated.api import api
from lunora._generated.internal import internal
from lunora._generated.workflows import workflows
from lunorash.scheduler import RetryPolicy
from lunorash.server import cron_jobs
crons = cron_jobs()
"""
"""Eight lines, so that a test's own text begins in the ninth."""


def crons_module(text: str) -> dict[str, str | bytes]:
    """The app with a module of crons: the usual imports, ``crons``, and a test's own text."""
    return {**APP, "crons.py": HEAD + text}
