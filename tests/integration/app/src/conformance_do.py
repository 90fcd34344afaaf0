"""Runs the conformance suite inside a real Durable Object, each case on an object of its own."""

from __future__ import annotations

import traceback

from workers import DurableObject

from lunorash.scheduler.durable_store import DurableStore


class ConformanceDO(DurableObject):  # type: ignore[misc]
    async def run(self, case: str) -> str:
        """Empty if the case holds, else the traceback."""
        from conformance.suite import CASES

        try:
            CASES[case](DurableStore(self.ctx.storage))
        except BaseException:  # noqa: BLE001 - a case may fail in any way
            return traceback.format_exc()
        return ""
