from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lunorash.http import HttpAnswer
from lunorash.scheduler import RunOptions
from lunorash.scheduler.job import Dispatch
from lunorash.scheduler.protocol import DISPATCH_PATH, encode_dispatch
from lunorash.scheduler.settings import decode_secret
from lunorash.scheduler.signing import sign
from lunorash.server import define_app

from .action_context import Context
from .scheduler_object import NOW, ORIGIN, SECRET
from .worker_app import BEARER, TARGET, Worker, refusal

pytestmark = pytest.mark.usefixtures("stopped_clock")

_KEY = decode_secret(SECRET, "SECRET")


async def _due(worker: Worker) -> Dispatch:
    await worker.schedule()
    dispatch: Dispatch = worker.object.claim_one()
    return dispatch


def _signed(
    dispatch: Dispatch,
    *,
    audience: str = ORIGIN,
    instance: str = "id-of-default",
    key: bytes = _KEY,
    at: int = NOW // 1000,
    change: Callable[[bytes], bytes] = lambda body: body,
) -> dict[str, Any]:
    body = encode_dispatch(dispatch, audience=audience, instance=instance)
    return {"headers": sign(dispatch.id, at, body, key), "body": change(body)}


async def _lines(answer: HttpAnswer) -> list[dict[str, Any]]:
    assert answer.stream is not None
    written: list[bytes] = []

    async def write(line: bytes) -> None:
        written.append(line)

    await answer.stream(write)
    return [json.loads(line) for line in b"".join(written).splitlines()]


async def test_a_dispatch_begins_runs_and_is_answered_in_lines() -> None:
    worker = Worker()
    answer = await worker.answer("POST", DISPATCH_PATH, **_signed(await _due(worker)))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert worker.ran == []
    results, end = await _lines(answer)
    assert [(result["job"], result["attempt"], result["outcome"]) for result in results["results"]] == [("j", 1, "ok")]
    assert end == {"type": "end"}
    assert worker.ran == [("j", {"a": 1})]


async def test_a_probe_begins_and_runs_nothing() -> None:
    worker = Worker()
    await _due(worker)
    worker.object.engine.sever("d1", "refused", NOW)
    probe = worker.object.claim_one()
    assert probe.attempts == ()
    answer = await worker.answer("POST", DISPATCH_PATH, **_signed(probe))
    assert await _lines(answer) == [{"type": "end"}]
    assert worker.ran == []


async def test_while_secrets_rotate_both_are_taken() -> None:
    other = "whsec_" + "B" * 43 + "="
    for current, previous in ((SECRET, other), (other, SECRET)):
        worker = Worker(LUNORA_SCHEDULER_SECRET=current, LUNORA_SCHEDULER_SECRET_PREVIOUS=previous)
        answer = await worker.answer("POST", DISPATCH_PATH, **_signed(await _due(worker)))
        assert answer.status == 200


async def test_a_function_may_schedule_through_its_context() -> None:
    worker = Worker()

    async def chain(ctx: Context) -> None:
        await ctx.scheduler.run_after(0, TARGET, {}, RunOptions(id="next"))

    worker.app = define_app().scheduler(namespace=lambda env: env.SCHEDULER).functions({TARGET: chain}).build()
    await worker.app.scheduler(worker.env).run_after(0, TARGET, {}, RunOptions(id="j"))
    await _lines(await worker.answer("POST", DISPATCH_PATH, **_signed(worker.object.claim_one())))
    assert await worker.app.scheduler(worker.env).get("next") is not None


@pytest.mark.parametrize(
    ("request_of", "words"),
    [
        (lambda dispatch: {**_signed(dispatch), "headers": {}}, "not signed"),
        (lambda dispatch: {**_signed(dispatch), "headers": BEARER}, "not signed"),
        (lambda dispatch: _signed(dispatch, key=bytes(32)), "signature"),
        (lambda dispatch: _signed(dispatch, change=lambda body: body + b" "), "signature"),
        (lambda dispatch: _signed(dispatch, at=NOW // 1000 - 301), "300 seconds"),
        (lambda dispatch: _signed(dispatch, at=NOW // 1000 + 301), "300 seconds"),
        (lambda dispatch: _signed(dispatch, audience="https://evil.example.com"), "another origin"),
        (lambda dispatch: _signed(dispatch, audience=ORIGIN + "/"), "another origin"),
        (lambda dispatch: _signed(dispatch, instance="id-of-another"), "the scheduler says no"),
        (lambda dispatch: _signed(dispatch, instance="nonsense"), "not ours"),
        (lambda dispatch: _signed(Dispatch(id="d999", attempts=dispatch.attempts)), "the scheduler says no"),
    ],
    ids=[
        "unsigned", "bearer", "wrong key", "tampered", "stale", "early",
        "audience", "slash", "instance", "no id", "unknown",
    ],
)  # fmt: skip
async def test_a_dispatch_that_is_not_what_it_should_be_is_refused_and_nothing_runs(
    request_of: Callable[[Dispatch], dict[str, Any]], words: str
) -> None:
    worker = Worker()
    dispatch = await _due(worker)
    answer = await worker.json("POST", DISPATCH_PATH, **request_of(dispatch))
    assert refusal(answer) == (403, "DISPATCH_UNAUTHENTICATED")
    assert words in answer[1]["error"]["message"]
    assert worker.ran == []
    assert worker.object.engine.begin(dispatch.id, NOW), "it should still be waiting for the real one"


async def test_a_replayed_dispatch_is_refused() -> None:
    worker = Worker()
    request = _signed(await _due(worker))
    await _lines(await worker.answer("POST", DISPATCH_PATH, **request))
    assert refusal(await worker.json("POST", DISPATCH_PATH, **request)) == (403, "DISPATCH_UNAUTHENTICATED")
    assert len(worker.ran) == 1


async def test_a_dispatch_that_comes_after_its_lease_is_refused() -> None:
    worker = Worker()
    request = _signed(await _due(worker))
    worker.object.now += 60_000
    assert refusal(await worker.json("POST", DISPATCH_PATH, **request)) == (403, "DISPATCH_UNAUTHENTICATED")
    assert worker.ran == []


@pytest.mark.parametrize("body", [b"{}", b"null", b"[" * 8_000, b'{"version": 2}'], ids=lambda body: body[:12].decode())
async def test_a_well_signed_body_that_is_no_dispatch_is_a_bad_request(body: bytes) -> None:
    worker = Worker()
    headers = sign("d1", NOW // 1000, body, _KEY)
    assert refusal(await worker.json("POST", DISPATCH_PATH, headers=headers, body=body)) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("name", ["LUNORA_SCHEDULER_SECRET", "LUNORA_ORIGIN_URL"])
async def test_a_worker_that_is_not_set_up_runs_nothing(name: str) -> None:
    good = Worker()
    request = _signed(await _due(good))
    worker = Worker(**{name: None})
    status, told = await worker.json("POST", DISPATCH_PATH, **request)
    assert status == 500
    assert name in told["error"]["message"]
    assert worker.ran == []
