"""The soak in its short form: one `kill -9`, and every job is accounted for."""

from __future__ import annotations

import sys

from tests.soak.soak import soak

SEED = 20_261_130


def test_jobs_survive_a_kill_and_records_and_journal_agree() -> None:
    """`make soak` does it for minutes, with many kills and a seed of its own."""
    outcome = soak(
        seconds=22, seed=SEED, kill_between=(15, 18), most=800, say=lambda line: print(line, file=sys.stderr)
    )
    print(outcome.report)
    assert outcome.violations == []
    assert outcome.report["kills"] == 1
    assert outcome.report["recorded"] > 0
    # it was a soak: there was something of everything
    assert {"succeeded", "canceled"} <= set(outcome.report["states"])
    assert outcome.report["effects"] > 0
    assert {"start", "end", "failed"} <= set(outcome.report["action_events"])
