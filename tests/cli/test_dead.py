from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Lunora
from .worker_server import RealWorker, Scripted

DROP = "POST /_lunora/admin/v1/scheduled/dead/cancel-many"
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


def test_letters_that_die_after_they_were_counted_are_left_alone(
    lunora: Lunora, worker: RealWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            worker.inside(die)
            return "y\n"

    def die() -> None:
        scheduler = worker.namespace.default
        scheduler.now += 1_000
        scheduler.store.execute("UPDATE jobs SET state = 'dead', ended = ? WHERE id = 'waits'", scheduler.now)

    monkeypatch.setattr(sys, "stdin", Terminal())
    done = lunora("dead", "drop", "--all", "--url", worker.url)
    assert "Drop 4 dead letters" in done.err
    assert worker.states() == {"waits": "dead"}


def test_letters_of_a_pool(lunora: Lunora, worker: RealWorker) -> None:
    worker.inside(lambda: worker.namespace.default.store.execute("UPDATE jobs SET pool = 'p' WHERE id IN ('a', 'd')"))
    assert _found(lunora, worker, "--pool", "p") == ["d", "a"]
    assert lunora("dead", "drop", "--all", "--pool", "p", "--yes", "--url", worker.url).out == "dropped d\ndropped a\n"
    assert lunora("dead", "list", "--pool", "a b", "--url", worker.url).status == 2


def _step(*ids: str, cursor: str | None = None, target: str = "m:f") -> dict[str, object]:
    return {"ids": list(ids), "targets": {target: len(ids)} if ids else {}, "scanned": 1, "cursor": cursor, "now": 5}


def test_a_hostile_worker_cannot_forge_the_question(
    lunora: Lunora, scripted: Scripted, answers: Callable[[str], None]
) -> None:
    answers("n\n")
    scripted.answers[DROP] = _step("a", target="\x1b[2K\rDrop 0")
    done = lunora("dead", "drop", "--all", "--url", scripted.url)
    assert "\\x1b[2K\\rDrop 0" in done.err
    assert "\x1b" not in done.err


def test_ids_of_a_hostile_worker_are_shown_harmless(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[DROP] = _step("\x1b]0;x\x07\nretried b")
    done = lunora("dead", "drop", "--all", "--yes", "--url", scripted.url)
    assert done.out == "dropped \\x1b]0;x\\x07\\nretried b\n"


_WRONG: dict[str, tuple[Any, ...]] = {
    "ids": (None, [1], "a"),
    "targets": (None, [], {"a": "1"}),
    "cursor": (5, [], True),
    "now": (None, True, "5"),
}


@pytest.mark.parametrize(
    "told",
    [{}, *({**_step(), field: value} for field, values in _WRONG.items() for value in values)],
)
def test_an_answer_of_another_shape_is_no_traceback(lunora: Lunora, scripted: Scripted, told: object) -> None:
    scripted.answers[DROP] = told
    done = lunora("dead", "drop", "--all", "--yes", "--url", scripted.url, "--format", "json")
    assert (done.status, done.json["error"]["code"]) == (1, "BAD_ANSWER")


def test_a_cursor_that_leads_nowhere_ends(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[DROP] = _step(cursor="again")
    done = lunora("dead", "drop", "--all", "--yes", "--url", scripted.url)
    assert (done.status, len(scripted.asked)) == (1, 2)


def test_what_was_done_before_an_error_is_told(lunora: Lunora, scripted: Scripted) -> None:
    def answer(_asked: object) -> object:
        return _step("a", "b", cursor="dead.1.b") if len(scripted.asked) == 1 else (502, {}, b"bad gateway")

    scripted.answers[DROP] = answer
    done = lunora("dead", "drop", "--all", "--yes", "--url", scripted.url, "--format", "json")
    assert done.status == 1
    assert done.json["results"] == [{"id": "a", "dropped": True}, {"id": "b", "dropped": True}]
    assert done.json["error"]["code"] == "BAD_ANSWER"
    assert "2 were dropped, then it stopped" in done.err


def test_a_count_is_bounded_and_says_so(lunora: Lunora, scripted: Scripted, answers: Callable[[str], None]) -> None:
    answers("n\n")
    ids = [f"j{number}" for number in range(1_000)]
    scripted.answers[DROP] = lambda _asked: _step(*ids, cursor=f"dead.{len(scripted.asked)}.a")
    done = lunora("dead", "drop", "--all", "--url", scripted.url)
    assert "Drop at least 10,000 dead letters (10,000 of m:f)? [y/N]" in done.err
    assert [asked.json["dry_run"] for asked in scripted.asked] == [True] * 10


def test_nothing_is_dropped_that_nobody_was_asked_about(
    lunora: Lunora, scripted: Scripted, answers: Callable[[str], None]
) -> None:
    """Those that are meant may lie behind very many that are not."""
    answers("n\n")

    def answer(_asked: object) -> object:
        number = len(scripted.asked)
        return _step(*(["far"] if number == 120 else []), cursor=None if number == 121 else f"dead.{number}.a")

    scripted.answers[DROP] = answer
    done = lunora("dead", "drop", "--all", "--url", scripted.url)
    assert done.status == 1
    assert "Drop at least 1 dead letter (1 of m:f)?" in done.err
    assert all(asked.json["dry_run"] for asked in scripted.asked)


def test_many_are_dropped_in_steps(lunora: Lunora, worker: RealWorker) -> None:
    def fill() -> None:
        store = worker.namespace.default.store
        columns = ", ".join(row["name"] for row in store.execute("PRAGMA table_info(jobs)") if row["name"] != "id")
        for number in range(2_300):
            store.execute(f"INSERT INTO jobs (id, {columns}) SELECT 'n{number}', {columns} FROM jobs WHERE id = 'a'")

    worker.inside(fill)
    done = lunora(
        "dead", "drop", "--all", "--target", "billing:charge", "--limit", "2200", "--yes", "--url", worker.url
    )
    assert (done.status, done.out.count("dropped")) == (0, 2_200)
    assert [asked.json["limit"] for asked in worker.asked] == [1_000, 1_000, 200]
    assert sum(state == "dead" for state in worker.states().values()) == 2_304 - 2_200


def test_letters_are_told_in_groups(lunora: Lunora, worker: RealWorker) -> None:
    lunora("jobs", "cancel", "waits", "--url", worker.url)
    worker.bury("another", "billing:refund")
    done = lunora("dead", "groups", "--url", worker.url)
    head, first, *others = done.out.splitlines()
    assert head.split() == ["COUNT", "TARGET", "ERROR", "NEWEST", "EXAMPLE", "MESSAGE"]
    assert first.split()[:3] == ["2", "billing:refund", "OUTCOME_UNKNOWN"]
    assert [row.split()[0] for row in others] == ["1", "1", "1"]
    told = lunora("dead", "groups", "--url", worker.url, "--format", "json").json
    assert (told["exact"], told["groups"][0]["example_id"]) == (True, "another")
    lunora("dead", "drop", "--all", "--yes", "--url", worker.url)
    assert lunora("dead", "groups", "--url", worker.url).out == "there are no dead letters\n"


def test_groups_that_are_not_all_are_said_to_be_more(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers["GET /_lunora/admin/v1/scheduled/dead/groups"] = {"groups": [{"count": 5}], "exact": False}
    assert "there are more than were counted" in lunora("dead", "groups", "--url", scripted.url).err
