"""Colours are for terminals, stdout is for the result, and no text from elsewhere steers a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from lunorash.cli.output import Format, Output, table

from .conftest import Lunora
from .worker_server import ADMIN_TOKEN, RealWorker, Scripted

ESCAPE = "\x1b"
HOSTILE = "a\x1b[31m[red]b\n\t\u202e\x9b2J:c\\"
HARMLESS = "a\\x1b[31m[red]b\\n\\t\\u202e\\x9b2J:c\\"


def _at_terminal(arguments: list[str], environment: Mapping[str, str] | None = None) -> str:
    """What a command line writes to a terminal."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        with os.fdopen(theirs, "wb") as end:
            process = subprocess.Popen(
                [sys.executable, "-m", "lunorash.cli.main", *arguments],
                stdin=end,
                stdout=end,
                stderr=end,
                env={**os.environ, "TERM": "xterm-256color", "LUNORA_ADMIN_TOKEN": ADMIN_TOKEN, **(environment or {})},
            )
        shown = b""
        while True:
            try:
                part = terminal.read(4096)
            except OSError:  # how Linux tells that the other end was closed
                break
            if not part:
                break
            shown += part
        process.wait(30)
    return shown.decode()


BAD = ["crons", "next", "nope", "0 8 * * 1"]


def test_there_are_colours_at_a_terminal() -> None:
    shown = _at_terminal(BAD)
    assert f"{ESCAPE}[33m" in shown
    assert "Every Sunday at 08:00 UTC" in shown


def test_there_are_none_where_they_are_not_wanted() -> None:
    shown = _at_terminal(BAD, {"NO_COLOR": "1"})
    assert "CRON_EXPR_INVALID" in shown
    assert ESCAPE not in shown


def test_there_are_none_in_a_pipe(lunora: Lunora, worker: RealWorker) -> None:
    worker.bury("j")
    url = ["--url", worker.url]
    for arguments in (
        BAD,
        ["jobs", "list", *url],
        ["jobs", "get", "j", *url],
        ["dead", "list", *url],
        ["dead", "retry", "j", "k", *url],
        ["run", "m:f", *url],
        ["jobs", "list", "--url", "http://localhost:1"],
        ["--help"],
        ["jobs", "list", "--nonsense"],
    ):
        done = lunora(*arguments)
        assert done.out + done.err
        assert ESCAPE not in done.out + done.err, arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ["jobs", "list"],
        ["jobs", "get", "j"],
        ["jobs", "get", "nobody"],
        ["jobs", "cancel", "j"],
        ["dead", "list"],
        ["dead", "retry", "j", "k"],
        ["dead", "drop", "--all", "--yes"],
        ["run", "m:f"],
        ["crons", "list"],
    ],
)
def test_stdout_holds_one_document_whatever_happens(lunora: Lunora, worker: RealWorker, arguments: list[str]) -> None:
    worker.bury("j")
    for option in (["--format", "json"], ["--format=json"]):
        done = lunora(*arguments, *option, "--url", worker.url)
        assert isinstance(done.json, dict)
        assert done.out.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["jobs", "list", "--nonsense"],
        ["jobs", "nonsense"],
        ["nonsense"],
        ["jobs", "get"],
        ["jobs", "list", "--limit", "0"],
        ["jobs", "list", "--url", "ftp://x"],
        ["run", "m:f", "{"],
        ["dead", "drop", "--all"],
        ["crons", "next", "* * * * *", "--from", "soon"],
    ],
)
def test_stdout_holds_one_document_also_for_a_command_line_that_makes_no_sense(
    lunora: Lunora, arguments: list[str]
) -> None:
    pretty, done = lunora(*arguments), lunora(*arguments, "--format", "json")
    assert (pretty.status, done.status) == (2, 2)
    assert pretty.out == ""
    assert done.json["error"]["code"] == "COMMAND_LINE_INVALID"
    assert done.json["error"]["message"] in pretty.err
    assert done.err == pretty.err


def test_a_file_that_is_in_the_way_is_named_and_no_traceback(lunora: Lunora, tmp_path: Path) -> None:
    (tmp_path / "lunora/_generated/crons.py").mkdir(parents=True)
    done = lunora("codegen", "--format", "json")
    assert (done.status, done.json["error"]["code"]) == (1, "FILE_UNUSABLE")
    assert f"{tmp_path}/lunora/_generated/crons.py" in done.err
    assert not list(tmp_path.rglob("*.new")), "nothing half-written is left"


def test_what_the_encoding_of_a_pipe_lacks_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "lunora").mkdir()
    (tmp_path / "lunora/crons.py").write_text(
        "from lunorash.server import cron_jobs\n"
        "from lunora._generated.workflows import workflows\n"
        "cron_jobs().hourly('übrig', {'minute_utc': 0}, workflows.tidy)\n",
        encoding="utf-8",
    )
    (tmp_path / "lunora/workflows.py").write_text(
        "from workers import WorkflowEntrypoint\nclass Tidy(WorkflowEntrypoint): ...\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "lunorash.cli.main", "crons", "list", "--offline"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xfcbrig" in done.stdout


def test_the_format_is_what_the_option_says_and_not_what_looks_like_it(lunora: Lunora) -> None:
    assert lunora("run", "m:f", "--format json").out == ""
    assert lunora("jobs", "get", "no/id", "--", "--format", "json").out == ""


def test_text_of_a_worker_is_harmless_in_a_table_and_an_error(lunora: Lunora, scripted: Scripted) -> None:
    record = {
        "id": "j",
        "target": HOSTILE,
        "state": HOSTILE,
        "due": HOSTILE,
        "attempts": [HOSTILE],
        "error_code": HOSTILE,
        HOSTILE: HOSTILE,
        "args": {"a": HOSTILE},
        "failures": [{"number": 1, "code": HOSTILE, "message": HOSTILE, "ended": 10**30}],
    }
    scripted.answers["GET /_lunora/admin/v1/scheduled/jobs"] = {"records": [record]}
    scripted.answers["GET /_lunora/admin/v1/scheduled/get"] = {"record": record}
    scripted.answers["POST /_lunora/admin/v1/run"] = lambda _asked: (
        500,
        {},
        b'{"error": {"code": "A\\u001b[2J", "message": "b\\u001b[1m\\u202e[bold]"}}',
    )
    url = ["--url", scripted.url]
    listed, shown, failed = (
        lunora("jobs", "list", *url),
        lunora("jobs", "get", "j", *url),
        lunora("run", "m:f", *url),
    )
    assert listed.status == shown.status == 0
    assert failed.status == 1
    assert len(listed.out.splitlines()) == 2, "a line break does not make a row"
    assert HARMLESS in listed.out
    for text in (listed.out, shown.out, failed.err):
        assert not [character for character in text if not character.isprintable() and character != "\n"]


def test_a_cell_is_one_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    Output().say(table(("A", "B"), [(HOSTILE, None), (1, {"a": [True]})]))
    assert capsys.readouterr().out.splitlines() == [
        f"{'A':{len(HARMLESS)}}  {'B':13}",
        f"{HARMLESS}  {'':13}",
        f'{"1":{len(HARMLESS)}}  {{"a": [true]}}',
    ]


def test_a_long_row_stays_a_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    Output().say(table(("A", "B"), [("x" * 500, "y" * 500)]))
    assert f"{'x' * 500}  {'y' * 500}" in capsys.readouterr().out


def test_events_are_lines_for_programs_and_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    for format_ in Format:
        output = Output(format_)
        output.event("log", "said", line="a\x1b\nb")
        output.event("silent")
    assert capsys.readouterr().out == 'said\n{"event": "log", "line": "a\\u001b\\nb"}\n{"event": "silent"}\n'


@pytest.mark.parametrize(("text", "agreed"), [("y\n", True), ("YES \n", True), ("n\n", False), ("", False)])
def test_only_a_yes_is_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, agreed: bool
) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert Output(Format.JSON).ask("Really\x1b?") is agreed
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Really\\x1b? [y/N] ")
