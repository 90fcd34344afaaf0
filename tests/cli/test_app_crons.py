from __future__ import annotations

import os
from pathlib import Path

import pytest

from lunorash.cli.app_crons import AppCrons, read_crons
from lunorash.codegen import Diagnostic, Generation
from lunorash.errors import LunoraError

from .sources import cron


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppCrons:
    """An app whose sources hold one expression a line; what codegen makes of real ones is tested there."""

    def generate(project: Path) -> Generation:
        files = sorted((project / "lunora").glob("*.py"))
        lines = [line for file in files for line in file.read_text().splitlines()]
        wrong = tuple(Diagnostic("lunora/crons.py", 1, "BAD", line) for line in lines if line == "bad")
        crons = tuple(cron(line, line) for line in lines if line != "bad")
        return Generation(project, (), (), wrong, (), crons)

    monkeypatch.setattr("lunorash.cli.app_crons.generate", generate)
    (tmp_path / "lunora").mkdir()
    return AppCrons(tmp_path)


def _write(name: str, text: str) -> None:
    path = Path("lunora", name)
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    # a second write within the clock's resolution must be seen too
    os.utime(path, ns=(before + 10**9, before + 10**9))


def _expressions(app: AppCrons) -> list[str]:
    return [cron.job.expression for cron in app.crons]


def test_sources_are_read_again_only_when_they_have_changed(app: AppCrons) -> None:
    assert app.refresh() is False, "there are none, as before"
    _write("crons.py", "0 8 * * MON\n")
    assert app.refresh() is True
    assert app.refresh() is False
    _write("other.py", "")
    assert app.refresh() is False, "another file, the same crons"
    _write("other.py", "0 9 * * *\n")
    assert app.refresh() is True
    assert _expressions(app) == ["0 8 * * MON", "0 9 * * *"]
    Path("lunora/other.py").unlink()
    assert app.refresh() is True
    assert _expressions(app) == ["0 8 * * MON"]


def test_a_mistake_leaves_what_there_was_until_it_is_mended(app: AppCrons) -> None:
    _write("crons.py", "0 8 * * MON\n")
    app.refresh()
    _write("crons.py", "bad\n")
    assert app.refresh() is False
    assert _expressions(app) == ["0 8 * * MON"]
    _write("crons.py", "0 9 * * *\n")
    assert app.refresh() is True
    assert _expressions(app) == ["0 9 * * *"]


def test_a_file_that_is_gone_before_it_is_read_is_no_error(app: AppCrons) -> None:
    _write("crons.py", "0 8 * * MON\n")
    app.refresh()
    Path("lunora/dangling.py").symlink_to("nowhere")
    assert app.refresh() is False
    assert _expressions(app) == ["0 8 * * MON"]


def test_whoever_asks_for_the_crons_is_told_what_is_wrong(app: AppCrons, tmp_path: Path) -> None:
    _write("crons.py", "bad\n")
    with pytest.raises(LunoraError) as raised:
        read_crons(tmp_path)
    assert raised.value.code == "CODEGEN_FAILED"
    assert "lunora/crons.py:1" in raised.value.message
