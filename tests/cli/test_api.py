from __future__ import annotations

import socket
from typing import Any

import pytest

from lunorash.cli.api import Api
from lunorash.errors import LunoraError

from .conftest import Lunora
from .worker_server import Scripted

PATH = "/_lunora/admin/v1/scheduled/status"
GET = f"GET {PATH}"


def _refusal(scripted: Scripted, told: Any) -> LunoraError:
    scripted.answers[GET] = told
    with Api(scripted.url, "token") as api, pytest.raises(LunoraError) as raised:
        api.get(PATH)
    return raised.value


def test_an_answer_is_an_object(scripted: Scripted) -> None:
    scripted.answers[GET] = {"a": [1, 1.0, 2**63]}
    with Api(scripted.url + "/", "token") as api:
        assert api.get(PATH, q="a b&c") == {"a": [1, 1.0, 2**63]}
    assert scripted.asked[0].query == {"q": "a b&c"}
    assert scripted.asked[0].headers["authorization"] == "Bearer token"


def test_the_workers_error_comes_through(scripted: Scripted) -> None:
    error = _refusal(scripted, (409, {}, b'{"error": {"code": "TAKEN", "message": "why", "data": {"id": "j"}}}'))
    assert (error.code, error.message, error.status, error.data) == ("TAKEN", "why", 409, {"id": "j"})


@pytest.mark.parametrize(
    "told",
    [
        (200, {}, b"<html>"),
        (200, {}, b""),
        (200, {}, b"[1]"),
        (200, {}, b"[" * 9000),
        (200, {}, b'{"a": NaN}'),
        (204, {}, b""),
        (404, {}, b"not found"),
        (500, {}, b'{"error": "text"}'),
        (500, {}, b'{"error": {"code": "HALF"}}'),
        (502, {}, b"[]"),
    ],
)
def test_what_is_not_lunoras_is_said_to_be_so(scripted: Scripted, told: Any) -> None:
    assert _refusal(scripted, told).code == "BAD_ANSWER"


def test_a_redirect_takes_the_token_nowhere(scripted: Scripted) -> None:
    error = _refusal(scripted, (302, {"location": f"{scripted.url}/elsewhere"}, b""))
    assert error.code == "BAD_ANSWER"
    assert "answered 302" in error.message
    assert scripted.paths == [GET]


def test_an_answer_without_end_is_cut_off(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lunorash.cli.api._MAX_BYTES", 1000)
    assert "larger than" in _refusal(scripted, {"a": "x" * 1000}).message


def test_nobody_there(lunora: Lunora) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = lunora("jobs", "list", "--url", f"http://localhost:{port}")
    assert done.status == 1
    assert f"WORKER_UNREACHABLE: nothing answers at http://localhost:{port}" in done.err
    assert "lunora dev" in done.err
    assert "Traceback" not in done.err


def test_somebody_who_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://localhost:{silent.getsockname()[1]}"
        with Api(url, "token") as api, pytest.raises(LunoraError) as raised:
            api.post("/run", {}, wait_s=0.05)
    assert raised.value.code == "WORKER_UNREACHABLE"
    assert "gave no answer within 0.05 s; what was asked for may have happened" in raised.value.message
