"""Waiting for nobody: a run that must not overlap has its turn, or is left out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from lunorash.errors import LunoraError, shown
from lunorash.incident import code_of
from lunorash.shard.client import Shards

__all__ = ["RENEWAL_S", "take_turn"]

RENEWAL_S: Final = 10
"""How often a lease is renewed, in seconds: twice, before it would end."""

_DEADLINE_S: Final = 8


@asynccontextmanager
async def take_turn(shards: Shards, name: str, holder: str, log: Callable[[str], None]) -> AsyncIterator[bool]:
    """Hold the lease of a cron job while the block runs, if it is free; the block is told whether it was.

    Args:
        shards: where the lease is kept.
        name: the cron job's.
        holder: the id of the run.
        log: takes a line about a lease that was lost.

    Raises:
        LunoraError: ``SHARD_UNAVAILABLE`` when nobody can tell whether it is free: better no run than two.
    """
    if not await _held(shards, name, holder):
        yield False
        return
    renewal = asyncio.create_task(_renew(shards, name, holder, log))
    try:
        yield True
    finally:
        renewal.cancel()
        await asyncio.wait([renewal])
        try:
            async with asyncio.timeout(_DEADLINE_S):
                await shards.release_cron(name, holder)
        except (LunoraError, TimeoutError) as error:
            log(f"lunora: the lease of the cron job {shown(name)} ends by itself: {code_of(error)}")


async def _held(shards: Shards, name: str, holder: str) -> bool:
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await shards.hold_cron(name, holder)
    except TimeoutError:
        raise LunoraError("SHARD_UNAVAILABLE", f"the shard did not answer within {_DEADLINE_S} s") from None


async def _renew(shards: Shards, name: str, holder: str, log: Callable[[str], None]) -> None:
    while True:
        await asyncio.sleep(RENEWAL_S)
        try:
            held = await _held(shards, name, holder)
        except LunoraError as error:
            log(f"lunora: the lease of the cron job {shown(name)} was not renewed: {code_of(error)}")
            continue
        if not held:
            log(f"lunora: the lease of the cron job {shown(name)} is lost: another run has begun beside this one")
            return
