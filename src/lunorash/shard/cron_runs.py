"""The record of the runs of cron jobs: the last hundred of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import Final

from lunorash.crons.runs import CronRun
from lunorash.scheduler.store import Store

__all__ = ["KEPT", "CronRuns"]

KEPT: Final = 100
"""How many runs are kept of a cron job."""

_PRUNED: Final = 10
"""How many are deleted at most with each that begins: few, and yet more than come."""

_FIELDS: Final = [field.name for field in fields(CronRun)]
_COLUMNS: Final = ", ".join(_FIELDS)

# a word that comes late, about a beginning, must not undo one about the end
_NOTE: Final = f"""
INSERT INTO _lunora_cron_runs ({_COLUMNS}) VALUES ({", ".join("?" * len(_FIELDS))})
ON CONFLICT (id) DO UPDATE SET
    ended = excluded.ended, outcome = excluded.outcome, result = excluded.result, error_code = excluded.error_code,
    error_message = excluded.error_message, job = excluded.job
WHERE _lunora_cron_runs.ended IS NULL
"""  # noqa: S608 - names of columns

_PRUNE: Final = """
DELETE FROM _lunora_cron_runs WHERE id IN (
    SELECT id FROM _lunora_cron_runs WHERE name = ? ORDER BY started DESC, id DESC LIMIT ? OFFSET ?
)
"""

_OF_ALL: Final = f"SELECT {_COLUMNS} FROM _lunora_cron_runs ORDER BY started DESC, id DESC LIMIT ?"  # noqa: S608

_OF_ONE: Final = f"""
SELECT {_COLUMNS} FROM _lunora_cron_runs WHERE name = ? ORDER BY started DESC, id DESC LIMIT ?
"""  # noqa: S608

_LAST_OF_EACH: Final = f"""
SELECT {", ".join(f"runs.{field}" for field in _FIELDS)}
FROM json_each(?) AS named CROSS JOIN _lunora_cron_runs AS runs ON runs.id = (
    SELECT id FROM _lunora_cron_runs WHERE name = named.value ORDER BY started DESC, id DESC LIMIT 1
)
"""  # noqa: S608


class CronRuns:
    """The record, in the default shard.

    Args:
        store: the shard's.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, run: CronRun) -> None:
        """Record how a run stands; what is noted of its end stays."""

        def work() -> None:
            self._store.execute(_NOTE, *astuple(run.bounded()))
            if run.ended is None:
                self._store.execute(_PRUNE, run.name, _PRUNED, KEPT)

        self._store.transaction(work)

    def newest(self, name: str | None, limit: int) -> list[CronRun]:
        """The newest runs, of one cron job or of all, the newest first.

        Args:
            name: the cron job's; None for all.
            limit: how many at most.
        """
        rows = self._store.execute(_OF_ALL, limit) if name is None else self._store.execute(_OF_ONE, name, limit)
        return [CronRun(**row) for row in rows]

    def last_of_each(self, names: Sequence[str]) -> list[CronRun]:
        """The newest run of each of these cron jobs that has run."""
        return [CronRun(**row) for row in self._store.execute(_LAST_OF_EACH, json.dumps([*names]))]
