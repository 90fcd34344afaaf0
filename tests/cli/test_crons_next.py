from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lunorash.crons import CronExpression

from .conftest import Lunora
from .sources import DIGEST, SWEEP, WEEKLY

FROM = ["--from", "2026-01-01T00:00:00Z"]


def test_the_documented_example(lunora: Lunora) -> None:
    done = lunora("crons", "next", "0 8 * * MON", "0 0 LW * *", *FROM, "--count", "3", "--format", "json")
    assert done.status == 0
    assert done.err == ""
    assert done.json == [
        {
            "expression": "0 8 * * MON",
            "normalized": "0 8 * * MON",
            "english": "Every Monday at 08:00 UTC",
            "next": ["2026-01-05T08:00:00Z", "2026-01-12T08:00:00Z", "2026-01-19T08:00:00Z"],
        },
        {
            "expression": "0 0 LW * *",
            "normalized": "0 0 LW * *",
            "english": "At 00:00 UTC on the last weekday of the month",
            "next": ["2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z", "2026-03-31T00:00:00Z"],
        },
    ]


def test_an_expression_may_begin_with_a_star(lunora: Lunora) -> None:
    done = lunora("crons", "next", "*/5 * * * *", "* * * * *", *FROM, "--count", "1", "--format", "json")
    assert [told["next"] for told in done.json] == [["2026-01-01T00:05:00Z"], ["2026-01-01T00:01:00Z"]]


def test_a_bad_one_does_not_hide_the_others(lunora: Lunora) -> None:
    texts = ["nope", "0 0 31 2 *", "0 0 * * 0", "0 0 1 * MON", "", "0 9 * * *"]
    done = lunora("crons", "next", *texts, *FROM, "--count", "1", "--format", "json")
    assert done.status == 1
    *bad, good = done.json
    assert [told["expression"] for told in done.json] == texts
    assert [told["code"] for told in bad] == [
        "CRON_EXPR_INVALID",
        "CRON_NEVER_FIRES",
        "CRON_EXPR_INVALID",
        "CRON_DAYS_AMBIGUOUS",
        "CRON_EXPR_INVALID",
    ]
    assert [set(told) for told in bad] == [{"expression", "error", "code"}] * 5
    assert "never fires" in bad[1]["error"]
    assert "SUN" in bad[2]["error"]
    assert good["next"] == ["2026-01-01T09:00:00Z"]


def test_people_get_the_same(lunora: Lunora) -> None:
    done = lunora("crons", "next", "0 0 31 2 *", "0 7 * * 1-5", *FROM, "--count", "2")
    assert done.status == 1
    assert done.out.splitlines() == [
        "0 7 * * 1-5  Every Sunday to Thursday at 07:00 UTC, written 0 7 * * SUN-THU",
        "  2026-01-01T07:00:00Z",
        "  2026-01-04T07:00:00Z",
    ]
    assert "lunora: CRON_NEVER_FIRES: " in done.err
    assert "  note: the day of week field is '1-5': Cloudflare" in done.err


def test_notices_are_there_when_there_are_any(lunora: Lunora) -> None:
    done = lunora("crons", "next", "0 7 * * 1-5", "--format", "json")
    assert len(done.json[0]["notices"]) == 1
    assert "MON-FRI" in done.json[0]["notices"][0]


@pytest.mark.parametrize("expression", ["-5 * * * *", "--5 * * * *"])
def test_a_dash_at_the_beginning_is_an_option(lunora: Lunora, expression: str) -> None:
    assert lunora("crons", "next", expression).status == 2
    done = lunora("crons", "next", "--format", "json", "--", expression)
    assert (done.status, done.json[0]["code"]) == (1, "CRON_EXPR_INVALID")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--count", count) for count in ("0", "-1", "1001", "x", "1.5", "")),
        *(("--from", text) for text in ("yesterday", "", "2026-13-01", "2026-01-01T25:00Z", "0001-01-01T00:00+23:00")),
    ],
)
def test_bad_options_are_refused_with_status_2(lunora: Lunora, option: str, value: str) -> None:
    done = lunora("crons", "next", "* * * * *", option, value)
    assert done.status == 2
    assert f"'{option}'" in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    "text", ["2026-01-05T08:00:00Z", "2026-01-05T08:00", "2026-01-05T09:00:00+01:00", "2026-01-05 08:00:00.000Z"]
)
def test_fires_are_strictly_after_the_instant(lunora: Lunora, text: str) -> None:
    done = lunora("crons", "next", "0 8 * * MON", "--from", text, "--count", "1", "--format", "json")
    assert done.json[0]["next"] == ["2026-01-12T08:00:00Z"]


def test_the_calendar_ends(lunora: Lunora) -> None:
    done = lunora("crons", "next", "0 0 1 1 *", "--from", "9998-06-01", "--count", "3", "--format", "json")
    assert (done.status, done.json[0]["next"]) == (0, ["9999-01-01T00:00:00Z"])


def test_without_an_instant_it_is_now(lunora: Lunora) -> None:
    before = datetime.now(UTC)
    done = lunora("crons", "next", "* * * * *", "--count", "1", "--format", "json")
    assert before < datetime.fromisoformat(done.json[0]["next"][0]) <= datetime.now(UTC) + timedelta(minutes=1)
    assert "in " in lunora("crons", "next", "0 0 1 1 *", "--count", "1").out


def test_five_fires_are_told(lunora: Lunora) -> None:
    assert len(lunora("crons", "next", "* * * * *", "--format", "json").json[0]["next"]) == 5


def test_without_expressions_it_is_the_apps_crons(lunora: Lunora, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def read(project: Path) -> tuple[object, ...]:
        asked.append(project)
        return (DIGEST, WEEKLY, SWEEP)

    monkeypatch.setattr("lunorash.cli.crons.read_crons", read)
    done = lunora("crons", "next", *FROM, "--count", "1", "--format", "json", "--project", "somewhere")
    assert asked == [Path("somewhere")]
    assert [(told["name"], told["target"], told["next"]) for told in done.json] == [
        ("digest", "email:digest", ["2026-01-01T00:05:00Z"]),
        ("report", "reports:weekly", ["2026-01-05T08:00:00Z"]),
        ("sweep presence", "presence:sweep", ["2026-01-01T00:05:00Z"]),
    ]
    assert ["notices" in told for told in done.json] == [False, True, False], "the notice is about what was written"
    shown = lunora("crons", "next", *FROM, "--count", "1")
    assert "report  0 8 * * MON  Every Monday at 08:00 UTC\n  2026-01-05T08:00:00Z\n" in shown.out


def test_an_app_that_is_wrong_is_told(lunora: Lunora) -> None:
    Path("lunora").mkdir()
    Path("lunora/bad.py").write_text("def (")
    done = lunora("crons", "next", "--format", "json")
    assert done.status == 1
    assert done.json["error"]["code"] == "CODEGEN_FAILED"
    assert "lunora/bad.py:1" in done.json["error"]["message"]
    assert lunora("crons", "next", "0 9 * * *").status == 0, "expressions need no app"


def test_neither_a_worker_nor_node_is_asked(tmp_path: Path) -> None:
    """Not even what could is imported."""
    script = """
import sys
from lunorash.cli.main import main
status = main(["crons", "next", "0 8 * * MON", "--count", "1", "--format", "json"])
print(sorted({"httpx", "pytest_workers"} & set(sys.modules)), file=sys.stderr)
sys.exit(status)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PATH": ""}, cwd=tmp_path
    )
    assert json.loads(done.stdout)[0]["normalized"] == CronExpression.parse("0 8 * * MON").normalized
    assert done.stderr.strip() == "[]"
