from __future__ import annotations

import io
import sys

import pytest

from lunorash.codec import MAX_ARGS_BYTES

from .conftest import Lunora
from .worker_server import Scripted

RUN = "POST /_lunora/admin/v1/run"


def test_a_function_is_called_and_its_value_shown(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[RUN] = {"value": {"gone": 2, "who": "Ada"}}
    arguments = [
        "presence:sweep",
        '{"room_id": "lobby", "since": 1.0, "big": 36893488147419103232}',
        "--shard",
        "rooms",
    ]
    done = lunora("run", *arguments, "--url", scripted.url)
    assert (done.status, done.err) == (0, "")
    assert done.out == '{\n  "gone": 2,\n  "who": "Ada"\n}\n'
    assert scripted.asked[0].json == {
        "path": "presence:sweep",
        "args": {"room_id": "lobby", "since": 1.0, "big": 2**65},
        "shard_key": "rooms",
    }
    assert '"since": 1.0' in scripted.asked[0].body.decode()


def test_programs_get_the_value_even_if_it_is_nothing(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[RUN] = {"value": None}
    done = lunora("run", "presence:sweep", "--url", scripted.url, "--format", "json")
    assert (done.status, done.json) == (0, {"value": None})
    assert scripted.asked[0].json == {"path": "presence:sweep", "args": {}}


def test_arguments_may_come_by_stdin(lunora: Lunora, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted.answers[RUN] = {"value": 1}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO('{"who": "Ænne"}'.encode())))
    assert lunora("run", "m:f", "-", "--url", scripted.url).status == 0
    assert scripted.asked[0].json["args"] == {"who": "Ænne"}


@pytest.mark.parametrize("text", ["{", "[1]", "1", "{'a': 1}", '{"a": NaN}', "[" * 9000, "\udcff", ""])
@pytest.mark.parametrize("way", ["argument", "stdin"])
def test_arguments_that_are_no_json_object_are_refused_at_the_door(
    lunora: Lunora, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, text: str, way: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode(errors="surrogateescape"))))
    done = lunora("run", "m:f", text if way == "argument" else "-", "--url", scripted.url)
    assert done.status == 2
    assert "Invalid value for ARGS" in done.err
    assert scripted.asked == []


def test_arguments_that_are_too_large_are_refused_at_the_door(
    lunora: Lunora, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": "' + b"x" * MAX_ARGS_BYTES + b'"}')))
    done = lunora("run", "m:f", "-", "--url", scripted.url)
    assert done.status == 2
    assert "more than 1,000,000 bytes" in done.err


@pytest.mark.parametrize("path", ["sweep", "presence.sweep", "presence:", "../x:y", "m:f:g", ""])
def test_what_is_no_path_is_refused_at_the_door(lunora: Lunora, scripted: Scripted, path: str) -> None:
    done = lunora("run", path, "--url", scripted.url)
    assert done.status == 2
    assert "is not a function path" in done.err
    assert scripted.asked == []


def test_a_function_that_fails(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[RUN] = (402, {}, b'{"error": {"code": "CARD_DECLINED", "message": "no funds"}}')
    done = lunora("run", "m:f", "--url", scripted.url)
    assert (done.status, done.out, done.err) == (1, "", "lunora: CARD_DECLINED: no funds\n")
    scripted.answers[RUN] = {}
    assert "BAD_ANSWER" in lunora("run", "m:f", "--url", scripted.url).err
