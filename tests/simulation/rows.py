"""Watches the job rows: every change that a transaction leaves behind has to be one that the design allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.history import DEAD_RETENTION_MS, HISTORY_MS, KNOWN_MS
from lunorash.scheduler.job import Dispatch
from lunorash.scheduler.store import Row
from lunorash.scheduler.verdict import UNAVAILABLE_PATIENCE_MS

from .bulk import is_meant
from .company import Company
from .journal import Journal, Run
from .network import Network
from .platform import Platform
from .records import Records
from .scheduler_object import SchedulerObject
from .tables import Change, Tables

__all__ = ["Rows"]

_STEPS: Final = {
    ("pending", "pending"),  # redriven or refunded
    ("pending", "running"),
    ("pending", "canceled"),
    ("pending", "expired"),
    ("pending", "succeeded"),  # a late success
    ("pending", "dead"),  # charged for a refusal
    ("running", "pending"),
    ("running", "running"),  # a cancel was requested
    ("running", "succeeded"),
    ("running", "dead"),
    ("running", "canceled"),
    ("running", "expired"),  # its attempt was lost, and by now it is too late for another
    ("dead", "pending"),
    ("dead", "succeeded"),  # a late success
    ("expired", "succeeded"),  # a late success
}


class Rows:
    """The rows as they were after the last transaction, and what may become of them.

    Args:
        platform: whose rows.
        journal: what really ran.
        network: what was really sent.
        tables: the rows.
        steady: whether no request fails but in outages.
        sizes: the most that one dispatch carries.
        history: whether jobs that have succeeded are kept.
    """

    def __init__(
        self,
        platform: Platform[SchedulerObject],
        journal: Journal,
        network: Network,
        tables: Tables,
        *,
        steady: bool,
        sizes: BatchSizes,
        history: bool,
    ) -> None:
        self._history = history
        self._steady = steady
        self._platform = platform
        self._journal = journal
        self._last = tables.jobs
        self._claimed: dict[tuple[str, int], str] = {}
        self._first_claimed: dict[str, int] = {}
        """When its time had first come, by a clock that never jumps."""
        self._sent: dict[tuple[str, str], set[int]] = defaultdict(set)
        """Of each incarnation the attempts that were claimed, and not refunded."""
        self._refunded: set[tuple[str, str, int]] = set()
        self._fence: dict[tuple[str, str], int] = {}
        """Of canceled jobs the last attempt that may still run."""
        self._unavailable: dict[tuple[str, str], int] = {}
        self._company = Company(journal, tables, sizes)
        self._records = Records(platform.storage.rows, journal, network)
        self.gone: set[str] = set()
        """Jobs that were deleted as they should."""
        self.refused: set[str] = set()
        """Dead letters of what shards asked for, and could not have."""
        self.remembered: dict[str, int] = {}
        """Jobs without history that are only there to be known again, and until when."""
        self._succeeded: set[tuple[str, str]] = set()
        self.retries: Callable[[str], int]
        """How often each job may be tried again, as those know who asked for it."""
        self.landed = 0
        """Jobs inserted, redriven or canceled: what the outside asked for."""
        self.ended = 0
        self.succeeded: Callable[[Row], None] = lambda _: None
        """Told of every job that has become a success."""
        journal.on_cancel = self._canceled
        network.processed = self._processed
        network.closed = self._closed

    def __iter__(self) -> Iterator[Row]:
        return iter(self._last.values())

    def waiting(self) -> list[str]:
        """The jobs that have not come to rest."""
        return [row["id"] for row in self if row["state"] in ("pending", "running")]

    def committed(self, changes: Iterable[Change]) -> None:
        """Look at what the last transaction changed."""
        now = self._platform.now()
        for change in changes:
            if change.new is not None:
                self._changed(change.old, change.new, now)
            elif change.old is not None:
                self._deleted(change.old, now)

    # -- changes ---------------------------------------------------------------------------------------

    def _deleted(self, old: Row, now: int) -> None:
        name, state = old["id"], old["state"]
        self.gone.add(name)
        self.refused.discard(name)
        self._first_claimed.pop(name, None)
        if name in self.remembered:
            kept = now >= self.remembered.pop(name)
        elif old["ended"] is None or not self._history:
            kept = self._deleted_without_history(old, now)
        else:
            kept = now >= old["ended"] + (DEAD_RETENTION_MS if state == "dead" else HISTORY_MS)
        if not kept and not (state == "dead" and self._is_dropped(old)):
            self._journal.violate("no job is lost", "%s was deleted while %s", name, state)

    def _deleted_without_history(self, old: Row, now: int) -> bool:
        """Whether it may go: because it has succeeded and its call is not made again, or has rested long enough."""
        if old["ended"] is not None:
            if now >= old["ended"] + (DEAD_RETENTION_MS if old["state"] == "dead" else HISTORY_MS):
                return True
            if self._journal.outcome(old["id"], old["incarnation"], old["attempt"]) != "ok":
                return False  # else it is a late success
        if self._history or old["cancel_requested"] or old["state"] == "canceled":
            return False
        self._succeeds(old)
        return bool(old["numbered"] or now - old["created"] >= KNOWN_MS)

    def _is_dropped(self, dead: Row) -> bool:
        """Whether somebody asks for it right now."""
        scheduler = self._platform.object
        if scheduler is None or scheduler.asked is None:
            return False
        if scheduler.asked[0] == "change_many":
            return is_meant(scheduler.wanted, dead)
        return scheduler.asked == ("drop_dead", dead["id"])

    def _changed(self, old: Row | None, new: Row, now: int) -> None:
        violate = self._journal.violate
        name = new["id"]
        self._journal.note(
            "%s: %s, attempt %d, charged %d, due in %.3f s, %s %s",
            name, new["state"], new["attempt"], new["charged"], (new["due"] - now) / 1000, new["error_code"],
            new["error_message"],
        )  # fmt: skip
        if old is None:
            self.landed += 1
            self.gone.discard(name)
            asked = self._platform.object.asked if self._platform.object else None
            # a shard may hand over a job and its cancel together, or one whose id is taken
            handed = asked is not None and asked[0] == "accept"
            if handed and new["state"] == "dead" and new["error_code"] == "DUPLICATE_SCHEDULE_ID":
                self._journal.count("refused jobs of shards")
                self.refused.add(name)
                self.ended += 1
            elif new["attempt"] or (new["state"] != "pending" and not (handed and new["state"] == "canceled")):
                violate("a job begins pending", "%s begins %s", name, new["state"])
            self._begins(name, new["incarnation"])
            return
        if new["scheduled_as"] != old["scheduled_as"]:
            violate("an id is taken once", "%s was scheduled over", name)
        if (old["state"], new["state"]) not in _STEPS and (old["state"] != new["state"] or _differs(old, new)):
            violate("only allowed steps", "%s went from %s to %s", name, old["state"], new["state"])
        life = self._platform.object
        if life and life.asked and life.asked[0] == "change_many" and not is_meant(life.wanted, old):
            violate("only what is meant is changed", "%s is not: %s", name, life.wanted)
        self._numbered(old, new, now)
        self._records.accounted(new)
        if old["state"] != "running" and new["state"] == "running":
            return
        if new["state"] == "pending":
            self._waits(old, new, now)
        elif new["state"] != old["state"] or new["cancel_requested"] != old["cancel_requested"]:
            self._ends(old, new, now)

    def _begins(self, name: str, incarnation: str) -> None:
        """A job is new. Without history, one that is long forgotten may come again, and is new all the same."""
        key = name, incarnation
        if key in self._sent:
            self._journal.count("jobs that came again")
            self._journal.runs.pop(name, None)
            self._succeeded.discard(key)
            for numbers in (self._fence, self._unavailable):
                numbers.pop(key, None)
            self._refunded = {refund for refund in self._refunded if refund[:2] != key}
        self._sent[key] = set()

    def _numbered(self, old: Row, new: Row, now: int) -> None:
        claimed = (old["state"], new["state"]) == ("pending", "running")
        if claimed:
            self._company.claimed(old, new)
        if new["attempt"] != old["attempt"] + int(claimed):
            self._journal.violate(
                "attempt numbers are never reused", "%s went from #%d to #%d", new["id"], old["attempt"], new["attempt"]
            )
        if claimed:
            self._claimed[new["id"], new["attempt"]] = new["incarnation"]
            sent = self._sent[new["id"], new["incarnation"]]
            sent.add(new["attempt"])
            if max(len(sent), new["charged"]) > self.retries(new["id"]) + 1:
                self._journal.violate("attempts are limited", "%s has %s, charged %d", new["id"], sent, new["charged"])
            self._first_claimed.setdefault(new["id"], self._platform.clock.steady())
            if old["expires_at"] is not None and now >= old["expires_at"]:
                self._journal.violate("what is too late is not started", "%s is", new["id"])
            if now < old["due"]:
                self._journal.violate("never early", "%s was claimed %d ms early", new["id"], old["due"] - now)

    def _waits(self, old: Row, new: Row, now: int) -> None:
        name, key = new["id"], (new["id"], new["incarnation"])
        if old["state"] == "dead":
            self.landed += 1
            if new["incarnation"] == old["incarnation"] or new["charged"]:
                self._journal.violate("a redrive is a new incarnation", "%s kept its old one", name)
            return
        if old["state"] == "pending":
            if new["charged"] != old["charged"]:
                self._recharged(new, now)
            return
        if old["cancel_requested"]:
            self._journal.violate("a canceled job is not retried", "%s is pending again", name)
        if new["charged"] < old["charged"]:
            self._refunded.add((*key, new["attempt"]))
            self._sent[key].discard(new["attempt"])
            self._records.refunded(key)
            if self._journal.started(*key, new["attempt"]):
                self._journal.violate("what ran is not refunded", "%s #%d was", name, new["attempt"])
        else:
            self._records.recorded(new, now)
            if new["error_code"] == "IN_VAIN":
                self._journal.violate("what failed for good is not tried again", "%s is", name)
        if new["unavailable_since"] is None:
            self._unavailable.pop(key, None)
        else:
            self._unavailable.setdefault(key, now)

    def _recharged(self, new: Row, now: int) -> None:
        """The refund of a job that waits is taken back: its origin takes others."""
        self._sent[new["id"], new["incarnation"]].add(new["attempt"])
        self._records.recorded(new, now)

    def _ends(self, old: Row, new: Row, now: int) -> None:
        name, state = new["id"], new["state"]
        if state == "expired":
            self._journal.count("jobs that expired")
            if old["expires_at"] is None or now < old["expires_at"]:
                self._journal.violate("only what is too late expires", "%s did", name)
        if state in ("canceled", "running"):
            self.landed += old["state"] == "pending" or state == "running"
        elif old["cancel_requested"]:
            self._journal.violate("a canceled job ends canceled", "%s ended %s", name, state)
        if state == "succeeded":
            if new["ended"] is None and self._history:
                self._journal.violate("history is kept", "%s is only remembered", name)
            if new["ended"] is None:
                self.remembered[name] = now + KNOWN_MS
                self._journal.count("jobs that are only remembered")
            self._succeeds(new)
        if state == "dead":
            if old["state"] == "pending":
                self._recharged(new, now)
            self._dies(new, now)
        self.ended += new["ended"] is not None

    def _succeeds(self, row: Row) -> None:
        name, number = row["id"], row["attempt"]
        if self._journal.outcome(name, row["incarnation"], number) != "ok":
            self._journal.violate("only what succeeded is a success", "%s #%d did not", name, number)
        self._succeeded.add((name, row["incarnation"]))
        self.ended += row["ended"] is None
        self.succeeded(row)

    def withdrawn(self, job_id: str) -> None:
        """The object was handed the cancel of a job by a shard: no later attempt may start."""
        row = self._last.get(job_id)
        if row is not None:
            self._fence[job_id, row["incarnation"]] = row["attempt"]

    def _canceled(self, job_id: str) -> None:
        row = self._last[job_id]
        self._fence[job_id, row["incarnation"]] = row["attempt"]
        if row["state"] != "canceled" and not row["cancel_requested"]:
            self._journal.violate("what is canceled is stored", "%s is %s", job_id, row["state"])

    def _dies(self, new: Row, now: int) -> None:
        sent = self._sent[new["id"], new["incarnation"]]
        used_up = len(sent) == new["charged"] == self.retries(new["id"]) + 1
        since = self._unavailable.get((new["id"], new["incarnation"]), now)
        if new["error_code"] in ("FUNCTION_NOT_FOUND", "INVALID_INPUT"):
            used_up = now - since >= UNAVAILABLE_PATIENCE_MS
        else:
            self._records.recorded(new, now)
        if new["error_code"] == "IN_VAIN":
            self._journal.count("jobs that failed for good")
            used_up = len(sent) == new["charged"]
        if new["error_code"] == "NEVER_BEGAN" and self._steady:
            self._journal.violate("an outage kills no job", "%s died of one", new["id"])
        if not used_up:
            self._journal.violate(
                "dead only when attempts are used up",
                "%s died of %s after %s",
                new["id"],
                new["error_code"],
                sent,
            )

    # -- what runs -------------------------------------------------------------------------------------

    def starts(self, run: Run) -> None:
        """A function begins to run."""
        violate = self._journal.violate
        name, number, incarnation = run.attempt.job, run.attempt.number, run.attempt.incarnation
        # one that was refused and is tried again, is tried at once
        early = run.started < run.attempt.scheduled_for and name not in self.refused
        if early and not self._platform.clock.jumped_since(self._first_claimed.get(name, 0)):
            violate("never early", "%s ran %d ms early", name, run.attempt.scheduled_for - run.started)
        if self._claimed.get((name, number)) != incarnation:
            violate("only what was claimed runs", "%s #%d was not", name, number)
        if number > self._fence.get((name, incarnation), number):
            violate("nothing runs after it was canceled", "%s #%d does", name, number)
        if (name, incarnation, number) in self._refunded:
            violate("what is refunded never runs", "%s #%d does", name, number)
        if (name, incarnation) in self._succeeded:
            violate("what succeeded does not run again", "%s #%d does", name, number)
        for earlier in self._journal.runs.get(name, ()):
            if earlier.attempt.number == number and earlier.attempt.incarnation == incarnation:
                violate("a dispatch begins once", "%s #%d runs twice", name, number)
            if earlier.ended is None and not self._may_overlap(earlier):
                violate(
                    "attempts do not overlap", "%s #%d still runs as #%d starts", name, earlier.attempt.number, number
                )

    def _may_overlap(self, run: Run) -> bool:
        """Whether a run may go on although its lease has ended: nobody can tell it, or time has jumped."""
        return run.stubborn or run.unheard() or self._platform.clock.jumped_since(run.since)

    def _processed(self, dispatch: Dispatch, results: list[Row]) -> None:
        """The dispatch loop has read results and gone on: a success is stored now, unless it came too late."""
        sent = {attempt.job: attempt for attempt in dispatch.attempts}
        for result in results:
            row = self._last.get(result["job"])
            attempt = sent[result["job"]]
            if result["outcome"] != "ok" or row is None or row["incarnation"] != attempt.incarnation:
                continue
            if row["attempt"] == attempt.number and row["state"] not in ("succeeded", "canceled"):
                self._journal.violate(
                    "a success that arrives is stored", "%s #%d is %s", row["id"], attempt.number, row["state"]
                )

    def _closed(self, dispatch: Dispatch) -> None:
        """Its end line was read: nothing of it is left."""
        if self._platform.storage.rows.execute("SELECT 1 FROM dispatches WHERE id = ?", dispatch.id):
            self._journal.violate("what has ended is closed", "%s is not", dispatch.id)


def _differs(old: Row, new: Row) -> bool:
    return any(old[key] != new[key] for key in ("attempt", "charged", "due", "incarnation", "ended"))
