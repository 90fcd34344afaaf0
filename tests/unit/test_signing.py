from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.scheduler.signing import TOLERANCE_S, sign, verify

_NOW = 1_800_000_000
_KEY = bytes(range(32))
_OTHER = bytes(range(1, 33))
_BODY = b'{"attempts": []}'
_IDS = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_-", min_size=1, max_size=40)
_KEYS = st.binary(min_size=32, max_size=64)


def _theirs(key: bytes) -> standardwebhooks.Webhook:
    return standardwebhooks.Webhook("whsec_" + base64.b64encode(key).decode())


def _refusal(
    headers: dict[str, str], body: bytes = _BODY, *, keys: tuple[bytes, ...] = (_KEY,), now: int = _NOW
) -> str:
    with pytest.raises(LunoraError) as raised:
        verify(headers, body, keys, now)
    assert raised.value.code == "DISPATCH_UNAUTHENTICATED"
    assert raised.value.status == 403
    return raised.value.message


# -- the specification ---------------------------------------------------------------------------------------


@given(_IDS, st.integers(1, 2**33), st.text(), _KEYS)
def test_we_sign_as_the_specifications_own_library_does(message: str, now: int, body: str, key: bytes) -> None:
    theirs = _theirs(key).sign(message, datetime.fromtimestamp(now, UTC), body)
    assert sign(message, now, body.encode(), key)["webhook-signature"] == theirs


@given(_IDS, st.text(), _KEYS)
def test_we_take_what_the_specifications_own_library_signed(message: str, body: str, key: bytes) -> None:
    headers = {
        "webhook-id": message,
        "webhook-timestamp": str(_NOW),
        "webhook-signature": _theirs(key).sign(message, datetime.fromtimestamp(_NOW, UTC), body),
    }
    assert verify(headers, body.encode(), [key], _NOW) == message


def test_the_specifications_own_library_takes_what_we_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Frozen:
            return cls.fromtimestamp(_NOW, tz)

    monkeypatch.setattr("standardwebhooks.webhooks.datetime", Frozen)
    assert _theirs(_KEY).verify(_BODY, sign("d1", _NOW, _BODY, _KEY)) == {"attempts": []}
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        _theirs(_OTHER).verify(_BODY, sign("d1", _NOW, _BODY, _KEY))


# -- tampering -----------------------------------------------------------------------------------------------


@given(_IDS, st.binary(max_size=200), st.integers(0, 10**12 - 1), _KEYS)
def test_what_was_signed_is_verified(message: str, body: bytes, now: int, key: bytes) -> None:
    assert verify(sign(message, now, body, key), body, [key], now) == message


@given(st.binary(min_size=1, max_size=50), st.data())
def test_one_changed_bit_of_the_body_is_noticed(body: bytes, data: st.DataObject) -> None:
    headers = sign("d1", _NOW, body, _KEY)
    changed = bytearray(body)
    changed[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert "signature" in _refusal(headers, bytes(changed))


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_another_body_is_noticed(signed: bytes, sent: bytes) -> None:
    headers = sign("d1", _NOW, signed, _KEY)
    if signed == sent:
        assert verify(headers, sent, [_KEY], _NOW) == "d1"
    else:
        _refusal(headers, sent)


def test_another_id_is_noticed() -> None:
    assert "signature" in _refusal({**sign("d1", _NOW, _BODY, _KEY), "webhook-id": "d2"})


@pytest.mark.parametrize("timestamp", [_NOW - 1, _NOW + 1, _NOW + TOLERANCE_S])
def test_another_timestamp_is_noticed(timestamp: int) -> None:
    assert "signature" in _refusal({**sign("d1", _NOW, _BODY, _KEY), "webhook-timestamp": str(timestamp)})


@given(st.integers(0, 43), st.sampled_from("ABCXYZabcxyz0189+/"))
def test_one_changed_character_of_the_signature_is_noticed(index: int, character: str) -> None:
    headers = sign("d1", _NOW, _BODY, _KEY)
    version, _, encoded = headers["webhook-signature"].partition(",")
    changed = encoded[:index] + character + encoded[index + 1 :]
    if changed == encoded or _decodes_alike(changed, encoded):
        return
    _refusal({**headers, "webhook-signature": f"{version},{changed}"})


def _decodes_alike(one: str, two: str) -> bool:
    try:
        return base64.b64decode(one, validate=True) == base64.b64decode(two, validate=True)
    except ValueError:
        return False


@given(_KEYS.filter(lambda key: key != _KEY))
def test_a_signature_by_any_other_key_is_refused(key: bytes) -> None:
    assert "signature" in _refusal(sign("d1", _NOW, _BODY, key))


# -- rotation ------------------------------------------------------------------------------------------------


def test_while_secrets_rotate_both_are_taken() -> None:
    for key in (_KEY, _OTHER):
        assert verify(sign("d1", _NOW, _BODY, key), _BODY, [_KEY, _OTHER], _NOW) == "d1"


def test_after_the_rotation_the_old_secret_is_refused() -> None:
    assert "signature" in _refusal(sign("d1", _NOW, _BODY, _OTHER))


def test_without_any_key_nothing_is_taken() -> None:
    assert "signature" in _refusal(sign("d1", _NOW, _BODY, _KEY), keys=())


def test_one_good_signature_among_several_is_enough() -> None:
    headers = sign("d1", _NOW, _BODY, _KEY)
    good, bad = headers["webhook-signature"], sign("d1", _NOW, _BODY, _OTHER)["webhook-signature"]
    for signatures in (f"{bad} {good}", f"{good} {bad}", f"v2,AAAA {good}", f"v1a,xyz v1,!!! {good}", f" {good}  "):
        assert verify({**headers, "webhook-signature": signatures}, _BODY, [_KEY], _NOW) == "d1"
    _refusal({**headers, "webhook-signature": f"{bad} {bad}"})


# -- time ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("away", [-TOLERANCE_S, -1, 0, 1, TOLERANCE_S])
def test_five_minutes_of_difference_are_tolerated(away: int) -> None:
    assert verify(sign("d1", _NOW + away, _BODY, _KEY), _BODY, [_KEY], _NOW) == "d1"


@pytest.mark.parametrize("away", [-TOLERANCE_S - 1, TOLERANCE_S + 1, -_NOW])
def test_more_is_refused_however_good_the_signature(away: int) -> None:
    assert "300 seconds" in _refusal(sign("d1", _NOW + away, _BODY, _KEY))


# -- headers that are none -----------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("how", ["absent", "empty"])
def test_an_unsigned_dispatch_is_refused(missing: str, how: str) -> None:
    headers = sign("d1", _NOW, _BODY, _KEY)
    if how == "absent":
        del headers[missing]
    else:
        headers[missing] = ""
    assert "not signed" in _refusal(headers)


@pytest.mark.parametrize(
    "timestamp",
    ["now", "-1800000000", "+1800000000", "1800000000.0", "1.8e9", " 1800000000", "0x6b49d200", "1_800_000_000",
     "١٨٠٠٠٠٠٠٠٠", "1" * 13, "1" * 5_000, "²"],
    ids=lambda text: ascii(text)[:20],
)  # fmt: skip
def test_a_timestamp_that_is_no_number_is_refused(timestamp: str) -> None:
    assert "not a number" in _refusal({**sign("d1", _NOW, _BODY, _KEY), "webhook-timestamp": timestamp})


@pytest.mark.parametrize(
    "signature",
    ["v1", "v1,", ",", " ", "v1,=", "v1,====", "v1,not base64!", "v1,AAAA", "v1:AAAA", "V1,AAAA", "v1,ÄÖÜ",
     "v1," + "A" * 100_000],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_signature_that_is_none_is_refused(signature: str) -> None:
    assert "signature" in _refusal({**sign("d1", _NOW, _BODY, _KEY), "webhook-signature": signature})


def test_only_the_version_we_speak_counts() -> None:
    headers = sign("d1", _NOW, _BODY, _KEY)
    for version in ("v0", "v2", "v1a", "", "V1"):
        signature = headers["webhook-signature"].replace("v1,", f"{version},")
        _refusal({**headers, "webhook-signature": signature})


_HEADER = st.text(st.characters(max_codepoint=255), max_size=60)


@given(_HEADER, _HEADER | st.just(str(_NOW)), _HEADER | _HEADER.map("v1,".__add__))
def test_whatever_the_headers_say_it_is_a_refusal(message: str, timestamp: str, signature: str) -> None:
    headers = {"webhook-id": message, "webhook-timestamp": timestamp, "webhook-signature": signature}
    told = _refusal(headers)
    assert base64.b64encode(_KEY).decode() not in told
    assert sign("d1", _NOW, _BODY, _KEY)["webhook-signature"] not in told
