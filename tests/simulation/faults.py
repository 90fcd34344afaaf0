"""What goes wrong, and when: everything that chance decides about the world, drawn from one seed.

Each kind of fault has randomness of its own, so that leaving one out changes nothing about the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from random import Random
from typing import Final, Literal, get_args

from lunorash.scheduler.job import Dispatch

__all__ = ["EPOCH_MS", "KINDS", "MOODS", "Fate", "Faults", "Kind", "Outage", "OutageKind", "Window"]

EPOCH_MS: Final = 1_800_000_000_000
"""When every simulation begins."""

HOUR_S: Final = 3600.0
DAY_S: Final = 24 * HOUR_S

Kind = Literal[
    "crash",  # the object dies at an await, or at the edge of a transaction
    "kill",  # it dies at any moment
    "shard-crash",  # a shard dies at such an edge
    "isolate-kill",
    "deploy",  # everything is replaced at once
    "old-version",  # for a while some isolates run the version before
    "outage",  # no dispatch comes through
    "network-refusal",
    "network-loss",  # of a request, or of its answer
    "network-delay",
    "network-reordering",  # a request is overtaken by those sent after it, or by its own refusal
    "network-duplication",
    "network-cut",  # the stream of an answer ends too early
    "network-silence",  # it neither ends nor goes on
    "network-garbage",  # lines that no receiver writes, or that are about other attempts
    "call-loss",  # a call to an object or its answer is lost
    "call-delay",
    "late-alarm",
    "clock-jump",  # all clocks go forward or back by an hour
    "clock-apart",  # for a while, the Worker's is an hour ahead or behind
    "handler-hang",
    "handler-kill",  # a function takes its isolate down
    "handler-garbage",  # a function returns or raises what no program can use
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

OutageKind = Literal["refused", "lost", "forbidden", "html", "redirect", "unconfigured"]
_OUTAGES: Final[tuple[OutageKind, ...]] = ("refused", "lost", "forbidden", "html", "redirect", "unconfigured")

MOODS: Final = (
    *("calm",) * 2,
    *("crashes",) * 4,
    *("network",) * 4,
    *("outage",) * 3,
    *("clocks",) * 2,
    "crowd",
    *("mixed",) * 6,
)

_TROUBLES: Final[tuple[Kind, ...]] = (
    "network-refusal",
    "network-loss",
    "network-loss",
    "network-reordering",
    "network-delay",
    "network-delay",
    "network-delay",
    "network-cut",
    "network-silence",
    "network-garbage",
    *("network-duplication",) * 3,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time in which something is otherwise than usual."""

    start: float
    end: float

    def holds(self, now: float) -> bool:
        """Whether it is now."""
        return self.start <= now < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage(Window):
    """A time in which no dispatch comes through."""

    kind: OutageKind


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
    garbage: int = 0
    """Which garbage."""
    split: bool = False


@dataclass(slots=True)
class Faults:
    """The faults of one simulation.

    Args:
        seed: decides everything.
        without: kinds of faults that do not happen.
    """

    seed: int
    without: Collection[Kind] = ()
    random: Random = field(init=False)
    quiet: bool = False
    """Set at the end: nothing goes wrong any more."""
    mood: str = field(init=False)
    horizon: float = field(init=False)
    jobs: int = field(init=False)
    outages: list[Outage] = field(init=False, default_factory=list)
    rollouts: list[Window] = field(init=False, default_factory=list)
    """Gradual deploys: while one lasts, ever fewer of the isolates that start run the version before it."""
    apart: Window | None = field(init=False, default=None)
    """When the Worker's clock is not the object's."""
    crash_every: float = field(init=False, default=0)
    kill_every: float = field(init=False, default=0)
    isolate_kill_every: float = field(init=False, default=0)
    deploy_every: float = field(init=False, default=0)
    jump_every: float = field(init=False, default=0)
    network_trouble: float = field(init=False, default=0)
    call_trouble: float = field(init=False, default=0)
    alarm_trouble: float = field(init=False, default=0)
    happened: Counter[str] = field(init=False, default_factory=Counter)
    """How often each kind has; and crashes also by where."""
    _treachery: Literal["none", "waiting", "blinked"] = field(init=False, default="none")
    """Of an outage that begins where it hurts most, just as an origin has proved well after a blip."""
    _draws: dict[str, Random] = field(init=False, default_factory=dict)
    _until_crash: dict[Kind, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(f"faults {self.seed}")  # noqa: S311 - it has to replay
        draw = self.random
        self.mood = draw.choice(MOODS)
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
            self.deploy_every = draw.choice((0, 0, self.horizon / 30, self.horizon / 4))
        if self.mood == "clocks" or (mixed and draw.random() < 0.3):
            self._plan_clocks()
        if self.mood != "calm":
            self.rollouts = [self._window(0.25 * self.horizon) for _ in range(2)]
        if "outage" in self.without:
            self.outages, self._treachery = [], "none"

    @property
    def steady(self) -> bool:
        """Whether nothing fails but in outages."""
        return not (
            self.network_trouble
            or self.crash_every
            or self.kill_every
            or self.deploy_every
            or self.jump_every
            or self.apart
        )

    def _plan_outages(self) -> None:
        draw = self.random
        if draw.random() < 0.5:
            start = draw.uniform(0, 1200)
            # seldom a day of it: each hour is like the one before, and takes sixty probes
            length = draw.choice((DAY_S, *(2 * HOUR_S,) * 3, *(HOUR_S,) * 8, *(HOUR_S / 3,) * 8))
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

    def _plan_clocks(self) -> None:
        self.jump_every = self.horizon / self.random.choice((2, 6, 20))
        if self.random.random() < 0.5 and "clock-apart" not in self.without:
            self.apart = self._window(min(0.2 * self.horizon, HOUR_S / 2))

    def _window(self, length: float) -> Window:
        start = self.random.uniform(0, self.horizon)
        return Window(start=start, end=start + length)

    # -- what happens ----------------------------------------------------------------------------------

    def struck(self, kind: Kind) -> None:
        """Count a fault that has taken effect."""
        self.happened[kind] += 1

    def chance(self, kind: Kind, probability: float) -> bool:
        """Whether something goes wrong that does so with this probability."""
        return not self.quiet and probability > 0 and self._draw(kind).random() < probability and self._may(kind)

    def _may(self, kind: Kind) -> bool:
        return not self.quiet and kind not in self.without

    def _draw(self, kind: str) -> Random:
        if kind not in self._draws:
            self._draws[kind] = Random(f"{kind} {self.seed}")  # noqa: S311 - it has to replay
        return self._draws[kind]

    def outage(self, now: float) -> Outage | None:
        """The outage there is now."""
        if self.quiet:
            return None
        return next((outage for outage in self.outages if outage.holds(now)), None)

    def old_version(self, now: float) -> bool:
        """Whether an isolate that starts now runs the version before."""
        window = next((rollout for rollout in self.rollouts if rollout.holds(now)), None)
        return window is not None and self.chance("old-version", (window.end - now) / (window.end - window.start))

    def clocks_apart(self, now: float) -> bool:
        """Whether the Worker's clock shows another time than the object's."""
        return not self.quiet and self.apart is not None and self.apart.holds(now)

    def jump_ms(self) -> int:
        """How far all clocks jump, if they do; else 0."""
        if not self._may("clock-jump"):
            return 0
        self.struck("clock-jump")
        return int(self._draw("clock-jump").choice((-HOUR_S, HOUR_S, -60, 60)) * 1000)

    def crash_here(self, kind: Kind, where: str) -> bool:
        """Whether an object crashes at this very point."""
        if self.quiet or self.crash_every == 0:
            return False
        left = self._until_crash.get(kind)
        if left is None:
            left = self._next_crash(kind)
        self._until_crash[kind] = left - 1
        if left > 1:
            return False
        self._until_crash[kind] = self._next_crash(kind)
        if not self._may(kind):
            return False
        self.struck(kind)
        self.happened[f"{kind} {where}"] += 1
        return True

    def _next_crash(self, kind: Kind) -> int:
        return 1 + int(self._draw(kind).expovariate(1 / self.crash_every))

    def wait(self, mean: float, kind: str = "waits") -> float:
        """A random wait, at least a little."""
        return 0.001 + self._draw(kind).expovariate(1 / mean)

    def latency(self) -> float:
        """How long a message takes."""
        draw = self._draw("call-delay")
        if self.chance("call-delay", self.call_trouble):
            self.struck("call-delay")
            return draw.choice((0.2, 2.0, 8.0)) * draw.random()
        return 0.001 + 0.01 * self.random.random()

    def lateness(self) -> float:
        """How late an alarm goes off."""
        draw = self._draw("late-alarm")
        if self.chance("late-alarm", self.alarm_trouble):
            self.struck("late-alarm")
            return draw.choice((0.5, 4.0, 30.0, HOUR_S)) * draw.random()
        return 0.005 * self.random.random()

    # -- the network -----------------------------------------------------------------------------------

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
        elif not self.quiet and self.network_trouble > 0 and self._draw("network").random() < self.network_trouble:
            kind = self._draw("network").choice(_TROUBLES)
            if self._may(kind):
                self._trouble(fate, kind)
        return fate

    def _suffer(self, fate: Fate, kind: OutageKind) -> None:
        self.struck("outage")
        if kind != "forbidden":
            fate.delivered = False
        if kind in ("refused", "html", "redirect"):
            fate.refused = kind

    def _trouble(self, fate: Fate, kind: Kind) -> None:
        draw = self._draw(kind)
        fate.split = draw.random() < 0.5
        match kind:
            case "network-refusal":
                fate.delivered = False
                fate.refused = "refused"
            case "network-loss":
                if draw.random() < 0.5:
                    fate.delivered = False
                else:
                    fate.refused = "reset"
                    fate.delay = draw.choice((0.0, 0.1)) * draw.random()
            case "network-reordering":
                fate.refused = draw.choice(("reset", None))
                fate.delay = draw.choice((0.1, 6.0, 20.0)) * draw.random()
            case "network-delay":
                if draw.random() < 0.33:
                    fate.withhold = draw.uniform(10, 40)
                else:
                    # past the lease, and yet before the silence is noticed
                    fate.hold = draw.choice((draw.uniform(1, 60), draw.uniform(60, 74)))
                    fate.withhold = draw.uniform(0, 14.5)
            case "network-cut":
                fate.cut_after = draw.choice((0, 0, 1, 2, 4))
                fate.cut_loudly = draw.random() < 0.5
                return
            case "network-silence":
                fate.silent_after = draw.choice((0, 0, 1, 2, 4))
                fate.swallows = draw.random() < 0.3
                return
            case "network-garbage":
                fate.garbage_at = draw.choice((0, 0, 1, 2, 3))
                fate.garbage = draw.randrange(100)
                return
            case "network-duplication":
                fate.copy_after = draw.choice((0.0, 0.05, 5.0, 90.0, HOUR_S)) * draw.random()
        self.struck(kind)  # those above count when the stream has come so far
