"""Imports: many rows, each a job of its own that may fail and be tried again by itself, and one after the other."""

from __future__ import annotations

from pydantic import BaseModel, Field

from lunora._generated.internal import internal
from lunora._generated.server import LunoraError, MutationContext, QueryContext, internal_mutation, mutation, query
from lunorash.scheduler import RunOptions


class Import(BaseModel):
    """What is imported."""

    names: list[str] = Field(min_length=1, max_length=100)


@mutation
async def import_names(ctx: MutationContext, batch: Import) -> list[str]:
    """Schedule the import of each name, one at a time; returns the ids of the jobs."""
    return [
        await ctx.scheduler.run_after(
            0, internal.imports.process_row, {"row_id": f"{index}", "name": name}, RunOptions(pool="imports")
        )
        for index, name in enumerate(batch.names)
    ]


@internal_mutation
def process_row(ctx: MutationContext, row_id: str, name: str) -> None:
    """Import one name."""
    if not name.strip():
        raise LunoraError("ROW_INVALID", f"row {row_id} has no name")
    ctx.db.execute("INSERT OR REPLACE INTO imported VALUES (?, ?)", row_id, name)


@query
def imported(ctx: QueryContext) -> int:
    """How many names there are."""
    row = ctx.db.fetch_one("SELECT count(*) AS n FROM imported")
    return row["n"] if row else 0
