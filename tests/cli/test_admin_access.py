from __future__ import annotations

from pathlib import Path

import pytest
import typer

from lunorash.cli.admin_access import check_url, find_token, is_local
from lunorash.errors import LunoraError

from .conftest import Lunora
from .worker_server import ADMIN_TOKEN, RealWorker, Scripted

TOKEN = "LUNORA_ADMIN_TOKEN"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost",
        "http://localhost:8787/",
        "http://LOCALHOST:1",
        "http://127.0.0.1:8787",
        "http://127.8.9.1",
        "http://[::1]:8787",
        "https://app.example.com",
        "https://10.0.0.1:8443",
        "https://[2001:db8::1]:8443",
        "https://a_b.example.com.",
    ],
)
def test_a_token_may_be_sent_to_this_machine_and_by_https(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://localhost@example.com",
        "http://localhost\\@example.com",
        "http://example.com\\.localhost",
        "http://app.localhost:8787",
        "http://10.0.0.1:8787",
        "http://0.0.0.0:8787",
        "http://[::2]",
        "http://2130706433",
        "ftp://localhost",
        "localhost:8787",
        "localhost",
        "//localhost",
        "",
        "http://",
        "http://:8787",
        "http://localhost:99999",
        "http://localhost:x",
        "http://[::1",
        "http://local\nhost",
        "https://user:secret@example.com",
        "https://example.com/path",
        "https://example.com?q",
        "https://example.com#f",
        "https://exämple.com",
        "https://a..b",
        "https://.a",
        "https://a,b",
        "https://%zz",
        f"https://{'a' * 64}.com",
        f"https://{'a.' * 127}com",
    ],
)
def test_other_urls_are_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(typer.BadParameter) as raised:
        check_url(url)
    assert "secret" not in str(raised.value)


def test_a_host_that_no_resolver_takes_is_no_traceback(lunora: Lunora) -> None:
    done = lunora("jobs", "list", "--url", "https://xn--zzz--", "--format", "json")
    assert (done.status, done.json["error"]["code"]) == (1, "WORKER_UNREACHABLE")


def test_a_url_is_refused_with_status_2(lunora: Lunora) -> None:
    done = lunora("jobs", "list", "--url", "http://example.com")
    assert done.status == 2
    assert "--url: http://example.com would carry the admin token unencrypted; use https" in done.err
    assert done.out == ""


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / ".dev.vars").write_text(f'{TOKEN}="from-file"\n')
    assert find_token(tmp_path, {TOKEN: "from-env"}) == ("from-env", f"the environment variable {TOKEN}")
    for environment in ({}, {TOKEN: ""}):
        assert find_token(tmp_path, environment) == ("from-file", str(tmp_path / ".dev.vars"))


def test_a_missing_token_names_the_places_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(LunoraError) as raised:
        find_token(tmp_path, {})
    assert raised.value.code == "ADMIN_TOKEN_MISSING"
    assert f"{TOKEN} is not set, and there is no {tmp_path}/.dev.vars" in raised.value.message
    (tmp_path / ".dev.vars").write_text("OTHER=1\n")
    with pytest.raises(LunoraError, match=r"\.dev\.vars has none"):
        find_token(tmp_path, {})


def test_the_file_is_read_as_wrangler_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "elsewhere")
    (tmp_path / ".dev.vars").write_text(f'{TOKEN}="a${{HOME}}b"\n')
    assert find_token(tmp_path, {})[0] == "a${HOME}b"


def test_a_file_that_is_no_text_is_refused_and_not_shown(lunora: Lunora, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN)
    Path(".dev.vars").write_bytes(f"{TOKEN}=hunter2".encode() + b"\xff")
    done = lunora("jobs", "list", "--format", "json")
    assert (done.status, done.json["error"]["code"]) == (1, "DEV_VARS_UNREADABLE")
    assert "it is not UTF-8" in done.err
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize("token", ["a b", "a\nb", "tökén", "a\x7f"])
def test_a_token_that_no_header_carries_is_refused_and_not_shown(tmp_path: Path, token: str) -> None:
    with pytest.raises(LunoraError) as raised:
        find_token(tmp_path, {TOKEN: token})
    assert raised.value.code == "ADMIN_TOKEN_INVALID"
    assert token not in str(raised.value)


def test_a_project_may_be_named(lunora: Lunora, worker: RealWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN)
    Path("project").mkdir()
    Path("project/.dev.vars").write_text(f'{TOKEN}="{ADMIN_TOKEN}"\n')
    assert lunora("jobs", "list", "--url", worker.url).status == 1
    assert lunora("jobs", "list", "--url", worker.url, "--project", "project").status == 0
    assert worker.asked[0].headers["authorization"] == f"Bearer {ADMIN_TOKEN}"


def test_a_wrong_token_is_refused_with_where_it_came_from(
    lunora: Lunora, worker: RealWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, "wrong-0123456789abcdef0123456789ab")
    done = lunora("jobs", "list", "--url", worker.url, "--format", "json")
    assert done.status == 1
    assert done.json["error"]["code"] == "ADMIN_FORBIDDEN"
    assert f"the token that was sent is from the environment variable {TOKEN}" in done.json["error"]["message"]
    assert "wrong-0123" not in done.out + done.err


def test_no_proxy_stands_between_us_and_this_machine(
    lunora: Lunora, worker: RealWorker, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, scripted.url)
    assert lunora("jobs", "list", "--url", worker.url).status == 0
    assert scripted.asked == []


def test_only_names_of_this_machine_are_local() -> None:
    assert is_local("http://localhost.:1")
    assert not is_local("http://notlocalhost")
    assert not is_local("http://example.com/localhost")
