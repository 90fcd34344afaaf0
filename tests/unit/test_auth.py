from __future__ import annotations

import base64
import hmac
import json
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.contexts import Auth
from lunorash.errors import LunoraError
from lunorash.http import HttpRequest
from lunorash.server import jwt_hs256

SECRET = "0123456789abcdef0123456789abcdef"
NOW = 1_800_000_000
CLAIMS: dict[str, Any] = {
    "sub": "u1",
    "iss": "https://id.example.com",
    "aud": "app",
    "exp": NOW + 60,
    "plan": "pro",
}
_WITHOUT: Any = object()


@pytest.fixture(autouse=True)
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.fromtimestamp(NOW, tz)

    monkeypatch.setattr("jwt.api_jwt.datetime", Stopped)


def _part(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _signed(
    claims: Any = None, *, header: Any = None, secret: str = SECRET, digest: str = "sha256", **changes: Any
) -> str:
    """A token with a good signature, whatever it says."""
    said = {name: value for name, value in {**CLAIMS, **changes}.items() if value is not _WITHOUT}
    head = {"alg": "HS256", "typ": "JWT"} if header is None else header
    signing = f"{_part(head)}.{_part(said if claims is None else claims)}"
    return f"{signing}.{_part(hmac.digest(secret.encode(), signing.encode(), digest))}"


async def _auth(header: str | None, *, leeway_s: int = 30, **env: Any) -> Auth:
    async def nothing(*_args: object, **_named: object) -> Any:
        raise AssertionError("nothing of the request is needed but its headers")

    def no_scheduler() -> Any:
        raise AssertionError("nor a scheduler")

    authenticate = jwt_hs256(
        secret=lambda env: env.JWT_SECRET, issuer="https://id.example.com", audience="app", leeway_s=leeway_s
    )
    request = HttpRequest(
        method="POST",
        path="/api/query",
        query="",
        headers={} if header is None else {"authorization": header},
        body=nothing,
        env=SimpleNamespace(**({"JWT_SECRET": SECRET} | env)),
        scheduler=no_scheduler,
        fetch=nothing,
    )
    return await authenticate(request)


async def _refused(header: str, **more: Any) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        await _auth(header, **more)
    error = raised.value
    assert (error.code, error.status) == ("UNAUTHORIZED", 401)
    assert error.data is None
    assert SECRET not in error.message
    return error


# -- good tokens ---------------------------------------------------------------------------------------------


async def test_a_good_token_says_who_calls() -> None:
    auth = await _auth(f"Bearer {_signed()}")
    assert auth == Auth(user_id="u1", claims=CLAIMS)


async def test_a_token_that_the_usual_library_made_is_taken() -> None:
    assert (await _auth(f"Bearer {jwt.encode(CLAIMS, SECRET, algorithm='HS256')}")).user_id == "u1"


@pytest.mark.parametrize("spelling", ["bearer {}", "BEARER {}", "Bearer  {} "])
async def test_the_scheme_may_be_written_in_any_case(spelling: str) -> None:
    assert (await _auth(spelling.format(_signed()))).user_id == "u1"


async def test_a_request_without_the_header_is_nobodys() -> None:
    assert await _auth(None) == Auth()
    assert await _auth(None, JWT_SECRET=None) == Auth(), "and needs no secret"


@pytest.mark.parametrize("audience", ["app", ["app"], ["other", "app"]])
async def test_one_of_the_audiences_of_a_token_has_to_be_ours(audience: Any) -> None:
    assert (await _auth(f"Bearer {_signed(aud=audience)}")).user_id == "u1"


async def test_one_of_several_audiences_may_be_ours() -> None:
    authenticate = jwt_hs256(secret=lambda _env: SECRET, issuer="https://id.example.com", audience=["a", "b"])
    request: Any = SimpleNamespace(headers={"authorization": f"Bearer {_signed(aud='b')}"}, env=None)
    assert (await authenticate(request)).user_id == "u1"


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"exp": NOW - 31}, "Expired"),
        ({"exp": 0}, "Expired"),
        ({"exp": _WITHOUT}, "Missing"),
        ({"exp": None}, ""),
        ({"exp": "soon"}, ""),
        ({"exp": float("nan")}, ""),
        ({"nbf": NOW + 31}, "Immature"),
        ({"nbf": "later"}, ""),
        ({"iat": NOW + 31}, "Immature"),
        ({"iat": "then"}, ""),
        ({"iss": "https://evil.example"}, "Issuer"),
        ({"iss": "https://id.example.com/"}, "Issuer"),
        ({"iss": ["https://id.example.com"]}, "Issuer"),
        ({"iss": _WITHOUT}, "Missing"),
        ({"aud": "other"}, "Audience"),
        ({"aud": []}, ""),
        ({"aud": ["other"]}, "Audience"),
        ({"aud": 5}, "Audience"),
        ({"aud": _WITHOUT}, "Missing"),
        ({"sub": _WITHOUT}, "Missing"),
        ({"sub": None}, ""),
        ({"sub": 5}, ""),
        ({"sub": ["u1"]}, ""),
    ],
)
async def test_a_token_that_does_not_hold_is_refused(changes: dict[str, Any], told: str) -> None:
    assert told in (await _refused(f"Bearer {_signed(**changes)}")).message


@pytest.mark.parametrize(
    ("leeway_s", "changes", "good"),
    [
        (30, {"exp": NOW - 29}, True),
        (30, {"exp": NOW - 30}, False),
        (0, {"exp": NOW + 1}, True),
        (0, {"exp": NOW}, False),
        (300, {"exp": NOW - 299}, True),
        (300, {"exp": NOW - 300}, False),
        (30, {"nbf": NOW + 30}, True),
        (30, {"nbf": NOW + 31}, False),
        (0, {"nbf": NOW}, True),
        (0, {"nbf": NOW + 1}, False),
        (30, {"iat": NOW + 30}, True),
        (30, {"iat": NOW + 31}, False),
    ],
)
async def test_clocks_may_differ_by_the_leeway_and_no_more(leeway_s: int, changes: dict[str, Any], good: bool) -> None:
    header = f"Bearer {_signed(**changes)}"
    if good:
        assert (await _auth(header, leeway_s=leeway_s)).user_id == "u1"
    else:
        await _refused(header, leeway_s=leeway_s)


@pytest.mark.parametrize("leeway_s", [-1, 301, 1.5, True, "30", None])
def test_a_leeway_out_of_range_is_refused_when_the_app_is_put_together(leeway_s: Any) -> None:
    with pytest.raises(LunoraError, match="from 0 to 300") as raised:
        jwt_hs256(secret=lambda _env: SECRET, issuer="i", audience="a", leeway_s=leeway_s)
    assert raised.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("none", "sha256"),
        ("None", "sha256"),
        ("NONE", "sha256"),
        ("nOnE", "sha256"),
        ("", "sha256"),
        ("HS384", "sha384"),
        ("HS512", "sha512"),
        ("HS512", "sha256"),
        ("HS256", "sha512"),
        ("hs256", "sha256"),
        ("RS256", "sha256"),
        ("ES256", "sha256"),
        ("PS256", "sha256"),
        ("EdDSA", "sha256"),
        (None, "sha256"),
        (5, "sha256"),
        (["HS256"], "sha256"),
    ],
)
async def test_no_algorithm_but_hs256_is_taken_whatever_the_token_says(algorithm: Any, digest: str) -> None:
    await _refused(f"Bearer {_signed(header={'alg': algorithm, 'typ': 'JWT'}, digest=digest)}")


@pytest.mark.parametrize("header", [{}, [], "HS256", None, 5, {"typ": "JWT"}, b"\xff", b"", b"{", b"[" * 100])
async def test_a_header_that_is_none_is_refused(header: Any) -> None:
    if header is None:
        header = b"null"
    await _refused(f"Bearer {_signed(header=header)}")


async def test_an_unsigned_token_is_refused() -> None:
    head, claims, signature = _signed().split(".")
    unsigned = _part({"alg": "none", "typ": "JWT"})
    for token in (
        f"{head}.{claims}.",
        f"{head}.{claims}",
        f"{head}.{claims}..",
        f"{unsigned}.{claims}.",
        f"{unsigned}.{claims}",
        f"{unsigned}.{claims}.{signature}",
    ):
        await _refused(f"Bearer {token}")


async def test_a_token_that_was_tampered_with_is_refused() -> None:
    head, claims, signature = _signed().split(".")
    other = _part({**CLAIMS, "sub": "admin"})
    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    for token in (f"{head}.{other}.{signature}", f"{head}.{claims}.{flipped}", f"{head}.{claims}.{signature[:-4]}"):
        await _refused(f"Bearer {token}")


@pytest.mark.parametrize("secret", [SECRET[:-1] + "g", SECRET + " ", "x" * 32])
async def test_a_token_of_another_secret_is_refused(secret: str) -> None:
    await _refused(f"Bearer {_signed(secret=secret)}")


@pytest.mark.parametrize("levels", [65, 1_000, 50_000])
async def test_brackets_in_a_header_are_refused_before_anything_else_reads_them(levels: int) -> None:
    """8,000 of them kill a whole workerd process in `json.loads`, and the header is read before the signature."""
    header = b'{"alg":"HS256","typ":"JWT","x":' + b"[" * levels + b"]" * levels + b"}"
    assert "header" in (await _refused(f"Bearer {_signed(header=header)}")).message


@pytest.mark.parametrize(
    "claims", [b"", b"null", b"[]", b'"u1"', b"\xff", b"{", b'{"sub": "u1"} x', b"{" * 5_000, b"[" * 5_000]
)
async def test_signed_claims_that_are_no_object_are_refused(claims: bytes) -> None:
    await _refused(f"Bearer {_signed(claims)}")


@pytest.mark.parametrize(
    "header",
    ["", " ", "Bearer", "Bearer ", "Bearer  ", "Bearer x", "Bearer a.b", "Bearer a.b.c", "Bearer ...", "Bearer é.b.c"],
)
async def test_garbage_is_refused(header: str) -> None:
    await _refused(header)


@pytest.mark.parametrize("scheme", ["Basic", "Token", "JWT", "BearerX", "Digest"])
async def test_another_scheme_is_refused_and_the_error_says_which_is_taken(scheme: str) -> None:
    assert "`Bearer <token>`" in (await _refused(f"{scheme} {_signed()}")).message


@given(st.text(max_size=60))
async def test_whatever_is_sent_is_refused(text: str) -> None:
    await _refused(f"Bearer {text}")


async def test_what_was_refused_is_not_repeated() -> None:
    error = await _refused(f"Bearer {_signed(sub='hunter2', aud='other')}")
    assert "hunter2" not in error.message


# -- the secret ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", ["", "short", "x" * 31, "é" * 15, None, 5, b"x" * 32, {"secret": SECRET}])
async def test_a_weak_secret_is_an_error_of_the_deployment(secret: Any) -> None:
    with pytest.raises(LunoraError, match="shorter than 32 bytes") as raised:
        await _auth(f"Bearer {_signed()}", JWT_SECRET=secret)
    assert (raised.value.code, raised.value.status) == ("AUTH_NOT_CONFIGURED", 500)


async def test_a_secret_that_is_not_set_is_an_error_of_the_deployment() -> None:
    authenticate = jwt_hs256(secret=lambda env: str(env.JWT_SECRET), issuer="i", audience="a")
    request: Any = SimpleNamespace(headers={"authorization": f"Bearer {_signed()}"}, env=SimpleNamespace())
    with pytest.raises(LunoraError) as raised:
        await authenticate(request)
    assert raised.value.code == "AUTH_NOT_CONFIGURED"


async def test_a_public_key_is_no_secret() -> None:
    """The classic confusion: a public key that everybody knows, taken for the secret of HS256."""
    public = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n"
    with pytest.raises(LunoraError) as raised:
        await _auth(f"Bearer {_signed(secret=public)}", JWT_SECRET=public)
    assert raised.value.code in ("AUTH_NOT_CONFIGURED", "UNAUTHORIZED")
