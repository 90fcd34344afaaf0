"""What a job may call, as the receiver runs it: functions, workflows and agents."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lunorash.contexts import Auth
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.scheduler.protocol import ReceivedAttempt
from lunorash.server.running import FunctionRunner, unknown_function
from lunorash.shard.answers import UnexpectedError
from lunorash.traceparent import tracing

__all__ = ["JobRunner"]


class JobRunner:
    """Runs the target of a job, as nobody.

    Args:
        functions: the app's.
        runner: runs them.
        env: has the bindings of workflows and agents.
        workflows: the bindings of workflows, by name.
        agents: the bindings of agents, by name.
    """

    def __init__(
        self,
        functions: FunctionTable,
        runner: FunctionRunner,
        *,
        env: Any,
        workflows: Mapping[str, str],
        agents: Mapping[str, str],
    ) -> None:
        self._functions = functions
        self._runner = runner
        self._env = env
        self._workflows = workflows
        self._agents = agents

    def bind(self, target: str, args: Mapping[str, Any], /) -> Callable[[ReceivedAttempt], Awaitable[str | None]]:
        """Find a target and fit arguments to it.

        Returns:
            a callable that runs it, and returns its result as JSON text; a workflow and an agent have none, since they
            only begin then.

        Raises:
            LunoraError: ``FUNCTION_NOT_FOUND``, or ``INVALID_INPUT`` when it does not take these arguments.
        """
        kind, _, name = target.partition(".")
        if kind == "workflows" and ":" not in target:
            workflow = self._binding(self._workflows, name, target)
            return lambda attempt: start_workflow(workflow, instance_id(attempt), args)
        if kind == "agents" and ":" not in target:
            agent = self._binding(self._agents, name, target)
            return lambda attempt: start_agent(agent, instance_id(attempt), args)
        function = self._functions.get(target)
        if function is None:
            raise unknown_function(target)
        text = json.dumps(args)
        parsed = function.signature.parse(text)
        if function.kind == "action":
            return lambda attempt: _detailed(
                attempt, self._runner.act(function, parsed, auth=Auth(), job=attempt.as_job())
            )
        return lambda attempt: _detailed(
            attempt,
            self._runner.run(function, target, text, auth=Auth(), job=attempt.as_job(), shard_key=attempt.shard_key),
        )

    def _binding(self, bindings: Mapping[str, str], name: str, target: str) -> Any:
        binding = getattr(self._env, bindings[name], None) if name in bindings else None
        if binding is None:
            raise LunoraError("FUNCTION_NOT_FOUND", f"this Worker has no {target}, or no binding for it")
        return binding


async def _detailed(attempt: ReceivedAttempt, result: Awaitable[str | None]) -> str | None:
    """Run what is part of an attempt's trace; what it raised on a shard is kept for whoever may look at it."""
    try:
        with tracing(attempt.traceparent):
            return await result
    except UnexpectedError as error:
        raise error.told() from None


def instance_id(attempt: ReceivedAttempt) -> str:
    """The name of the instance that a job starts: its id, and for the n-th redrive ``-n`` behind it.

    However often an attempt is delivered, it is the same, so that one instance is started.
    """
    return attempt.job if attempt.redrives == 0 else f"{attempt.job}-{attempt.redrives}"


async def start_workflow(workflow: Any, instance: str, args: Mapping[str, Any]) -> None:
    """Create an instance of a Cloudflare Workflow; one that exists already counts as started."""
    try:
        await workflow.create({"id": instance, "params": dict(args)})
    except Exception:
        # the error has no code of its own, so whether the instance exists is asked
        try:
            await workflow.get(instance)
        except Exception:  # noqa: BLE001
            exists = False
        else:
            exists = True
        if not exists:
            raise


async def start_agent(namespace: Any, instance: str, args: Mapping[str, Any]) -> None:
    """Start an agent, a Durable Object of its own; one that was started already is left alone."""
    await namespace.get(namespace.idFromName(instance)).start(json.dumps(dict(args)))
