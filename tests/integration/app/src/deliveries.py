"""The Worker's end of its queues, which notes in the journal what is delivered, and what became a dead letter."""

from __future__ import annotations

import time
from typing import Any

from journal import journal


def with_deliveries(default_class: type[Any]) -> type[Any]:
    """Make the class to export instead of what `app.Default` gives."""

    class Default(default_class):  # type: ignore[misc]
        async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:
            dead = batch.queue == "imports-dead"
            for message in batch.messages:
                event = "dead" if dead else f"delivered by {batch.queue}"
                await journal(self.env).write(message.id, message.attempts, event, time.time() * 1000)
            if not dead:
                await super().queue(batch, env, ctx)

    return Default
