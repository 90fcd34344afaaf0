"""The table of states and events: what every event does to a job in every state.

For each event, `Event.cells` says for which states something changes, and what: the columns of the job's row, the
attempts put on record, the columns of its dispatch. A state that is not named stays exactly as it was, to the last
column. The alarm is derived from the expected rows by the rules of the architecture (`_wake`), and compared too.

After each event the count of what is kept as history has to be that of its rows.

The whole table holds as well for a job that is alone in its pool, which then is full exactly while the job runs. And
what it says of the job's row and attempts holds for one that shares each of its dispatches with another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.scheduler.job import Dispatch
from lunorash.scheduler.store import Row, Store

from .rig import DAY, Rig
from .state_events import EVENTS
from .state_table import GONE, Cell, Event
from .states import PATIENT, STATES, State

__all__ = ["TABLE_CASES"]


@dataclass(kw_only=True)
class _Seen:
    """What an event did."""

    returned: Any = None
    refused: str | None = None
    job: Row | None = None
    attempts: list[Row] = field(default_factory=list)
    dispatches: list[Row] = field(default_factory=list)
    breakers: list[Row] = field(default_factory=list)
    alarm: int | str | None = None
    buried: int | None = None
    pools: list[Row] = field(default_factory=list)


def _happens(rig: Rig, state: State, event: Event) -> _Seen:
    rig.at(event.at).alarm.forget()
    rig.alarm_calls.clear()
    seen = _Seen()
    try:
        seen.returned = event.happen(rig, state)
    except LunoraError as error:
        seen.refused = error.code
    rows = rig.rows("SELECT * FROM jobs WHERE id = 'j'")
    seen.job = rows[0] if rows else None
    seen.attempts = rig.attempts()
    seen.dispatches = rig.dispatches()
    seen.breakers = rig.breakers()
    tombstones = rig.rows("SELECT called FROM tombstones")
    seen.buried = tombstones[0]["called"] if tombstones else None
    seen.pools = rig.pools()
    seen.alarm = rig.alarm_calls[-1].at if rig.alarm_calls else "untouched"
    counted = rig.rows("SELECT (SELECT count(*) FROM jobs WHERE ended IS NOT NULL AND state <> 'dead') - kept AS off "
                       "FROM history")  # fmt: skip
    assert counted == [{"off": 0}], "what is kept as history is counted as such"
    return seen


def _expected(state: State, event: Event, pool: str | None) -> _Seen:
    cell = event.cells.get(_name_of(state), Cell(returns=event.otherwise, refused=event.otherwise_refused))
    job = state.job
    attempts = [*state.attempts, *cell.recorded]
    if isinstance(cell.job, Mapping):
        job = {**(job or {}), **cell.job}
    elif cell.job is GONE:
        job, attempts = None, []
    dispatches = [dict(row) for row in state.dispatches]
    if cell.closed:
        dispatches = []
    elif cell.dispatch:
        dispatches = [{**(dispatches[0] if dispatches else {}), **cell.dispatch}]
    breakers = [cell.breaker] if cell.breaker else []
    job = _in_pool(job, pool)
    return _Seen(
        returned=cell.returns,
        refused=cell.refused,
        job=job,
        attempts=attempts,
        dispatches=dispatches,
        breakers=breakers,
        # what is refused is undone and arms nothing
        alarm="untouched" if cell.refused else _wake(job, dispatches, breakers, cell.buried, event.at),
        buried=cell.buried,
        pools=_pools(pool, job) if state.job or job else [],
    )


def _in_pool(job: Row | None, pool: str | None) -> Row | None:
    return None if job is None else {**job, "pool": pool}


def _pools(pool: str | None, job: Row | None) -> list[Row]:
    """The pool that a job came to be in: nobody has given it a cap, so it has one slot."""
    if pool is None:
        return []
    ready_at = job["due"] if job and job["state"] == "pending" else None
    return [{"name": pool, "max_concurrency": 1, "declared": None, "paused": 0, "ready_at": ready_at}]


def _wake(job: Row | None, dispatches: list[Row], breakers: list[Row], buried: int | None, now: int) -> int | None:
    """When a scheduler with these rows, and no others, has to wake."""
    if dispatches:
        wake = min(dispatches[0]["lease"], now + 30_000)
    elif job is None:
        return None if buried is None else buried + DAY
    elif job["state"] == "pending":
        wake = max(job["due"], breakers[0]["probe_at"]) if breakers else job["due"]
    else:
        wake = job["ended"] + (90 if job["state"] == "dead" else 7) * DAY
    return int(max(wake, now + 1))


def _name_of(state: State) -> str:
    return next(name for name, known in STATES.items() if known is state)


def _differences(seen: _Seen, expected: _Seen) -> list[str]:
    found = [
        f"{name}: {getattr(seen, name)} instead of {getattr(expected, name)}"
        for name in ("returned", "refused", "attempts", "dispatches", "breakers", "alarm", "buried", "pools")
        if getattr(seen, name) != getattr(expected, name)
    ]
    if seen.job is None or expected.job is None:
        if seen.job != expected.job:
            found.append(f"job: {seen.job} instead of {expected.job}")
    else:
        found += [
            f"job.{column}: {seen.job.get(column)!r} instead of {expected.job.get(column)!r}"
            for column in sorted({*seen.job, *expected.job})
            if seen.job.get(column) != expected.job.get(column)
        ]
    return found


def _walk(event: Event, store: Store, *, pool: str | None = None) -> None:
    """Let one event happen in every state, to a job in a pool or in none."""
    problems = []
    for name, state in STATES.items():
        rig = Rig(store)
        for table in ("jobs", "dispatches", "attempts", "origins", "tombstones", "shards", "pools"):
            store.execute(f"DELETE FROM {table}")
        store.execute("UPDATE history SET kept = 0")
        rig.pool = pool
        state.reach(rig)
        before = rig.rows("SELECT * FROM jobs")
        assert before == ([] if state.job is None else [_in_pool(state.job, pool)]), (
            f"{name} is not what it is said to be: {before}"
        )
        assert rig.attempts() == list(state.attempts), name
        assert rig.dispatches() == list(state.dispatches), name
        problems += [
            f"{name}: {difference}"
            for difference in _differences(_happens(rig, state, event), _expected(state, event, pool))
        ]
    assert not problems, "\n".join(["", *problems])


class _Company(Rig):
    """A rig whose job j has another one with it in each of its dispatches, unless it travels alone."""

    def claim_one(self) -> Dispatch:
        """Take the one dispatch that is due, with a neighbour in it."""
        self.companions += 1
        neighbour = f"z{self.companions}"
        self.schedule(neighbour, retry=PATIENT)
        self.room = 1
        dispatch = super().claim_one()
        self.room = 6
        if len(dispatch.attempts) == 1:
            assert self.job()["charged"] == 2, "only on its last attempt it travels alone"
            self.cancel(neighbour)
        return dispatch

    companions = 0


def _walk_in_company(event: Event, store: Store) -> None:
    """Let one event happen in every state, to a job that does not travel alone."""
    problems = []
    for name, state in STATES.items():
        rig = _Company(store)
        for table in ("jobs", "dispatches", "attempts", "origins", "tombstones", "shards", "pools"):
            store.execute(f"DELETE FROM {table}")
        store.execute("UPDATE history SET kept = 0")
        state.reach(rig)
        seen, expected = _happens(rig, state, event), _expected(state, event, None)
        alike = _Seen(refused=seen.refused, job=seen.job, attempts=seen.attempts)
        problems += [
            f"{name}: {difference}"
            for difference in _differences(
                alike, _Seen(refused=expected.refused, job=expected.job, attempts=expected.attempts)
            )
        ]
    assert not problems, "\n".join(["", *problems])


def _checked(events: Mapping[str, Event]) -> Mapping[str, Event]:
    for name, event in events.items():
        unknown = set(event.cells) - set(STATES)
        assert not unknown, f"{name} speaks of {unknown}"
    return events


_WALKS: Final[Mapping[str, Callable[[Event, Store], None]]] = {
    "": _walk,
    "_in_a_pool": partial(_walk, pool="imports"),
    "_in_company": _walk_in_company,
}

TABLE_CASES: Final[dict[str, Callable[[Store], None]]] = {
    f"case_in_every_state{how}__{name.replace(' ', '_')}": partial(walk, event)
    for name, event in _checked(EVENTS).items()
    for how, walk in _WALKS.items()
}
