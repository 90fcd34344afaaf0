"""The core of a shard: queries and mutations on its database, free of Cloudflare.

A mutation is one transaction: its writes, what it schedules, and the record that its job has had its effect are
kept together or not at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from lunorash.contexts import MutationContext, QueryContext
from lunorash.errors import LunoraError, UnavailableError, shown
from lunorash.functions import FunctionTable, RegisteredFunction
from lunorash.refs import FunctionReference, Kind
from lunorash.scheduler.ids import mint_id
from lunorash.scheduler.store import Store
from lunorash.shard.applied import Applied, Key
from lunorash.shard.buffered_scheduler import BufferedScheduler, NeedsAnswerError, Question
from lunorash.shard.calls import ShardCall
from lunorash.shard.database import Database
from lunorash.shard.driving import drive
from lunorash.shard.outbox import Outbox
from lunorash.traceparent import tracing
from lunorash.values import encode_value

__all__ = ["MAX_NESTED", "MAX_ROUNDS", "Round", "Shard"]

MAX_ROUNDS: Final = 8
"""How often a body may be run again because it asked the SchedulerDO something new."""

MAX_NESTED: Final = 16
"""How deep mutations may run inside one another: each is a savepoint and a stack frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What stays the same when a body is run again: its time, its randomness, and what it has learned.

    Args:
        now: epoch milliseconds.
        seed: of ``ctx.random`` and of the ids it mints.
        answers: what the SchedulerDO has answered so far.
    """

    now: int
    seed: int
    answers: Mapping[Question, Any]

    def knowing(self, question: Question, answer: Any) -> Round:
        """The next round, with one more answer."""
        return replace(self, answers={**self.answers, question: answer})


class Shard:
    """Runs queries and mutations.

    Args:
        store: the shard's database; its tables are up to date.
        functions: what can be run.
        ready: raises what is wrong with the deployment's settings for scheduling.
        wake: called within a mutation's transaction when there is something to send.
    """

    def __init__(
        self, store: Store, functions: FunctionTable, *, ready: Callable[[], None], wake: Callable[[int], None]
    ) -> None:
        self._store = store
        self._functions = functions
        self._ready = ready
        self._wake = wake
        self._nesting = 0
        self._applied = Applied(store)
        self.outbox = Outbox(store)

    def query(self, call: ShardCall, this: Round) -> str:
        """Run a query; returns its result as JSON text.

        Raises:
            LunoraError: what is wrong with the call, or what the query raised.
        """
        function, args = self._bind(call, "query")
        database = Database(self._store.run, read_only=True)

        def work() -> str:
            try:
                context = QueryContext(db=database, auth=call.auth, now=_moment(this), random=Random(this.seed))  # noqa: S311
                result = function.signature.encode(drive(lambda: function.function(context, **args)))
            finally:
                database.close()
            if database.refused is not None:  # the body swallowed it, and what it wrote is to be undone
                raise database.refused
            return result

        return self._store.transaction(work)

    async def mutate_asking(self, call: ShardCall, this: Round, ask: Callable[[str, str], Awaitable[Any]]) -> str:
        """Run a mutation, again and again while its body asks the SchedulerDO something new.

        Args:
            call: what to run.
            this: the first round.
            ask: asks the SchedulerDO; what it raises is raised in the body.

        Raises:
            LunoraError: as `mutate` does, and ``TOO_MANY_QUESTIONS`` after `MAX_ROUNDS` further rounds.
        """
        for _ in range(MAX_ROUNDS + 1):
            try:
                return self.mutate(call, this)
            except NeedsAnswerError as needs:
                question = needs.question
            try:
                answer = await ask(*question)
            except LunoraError as error:
                answer = error
            this = this.knowing(question, answer)
        raise LunoraError(
            "TOO_MANY_QUESTIONS",
            f"the mutation asked the scheduler more than {MAX_ROUNDS} different things, last {question[0]}; "
            "each makes it run again. Ask in an action, and hand the answers to the mutation",
        )

    def mutate(self, call: ShardCall, this: Round) -> str:
        """Run a mutation in a transaction; returns its result as JSON text.

        A job's mutation that has had its effect before is not run again: the result it had is returned.

        Raises:
            NeedsAnswerError: the body asked something; run it again in a round that knows.
            LunoraError: what is wrong with the call, or what the mutation raised. Nothing was written then.
        """
        function, args = self._bind(call, "mutation")

        def work() -> str:
            if call.job is None:
                return self._effect(function, args, call, this)
            key = call.job.id, call.job.incarnation
            results = self._applied.results([call.job])
            if key not in results:
                results[key] = self._effect(function, args, call, this)
                self._applied.add(results, this.now)
            return results[key]

        return self._store.transaction(work)

    def mutate_many(self, calls: Sequence[ShardCall], this: Callable[[], Round]) -> list[BaseException | str]:
        """Run mutations of jobs for their effects: one that raises is undone, and no other with it.

        They are kept in one transaction, so that looking up and recording what has had its effect takes two
        statements for all of them.

        Args:
            calls: each for a job.
            this: makes the round of each.

        Returns:
            for each what it raised, `NeedsAnswerError` if it asked something; its result as JSON text if it has had its
            effect, now or before.
        """

        def work() -> list[BaseException | str]:
            before = self._applied.results(call.job for call in calls if call.job)
            results: dict[Key, str] = {}

            def outcome(call: ShardCall) -> BaseException | str:
                job = call.job
                if job is None:
                    return TypeError("a call is not made for a job")
                known = before.get((job.id, job.incarnation))
                if known is not None:
                    return known
                try:
                    function, args = self._bind(call, "mutation")
                    result = self._store.transaction(lambda: self._effect(function, args, call, this()))
                except BaseException as error:  # noqa: BLE001 - it comes from the body, and concerns no other
                    return error
                results[job.id, job.incarnation] = result
                return result

            outcomes = [outcome(call) for call in calls]
            if results:
                self._applied.add(results, this().now)
            return outcomes

        return self._store.transaction(work)

    def _effect(
        self, function: RegisteredFunction[..., Any], args: dict[str, Any], call: ShardCall, this: Round
    ) -> str:
        database = Database(self._store.run, read_only=False)
        scheduler = self._scheduler(this)
        try:
            with tracing(call.traceparent):
                result = self._run(function, args, call, this, database, scheduler)
        except BaseException:
            scheduler.raise_unanswered()
            raise
        finally:
            database.close()
            scheduler.close()
        scheduler.raise_unanswered()
        if scheduler.added() and not self.outbox.is_empty():
            self._wake(this.now)
        return result

    def _bind(self, call: ShardCall, kind: Kind) -> tuple[RegisteredFunction[..., Any], dict[str, Any]]:
        try:
            function = self._functions.find(call.path, kind)
            return function, function.signature.parse(call.args)
        except LunoraError as error:
            raise UnavailableError.of(error) from None

    def _run(  # noqa: PLR0917 - the parts of one call
        self,
        function: RegisteredFunction[..., Any],
        args: dict[str, Any],
        call: ShardCall,
        this: Round,
        database: Database,
        scheduler: BufferedScheduler,
    ) -> str:
        random = Random(this.seed)  # noqa: S311 - a mutation's randomness repeats when it is run again

        async def run_mutation(
            target: FunctionReference[Any] | str, args: dict[str, Any] | None = None, *, shard_key: str | None = None
        ) -> Any:
            if shard_key is not None:
                raise LunoraError(
                    "NESTED_ON_OTHER_SHARD",
                    f"a mutation inside a mutation runs on the same shard, not on {shown(shard_key)}: two shards have "
                    "no transaction in common. Schedule it, or call both from an action",
                )
            return self._nested(target, args, context)

        context = MutationContext(
            db=database,
            auth=call.auth,
            now=_moment(this),
            random=random,
            scheduler=scheduler,
            run_mutation=run_mutation,
            job=call.job,
        )
        return function.signature.encode(drive(lambda: function.function(context, **args)))

    def _nested(
        self,
        target: FunctionReference[Any] | str,
        args: dict[str, Any] | None,
        context: MutationContext[BufferedScheduler],
    ) -> Any:
        """Run a mutation inside another: if it raises, its writes and calls are undone, and only they."""
        path = target.path if isinstance(target, FunctionReference) else target
        function = self._functions.find(path, "mutation")
        parsed = function.signature.parse(encode_value({} if args is None else args, what="args"))
        if self._nesting >= MAX_NESTED:
            raise LunoraError(
                "NESTED_TOO_DEEP",
                f"mutations run inside one another more than {MAX_NESTED} deep; does {path} call itself?",
            )
        self._nesting += 1
        try:
            return self._store.transaction(lambda: drive(lambda: function.function(context, **parsed)))
        finally:
            self._nesting -= 1

    def _scheduler(self, this: Round) -> BufferedScheduler:
        return BufferedScheduler(
            self.outbox,
            now=this.now,
            mint=_ids(this).__next__,
            catalog=self._functions,
            answers=this.answers,
            ready=self._ready,
        )


def _moment(this: Round) -> datetime:
    return datetime.fromtimestamp(this.now / 1000, UTC)


def _ids(this: Round) -> Iterator[str]:
    """Ids that repeat when the mutation is run again. Seeded when the first is needed: it takes longer than most do."""
    source = Random(f"ids {this.seed}")  # noqa: S311 - the seed is 16 bytes of real randomness
    while True:
        yield mint_id(source.randbytes)
