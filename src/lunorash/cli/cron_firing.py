"""Fires the crons of an app on a local Worker, as Cloudflare would: wrangler never does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from lunorash.cli.app_crons import AppCrons
from lunorash.cli.cron_clock import CronClock, Missed
from lunorash.cli.forecast import describe
from lunorash.cli.output import Output
from lunorash.cli.times import distance, utc_text
from lunorash.codegen.crons import triggers
from lunorash.crons import CronExpression

__all__ = ["CronFiring", "Fire"]

Fire = Callable[[str, int], dict[str, Any]]
"""Fires a trigger, given its expression and its time in epoch milliseconds; returns such as ``{"outcome": "ok"}``."""

_POLL_S: Final = 1.0  # also how soon a machine that has slept, and a changed source, are noticed


class CronFiring:
    """Fires crons from a thread of its own until it is stopped. Each run has its own, so none holds up the next.

    Args:
        crons: the app's, read again as its sources change.
        fire: fires one trigger and waits for its outcome; may raise for want of one.
        output: where each fire, its outcome, and what was missed are told.
        now: the time, with a time zone.
    """

    def __init__(
        self,
        crons: AppCrons,
        fire: Fire,
        output: Output,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._crons = crons
        self._fire = fire
        self._output = output
        self._now = now
        self._ended = threading.Event()
        self._clock = CronClock(now())
        self._thread = threading.Thread(target=self._keep_looking, name="crons", daemon=True)

    def start(self) -> None:
        """Tell what will be fired, and begin."""
        self._crons.refresh()
        self._tell_crons()
        self._thread.start()

    def stop(self) -> None:
        """Fire nothing more, and tell nothing more of what still runs."""
        self._ended.set()
        self._thread.join(1)

    def look(self) -> None:
        """Fire what is due by now."""
        if self._crons.refresh():
            self._tell_crons()
        expressions = [CronExpression.parse(text) for text in triggers(self._crons.crons)]
        tick = self._clock.look(self._now(), expressions)
        for missed in tick.missed:
            self._tell_missed(missed)
        for expression in tick.due:
            run = (expression.normalized, tick.minute, self._jobs_of(expression.normalized))
            # a daemon: what a run still does is of no interest once the server stops
            threading.Thread(target=self._run, args=run, name="cron", daemon=True).start()

    def _keep_looking(self) -> None:
        while not self._ended.wait(_POLL_S):
            self.look()

    def _run(self, expression: str, minute: datetime, jobs: list[str]) -> None:
        begin = time.monotonic()
        try:
            outcome = str(self._fire(expression, round(minute.timestamp() * 1000)).get("outcome", "unknown"))
            said = "ok" if outcome == "ok" else f"{outcome}; what went wrong is in the log above"
        except Exception as error:  # noqa: BLE001 - pytest-workers' own, and whatever the network has
            outcome, said = "unknown", f"no outcome: {error}"
        if self._ended.is_set():
            return
        took = time.monotonic() - begin
        self._output.event(
            "cron",
            f"==> cron {expression} of {utc_text(minute)} ({', '.join(jobs)}): {said} ({took:.1f} s)",
            expression=expression,
            scheduled_for=utc_text(minute),
            jobs=jobs,
            outcome=outcome,
            duration_ms=round(took * 1000),
        )

    def _jobs_of(self, expression: str) -> list[str]:
        return [cron.job.name for cron in self._crons.crons if cron.job.expression == expression]

    def _tell_missed(self, missed: Missed) -> None:
        expression, first, last = missed.expression.normalized, utc_text(missed.first), utc_text(missed.last)
        span = f"that of {first}" if missed.count == 1 else f"{missed.count} from {first} to {last}"
        self._output.event(
            "cron_missed",
            f"==> cron {expression} missed {span}: the machine slept or its clock was changed; not caught up",
            expression=expression,
            jobs=self._jobs_of(expression),
            count=missed.count,
            first=first,
            last=last,
        )

    def _tell_crons(self) -> None:
        now = self._now()
        crons = [describe(cron, after=now) for cron in self._crons.crons]
        lines = ["==> crons, fired here as Cloudflare will; times are in UTC" if crons else "==> no crons to fire"]
        for cron in crons:
            until = (datetime.fromisoformat(cron["next"]) - now).total_seconds() * 1000
            lines.append(f"    {cron['name']}: {cron['english']}, next {cron['next']} ({distance(until)})")
        # without arguments: what is told here ends up in log files
        told = [{name: value for name, value in cron.items() if name != "args"} for cron in crons]
        self._output.event("crons", "\n".join(lines), crons=told)
