"""What becomes of jobs that have come to rest: they are counted as history, and whoever wants to hear of it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from lunorash.codec import MAX_DEPTH, decode_json
from lunorash.errors import LunoraError
from lunorash.scheduler import queries
from lunorash.scheduler.completion import MAX_RESULT_BYTES, Completion, CompletionError, completion_id
from lunorash.scheduler.history import History
from lunorash.scheduler.job import Ending, NewJob
from lunorash.scheduler.options import DEFAULT_TIMEOUT_MS
from lunorash.scheduler.retry import DEFAULT_RETRY
from lunorash.scheduler.store import Row, Store
from lunorash.scheduler.verdict import Succeeded

__all__ = ["Endings"]

_NOTHING: Final[Mapping[str, Succeeded]] = MappingProxyType({})


class Endings:
    """Hears of every job that comes to rest. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        history: counts what is kept.
    """

    def __init__(self, store: Store, history: History) -> None:
        self._store = store
        self._history = history
        self._calls: list[NewJob] = []

    def ended(
        self,
        jobs: Sequence[Row],
        outcome: Ending,
        now: int,
        *,
        kept: bool = True,
        results: Mapping[str, Succeeded] = _NOTHING,
    ) -> None:
        """Jobs have come to rest; their rows say so, or are about to be deleted.

        Args:
            jobs: ``id`` and ``completes`` of each.
            outcome: what became of them all.
            now: epoch milliseconds.
            kept: whether their rows are kept as history.
            results: what they have returned, by their ids.
        """
        if kept and outcome != "dead":
            self._history.add(len(jobs))
        telling = json.dumps([job["id"] for job in jobs if job["completes"]])
        if telling == "[]":
            return
        for row in self._store.execute(queries.ENDED, telling):
            self._calls.append(_call(row, outcome, now, results.get(row["id"])))

    def reconsidered(self, jobs: Sequence[Row]) -> None:
        """Jobs are about to end as successes, some of which had come to rest as something else.

        Args:
            jobs: ``state`` of each before that.
        """
        self._history.add(-sum(job["state"] == "expired" for job in jobs))

    def take(self) -> list[NewJob]:
        """The jobs that tell of what has ended since this was asked last, to be stored in the same transaction."""
        calls, self._calls = self._calls, []
        return calls

    def forget(self) -> None:
        """The operation is over. If it was undone, nothing has ended."""
        self._calls = []


def _call(job: Row, outcome: Ending, now: int, success: Succeeded | None) -> NewJob:
    own = completion_id(job["id"], job["incarnation"], outcome)
    wanted = json.loads(job["on_complete"])
    result, omitted = _passed_on(success)
    error = None
    if outcome != "succeeded" and job["error_code"] is not None:
        error = CompletionError(code=job["error_code"], message=job["error_message"] or "")
    told = Completion(
        id=job["id"],
        incarnation=job["incarnation"],
        target=job["target"],
        outcome=outcome,
        attempts=job["attempt"],
        scheduled_for=job["scheduled_for"],
        ended=now,
        tags=tuple(json.loads(job["tags"] or "[]")),
        result=result,
        result_omitted=omitted,
        error=error,
    )
    return NewJob(
        id=own,
        incarnation=own,  # as a key it is no weaker than what it is made of
        target=wanted["target"],
        args=json.dumps(_fields(told), ensure_ascii=False, separators=(",", ":")),
        due=now,
        retry=DEFAULT_RETRY.to_dict(),
        timeout_ms=DEFAULT_TIMEOUT_MS,
        shard_key=job["shard_key"],
        kind=wanted["kind"],
        traceparent=job["traceparent"],
    )


def _fields(told: Completion) -> dict[str, Any]:
    # the result is JSON already, and is left as it was sent: pydantic would take a large integer for a float
    return {**told.model_dump(mode="json", exclude={"result"}), "result": told.result}


def _passed_on(success: Succeeded | None) -> tuple[Any, bool]:
    """A result as it is passed on, and whether it is left out. It comes from outside, and is checked like all that."""
    if success is None or success.result is None:
        return None, success is not None and success.result_omitted
    if len(success.result.encode("utf-8", "replace")) > MAX_RESULT_BYTES:
        return None, True
    try:
        return decode_json(success.result, what="the result", max_depth=MAX_DEPTH - 1), False
    except LunoraError:
        return None, True
