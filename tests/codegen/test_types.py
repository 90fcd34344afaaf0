"""What a type checker says of calls to the generated scheduler: one run of mypy over all snippets.

A line that must be refused ends in ``# refused``; every other line must be accepted.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Final

import pytest

from tests.codegen.golden_app import source
from tests.codegen.project import Project

HEAD: Final = """
from datetime import date, datetime, timedelta, UTC
from decimal import Decimal
from lunora._generated.agents import agents
from lunora._generated.api import api
from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, MutationContext, QueryContext, action, internal_mutation, query
from lunora._generated.workflows import workflows
from lunora.imports.models import Row
from lunorash.scheduler import RunOptions

async def calls(ctx: MutationContext) -> None:
"""

CALLS: Final = {
    "right": 'await ctx.scheduler.run_after(0, internal.billing.end_trial, {"user_id": "u"})',
    "wrong_name": 'await ctx.scheduler.run_after(0, internal.billing.end_trial, {"user": "u"})  # refused',
    "wrong_type": 'await ctx.scheduler.run_after(0, internal.billing.end_trial, {"user_id": 1})  # refused',
    "missing": 'await ctx.scheduler.run_after(0, internal.billing.charge, {"user_id": "u"})  # refused',
    "all_missing": "await ctx.scheduler.run_after(0, internal.billing.end_trial)  # refused",
    "empty": "await ctx.scheduler.run_after(0, internal.billing.end_trial, {})  # refused",
    "extra": 'await ctx.scheduler.run_after(0, internal.billing.end_trial, {"user_id": "u", "a": 1})  # refused',
    "optional_left_out": 'await ctx.scheduler.run_after(0, api.trials.start_trial, {"plan": "pro"})',
    "optional_given": 'await ctx.scheduler.run_after(0, api.trials.start_trial, {"plan": "pro", "days": 3})',
    "optional_bad": 'await ctx.scheduler.run_after(0, api.trials.start_trial, {"plan": "pro", "days": ""})  # refused',
    "literal_wrong": 'await ctx.scheduler.run_after(0, api.trials.start_trial, {"plan": "free"})  # refused',
    "all_optional": "await ctx.scheduler.run_after(0, internal.presence.sweep)",
    "all_optional_wrong": 'await ctx.scheduler.run_after(0, internal.presence.sweep, {"room": "a"})  # refused',
    "imported_types": "await ctx.scheduler.run_after(0, internal.billing.charge, "
    '{"user_id": "u", "amount": Decimal(1), "on": date(2026, 1, 1), "plan": None})',
    "imported_type_wrong": 'await ctx.scheduler.run_after(0, internal.billing.charge, {"user_id": "u", "amount": 1.5})'
    "  # refused",
    "no_args": "await ctx.scheduler.run_after(0, internal.imports.rows.finish_import_and_tell)",
    "no_args_given": "await ctx.scheduler.run_after("
    '0, internal.imports.rows.finish_import_and_tell, {"a": 1})  # refused',
    "text": 'await ctx.scheduler.run_after(0, "billing:end_trial", {"anything": 1})',
    "text_alone": 'await ctx.scheduler.run_after(0, "presence:sweep")',
    "workflow": 'await ctx.scheduler.run_after(0, workflows.onboarding, {"user_id": "u"})',
    "workflow_alone": "await ctx.scheduler.run_after(0, workflows.http_import)",
    "workflow_unknown": "await ctx.scheduler.run_after(0, workflows.offboarding)  # refused",
    "agent": 'await ctx.scheduler.run_after(0, agents.support, {"question": "?"})',
    "model": 'await ctx.scheduler.run_after(0, internal.imports.rows.process_row, Row(number=1, cells=["a"]))',
    "model_as_dict": 'await ctx.scheduler.run_after(0, internal.imports.rows.process_row, {"number": 1, "cells": []})',
    "model_wrong": "await ctx.scheduler.run_after(0, internal.imports.rows.process_row, 5)  # refused",
    "model_missing": "await ctx.scheduler.run_after(0, internal.imports.rows.process_row)  # refused",
    "instant": 'await ctx.scheduler.run_at(datetime.now(UTC), internal.billing.end_trial, {"user_id": "u"})',
    "instant_wrong_name": 'await ctx.scheduler.run_at(0, internal.billing.end_trial, {"user": "u"})  # refused',
    "delay": 'await ctx.scheduler.run_after(timedelta(days=1), internal.billing.end_trial, {"user_id": "u"})',
    "delay_wrong": 'await ctx.scheduler.run_after("1", internal.billing.end_trial, {"user_id": "u"})  # refused',
    "options": 'await ctx.scheduler.run_after(0, internal.presence.sweep, options=RunOptions(id="a"))',
    "unknown_function": "await ctx.scheduler.run_after(0, internal.billing.begin_trial)  # refused",
    "private_as_public": "await ctx.scheduler.run_after(0, api.billing.end_trial)  # refused",
    "an_id_is_text": "job: str = await ctx.scheduler.run_after(0, internal.presence.sweep)",
    "an_id_is_no_number": "job: int = await ctx.scheduler.run_after(0, internal.presence.sweep)  # refused",
    "references_are_final": "internal.billing.end_trial = internal.billing.end_trial  # refused",
    "cancel": 'await ctx.scheduler.cancel(await ctx.scheduler.run_after(0, "m:f"))',
    "get": 'record = await ctx.scheduler.get("id"); print(record.state if record else None)',
    "list": 'print((await ctx.scheduler.list(states=["dead"])).jobs)',
}

DECORATED: Final = """
@query
def reads(ctx: QueryContext, a: int) -> int:
    ctx.db.fetch_all("SELECT 1")
    return a

@query  # refused
async def writes(ctx: MutationContext) -> None:
    ...

@action
async def acts(ctx: ActionContext) -> None:
    await ctx.scheduler.run_after(0, internal.presence.sweep)
    await ctx.scheduler.run_after(0, internal.presence.sweep, {"room": 1})  # refused

@internal_mutation
async def mutates(ctx: MutationContext, *, name: str) -> int:
    ctx.env  # refused
    return 1

@query
async def schedules(ctx: QueryContext) -> None:
    await ctx.scheduler.run_after(0, internal.presence.sweep)  # a query's

async def test_of_a_function(ctx: MutationContext) -> None:
    number: int = await mutates(ctx, name="a")
    text: str = await mutates(ctx, name="a")  # refused
    await mutates(ctx, name=1)  # refused
"""


SNIPPETS: Final = HEAD + "".join(f"    {call}\n" for call in CALLS.values()) + DECORATED


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """What mypy says, by file and line."""
    project = Project(tmp_path_factory.mktemp("types")).write(source())
    project.generate()
    (project.folder / "snippets.py").write_text(SNIPPETS, encoding="utf-8")
    (project.folder / "workers.pyi").write_text("class WorkflowEntrypoint: ...\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "-m", "snippets", "-p", "lunora"]
    answer = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert answer.returncode in (0, 1), answer.stdout + answer.stderr
    found: dict[str, dict[int, str]] = {}
    for file, line, message in re.findall(r"^(\S+?):(\d+): error: (.*)", answer.stdout, re.MULTILINE):
        found.setdefault(file, {})[int(line)] = message
    return found


def test_generated_code_is_clean_under_strict(errors: dict[str, dict[int, str]]) -> None:
    assert {file: found for file, found in errors.items() if file.startswith("lunora/_generated")} == {}


def test_the_snippets_have_no_other_errors(errors: dict[str, dict[int, str]]) -> None:
    marked = {line for line, text in enumerate(SNIPPETS.splitlines(), start=1) if text.endswith("# refused")}
    queries = {line for line, text in enumerate(SNIPPETS.splitlines(), start=1) if text.endswith("# a query's")}
    assert set(errors["snippets.py"]) - queries == marked


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_accepted_or_refused(name: str, errors: dict[str, dict[int, str]]) -> None:
    line = SNIPPETS[: SNIPPETS.index(f"    {CALLS[name]}\n")].count("\n") + 1
    message = errors["snippets.py"].get(line)
    assert (message is not None) == CALLS[name].endswith("# refused"), message


@pytest.mark.parametrize("text", [line for line in DECORATED.splitlines() if line.endswith("# refused")])
def test_a_function_is_refused_what_its_kind_may_not(text: str, errors: dict[str, dict[int, str]]) -> None:
    line = SNIPPETS.splitlines().index(text) + 1
    assert line in errors["snippets.py"]


def test_a_query_has_no_scheduler(errors: dict[str, dict[int, str]]) -> None:
    (line,) = (line for line, text in enumerate(SNIPPETS.splitlines(), start=1) if text.endswith("# a query's"))
    assert line in errors["snippets.py"]
