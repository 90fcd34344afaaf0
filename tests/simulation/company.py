"""Watches who travels together in a dispatch."""

from __future__ import annotations

import json

from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.store import Row

from .journal import Journal
from .tables import Tables

__all__ = ["Company"]


class Company:
    """The watcher of dispatches.

    Args:
        journal: learns what is broken.
        tables: the rows.
        sizes: the most that one dispatch carries.
    """

    def __init__(self, journal: Journal, tables: Tables, sizes: BatchSizes) -> None:
        self._journal = journal
        self._tables = tables
        self._sizes = sizes

    def claimed(self, old: Row, new: Row) -> None:
        """A job travels: not with too many, nor with those that cost another call, nor with one that may harm it."""
        dispatch = self._tables.dispatches.get(new["dispatch"])
        carried = [self._tables.jobs[job] for job in json.loads(dispatch["jobs"])] if dispatch else []
        name, mutations = new["id"], sum(job["kind"] == "mutation" for job in carried)
        if len(carried) < 2:
            return
        self._journal.count("jobs in company")
        shards = {job["shard_key"] or "default" for job in carried}
        if mutations not in (0, len(carried)) or (mutations and len(shards) > 1):
            self._journal.violate("what travels together goes together", "%s does not: %s", name, dispatch)
        if len(carried) > (self._sizes.mutations if mutations else self._sizes.actions):
            self._journal.violate("a dispatch carries what it may", "%d travel with %s", len(carried), name)
        last = new["charged"] > json.loads(new["retry"])["max_attempts"]
        if old["alone"] or last or old["refunded_at"] is not None or old["cut_offs"] > 1:
            self._journal.violate("who may harm others travels alone", "%s does not: %s", name, dispatch)
