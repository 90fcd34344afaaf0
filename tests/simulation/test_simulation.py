"""Seeds that must pass, and what makes a seed worth something: it replays."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .__main__ import main
from .journal import Journal
from .virtual_loop import Deadlock, VirtualLoop
from .world import World

SEEDS = range(300)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    ran = [World(seed) for seed in SEEDS]
    for world in ran:
        world.run()
    return ran


def test_no_seed_breaks_a_promise(worlds: list[World]) -> None:
    failed = [world for world in worlds if world.journal.violation is not None]
    assert not failed, f"seeds {[world.seed for world in failed]} fail; the first of them:\n{failed[0].report()}"


def test_the_seeds_reach_everything(worlds: list[World]) -> None:
    """Each kind of event happens often enough for its invariants to mean something."""
    counts: Counter[str] = Counter()
    for world in worlds:
        counts.update(world.journal.counts)
    assert {world.faults.mood for world in worlds} == {"calm", "crashes", "network", "outage", "crowd", "mixed"}
    for event in (
        "lives",
        "crashes",
        "isolate crashes",
        "dispatches",
        "firings",
        "starts",
        "starts in a pool",
        "pool changes",
        "jobs in company",
    ):
        assert counts[event] > 1_000, (event, counts)


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
    assert main(["0"]) == 0
    assert "seed 0: nothing was broken" in capsys.readouterr().out


def test_no_file_grows_too_long() -> None:
    for file in Path(__file__).parent.glob("*.py"):
        assert len(file.read_text().splitlines()) <= 400, file.name


async def _wait(loop: VirtualLoop) -> None:
    await loop.create_future()


async def _nothing() -> None:
    return
