"""Signatures of dispatches, as the Standard Webhooks specification has them.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
The tests check both directions against that project's own library, which is not shipped into the Worker
because it brings an HTTP client along.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final

from lunorash.errors import LunoraError

__all__ = ["TOLERANCE_S", "sign", "verify"]

TOLERANCE_S: Final = 5 * 60
"""How far the sender's clock may be from ours."""


def sign(message_id: str, timestamp_s: int, body: bytes, key: bytes) -> dict[str, str]:
    """The three headers that sign a body.

    Args:
        message_id: the dispatch's id.
        timestamp_s: now, in epoch seconds.
        body: the exact bytes that are sent.
        key: the secret's bytes.
    """
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": "v1," + base64.b64encode(_digest(message_id, timestamp_s, body, key)).decode(),
    }


def verify(headers: Mapping[str, str], body: bytes, keys: Sequence[bytes], now_s: int) -> str:
    """Check who sent a body; returns the message id that was signed with it.

    Args:
        headers: the request's headers, names in lower case.
        body: the exact bytes received.
        keys: the keys to accept, the current one and while rotating the previous one.
        now_s: now, in epoch seconds.

    Raises:
        LunoraError: ``DISPATCH_UNAUTHENTICATED``, saying what was wrong but nothing that helps to forge.
    """
    message_id, timestamp, signatures = (
        headers.get(name, "") for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    if not (message_id and timestamp and signatures):
        raise _refused("it is not signed")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise _refused("its timestamp is not a number")
    if abs(now_s - int(timestamp)) > TOLERANCE_S:
        raise _refused(f"its timestamp is more than {TOLERANCE_S} seconds away from now")
    expected = [_digest(message_id, int(timestamp), body, key) for key in keys]
    for signature in signatures.split(" "):
        version, _, encoded = signature.partition(",")
        if version != "v1":
            continue
        try:
            given = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            continue
        # every key is tried, whatever the first one says, so that time tells nothing
        if any([hmac.compare_digest(given, digest) for digest in expected]):  # noqa: C419
            return message_id
    raise _refused("its signature is not ours")


def _digest(message_id: str, timestamp_s: int, body: bytes, key: bytes) -> bytes:
    return hmac.new(key, f"{message_id}.{timestamp_s}.".encode() + body, hashlib.sha256).digest()


def _refused(why: str) -> LunoraError:
    return LunoraError("DISPATCH_UNAUTHENTICATED", f"the dispatch was refused: {why}")
