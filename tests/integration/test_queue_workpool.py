"""The queue workpool on a real queue: one retry, then the dead-letter queue."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.integration.client import Client, wait_for

FIRST_RETRY_S = (24, 30)
"""30 s, of which the jitter may take a fifth."""
STRAYS: list[dict[str, Any]] = [
    {"body": {"hello": "there"}, "contentType": "json"},
    {"body": "hello there", "contentType": "text"},
    {"body": "[" * 60_000, "contentType": "text"},
    {"body": '{"version": 1, "target": "queued:note", "args": [7]}', "contentType": "text"},
]


def events(client: Client, event: str) -> list[dict[str, Any]]:
    return [entry for entry in client.journal() if entry["event"] == event]


def deliveries(client: Client, message_id: str) -> list[int]:
    """The attempts of a message that the Worker was given."""
    return [entry["attempt"] for entry in client.journal(message_id) if entry["event"] == "delivered by imports"]


def dead_letters(client: Client) -> set[str]:
    """The ids of the messages that went to the dead-letter queue."""
    return {entry["job"] for entry in events(client, "dead")}


def enqueue(client: Client, target: str, args: dict[str, Any], **more: Any) -> None:
    client.value("action", "queued:enqueue", {"target": target, "args": args, **more})


@pytest.fixture(scope="module")
def failing(shared: Client) -> Client:
    """A Worker with calls in its queue that fail at once, and again half a minute later."""
    shared.arm({"shard": "queue-crash", "point": "answering"})
    calls: list[dict[str, Any]] = [
        {"target": "queued:fail", "args": {"tag": "with a code"}},
        {"target": "queued:fail", "args": {"tag": "unexpectedly", "unexpectedly": True}},
        {"target": "ledger:effect", "args": {"tag": "once"}, "shard": "queue-crash"},
        {"target": "queued:nobody_knows", "args": {"tag": "secret-1"}},
        {"target": "queued:note", "args": {"tog": "secret-2"}},
        {"target": "queued:note", "args": {"tag": "a good neighbour"}},
    ]
    shared.value("action", "queued:enqueue_many", {"calls": calls})
    return shared


def test_a_call_runs_once_as_nobody(failing: Client) -> None:
    client = failing
    enqueue(client, "queued:note", {"tag": "plain", "value": [1.0, 2**63, "é\0"]})
    (noted,) = wait_for(
        lambda: events(client, f"noted plain None {[1.0, 2**63, 'é' + chr(0)]!r}"), "a run", 10, client.journal
    )
    assert noted["attempt"] == 1
    assert deliveries(client, noted["job"]) == [1]


def test_many_calls_are_sent_in_batches_and_each_runs_once(failing: Client) -> None:
    client = failing
    calls = [
        {"target": "ledger:effect", "args": {"tag": f"many {number}"}, "shard": "queue-many"} for number in range(230)
    ]
    client.value("action", "queued:enqueue_many", {"calls": calls})
    effects = wait_for(
        lambda: (found := client.effects("many %", "queue-many")) and len(found) >= 230 and found,
        "230 effects",
        40,
        lambda: len(client.effects("many %", "queue-many")),
    )
    assert sorted(effect["tag"] for effect in effects) == sorted(str(call["args"]["tag"]) for call in calls)  # type: ignore[index]
    assert len({effect["job"] for effect in effects}) == 230
    assert {(effect["incarnation"], effect["attempt"], effect["user_id"]) for effect in effects} == {("queue", 1, None)}


def test_without_the_binding_the_error_says_how_to_get_it(failing: Client) -> None:
    client = failing
    status, code, message = client.error("action", "queued:enqueue_nowhere")
    assert (status, code) == (500, "BINDING_MISSING")
    assert message.startswith("the environment has no NOWHERE: declare the binding")
    status, code, message = client.error("action", "queued:enqueue_elsewhere")
    assert (status, code) == (400, "QUEUE_NOT_CONFIGURED")
    assert "bind one in wrangler.jsonc" in message


def test_nothing_at_all_is_fine(failing: Client) -> None:
    client = failing
    client.value("action", "queued:enqueue_many", {"calls": []})


def test_the_largest_messages_are_taken_and_larger_ones_refused(failing: Client) -> None:
    """What we let through the queue takes, message by message and batch by batch."""
    client = failing
    envelope = len(
        '{"version": 1, "target": "queued:note", "due": 1796083200000, "shard_key": null, '
        '"args": {"tag":"","value":"x"}}'
    )
    room = 127_900 - envelope
    calls = [{"target": "queued:note", "args": {"tag": str(n) * room, "value": "x"}} for n in range(3)]
    client.value("action", "queued:enqueue_many", {"calls": calls})
    for n in range(3):
        wait_for(lambda n=n: events(client, f"noted {str(n) * 194}"), "the large call to run", 10)  # type: ignore[misc]

    calls[1]["args"]["tag"] += "1"  # type: ignore[index]
    status, code, message = client.error("action", "queued:enqueue_many", {"calls": calls})
    assert (status, code) == (413, "PAYLOAD_TOO_LARGE")
    assert message.startswith("calls[1]: the message for 'queued:note' takes 127,901 bytes; a queue takes 127,900.")


def test_a_delay_is_kept_and_rounded_up_to_seconds(failing: Client) -> None:
    client = failing
    began = time.time() * 1000
    enqueue(client, "queued:note", {"tag": "later"}, delay_ms=1_200)
    (noted,) = wait_for(lambda: events(client, "noted later None None"), "the delay", 15, client.journal)
    assert noted["at"] - began >= 2_000
    refused = client.error(
        "action", "queued:enqueue", {"target": "queued:note", "args": {"tag": "never"}, "delay_ms": 24 * 3_600_000 + 1}
    )
    assert refused[1] == "INVALID_INPUT"
    assert "24 h" in refused[2]
    assert "run_after" in refused[2]


def test_a_workflow_and_an_agent_start_an_instance_named_after_the_message(failing: Client) -> None:
    client = failing
    client.value("action", "queued:enqueue_errands", {"tag": "queued"})
    for kind in ("workflow", "agent"):
        (entry,) = wait_for(lambda kind=kind: events(client, f"{kind} queued"), kind, 20, client.journal)  # type: ignore[misc]
        assert deliveries(client, entry["job"]) == [1]


def test_what_is_not_ours_goes_to_the_dead_letters_unseen(failing: Client) -> None:
    client = failing
    before = {entry["job"] for entry in client.journal()}
    client.value("action", "queued:send", {"messages": STRAYS})
    client.value("action", "queued:send_what_json_cannot_say")

    def dead() -> set[str]:
        return dead_letters(client) - before

    ids = wait_for(lambda: len(dead()) == len(STRAYS) + 3 and dead(), "dead letters", 20, client.journal)
    assert all(deliveries(client, message_id) == [1, 2] for message_id in ids)
    lines = [line for line in client.worker.log_lines() if "it is no call that can be run" in line]
    assert len(lines) == 2 * len(ids)
    assert sum("its body is not text" in line for line in lines) == 2 * 4
    assert not any("hello" in line for line in client.worker.log_lines())


@pytest.mark.parametrize(("tag", "code"), [("with a code", "IMPORT_FAILED"), ("unexpectedly", "INTERNAL")])
def test_a_failing_call_is_tried_again_later_and_becomes_a_dead_letter(failing: Client, tag: str, code: str) -> None:
    client = failing
    first, second = wait_for(
        lambda: len(found := events(client, f"failing {tag}")) == 2 and found, "two attempts", 60, client.journal
    )
    assert (first["job"], first["attempt"], second["attempt"]) == (second["job"], 1, 2)
    assert FIRST_RETRY_S[0] <= (second["at"] - first["at"]) / 1000 <= FIRST_RETRY_S[1] + 15
    message_id = first["job"]
    wait_for(lambda: message_id in dead_letters(client), "the dead letter", 15, client.journal)
    assert deliveries(client, message_id) == [1, 2]
    client.worker.wait_for_log(
        rf"the message {message_id} of the queue imports goes back for \d+ s, or to the dead letters: "
        rf"'queued:fail' failed at attempt 1 with '{code}'"
    )


def test_a_mutation_that_committed_unheard_is_delivered_again_and_applied_once(failing: Client) -> None:
    client = failing
    (effect,) = wait_for(lambda: client.effects("once", "queue-crash"), "the effect", 10)
    message_id = effect["job"]
    wait_for(lambda: deliveries(client, message_id) == [1, 2], "the second delivery", 60, client.journal)
    client.worker.wait_for_log(rf"message {message_id} .* failed at attempt 1 with 'SHARD_UNAVAILABLE'")
    # a message that comes after it has been dealt with, so it has been too
    enqueue(client, "queued:note", {"tag": "afterwards"})
    wait_for(lambda: events(client, "noted afterwards None None"), "the message behind it", 10, client.journal)
    assert client.effects("once", "queue-crash") == [effect]
    assert (effect["incarnation"], effect["attempt"]) == ("queue", 1)
    assert message_id not in dead_letters(client)


def test_a_call_that_this_deployment_cannot_run_waits_like_one_that_failed(failing: Client) -> None:
    client = failing
    for target, code in (("queued:nobody_knows", "FUNCTION_NOT_FOUND"), ("queued:note", "INVALID_INPUT")):
        line = client.worker.wait_for_log(
            rf"goes back for \d+ s, .*: '{target}' failed at attempt 2 with '{code}'", timeout=60
        )
        assert line
    wait_for(lambda: events(client, "noted a good neighbour None None"), "their neighbour", 10, client.journal)
    assert not any("secret" in line for line in client.worker.log_lines())
