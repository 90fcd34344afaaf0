"""The simulation can fail: each bug that is planted into the scheduler is found."""

from __future__ import annotations

from itertools import islice

import pytest

from .__main__ import main
from .planted import SEEDS, find
from .planted import main as plant
from .planted_bugs import BUGS
from .scenario import Scenario
from .shrinking import shrink
from .world import World


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    assert find(bug) is not None, f"no seed of {len(SEEDS)} finds it"


def test_the_command_line_says_which_seed_finds_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert plant(["--only", "leases are not renewed", "--processes", "1"]) == 0
    assert capsys.readouterr().out.startswith("leases are not renewed ")


def test_a_failing_seed_is_cut_down_to_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    BUGS["an attempt is counted when it ends"](monkeypatch)
    assert main(["--seeds", "8", "--processes", "2"]) == 1
    shown = capsys.readouterr().out
    assert "breaks: what is charged is accounted for: " in shown
    command = shown.strip().splitlines()[-1].removeprefix("replay it with: python -m tests.simulation ")
    assert "--jobs 1" in command
    assert main(command.split()) == 1
    assert "breaks: what is charged is accounted for: " in capsys.readouterr().out


def test_a_fault_that_it_takes_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["begin says yes twice"](monkeypatch)
    spared = 0
    for seed in islice((seed for seed in SEEDS if World(seed).run()), 3):
        whole, least = World(seed), shrink(Scenario(seed))
        whole.run()
        assert least.journal.violation is not None
        assert whole.journal.violation is not None
        assert least.journal.violation.invariant == whole.journal.violation.invariant
        assert sum(least.faults.happened.values()) < sum(whole.faults.happened.values())
        assert "network-duplication" not in least.scenario.without
        spared += len(whole.clients.plans) - len(least.clients.plans)
    assert spared > 0  # of one of them it may take even the last job
