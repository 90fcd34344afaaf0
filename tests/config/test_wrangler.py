"""The configuration is found and read as wrangler does it; what cannot be read is named with its place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lunorash.config.wrangler import find_wrangler, read_wrangler
from lunorash.errors import LunoraError


def read(folder: Path, content: str | bytes) -> dict[str, Any]:
    path = folder / "wrangler.jsonc"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_wrangler(path)


def refused(folder: Path, content: str | bytes) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        read(folder, content)
    return raised.value


@pytest.mark.parametrize("present", [["wrangler.jsonc"], ["wrangler.json"], ["wrangler.json", "wrangler.jsonc"]])
def test_the_file_is_the_one_that_wrangler_takes(tmp_path: Path, present: list[str]) -> None:
    for name in present:
        (tmp_path / name).write_text("{}")
    (tmp_path / "wrangler.toml").write_text("")
    assert find_wrangler(tmp_path) == tmp_path / present[0]


def test_a_project_may_have_none(tmp_path: Path) -> None:
    assert find_wrangler(tmp_path) is None


def test_toml_is_refused_with_a_conversion_that_works(tmp_path: Path) -> None:
    (tmp_path / "wrangler.toml").write_text('name = "app"\ncompatibility_date = 2026-11-01\n[vars]\nA = "é"\n')
    with pytest.raises(LunoraError) as raised:
        find_wrangler(tmp_path)
    assert raised.value.code == "WRANGLER_TOML"
    command = "python -c " + raised.value.message.partition("python -c ")[2].partition(", put")[0]
    subprocess.run(command.replace("python", sys.executable, 1), shell=True, cwd=tmp_path, check=True)  # noqa: S602
    path = find_wrangler(tmp_path)
    assert path is not None
    assert read_wrangler(path) == {"name": "app", "compatibility_date": "2026-11-01", "vars": {"A": "é"}}


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("{}", {}),
        ("\ufeff{}", {}),
        ('// first\n{\n  "a": 1, // one\n  /* "b": 2, */ "c": [1, 2,], // three\n}\n// last', {"a": 1, "c": [1, 2]}),
        ('{"a": "// no comment", "b": "/* nor */", "c": ",}", "d": "\\"//", "e": "\\\\"}//', None),
        ('{"a": [1 /* , */, /* ] */ ], }', {"a": [1]}),
        ('{\r\n\t"a": 1,\r\n}\r\n', {"a": 1}),
        ('{"triggers": null, "migrations": [null], "env": {"x": null}}', None),
    ],
)
def test_comments_and_trailing_commas_are_read(tmp_path: Path, text: str, config: dict[str, Any] | None) -> None:
    assert read(tmp_path, text) == (json.loads(text.removesuffix("//")) if config is None else config)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 0),
        ("{", 1, 1),
        ('{"a": }', 1, 7),
        ("\x00", 1, 1),
        ('{\n  // é\n  "é": 1,\n  "ü" 1\n}', 4, 7),
        ('{\n  "a": 1,, \n}', 2, 10),
        ('{"a": [,]}', 1, 8),
        ("{,}", 1, 2),
        ("{'a': 1}", 1, 2),
        ("{a: 1}", 1, 2),
        ('{"a": 1} x', 1, 10),
        ('{"a": 1} /* ', 1, 10),
        ('{"a": "', 1, 7),
        ('{"a": NaN}', 1, 7),
        ("[" * 5000, 1, 202),
    ],
)
def test_what_does_not_parse_is_named_with_its_place(tmp_path: Path, text: str, line: int, column: int) -> None:
    error = refused(tmp_path, text)
    assert error.code == "WRANGLER_UNREADABLE"
    assert str(tmp_path / "wrangler.jsonc") in error.message
    assert f"line {line} column {column}" in error.message, error.message


def test_other_encodings_are_refused_with_the_place(tmp_path: Path) -> None:
    error = refused(tmp_path, b'{\n  "name": "caf\xe9"\n}')
    assert error.code == "WRANGLER_UNREADABLE"
    assert "line 2 column 15; save it as UTF-8" in error.message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]", "holds []"),
        ("1", "holds 1"),
        ('{"triggers": []}', ": triggers is []"),
        ('{"triggers": {"crons": "* * * * *"}}', ": triggers.crons is '* * * * *'"),
        ('{"triggers": {"crons": [5]}}', ": triggers.crons[0] is 5"),
        ('{"durable_objects": []}', ": durable_objects is []"),
        ('{"durable_objects": {"bindings": {}}}', ": durable_objects.bindings is {}"),
        ('{"durable_objects": {"bindings": ["SHARD"]}}', ": durable_objects.bindings[0] is 'SHARD'"),
        ('{"migrations": {}}', ": migrations is {}"),
        ('{"migrations": [{"tag": 1}]}', ": migrations[0].tag is 1"),
        ('{"migrations": [{"renamed_classes": ["A"]}]}', ": migrations[0].renamed_classes[0] is 'A'"),
        ('{"workflows": [{"binding": 1}]}', ": workflows[0].binding is 1"),
        ('{"queues": {"producers": {}}}', ": queues.producers is {}"),
        ('{"env": []}', ": env is []"),
        ('{"env": {"staging": {"triggers": {"crons": [null]}}}}', ": env.staging.triggers.crons[0] is None"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_its_path(tmp_path: Path, text: str, place: str) -> None:
    error = refused(tmp_path, text)
    assert error.code == "WRANGLER_INVALID"
    assert place in error.message, error.message


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LunoraError, match="WRANGLER_UNREADABLE"):
        read_wrangler(tmp_path)
