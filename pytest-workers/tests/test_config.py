from __future__ import annotations

from pathlib import Path

import pytest
from pytest_workers.errors import (
    CompatibilityDateError,
    ConfigInvalidError,
    ConfigMissingError,
    PythonFlagMissingError,
)
from pytest_workers.runtime.config import WranglerConfig


def config(folder: Path, content: str, name: str = "wrangler.jsonc") -> WranglerConfig:
    (folder / name).write_text(content, encoding="utf-8")
    return WranglerConfig.find(folder, None if name.startswith("wrangler.") else name)


GOOD = '{"compatibility_date": "2026-09-08", "compatibility_flags": ["python_workers"]}'


def test_json_with_comments(tmp_path: Path) -> None:
    read = config(
        tmp_path,
        """{
            // a comment with "quotes" and /* stars
            "name": "with // slashes", /* another */
            "compatibility_date": "2026-11-17",
            "compatibility_flags": ["python_workers", "x",],
        }""",
    )
    assert (read.name, read.compatibility_date) == ("with // slashes", "2026-11-17")
    assert read.compatibility_flags == ("python_workers", "x")
    read.check()


def test_the_local_flags_keep_the_configured_ones_first(tmp_path: Path) -> None:
    content = '{"compatibility_flags": ["nodejs_compat", "python_workers"]}'
    assert config(tmp_path, content).local_flags() == (
        "nodejs_compat",
        "python_workers",
        "python_workers_development",
        "experimental",
    )


@pytest.mark.parametrize("date", ["2026-09-08", '"2026-09-08"'])
def test_toml(tmp_path: Path, date: str) -> None:
    content = f'name = "t"\ncompatibility_date = {date}\ncompatibility_flags = ["python_workers"]\n'
    read = config(tmp_path, content, "wrangler.toml")
    read.check()
    assert read.compatibility_date == "2026-09-08"


def test_another_file_name(tmp_path: Path) -> None:
    assert config(tmp_path, GOOD, "other.jsonc").path.name == "other.jsonc"


def test_the_file_is_the_one_that_wrangler_takes(tmp_path: Path) -> None:
    config(tmp_path, 'name = "t"', "wrangler.toml")
    assert config(tmp_path, GOOD).path.name == "wrangler.jsonc"
    assert config(tmp_path, GOOD, "wrangler.json").path.name == "wrangler.json"


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigMissingError, match=r"wrangler\.json or wrangler\.jsonc or wrangler\.toml") as caught:
        WranglerConfig.find(tmp_path)
    assert caught.value.code == "CONFIG_MISSING"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wrangler.jsonc", '{"name": }'),
        ("wrangler.jsonc", "[]"),
        ("wrangler.jsonc", ""),
        ("wrangler.jsonc", '{"name": 3}'),
        ("wrangler.jsonc", '{"compatibility_flags": "python_workers"}'),
        ("wrangler.jsonc", '{"compatibility_flags": [1]}'),
        ("wrangler.toml", "name = "),
    ],
)
def test_unreadable(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(ConfigInvalidError, match=name) as caught:
        config(tmp_path, content, name)
    assert caught.value.code == "CONFIG_INVALID"


def test_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "wrangler.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(ConfigInvalidError):
        WranglerConfig.find(tmp_path)


def test_the_python_flag_is_absent(tmp_path: Path) -> None:
    read = config(tmp_path, '{"compatibility_date": "2026-11-17"}')
    with pytest.raises(PythonFlagMissingError, match="python_workers") as caught:
        read.check()
    assert caught.value.code == "PYTHON_FLAG_MISSING"


@pytest.mark.parametrize("date", ['"2026-09-07"', '"soon"', "null", '"2026-9-8"'])
def test_the_date_is_too_old_or_none(tmp_path: Path, date: str) -> None:
    flags = '"compatibility_flags": ["python_workers"]'
    read = config(tmp_path, f'{{"compatibility_date": {date}, {flags}}}')
    with pytest.raises(CompatibilityDateError, match="2026-09-08") as caught:
        read.check()
    assert caught.value.code == "COMPATIBILITY_DATE"
