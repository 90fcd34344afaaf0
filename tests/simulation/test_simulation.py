"""Seeds that must pass, and what makes a seed worth something: it replays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from .__main__ import main
from .faults import KINDS, MOODS, Kind
from .journal import Journal
from .scenario import Scenario
from .shrinking import shrink
from .virtual_loop import Deadlock, VirtualLoop
from .world import World

SEEDS = range(500)
OFTEN: Final = 1_000
SOMETIMES: Final = 40


@dataclass(frozen=True)
class Outcome:
    """What is kept of a world."""

    seed: int
    mood: str
    report: str | None
    counts: Counter[str]


def _simulated(seed: int) -> Outcome:
    world = World(seed)
    broken = world.run() is not None
    counts = world.journal.counts + world.faults.happened
    return Outcome(seed, world.faults.mood, world.report() if broken else None, counts)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [_simulated(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def counts(outcomes: list[Outcome]) -> Counter[str]:
    return sum((outcome.counts for outcome in outcomes), Counter())


def test_no_seed_breaks_a_promise(outcomes: list[Outcome]) -> None:
    failed = [outcome for outcome in outcomes if outcome.report is not None]
    if failed:
        least = shrink(Scenario(failed[0].seed)).report()
        pytest.fail(f"seeds {[outcome.seed for outcome in failed]} fail; the least of the first of them:\n{least}")


@pytest.mark.parametrize(
    "event",
    [
        "lives of the object",
        "crashes of the object",
        "isolate crashes",
        "dispatches",
        "firings of the object",
        "starts",
        "starts in a pool",
        "pool changes",
        "jobs in company",
    ],
)
def test_the_seeds_reach_everything(event: str, counts: Counter[str]) -> None:
    """Each kind of event happens often enough for its invariants to mean something."""
    assert counts[event] > OFTEN


@pytest.mark.parametrize(
    "event",
    [
        "mutations in company",
        "questions in company",
        "calls of schedule_many",
        "calls of enqueue_many",
        "calls of cancel_many",
        "calls of dead_retry_many",
        "calls of dead_drop_many",
        "jobs that are only remembered",
    ],
)
def test_the_seeds_reach_what_is_rare(event: str, counts: Counter[str]) -> None:
    assert counts[event] > SOMETIMES


@pytest.mark.parametrize("event", ["refused jobs of shards", "jobs that came again"])
def test_the_seeds_reach_what_hardly_ever_happens(event: str, counts: Counter[str]) -> None:
    assert counts[event] > 0


def test_the_seeds_have_every_mood(outcomes: list[Outcome]) -> None:
    assert {outcome.mood for outcome in outcomes} == set(MOODS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_happens(kind: Kind, counts: Counter[str]) -> None:
    assert counts[kind] > SOMETIMES


@pytest.mark.parametrize(
    "where",
    [
        *(
            f"crash {where}"
            for where in (
                "before a commit",
                "after a commit",
                "as the alarm goes off",
                "before a dispatch is sent",
                "as the headers come",
                "while a stream is read",
                "as a stream is closed",
                "before begin",
                "before the answer to begin",
                "before accept",
                "before the answer to accept",
                "before schedule",
                "before the answer to schedule",
                "before schedule_many",
                "before the answer to schedule_many",
                "before the answer to enqueue",
                "before the answer to change_many",
            )
        ),
        *(
            f"shard-crash {where}"
            for where in (
                "before a commit",
                "after a commit",
                "before mutate",
                "before the answer to mutate",
            )
        ),
    ],
)
def test_there_is_a_crash_at_every_await_and_edge_of_a_transaction(where: str, counts: Counter[str]) -> None:
    assert counts[where] > 0


@pytest.mark.parametrize("seed", [2, 3, 7, 11])
def test_a_seed_replays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    traces: list[list[str]] = []
    note = Journal.note

    def keep(self: Journal, text: str, *args: object) -> None:
        note(self, text, *args)
        traces[-1].append(f"{self.clock()} {text % args}")

    monkeypatch.setattr(Journal, "note", keep)
    for _ in range(2):
        traces.append([])
        World(seed).run()
    assert len(traces[0]) > 50
    assert traces[0] == traces[1]


def test_a_loop_in_which_nothing_can_happen_any_more_says_so() -> None:
    loop = VirtualLoop(lambda _: None)
    loop.create_task(_wait(loop))
    with pytest.raises(Deadlock):
        loop.run_forever()
    loop.run_until_complete(_nothing())
    loop.close()


def test_the_command_line_replays_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "0"]) == 0
    assert "seed 0: nothing was broken" in capsys.readouterr().out


def test_no_file_grows_too_long() -> None:
    for file in Path(__file__).parent.glob("*.py"):
        assert len(file.read_text().splitlines()) <= 400, file.name


async def _wait(loop: VirtualLoop) -> None:
    await loop.create_future()


async def _nothing() -> None:
    return
