"""Import and generator agree: modules of crons that are run, and the same ones that are read, give the same jobs."""

from __future__ import annotations

import builtins
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.codegen import generate
from lunorash.crons import CronJob, CronJobs
from lunorash.errors import LunoraError
from tests.codegen.cron_app import APP, HEAD, crons_module
from tests.codegen.golden_app import source
from tests.codegen.project import Project

RIGHT: Final = {
    "targets": ("internal.deep.er.jobs.load", "'deep.er.jobs:load'", "workflows.onboarding", "agents.support"),
    "options": (
        "overlap='skip'",
        "overlap='allow'",
        "timeout=60_000",
        "timeout=5 * 60 * 1000 - 1",
        "timeout=1.5",
        "timeout=None",
        "timeout=timedelta(minutes=2, seconds=0.5)",
        "timeout=timedelta(0, 90)",
        "retry=None",
        "retry=RetryPolicy()",
        "retry=RetryPolicy(max_attempts=3, backoff='linear', base_ms=10 * 1000, max_ms=None, jitter=0.25)",
    ),
    "schedules": (
        "interval {'minutes': 5}",
        "interval {'hours': 6}",
        "hourly {'minute_utc': 17}",
        "daily {'minute_utc': 0, 'hour_utc': 23}",
        "weekly {'day_of_week': 'Sunday', 'hour_utc': 8, 'minute_utc': 0}",
        "monthly {'day': 31, 'hour_utc': 0, 'minute_utc': 0}",
        "cron '* * * * *'",
        "cron '0 6 LW jan-mar *'",
        "cron '0 7 * * 1-5'",
        "cron '5,10 */2 1-7 * *'",
    ),
}
WRONG: Final = {
    "targets": ("api.presence.here", "'no path'", "5"),
    "options": (
        "overlap='queue'",
        "timeout=-1",
        "timeout=True",
        "timeout=timedelta(hours=1)",
        "retry=RetryPolicy(max_attempts=0)",
        "retry=5",
        "other=1",
    ),
    "schedules": (
        "interval {}",
        "interval {'minutes': 45}",
        "interval {'minutes': 5, 'hours': 1}",
        "hourly {'minute_utc': 60}",
        "daily {'hour_utc': 9}",
        "weekly {'day_of_week': 'mon', 'hour_utc': 8, 'minute_utc': 0}",
        "monthly {'day': True, 'hour_utc': 0, 'minute_utc': 0}",
        "daily '* * * * *'",
        "cron {'minutes': 5}",
        "cron '@daily'",
        "cron '0 0 31 2 *'",
        "cron '0 0 * * 0'",
        "cron '1 1 1 1 1'",
        "cron 'x'",
    ),
    "names": ("''", "' '", "5", "None", "'\\ud800'", "'" + "x" * 201 + "'", "'a\\n'"),
    "args": ("[1]", "{1: 2}", "{'a': (1, 2)}", "{'a': 1e999}", "{'a': ...}", "{'a': 1j}", "5"),
}

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=30), inner, max_size=4),
    max_leaves=12,
)
right_args = st.sampled_from(("{}", "None", "{'a': b'bytes'}")) | st.builds(
    repr, st.dictionaries(st.text(max_size=20), json_values, max_size=4)
)

odd_texts = st.text("a\u00e4\"\\'{}", max_size=5)


@st.composite
def declarations(draw: st.DrawFn, number: int, mistake: str) -> str:
    """One call, its arguments given by position or by name, with one mistake at most."""

    def part(kind: str) -> str:
        return draw(st.sampled_from((WRONG if mistake == kind else RIGHT)[kind]))

    method, _, schedule = part("schedules").partition(" ")
    right_name = repr(f"{number} {draw(odd_texts)}".strip())
    parts = [part("names") if mistake == "names" else right_name, schedule, part("targets")]
    if mistake == "args" or draw(st.booleans()):
        parts.append(part("args") if mistake == "args" else draw(right_args))
    options = draw(st.lists(st.sampled_from(RIGHT["options"]), max_size=2, unique_by=lambda each: each[:5]))
    if mistake == "options":
        options = [part("options")]
    keywords = ("name", "expression" if method == "cron" else "schedule", "target", "args")
    by_position = draw(st.integers(0, len(parts)))
    written = [each if index < by_position else f"{keywords[index]}={each}" for index, each in enumerate(parts)]
    return f".{method}({', '.join([*written, *options])})"


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Several calls, as statements or chained; in half of the modules there may be mistakes."""
    mistakes = st.sampled_from(("", "", *WRONG)) if draw(st.booleans()) else st.just("")
    same_name = draw(st.sampled_from((False, False, False, True)))
    count = draw(st.integers(1, 4))
    calls = [draw(declarations(0 if same_name else number, draw(mistakes))) for number in range(count)]
    if draw(st.booleans()):
        return "(crons\n    " + "\n    ".join(calls) + "\n)\n"
    return "".join(f"crons{call}\n" for call in calls)


def importer(generated: dict[str, str]) -> Callable[..., Any]:
    """An `import` that knows what was generated, whatever app the process has imported."""

    def load(name: str, *arguments: Any) -> Any:
        if not name.startswith("lunora."):
            return builtins.__import__(name, *arguments)
        return SimpleNamespace(**run(generated[f"{name.rpartition('.')[2]}.py"], generated))

    return load


def run(code: str, generated: dict[str, str]) -> dict[str, Any]:
    """What a module has when it has been run."""
    variables = {"__builtins__": {**vars(builtins), "__import__": importer(generated)}, "__name__": "lunora.crons"}
    exec(compile(code, "crons.py", "exec"), variables)  # noqa: S102
    return variables


def declared(code: str, generated: dict[str, str]) -> tuple[CronJob, ...]:
    builder = run(code, generated)["crons"]
    assert isinstance(builder, CronJobs)
    return tuple(sorted(builder.jobs(), key=lambda job: job.name))


def emitted(generated: dict[str, str]) -> tuple[CronJob, ...]:
    variables = run(generated["crons.py"], generated)
    crons = variables["LUNORA_CRONS"]
    assert tuple(crons) == variables["LUNORA_CRON_TRIGGERS"]
    assert all(job.expression == expression for expression, jobs in crons.items() for job in jobs)
    return tuple(sorted((job for jobs in crons.values() for job in jobs), key=lambda job: job.name))


def attempted(code: str, generated: dict[str, str]) -> tuple[tuple[CronJob, ...], str]:
    """The jobs of a module, or the code that its import is refused with."""
    try:
        return declared(code, generated), ""
    except LunoraError as refusal:
        return (), refusal.code


def agreed(text: str, project: Project, generated: dict[str, str]) -> bool:
    """Whether both refuse a module or give the same jobs; True if they refuse."""
    project.write({"crons.py": HEAD + text})
    generation = generate(project.folder)
    codes = [each.code for each in generation.diagnostics]
    jobs, refusal = attempted(HEAD + text, generated)
    if refusal:
        # a RetryPolicy refuses before there is a job to name
        assert refusal in codes or (refusal == "INVALID_INPUT" and "CRON_OPTION_INVALID" in codes)
        return True
    assert codes == []
    assert tuple(cron.job for cron in generation.crons) == jobs
    generation.write()
    assert emitted(project.generated()) == jobs
    return False


def test_a_module_that_is_run_and_the_same_read_give_the_same_jobs() -> None:
    seen: dict[bool, int] = {True: 0, False: 0}
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder)).write(crons_module(""))
        project.generate()
        generated = project.generated()

        @given(modules())
        @settings(max_examples=250, deadline=None, database=None)
        def check(text: str) -> None:
            seen[agreed(text, project, generated)] += 1

        check()
    assert min(seen.values()) > 20, seen


def test_every_part_is_read_as_it_is_run(project: Project) -> None:
    project.write(crons_module("")).generate()
    generated = project.generated()
    for parts, refused in ((RIGHT, False), (WRONG, True)):
        for schedule in parts["schedules"]:
            method, _, written = schedule.partition(" ")
            assert agreed(f"crons.{method}('a', {written}, agents.support)\n", project, generated) == refused
        for target in parts["targets"]:
            assert agreed(f"crons.cron('a', '* * * * *', {target})\n", project, generated) == refused
        for option in parts["options"]:
            assert agreed(f"crons.cron('a', '* * * * *', agents.support, {option})\n", project, generated) == refused
    for name in WRONG["names"]:
        assert agreed(f"crons.cron({name}, '* * * * *', agents.support)\n", project, generated)
    for args in WRONG["args"]:
        assert agreed(f"crons.cron('a', '* * * * *', agents.support, {args})\n", project, generated)


def test_the_golden_app_is_read_as_it_is_run(project: Project) -> None:
    project.write(source()).generate()
    generated = project.generated()
    code = (project.folder / "lunora/crons.py").read_text(encoding="utf-8").replace("from ._gen", "from lunora._gen")
    jobs = declared(code, generated)
    assert len(jobs) == 6
    assert emitted(generated) == jobs


def test_the_agreement_can_fail(project: Project) -> None:
    project.write({**APP, "crons.py": HEAD + "crons.cron('a', '* * * * *', agents.support)\n"}).generate()
    generated = project.generated()
    (job,) = emitted(generated)
    generated["crons.py"] = generated["crons.py"].replace('name="a"', 'name="b"')
    assert emitted(generated) == (replace(job, name="b"),)
