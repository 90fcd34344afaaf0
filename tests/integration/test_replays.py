"""Jobs whose answer was cut off after they had done their work: the next attempt finds it done."""

from __future__ import annotations

from tests.integration.client import Client, wait_for


def test_a_mutation_that_committed_is_not_run_again_when_its_answer_was_cut(
    relayed: Client, cut_off: dict[str, str]
) -> None:
    names = [name for name in cut_off if name not in ("workflow", "agent")]
    assert len(names) == 2
    for name in names:
        record = relayed.wait(cut_off[name], "succeeded", within=60)
        assert (record["attempts"], record["charged"]) == (2, 2)
        assert [failure["code"] for failure in record["failures"]] == ["OUTCOME_UNKNOWN"]
        (effect,) = relayed.effects(name)
        assert (effect["job"], effect["attempt"]) == (cut_off[name], 1)
        # what it has booked ran once too
        wait_for(lambda name=name: relayed.effects(f"{name} more"), "the job that it booked", 50)  # type: ignore[misc]
        assert len(relayed.effects(f"{name} more")) == len(relayed.booked(f"{name} more")) == 1


def test_a_workflow_and_an_agent_that_were_started_are_not_started_again(
    relayed: Client, cut_off: dict[str, str]
) -> None:
    for kind in ("workflow", "agent"):
        assert relayed.wait(cut_off[kind], "succeeded", within=60)["charged"] == 2
        runs = [entry["job"] for entry in relayed.journal() if entry["event"] == f"{kind} cut off"]
        assert runs == [cut_off[kind]]
