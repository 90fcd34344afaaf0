"""The one alarm of a Durable Object: whether the platform has to be told anything.

The engine says when it wants to wake; nothing else calls setAlarm. What is known to be armed is kept in
memory only, and forgotten whenever it may be wrong, so that a stale value never keeps an object asleep
(cloudflare/workerd#6396, cloudflare/cloudflare-docs#18324).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["Alarm"]

_LATE_MS: Final = 5_000
"""An alarm this long overdue was lost. Sooner it is merely on its way, and setting it again would push it back."""

_EARLY_MS: Final = 30_000
"""An alarm at most this much too early is left: one idle pass is cheaper than moving it at every heartbeat."""


class Alarm:
    """Arms the object's alarm.

    Args:
        set_alarm: sets it to an epoch time in ms; called inside the transaction that changed the rows, so
            that it stands exactly if they do.
        delete_alarm: takes it away.
    """

    def __init__(self, set_alarm: Callable[[int], object], delete_alarm: Callable[[], object]) -> None:
        self._set = set_alarm
        self._delete = delete_alarm
        self._armed: int | None = None
        self._known = False

    @property
    def armed(self) -> int | None:
        """When the alarm stands, as far as this object knows."""
        return self._armed

    def arm(self, wanted: int | None, now: int) -> None:
        """Make the alarm stand at ``wanted``, or not at all for None.

        It is never set to the present: an alarm set to now inside alarm() is cleared locally, and late or
        lost in production (cloudflare/workerd#6866).
        """
        if wanted is None:
            if self._armed is not None or not self._known:
                self._delete()
            self._armed, self._known = None, True
            return
        wanted = max(wanted, now + 1)
        if self._armed is not None and not self.lost(now) and wanted - _EARLY_MS <= self._armed <= wanted:
            return
        self._set(wanted)
        self._armed, self._known = wanted, True

    def fired(self) -> None:
        """The alarm went off: none stands until it is armed again."""
        self._armed, self._known = None, True

    def forget(self) -> None:
        """A transaction was undone, and with it perhaps the alarm: trust nothing."""
        self._armed, self._known = None, False

    def lost(self, now: int) -> bool:
        """Whether the alarm should have gone off long ago, or may not stand at all."""
        return not self._known or (self._armed is not None and self._armed < now - _LATE_MS)
