"""A SchedulerDO into which a benchmark can put any number of jobs at once, and count what became of them."""

from __future__ import annotations

import json
from typing import Any

from lunorash.codec import decode_json
from lunorash.scheduler import SchedulerDO

_WITHIN = "id >= ?1 || '-' AND id < ?1 || '.'"  # '.' comes after '-'


class StockedSchedulerDO(SchedulerDO):
    """Everything that happens to the jobs is done by the class that it extends."""

    async def copy(self, text: str) -> None:
        """Copy the job ``<name>-0``, ``{"name", "first", "behind", "step_ms"}``.

        A copy differs in its id and its incarnation, and is due ``step_ms`` after the one before, so that the alarm
        stands already. They are rows as `schedule` writes them, whatever columns those have, in one statement: a
        million calls would take longer than everything that is measured after them.
        """
        asked = decode_json(text)
        original = f"{asked['name']}-0"
        (row,) = self._store.execute("SELECT * FROM jobs WHERE id = ?", original)
        changed = {
            "id": "?1 || '-' || n",
            "incarnation": "incarnation || '-' || n",
            "scheduled_as": "scheduled_as || '-' || n",
            "due": "due + n * ?4",
            "scheduled_for": "scheduled_for + n * ?4",
        }
        columns = [name for name in row if name not in changed]
        self._store.execute(
            f"""
            WITH RECURSIVE numbers (n) AS (SELECT ?2 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?3)
            INSERT INTO jobs ({", ".join([*changed, *columns])})
            SELECT {", ".join([*changed.values(), *columns])}
            FROM numbers CROSS JOIN jobs WHERE jobs.id = ?1 || '-0'
            """,  # noqa: S608 - the names of our own columns
            asked["name"],
            asked["first"],
            asked["behind"],
            asked["step_ms"],
        )

    async def look(self, name: str) -> str:
        """How many jobs of a name there are and have succeeded, when the first was due, when the last one ended."""
        found: list[dict[str, Any]] = self._store.execute(
            f"""
            SELECT count(*) AS jobs, total(state = 'succeeded') AS succeeded, count(ended) AS ended,
                min(scheduled_for) AS first_due, max(ended) AS last_ended
            FROM jobs WHERE {_WITHIN}
            """,  # noqa: S608
            name,
        )
        return json.dumps(found[0])
