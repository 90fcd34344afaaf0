"""Jobs in every state, and arguments that mean no good."""

from __future__ import annotations

from typing import Any, Final

from tests.integration.client import Client, wait_for

__all__ = ["BIG", "HOSTILE", "fill"]

HOUR_MS: Final = 3_600_000
BIG: Final = 2**60 + 1  # a double cannot hold it

HOSTILE: Final[dict[str, Any]] = {
    "markup": "<img src=x onerror=\"document.title='pwned'\"><script>alert(1)</script>",
    "<b>key</b>": "</textarea><script>alert(2)</script>",
    "__proto__": {"polluted": True},
    "shell": 'it\'s $(touch /tmp/pwned) `id` \\ "$HOME" !',
    "turned": "invoice\u202egpj.exe",
    "emoji": "👩‍👩‍👧‍👦 🎉 é ﷽",
    "big": BIG,
    "negative": -(2**70),
    "whole": 1.0,
    "small": 1e-7,
    "nothing": None,
    "yes": True,
    "list": list(range(300)),
}


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = "the innermost"
    for _ in range(depth):
        value = [value]
    return value


def fill(client: Client) -> None:
    """Give a Worker something to show."""
    later, done = ([f"{name}-{number}" for number in range(count)] for name, count in (("later", 60), ("done", 8)))
    client.value("action", "many:schedule", {"ids": later, "delay_ms": HOUR_MS})
    client.value("action", "many:schedule", {"ids": done})
    client.schedule("probes:note", {"value": HOSTILE}, id="hostile", delay_ms=5 * HOUR_MS)
    client.schedule("probes:note", {"value": nested(50)}, id="nested", delay_ms=5 * HOUR_MS)
    client.schedule("probes:note", {"value": "x" * 950_000}, id="large", delay_ms=5 * HOUR_MS)
    client.schedule("probes:fail", {}, id="retrying", retry={"max_attempts": 5, "base_ms": HOUR_MS})
    for number in range(6):
        client.schedule("probes:fail", {}, id=f"dead-{number}", retry={"max_attempts": 1, "base_ms": 10})
    client.schedule("probes:slow", {"seconds": 240}, id="slow")
    for name, cap, count in (("emails", 2, 6), ("imports", 4, 3)):
        client.value("action", "pools:enqueue", {"name": name, "cap": cap, "seconds": [240.0] * count})
    for name in ("first sibling", "for nothing"):
        for _ in range(3):
            client.call("POST", "/_lunora/admin/cron-jobs/run", {"name": name})
    dead = {f"dead-{number}" for number in range(6)}
    wait_for(lambda: set(done) <= client.ids("succeeded"), "jobs to succeed", 30, client.status)
    wait_for(lambda: dead <= client.ids("dead"), "jobs to die", 30, client.status)
