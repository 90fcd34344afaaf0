from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.refs import AgentReference, FunctionReference, WorkflowReference
from lunorash.scheduler import QueueCall, QueueWorkpool, create_queue_workpool
from lunorash.scheduler.queue_message import read_message

from .scheduler_object import NOW


async def process_row(ctx: Any, row_id: int) -> None: ...


TABLE = FunctionTable({"imports:process_row": process_row})
REFERENCE: FunctionReference[Any] = FunctionReference("imports:process_row", kind="action", internal=True)


class _Queue:
    """The binding of a queue, as strict as the platform."""

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self.broken_from = 1_000_000

    async def sendBatch(self, messages: list[dict[str, Any]]) -> None:  # noqa: N802 - the platform's name
        assert 1 <= len(messages) <= 100
        sizes = [len(message["body"].encode()) + 100 for message in messages]
        assert max(sizes) <= 128_000
        assert sum(sizes) <= 256_000
        for message in messages:
            assert message["contentType"] == "text"
            delay = message.get("delaySeconds", 0)
            assert isinstance(delay, int)
            assert 0 <= delay <= 86_400
        if len(self.batches) >= self.broken_from:
            raise ConnectionError("a text of the platform")
        self.batches.append(messages)

    @property
    def sent(self) -> list[dict[str, Any]]:
        return [message for batch in self.batches for message in batch]


def _pool(queue: _Queue, **more: Any) -> QueueWorkpool:
    return QueueWorkpool(queue, now=lambda: NOW, **more)


async def _refused(code: str, call: Callable[[QueueWorkpool], Any]) -> LunoraError:
    """What is refused is refused before anything is sent."""
    queue = _Queue()
    with pytest.raises(LunoraError) as raised:
        await call(_pool(queue, catalog=TABLE))
    assert raised.value.code == code, raised.value
    assert queue.batches == []
    return raised.value


async def test_a_call_becomes_one_message() -> None:
    queue = _Queue()
    await _pool(queue).enqueue(REFERENCE, {"row_id": 7}, shard_key="tenant")
    (message,) = queue.sent
    assert set(message) == {"body", "contentType"}, "without a delay the queue's own holds"
    read = read_message(message["body"])
    assert (read.target, read.args, read.due, read.shard_key) == ("imports:process_row", {"row_id": 7}, NOW, "tenant")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("imports:process_row", "imports:process_row"),
        (WorkflowReference("onboarding", "WORKFLOW_ONBOARDING"), "workflows.onboarding"),
        (AgentReference("support", "AGENT_SUPPORT"), "agents.support"),
    ],
)
async def test_every_kind_of_target_can_be_enqueued(target: Any, text: str) -> None:
    queue = _Queue()
    await _pool(queue).enqueue(target)
    assert read_message(queue.sent[0]["body"]).target == text


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        (0, None),
        (0.0, None),
        (timedelta(0), None),
        (1, 1),
        (0.001, 1),
        (timedelta(microseconds=1), 1),
        (1_000, 1),
        (1_001, 2),
        (1_000.5, 2),
        (timedelta(minutes=1), 60),
        (86_400_000, 86_400),
        (86_399_001, 86_400),
        (timedelta(hours=24), 86_400),
    ],
)
async def test_a_delay_is_rounded_up_to_whole_seconds(delay: Any, seconds: int | None) -> None:
    queue = _Queue()
    await _pool(queue).enqueue(REFERENCE, {"row_id": 7}, delay=delay)
    assert queue.sent[0].get("delaySeconds") == seconds


async def test_a_call_knows_when_it_was_to_run() -> None:
    queue = _Queue()
    await _pool(queue).enqueue(REFERENCE, {"row_id": 7}, delay=1_500)
    assert read_message(queue.sent[0]["body"]).due == NOW + 1_500


@pytest.mark.parametrize("delay", [86_400_001, 86_400_000.5, timedelta(hours=24, microseconds=1), timedelta(days=14)])
async def test_a_longer_delay_points_to_run_after(delay: Any) -> None:
    error = await _refused("INVALID_INPUT", lambda pool: pool.enqueue(REFERENCE, {"row_id": 7}, delay=delay))
    assert "a queue keeps a message back for 24 h at most. Use ctx.scheduler.run_after" in error.message


@pytest.mark.parametrize(
    "delay", [-1, -0.5, float("nan"), float("inf"), "5", None, True, timedelta(seconds=-1), timedelta.max, 10**400]
)
async def test_what_is_no_delay_is_refused(delay: Any) -> None:
    await _refused("INVALID_INPUT", lambda pool: pool.enqueue(REFERENCE, {"row_id": 7}, delay=delay))


@pytest.mark.parametrize(
    ("code", "target", "args", "more"),
    [
        ("INVALID_INPUT", "no path", {}, {}),
        ("INVALID_INPUT", None, {}, {}),
        ("FUNCTION_NOT_FOUND", "imports:process_rows", {}, {}),
        ("INVALID_INPUT", REFERENCE, {"row": 7}, {}),
        ("INVALID_INPUT", REFERENCE, [7], {}),
        ("INVALID_INPUT", REFERENCE, {"row_id": object()}, {}),
        ("INVALID_INPUT", REFERENCE, {"row_id": 7}, {"shard_key": ""}),
        ("INVALID_INPUT", REFERENCE, {"row_id": 7}, {"shard_key": "k" * 257}),
        ("INVALID_INPUT", REFERENCE, {"row_id": 7}, {"shard_key": 7}),
        ("PAYLOAD_TOO_LARGE", AgentReference("support", "S"), {"text": "x" * 128_000}, {}),
        ("PAYLOAD_TOO_LARGE", AgentReference("support", "S"), {"text": "x" * 1_000_001}, {}),
    ],
)
async def test_a_bad_call_is_refused_at_the_door(code: str, target: Any, args: Any, more: Any) -> None:
    single = await _refused(code, lambda pool: pool.enqueue(target, args, **more))
    good = QueueCall(REFERENCE, {"row_id": 7})
    many = await _refused(code, lambda pool: pool.enqueue_many([good, QueueCall(target, args, **more), good]))
    assert many.message == f"calls[1]: {single.message}"


@pytest.mark.parametrize("call", ["imports:process_row", (REFERENCE, {"row_id": 7}), None, {"target": REFERENCE}])
async def test_only_queue_calls_are_taken_many_at_a_time(call: Any) -> None:
    error = await _refused("INVALID_INPUT", lambda pool: pool.enqueue_many([call]))
    assert error.message.startswith("calls[0] is ")
    assert error.message.endswith("it must be QueueCall(target, args)")


async def test_no_calls_are_no_messages() -> None:
    queue = _Queue()
    await _pool(queue).enqueue_many([])
    await _pool(queue).enqueue_many(iter(()))
    assert queue.batches == []


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ([10] * 100, [100]),
        ([10] * 101, [100, 1]),
        ([10] * 250, [100, 100, 50]),
        ([127_900] * 3, [2, 1]),
        ([2_460] * 100, [100]),
        ([2_461] * 100, [99, 1]),
        ([127_900, 10, 127_900, 10], [2, 2]),
    ],
)
async def test_calls_are_sent_in_as_few_batches_as_the_platform_takes(sizes: list[int], batches: list[int]) -> None:
    queue = _Queue()
    await _pool(queue).enqueue_many(_calls_of(sizes))
    assert [len(batch) for batch in queue.batches] == batches


@given(st.lists(st.integers(0, 127_900), max_size=130))
async def test_every_call_is_sent_once_and_in_order(sizes: list[int]) -> None:
    queue = _Queue()
    calls = _calls_of(sizes)
    await _pool(queue).enqueue_many(calls)
    assert [read_message(message["body"]).args for message in queue.sent] == [call.args for call in calls]


def _calls_of(sizes: list[int]) -> list[QueueCall]:
    """Calls whose messages have these sizes, or the smallest that a message can have."""
    empty = len('{"version": 1, "target": "m:f", "due": 1800000000000, "shard_key": null, "args": {"n":"000","x":""}}')
    return [
        QueueCall("m:f", {"n": f"{number:03}", "x": "x" * max(0, size - empty)}) for number, size in enumerate(sizes)
    ]


async def test_a_queue_that_stops_taking_them_is_told_with_what_was_sent() -> None:
    queue = _Queue()
    queue.broken_from = 2
    with pytest.raises(LunoraError) as raised:
        await _pool(queue).enqueue_many(_calls_of([10] * 250))
    error = raised.value
    assert (error.code, error.status, error.data) == ("QUEUE_UNAVAILABLE", 503, {"sent": 200})
    assert error.message.startswith("the queue did not take the messages (ConnectionError); 200 of 250 were sent")
    assert "a text of the platform" not in error.message
    assert isinstance(error.__cause__, ConnectionError)


@pytest.mark.parametrize("queue", [None, "imports", object(), {"sendBatch": 1}])
def test_without_the_binding_of_a_queue_there_is_no_pool(queue: Any) -> None:
    with pytest.raises(LunoraError, match=r"no binding of a queue; bind one in wrangler\.jsonc") as raised:
        create_queue_workpool(queue=queue)
    assert raised.value.code == "QUEUE_NOT_CONFIGURED"
    assert "imports'" not in raised.value.message, "what is given may be a secret"


async def test_a_pool_that_was_created_is_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lunorash.scheduler.queue_workpool.time.time", lambda: NOW / 1000)
    queue = _Queue()
    await create_queue_workpool(queue=queue, catalog=TABLE).enqueue("imports:process_row", {"row_id": 7})
    assert read_message(queue.sent[0]["body"]).due == NOW
