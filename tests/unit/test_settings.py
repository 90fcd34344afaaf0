from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.settings import (
    MIN_SECRET_BYTES,
    check_settings,
    decode_secret,
    read_batch_sizes,
    read_log,
    read_origin,
    read_retention,
    read_secrets,
)


def _secret(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


_GOOD = _secret(bytes(range(32)))
_PREVIOUS = _secret(bytes(range(40)))


def _env(**variables: Any) -> SimpleNamespace:
    return SimpleNamespace(**variables)


# -- the origin ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "origin"),
    [
        ("https://app.example.com", "https://app.example.com"),
        ("https://app.example.com/", "https://app.example.com"),
        ("  https://app.example.com\n", "https://app.example.com"),
        ("http://localhost:8787", "http://localhost:8787"),
        ("http://127.0.0.1:8787/", "http://127.0.0.1:8787"),
        ("http://[::1]:8787", "http://[::1]:8787"),
    ],
)
def test_an_origin_is_read_without_its_trailing_slash(value: str, origin: str) -> None:
    assert read_origin(_env(LUNORA_ORIGIN_URL=value)) == origin


@pytest.mark.parametrize(
    "variables", [{}, {"LUNORA_ORIGIN_URL": ""}, {"LUNORA_ORIGIN_URL": " \n"}, {"LUNORA_ORIGIN_URL": None}]
)
def test_without_an_origin_the_error_names_the_variable_and_where_to_set_it(variables: dict[str, Any]) -> None:
    with pytest.raises(LunoraError) as raised:
        read_origin(_env(**variables))
    assert raised.value.code == "ORIGIN_NOT_CONFIGURED"
    assert raised.value.status == 500
    for word in ("LUNORA_ORIGIN_URL", ".dev.vars", "wrangler.jsonc"):
        assert word in raised.value.message


@pytest.mark.parametrize(
    "value",
    [
        "app.example.com",
        "//app.example.com",
        "ftp://app.example.com",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://app.example.com/app",
        "https://app.example.com//",
        "https://app.example.com?x=1",
        "https://app.example.com?",
        "https://app.example.com/?",
        "https://app.example.com#x",
        "https://app.example.com#",
        "https://app.example.com/#",
        "https://user@app.example.com",
        "https://@app.example.com",
        "https://app.example.com:99999",
        "https://app.example.com:port",
        "https://app.exam ple.com",
        "https://app.example.com\thttps://b.example.com",
        "https://app.example.com\\path",
        "https://[::1",
        "https://a.example.com,https://b.example.com",
        "x" * 100_000,
    ],
    ids=lambda value: value[:50],
)
def test_what_is_no_origin_is_refused_with_the_rule(value: str) -> None:
    with pytest.raises(LunoraError, match=r"it must be an origin, such as https://app\.example\.com") as raised:
        read_origin(_env(LUNORA_ORIGIN_URL=value))
    assert raised.value.code == "ORIGIN_INVALID"
    assert len(raised.value.message) < 300


def test_a_password_in_the_origin_is_never_shown() -> None:
    with pytest.raises(LunoraError) as raised:
        read_origin(_env(LUNORA_ORIGIN_URL="https://user:hunter2@app.example.com"))
    assert "hunter2" not in str(raised.value)


# -- the secrets ---------------------------------------------------------------------------------------------


def test_the_current_secret_comes_first_then_the_previous_one() -> None:
    assert read_secrets(_env(LUNORA_SCHEDULER_SECRET=_GOOD)) == [bytes(range(32))]
    both = _env(LUNORA_SCHEDULER_SECRET=f" {_GOOD}\n", LUNORA_SCHEDULER_SECRET_PREVIOUS=_PREVIOUS)
    assert read_secrets(both) == [bytes(range(32)), bytes(range(40))]


@pytest.mark.parametrize("previous", ["", " ", None])
def test_an_empty_previous_secret_is_none(previous: str | None) -> None:
    assert len(read_secrets(_env(LUNORA_SCHEDULER_SECRET=_GOOD, LUNORA_SCHEDULER_SECRET_PREVIOUS=previous))) == 1


@pytest.mark.parametrize(
    "variables", [{}, {"LUNORA_SCHEDULER_SECRET": ""}, {"LUNORA_SCHEDULER_SECRET_PREVIOUS": _PREVIOUS}]
)
def test_without_a_secret_the_error_names_the_variable_and_how_to_make_one(variables: dict[str, str]) -> None:
    with pytest.raises(LunoraError) as raised:
        read_secrets(_env(**variables))
    assert raised.value.code == "SCHEDULER_SECRET_NOT_CONFIGURED"
    assert raised.value.status == 500
    for word in ("LUNORA_SCHEDULER_SECRET", "openssl rand", ".dev.vars"):
        assert word in raised.value.message


_BAD_SECRETS = [
    base64.b64encode(bytes(32)).decode(),
    "whsec_",
    "whsec_short",
    "WHSEC_" + _GOOD.removeprefix("whsec_"),
    _secret(bytes(MIN_SECRET_BYTES - 1)),
    _GOOD.rstrip("="),
    _GOOD + "!",
    _GOOD.replace("A", "\n", 1),
    "whsec_" + "ä" * 50,
    "whsec_whsec_" + _GOOD.removeprefix("whsec_"),
    "hunter2-hunter2-hunter2-hunter2-hunter2",
]


@pytest.mark.parametrize("secret", _BAD_SECRETS)
@pytest.mark.parametrize("name", ["LUNORA_SCHEDULER_SECRET", "LUNORA_SCHEDULER_SECRET_PREVIOUS"])
def test_a_weak_or_malformed_secret_is_refused_by_name_and_never_shown(secret: str, name: str) -> None:
    with pytest.raises(LunoraError) as raised:
        read_secrets(_env(**{"LUNORA_SCHEDULER_SECRET": _GOOD, name: secret}))
    assert raised.value.code == "SCHEDULER_SECRET_INVALID"
    assert raised.value.status == 500
    assert name + " must be" in raised.value.message
    if len(secret) > len("whsec_"):
        assert secret not in raised.value.message


@given(st.binary(min_size=MIN_SECRET_BYTES, max_size=100))
def test_every_key_of_enough_bytes_is_read_back(key: bytes) -> None:
    assert decode_secret(_secret(key), "NAME") == key


@given(st.binary(max_size=MIN_SECRET_BYTES - 1))
def test_no_shorter_key_is_taken(key: bytes) -> None:
    with pytest.raises(LunoraError, match="at least 32 random bytes"):
        decode_secret(_secret(key), "NAME")


# -- batches and history -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "sizes"),
    [
        ({}, BatchSizes(mutations=50, actions=6)),
        ({"LUNORA_BATCH_MUTATIONS": " ", "LUNORA_BATCH_ACTIONS": ""}, BatchSizes(mutations=50, actions=6)),
        ({"LUNORA_BATCH_MUTATIONS": "1"}, BatchSizes(mutations=1, actions=6)),
        ({"LUNORA_BATCH_MUTATIONS": " 50\n", "LUNORA_BATCH_ACTIONS": "1"}, BatchSizes(mutations=50, actions=1)),
        ({"LUNORA_BATCH_ACTIONS": 3}, BatchSizes(mutations=50, actions=3)),
    ],
)
def test_the_sizes_of_batches_are_read(variables: dict[str, Any], sizes: BatchSizes) -> None:
    assert read_batch_sizes(_env(**variables)) == sizes


@pytest.mark.parametrize(
    "value", ["0", "7", "-1", "06", "1.5", "1e0", "six", "\u0663", 0, 7, True, 1.5, [], "9" * 10_000]
)
def test_a_size_that_cannot_be_is_refused_with_the_range(value: Any) -> None:
    env = _env(LUNORA_ORIGIN_URL="https://a.example", LUNORA_SCHEDULER_SECRET=_GOOD, LUNORA_BATCH_ACTIONS=value)
    with pytest.raises(LunoraError, match=r"LUNORA_BATCH_ACTIONS is .*from 1 to 6") as raised:
        check_settings(env)
    assert raised.value.code == "BATCH_SIZE_INVALID"
    assert len(raised.value.message) < 300


_DAY = 86_400_000


@pytest.mark.parametrize(
    ("value", "days"),
    [(None, 7), ("", 7), ("keep", 7), (" keep\n", 7), ("30d", 30), ("24h", 1), ("1440m", 1), ("3650d", 3_650)],
)
def test_history_is_kept_for_as_long_as_it_is_said(value: str | None, days: int) -> None:
    retention = read_retention(_env(LUNORA_HISTORY=value))
    assert (retention.history_ms, retention.succeeded_ms, retention.unsuccessful_ms) == (days * _DAY,) * 3
    assert (retention.history_limit, retention.dead_ms) == (100_000, 90 * _DAY)


@pytest.mark.parametrize("value", ["off", "none", "0", 0])
def test_without_history_only_what_has_not_succeeded_is_kept(value: object) -> None:
    retention = read_retention(_env(LUNORA_HISTORY=value))
    assert (retention.history_ms, retention.succeeded_ms, retention.unsuccessful_ms) == (0, 600_000, 7 * _DAY)


def test_dead_letters_and_the_size_of_the_history_are_settings_of_their_own() -> None:
    retention = read_retention(_env(LUNORA_DEAD_RETENTION="12h", LUNORA_HISTORY_LIMIT=1_000_000))
    assert (retention.dead_ms, retention.history_limit, retention.history_ms) == (_DAY // 2, 1_000_000, 7 * _DAY)
    assert read_retention(_env(LUNORA_HISTORY_LIMIT="1")).history_limit == 1


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        *(
            ("LUNORA_HISTORY", value, "off, or a time from 10m to 3650d")
            for value in (
                "Off",
                "7",
                "9m",
                "3651d",
                "-1d",
                "7 d",
                "1.5d",
                "7d\u0663",
                "\u0663d",
                "07d",
                "9" * 5_000,
            )
        ),
        ("LUNORA_HISTORY", True, "off, or a time"),
        ("LUNORA_HISTORY", [], "off, or a time"),
        ("LUNORA_DEAD_RETENTION", 7, "a time from 10m"),
        ("LUNORA_HISTORY_LIMIT", 0, "a whole number"),
        ("LUNORA_HISTORY_LIMIT", 1.5, "a whole number"),
        *(
            ("LUNORA_DEAD_RETENTION", value, "a time from 10m to 3650d, such as 90m, 12h or 30d")
            for value in ("off", "0", "0d", "599s", "7w")
        ),
        *(
            ("LUNORA_HISTORY_LIMIT", value, "a whole number from 1 to 1,000,000")
            for value in ("0", "-1", "1e3", "1000001", "9999999", "ten", "\u0663")
        ),
    ],
)
def test_a_retention_that_cannot_be_is_refused_with_the_rule(name: str, value: Any, rule: str) -> None:
    env = _env(LUNORA_ORIGIN_URL="https://a.example", LUNORA_SCHEDULER_SECRET=_GOOD, **{name: value})
    with pytest.raises(LunoraError) as raised:
        check_settings(env)
    assert raised.value.code == ("DEAD_RETENTION_INVALID" if "DEAD" in name else "HISTORY_INVALID")
    assert raised.value.message.startswith(f"{name} is ")
    assert rule in raised.value.message
    assert len(raised.value.message) < 300


@pytest.mark.parametrize(
    ("value", "level"), [(None, "all"), ("", "all"), (" all\n", "all"), ("problems", "problems"), ("off", "off")]
)
def test_the_log_tells_all_unless_it_is_said(value: str | None, level: str) -> None:
    assert read_log(_env(LUNORA_LOG=value)) == level


@pytest.mark.parametrize("value", ["ALL", "none", "0", "all off", "debug"])
def test_another_word_for_the_log_is_refused_before_anything_is_scheduled(value: str) -> None:
    env = _env(LUNORA_ORIGIN_URL="https://a.example", LUNORA_SCHEDULER_SECRET=_GOOD, LUNORA_LOG=value)
    with pytest.raises(LunoraError, match="problems") as raised:
        check_settings(env)
    assert raised.value.code == "LOG_INVALID"
