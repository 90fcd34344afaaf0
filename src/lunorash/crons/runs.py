"""One run of a cron job: what is recorded of it, and shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.scheduler.protocol import MAX_CODE, MAX_MESSAGE, text_of

__all__ = ["MAX_RESULT", "CronRun", "RunOutcome", "Trigger"]

Trigger = Literal["cron", "manual"]
"""What made it run: its time, or a person."""

RunOutcome = Literal["running", "succeeded", "failed", "skipped"]

MAX_RESULT: Final = 8_000
"""The longest result that is recorded, in characters of JSON. Of a longer one nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CronRun:
    """A run. Times are epoch milliseconds.

    Args:
        id: minted for it; a tick that is delivered twice is two runs.
        name: the cron job's name.
        scheduled_for: when it was to run.
        trigger: what made it run.
        started: when it began.
        ended: when it ended; None while it has not, or if whatever ran it is gone.
        outcome: how it ended.
        result: what the function returned, JSON text.
        error_code: why it failed.
        error_message: the same in words.
        job: the job that it was handed to, to be tried again.

    Example:
        >>> run = CronRun(id="r", name="digest", scheduled_for=0, trigger="cron", started=5)
        >>> run.outcome, run.to_dict()["result"]
        ('running', None)
    """

    id: str
    name: str
    scheduled_for: int
    trigger: Trigger
    started: int
    ended: int | None = None
    outcome: RunOutcome = "running"
    result: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    job: str | None = None

    def bounded(self) -> CronRun:
        """The same with what an app has put into it cut to what is kept."""
        return replace(
            self,
            result=None if self.result is None or len(self.result) > MAX_RESULT else self.result,
            error_code=text_of(self.error_code, MAX_CODE),
            error_message=text_of(self.error_message, MAX_MESSAGE),
        )

    def to_dict(self) -> dict[str, Any]:
        """The run as the admin API shows it."""
        fields = asdict(self)
        del fields["id"]
        if self.result is not None:
            fields["result"] = decode_json(self.result, what="the result", max_depth=MAX_ENVELOPE_DEPTH)
        return fields
