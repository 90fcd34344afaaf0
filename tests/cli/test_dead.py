from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from .conftest import Lunora
from .worker_server import RealWorker, Scripted

LETTERS = {"a": "billing:charge", "b": "billing:refund", "c": "billing2:charge", "d": "email:send"}


@pytest.fixture
def worker(worker: RealWorker) -> RealWorker:
    """With four dead letters and a job that waits."""
    for job_id, target in LETTERS.items():
        worker.bury(job_id, target)
    worker.schedule("waits")
    return worker


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Somebody at a terminal, who answers so."""

    def at_terminal(text: str) -> None:
        stdin = io.StringIO(text)
        stdin.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdin", stdin)

    return at_terminal


def _found(lunora: Lunora, worker: RealWorker, *filters: str) -> list[str]:
    done = lunora("dead", "list", "--url", worker.url, "--format", "json", *filters)
    assert done.status == 0, done.err
    return [record["id"] for record in done.json["records"]]


def test_the_newest_comes_first(lunora: Lunora, worker: RealWorker) -> None:
    assert _found(lunora, worker) == ["d", "c", "b", "a"]
    rows = lunora("dead", "list", "--url", worker.url).out.splitlines()[1:]
    assert [row.split()[:3] for row in rows] == [[job, LETTERS[job], "dead"] for job in "dcba"]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("billing:charge", "a"),
        ("billing", "ba"),
        ("billing:", ""),
        ("bill", ""),
        ("billing:c", ""),
        ("billing*", "cba"),
        ("*:charge", "ca"),
        ("billing?:*", "c"),
        ("BILLING", ""),
        ("*", "dcba"),
        ("nobody", ""),
    ],
)
def test_a_target_is_a_path_a_module_or_a_pattern(lunora: Lunora, worker: RealWorker, target: str, found: str) -> None:
    assert _found(lunora, worker, "--target", target) == list(found)


def test_letters_are_found_by_error_and_time(lunora: Lunora, worker: RealWorker) -> None:
    assert _found(lunora, worker, "--error", "OUTCOME_UNKNOWN", "--target", "email") == ["d"]
    assert _found(lunora, worker, "--error", "OTHER") == []
    assert _found(lunora, worker, "--before", "2027-01-15T08:01:00Z") == ["a"]
    assert _found(lunora, worker, "--before", "2027-01-15T09:01:00+01:00") == ["a"]
    assert _found(lunora, worker, "--before", "2027-01-15") == []
    assert lunora("dead", "list", "--before", "soon", "--url", worker.url).status == 2


def test_a_list_that_was_cut_says_so(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("dead", "list", "--url", worker.url, "--limit", "3", "--format", "json")
    assert done.json["truncated"] is True
    assert "there are more than these 3" in lunora("dead", "list", "--url", worker.url, "--limit", "3").err


def test_letters_are_retried_by_id(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("dead", "retry", "a", "b", "--url", worker.url)
    assert done.status == 0
    assert done.out == "retried a\nretried b\n"
    assert worker.states() == {"a": "pending", "b": "pending", "c": "dead", "d": "dead", "waits": "pending"}


def test_letters_are_dropped_by_id(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("dead", "drop", "a", "--url", worker.url, "--format", "json")
    assert (done.status, done.json) == (0, {"results": [{"id": "a", "dropped": True}]})
    assert "a" not in worker.states()


def test_one_that_is_no_dead_letter_is_a_failure(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("dead", "drop", "waits", "a", "--url", worker.url)
    assert done.status == 1
    assert done.out == "dropped a\n"
    assert done.err == "not dropped waits: there is no dead letter of this id\n"
    assert worker.states()["waits"] == "pending"


def test_all_that_the_filters_let_through(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("dead", "drop", "--all", "--target", "billing", "--yes", "--url", worker.url)
    assert done.status == 0
    assert done.out == "dropped b\ndropped a\n"
    assert set(worker.states()) == {"c", "d", "waits"}


def test_so_many_at_most(lunora: Lunora, worker: RealWorker) -> None:
    assert lunora("dead", "retry", "--all", "--limit", "1", "--yes", "--url", worker.url).out == "retried d\n"


def test_none_is_not_a_failure(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("dead", "drop", "--all", "--error", "OTHER", "--yes", "--url", worker.url, "--format", "json")
    assert (done.status, done.json) == (0, {"results": []})


def test_the_question_says_how_many(lunora: Lunora, worker: RealWorker, answers: Callable[[str], None]) -> None:
    answers("y\n")
    done = lunora("dead", "retry", "--all", "--target", "*charge", "--url", worker.url)
    assert done.status == 0
    assert "Retry 2 dead letters (1 of billing2:charge, 1 of billing:charge)? [y/N]" in done.err
    assert done.out == "retried c\nretried a\n"


@pytest.mark.parametrize("text", ["n\n", "\n", ""])
def test_who_does_not_agree_changes_nothing(
    lunora: Lunora, worker: RealWorker, answers: Callable[[str], None], text: str
) -> None:
    before = worker.states()
    answers(text)
    done = lunora("dead", "drop", "--all", "--url", worker.url)
    assert done.status == 1
    assert "Drop 4 dead letters" in done.err
    assert worker.states() == before


def test_programs_get_their_document_when_nobody_agreed(
    lunora: Lunora, worker: RealWorker, answers: Callable[[str], None]
) -> None:
    answers("n\n")
    done = lunora("dead", "drop", "--all", "--url", worker.url, "--format", "json")
    assert done.json["error"]["code"] == "NOT_CONFIRMED"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--all"], "there is no terminal to ask on; add --yes"),
        ([], "name the dead letters to drop by ID, or say --all"),
        (["a", "--all", "--yes"], "not both"),
        (["a", "--target", "x"], "filters choose among --all"),
        (["a", "--limit", "3"], "filters choose among --all"),
        (["-"], "cannot be used"),
    ],
)
def test_a_command_line_that_makes_no_sense_asks_for_nothing(
    lunora: Lunora, worker: RealWorker, monkeypatch: pytest.MonkeyPatch, arguments: list[str], why: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    done = lunora("dead", "drop", "--url", worker.url, *arguments)
    assert done.status == 2
    assert why in done.err
    assert worker.asked == []


def test_a_hostile_worker_cannot_forge_the_question(
    lunora: Lunora, scripted: Scripted, answers: Callable[[str], None]
) -> None:
    answers("n\n")
    target = "\x1b[2K\rDrop 0"
    scripted.answers["GET /_lunora/admin/scheduled/dead"] = {"records": [{"id": "a", "target": target}]}
    done = lunora("dead", "drop", "--all", "--url", scripted.url)
    assert "\\x1b[2K\\rDrop 0" in done.err
    assert "\x1b" not in done.err


def test_ids_of_a_hostile_worker_are_shown_harmless(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers["GET /_lunora/admin/scheduled/dead"] = {"records": [{"id": "\x1b]0;x\x07\nretried b"}]}
    scripted.answers["POST /_lunora/admin/scheduled/dead/retry"] = {"retried": True}
    done = lunora("dead", "retry", "--all", "--yes", "--url", scripted.url)
    assert done.out == "retried \\x1b]0;x\\x07\\nretried b\n"
