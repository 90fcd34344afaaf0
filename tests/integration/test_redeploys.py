"""Versions of an app on the same state, one after the other: migrations, and functions that come and go."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_workers.worker import Worker

from tests.integration.client import Client, wait_for
from tests.integration.conftest import APP

ROOT = Path(__file__).parents[2]
ADDED = Path("lunora", "migrations", "0002_added.sql")
PASSING = Path("lunora", "passing.py")
BROKEN = "CREATE TABLE added (more TEXT) STRICT;\nINSERT INTO kept VALUES ('one too few');\n"


class Story:
    """A copy of the tests' app, and what its jobs and shards look like after each change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".*", "_generated", "__pycache__", "python_modules"))
        settings = (folder / "pyproject.toml").read_text(encoding="utf-8")
        (folder / "pyproject.toml").write_text(
            re.sub(r'"((?:\.\./)+[^"]*)"', lambda match: f'"{(APP / match[1]).resolve()}"', settings), encoding="utf-8"
        )
        self.ids: dict[str, str] = {}
        self.without: dict[str, dict[str, Any]] = {}
        self.looked_at = 0
        self.failures: list[tuple[int, str, str]] = []

    def change(self, path: Path, pattern: str, by: str) -> str:
        """Edit a file; returns what it was."""
        before = (self.folder / path).read_text(encoding="utf-8")
        after, changes = re.subn(pattern, by, before, flags=re.DOTALL)
        assert changes == 1
        (self.folder / path).write_text(after, encoding="utf-8")
        return before


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(tmp_path_factory.mktemp("versions") / "app")


@pytest.fixture(scope="module")
def redeployed(worker_factory: Callable[..., Worker], story: Story) -> Iterator[Client]:
    """A Worker that has been through a version without two functions and with a migration that fails."""
    worker = worker_factory(story.folder, node_modules=ROOT / "node_modules", name="redeployed")
    client = Client(worker)
    client.mutate("ledger:book", {"tags": ["by a job"], "shard": "second"})
    wait_for(lambda: client.effects(shard="second"), "the second shard", 10)
    story.ids = client.mutate("passing:schedule")
    worker.stop()

    whole = story.change(PASSING, r'"vanishing": await.*?internal.passing.vanishing[^\n]*\n', "")
    story.change(PASSING, r"@internal_mutation\ndef vanishing.*?(?=@internal_mutation)", "")
    story.change(PASSING, r"(def changing\(ctx: MutationContext, )tag: str", r"\1tag: int")
    (story.folder / ADDED).write_text(BROKEN, encoding="utf-8")
    worker.restart()
    story.failures = [client.error("query", "ledger:effects", shard=shard) for shard in (None, "second")]
    for name, job_id in story.ids.items():
        story.without[name] = wait_for(
            lambda job_id=job_id: (record := client.get(job_id))["error_code"] and record,  # type: ignore[misc]
            f"{name} to be tried",
            20,
            lambda job_id=job_id: client.get(job_id),  # type: ignore[misc]
        )
    story.looked_at = int(time.time() * 1000)
    worker.stop()

    (story.folder / PASSING).write_text(whole, encoding="utf-8")
    story.change(ADDED, "'one too few'", "'two', '2'")
    worker.restart()
    yield client
    worker.stop()
    client.http.close()


def test_a_migration_that_fails_says_which_statement_and_the_next_version_repairs_it(
    redeployed: Client, story: Story
) -> None:
    for status, code, message in story.failures:
        assert (status, code) == (500, "MIGRATION_FAILED")
        # callers learn a number only, under which the log has the rest
        line = redeployed.worker.wait_for_log(message.rpartition(" ")[2]).string
        assert "0002_added.sql: table kept has 2 columns but 1 values were supplied" in line
        assert "INSERT INTO kept VALUES ('one too few')" in line
        assert "CREATE TABLE" not in line
        for hidden in ("0002_added", "kept", "INSERT"):
            assert hidden not in message


def test_migrations_are_applied_once_on_every_shard_and_survive_restarts(redeployed: Client) -> None:
    for shard in (None, "second"):
        applied = redeployed.query("ledger:booked", {"tag": "0001%"}, shard=shard)
        assert applied == [{"tag": "0001_kept.sql; applied", "job": ""}]
        assert redeployed.query("kinds:kept", {"name": "two"}, shard=shard) == 2
    assert [effect["tag"] for effect in redeployed.effects(shard="second")] == ["by a job"]
    redeployed.mutate("asking:count_up", {"name": "still works"})


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("vanishing", "FUNCTION_NOT_FOUND", "passing:vanishing"),
        ("changing", "INVALID_INPUT", "tag: Input should be a valid integer"),
    ],
)
def test_a_job_whose_function_is_gone_or_takes_something_else_waits_30_s_and_runs_when_it_is_back(
    redeployed: Client, story: Story, name: str, code: str, says: str
) -> None:
    record = story.without[name]
    assert (record["state"], record["error_code"], record["attempts"], record["charged"]) == ("pending", code, 1, 0)
    assert says in record["error_message"]
    assert 20_000 < record["due"] - story.looked_at <= 30_000
    record = redeployed.wait(story.ids[name], "succeeded", within=50)
    assert record["charged"] == 1
    assert [effect["job"] for effect in redeployed.effects(name)] == [story.ids[name]]
