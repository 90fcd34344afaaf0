"""The context of an action, for tests of what runs actions."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

from lunorash.contexts import ActionContext, Auth, Job
from lunorash.scheduler.protocol import ReceivedAttempt

Context = ActionContext[Any]


def context_of(attempt: ReceivedAttempt, *, env: Any = None, scheduler: Any = None) -> Context:
    async def unused(*_args: object, **_named: object) -> None:
        raise AssertionError("no test of these calls it")

    return ActionContext(
        env=env,
        auth=Auth(),
        now=datetime(2026, 12, 1, tzinfo=UTC),
        random=Random(0),  # noqa: S311
        scheduler=scheduler,
        fetch=unused,
        run_query=unused,
        run_mutation=unused,
        job=Job(
            id=attempt.job,
            incarnation=attempt.incarnation,
            attempt=attempt.number,
            scheduled_for=attempt.scheduled_for,
        ),
    )
