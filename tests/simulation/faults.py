"""What goes wrong, and when: everything that chance decides about the world, drawn from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final, Literal

from lunorash.scheduler.job import Dispatch

__all__ = ["EPOCH_MS", "Fate", "Faults", "Outage", "OutageKind"]

EPOCH_MS: Final = 1_800_000_000_000
"""When every simulation begins."""

HOUR_S: Final = 3600.0
DAY_S: Final = 24 * HOUR_S

OutageKind = Literal["refused", "lost", "forbidden", "html", "redirect", "unconfigured"]
_OUTAGES: Final[tuple[OutageKind, ...]] = ("refused", "lost", "forbidden", "html", "redirect", "unconfigured")

_MOODS: Final = (
    *("calm",) * 2,
    *("crashes",) * 4,
    *("network",) * 4,
    *("outage",) * 3,
    "crowd",
    *("mixed",) * 6,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time in which no dispatch comes through."""

    kind: OutageKind
    start: float
    end: float


@dataclass(slots=True, kw_only=True)
class Fate:
    """What the network does to one request and to its answer."""

    refused: str | None = None
    """Why no good answer comes, although the request may have been delivered."""
    delivered: bool = True
    delay: float = 0.02
    copy_after: float | None = None
    """When a second copy of the request arrives."""
    withhold: float = 0.0
    """How long the headers of the answer are held back."""
    cut_after: int | None = None
    """The write at which the stream is cut, in the middle of a line."""
    cut_loudly: bool = False
    silent_after: int | None = None
    """The write from which on nothing comes through."""
    swallows: bool = False
    """When silent: writes complete although nothing comes through."""
    hold: float = 0.0
    """For so long after it was sent, what is answered is held up, though writes complete."""
    garbage_at: int | None = None
    split: bool = False


@dataclass(slots=True)
class Faults:
    """The faults of one simulation.

    Args:
        seed: decides everything.
    """

    seed: int
    random: random.Random = field(init=False)
    quiet: bool = False
    """Set at the end: nothing goes wrong any more."""
    mood: str = field(init=False)
    horizon: float = field(init=False)
    jobs: int = field(init=False)
    outages: list[Outage] = field(init=False, default_factory=list)
    crash_every: float = field(init=False, default=0)
    kill_every: float = field(init=False, default=0)
    isolate_kill_every: float = field(init=False, default=0)
    deploy_every: float = field(init=False, default=0)
    network_trouble: float = field(init=False, default=0)
    call_trouble: float = field(init=False, default=0)
    alarm_trouble: float = field(init=False, default=0)
    _treachery: Literal["none", "waiting", "blinked"] = field(init=False, default="none")
    """Of an outage that begins where it hurts most, just as an origin has proved well after a blip."""
    _until_crash: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        self.random = random.Random(f"faults {self.seed}")  # noqa: S311 - it has to replay
        draw = self.random
        self.mood = draw.choice(_MOODS)
        self.horizon = draw.choice((600.0, HOUR_S, 6 * HOUR_S, DAY_S))
        self.jobs = draw.randint(4, 16)
        mixed = self.mood == "mixed"
        if self.mood == "crashes" or (mixed and draw.random() < 0.6):
            self.crash_every = draw.choice((12, 40, 150))
            self.kill_every = draw.choice((0, self.horizon / 5, self.horizon / 40))
            self.isolate_kill_every = draw.choice((0, self.horizon / 5, self.horizon / 40))
        if self.mood == "network" or (mixed and draw.random() < 0.6):
            self.network_trouble = draw.choice((0.1, 0.3, 0.7))
            self.call_trouble = draw.choice((0, 0.05, 0.3))
        if self.mood == "outage" or (mixed and draw.random() < 0.4):
            self._plan_outages()
        if self.mood == "crowd":
            self.jobs = draw.choice((40, 160))
            self.horizon = 600.0
        if mixed or self.mood == "crowd":
            self.alarm_trouble = draw.choice((0, 0.05, 0.3))
            self.deploy_every = draw.choice((0, 0, 300, 4 * HOUR_S))
        self._next_crash()

    @property
    def steady(self) -> bool:
        """Whether nothing fails but in outages."""
        return not (self.network_trouble or self.crash_every or self.kill_every or self.deploy_every)

    def _plan_outages(self) -> None:
        draw = self.random
        if draw.random() < 0.5:
            start = draw.uniform(0, 1200)
            length = draw.choice((DAY_S, *(2 * HOUR_S,) * 5))
            if draw.random() < 0.5:
                self._treachery = "waiting"
                self.horizon = length + HOUR_S
                return
            self.outages = [Outage(kind=draw.choice(_OUTAGES), start=start, end=start + length)]
            self.horizon = start + length + HOUR_S
            return
        at = 0.0
        for _ in range(draw.randint(1, 5)):
            start = at + draw.expovariate(1 / 300)
            at = start + draw.choice((2.0, 40.0, 300.0, HOUR_S))
            self.outages.append(Outage(kind=draw.choice(_OUTAGES), start=start, end=at))

    def outage(self, now: float) -> Outage | None:
        """The outage there is now."""
        if self.quiet:
            return None
        return next((outage for outage in self.outages if outage.start <= now < outage.end), None)

    def crash_here(self) -> bool:
        """Whether the object crashes at this very point."""
        if self.quiet or self.crash_every == 0:
            return False
        self._until_crash -= 1
        if self._until_crash > 0:
            return False
        self._next_crash()
        return True

    def _next_crash(self) -> None:
        if self.crash_every:
            self._until_crash = 1 + int(self.random.expovariate(1 / self.crash_every))

    def chance(self, probability: float) -> bool:
        """Whether something goes wrong that does so with this probability."""
        return not self.quiet and probability > 0 and self.random.random() < probability

    def wait(self, mean: float) -> float:
        """A random wait, at least a little."""
        return 0.001 + self.random.expovariate(1 / mean)

    def latency(self) -> float:
        """How long a message takes."""
        if self.chance(self.call_trouble):
            return self.random.choice((0.2, 2.0, 8.0)) * self.random.random()
        return 0.001 + 0.01 * self.random.random()

    def lateness(self) -> float:
        """How late an alarm goes off."""
        if self.chance(self.alarm_trouble):
            return self.random.choice((0.5, 4.0, 30.0, HOUR_S)) * self.random.random()
        return 0.005 * self.random.random()

    def fate(self, now: float, dispatch: Dispatch) -> Fate:
        """What becomes of a request that is sent now."""
        fate = Fate(delay=self.latency())
        last = any(attempt.charged > attempt.max_attempts for attempt in dispatch.attempts)
        if self._treachery == "waiting" and last and not self.quiet:
            self._treachery = "blinked"
            self._suffer(fate, "refused")
            return fate
        if self._treachery == "blinked" and last:
            self._treachery = "none"
            self.outages.append(Outage(kind="refused", start=now, end=now + self.horizon / 2))
        outage = self.outage(now)
        if outage is not None:
            self._suffer(fate, outage.kind)
        elif self.chance(self.network_trouble):
            self._trouble(fate)
        return fate

    def _suffer(self, fate: Fate, kind: OutageKind) -> None:
        if kind != "forbidden":
            fate.delivered = False
        if kind in ("refused", "html", "redirect"):
            fate.refused = kind

    def _trouble(self, fate: Fate) -> None:
        draw = self.random
        fate.split = draw.random() < 0.5
        match draw.randrange(12):
            case 0:
                fate.delivered = False
                fate.refused = "refused"
            case 1:
                fate.delivered = False
            case 2:  # the answer is lost, or comes before the request has arrived
                fate.refused = "reset"
                fate.delay = draw.choice((0.0, 0.1, 20.0)) * draw.random()
            case 3:
                fate.withhold = draw.uniform(10, 40)
            case 4:
                fate.cut_after = draw.randint(0, 4)
                fate.cut_loudly = draw.random() < 0.5
            case 5:
                fate.silent_after = draw.randint(0, 4)
                fate.swallows = draw.random() < 0.3
            case 6:
                fate.garbage_at = draw.randint(0, 3)
            case 7 | 8:
                # past the lease, and yet before the silence is noticed
                fate.hold = draw.choice((draw.uniform(1, 60), draw.uniform(60, 74)))
                fate.withhold = draw.uniform(0, 14.5)
            case _:
                fate.copy_after = draw.choice((0.0, 0.05, 5.0, 90.0, HOUR_S)) * draw.random()
