from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace

import pytest

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer
from lunorash.studio import page_routes
from lunorash.studio.page_routes import PAGE_ROUTES, VIEWS
from tests.unit.requests import a_request

ENV = SimpleNamespace(LUNORA_ADMIN_TOKEN="0123456789abcdef0123456789abcdef")
PAGE = Path(page_routes.__file__).parent / "page"
PATHS = [route.path for route in PAGE_ROUTES]


async def _get(path: str, env: SimpleNamespace = ENV, **headers: str) -> HttpAnswer:
    (handler,) = [route.handler for route in PAGE_ROUTES if route.path == path]
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await handler(a_request(path=path, env=env, headers=named))


def test_everything_together_is_small() -> None:
    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 150_000


@pytest.mark.parametrize("view", VIEWS)
async def test_each_view_has_an_address_at_which_the_page_is_served(view: str) -> None:
    answer = await _get(f"/_lunora/studio{view}")
    assert answer.content is not None
    assert answer.content.startswith(b"<!doctype html>")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", PATHS)
async def test_a_browser_gets_it_compressed_and_others_as_it_is(path: str) -> None:
    packed, plain = await _get(path, accept_encoding="br, gzip"), await _get(path)
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content is not None
    assert gzip.decompress(packed.content) == plain.content


@pytest.mark.parametrize("path", PATHS)
async def test_what_a_browser_has_already_is_not_sent_again(path: str) -> None:
    tag = (await _get(path)).headers["etag"]
    again = await _get(path, if_none_match=f'"other", W/{tag}')
    assert (again.status, again.content) == (304, b"")
    assert (await _get(path, if_none_match='"other"')).status == 200


@pytest.mark.parametrize("path", PATHS)
async def test_a_page_runs_no_code_but_its_own_and_is_framed_by_nobody(path: str) -> None:
    headers = (await _get(path)).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


async def test_the_page_names_nothing_that_is_elsewhere() -> None:
    html = ((await _get("/_lunora/studio")).content or b"").decode()
    assert "http" not in html
    assert "style=" not in html
    for name in ("studio.js", "studio.css"):
        assert f"/_lunora/studio/{name}" in PATHS
        assert f'"/_lunora/studio/{name}"' in html
        assert "//cdn" not in ((await _get(f"/_lunora/studio/{name}")).content or b"").decode()


@pytest.mark.parametrize("token", [None, "", "short"])
@pytest.mark.parametrize("path", PATHS)
async def test_while_nobody_could_sign_in_it_is_closed(path: str, token: str | None) -> None:
    with pytest.raises(LunoraError) as raised:
        await _get(path, SimpleNamespace(LUNORA_ADMIN_TOKEN=token))
    assert raised.value.code == "ADMIN_FORBIDDEN"


async def test_a_worker_that_was_built_without_it_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_routes, "_FOLDER", tmp_path)
    monkeypatch.setattr(page_routes, "_read", page_routes._read.__wrapped__)
    with pytest.raises(LunoraError, match="make studio") as raised:
        await _get("/_lunora/studio")
    assert raised.value.code == "STUDIO_NOT_BUILT"
