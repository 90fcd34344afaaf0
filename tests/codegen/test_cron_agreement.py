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

TARGETS: Final = (
    "internal.deep.er.jobs.load",
    "'deep.er.jobs:load'",
    "workflows.onboarding",
    "agents.support",
    "api.presence.here",
    "'no path'",
)
EXPRESSIONS: Final = ("* * * * *", "0 6 LW * *", "0 7 * * 1-5", "@daily", "0 0 31 2 *", "0 0 * * 0", "1 1 1 1 1", "x")
OPTIONS: Final = (
    "overlap='skip'",
    "overlap='allow'",
    "overlap='queue'",
    "timeout=60_000",
    "timeout=5 * 60 * 1000 - 1",
    "timeout=1.5",
    "timeout=-1",
    "timeout=None",
    "timeout=timedelta(minutes=2, seconds=0.5)",
    "timeout=timedelta(0, 90)",
    "timeout=timedelta(hours=1)",
    "retry=RetryPolicy()",
    "retry=RetryPolicy(max_attempts=3, backoff='linear', base_ms=10 * 1000, max_ms=None, jitter=0.25)",
    "retry=RetryPolicy(max_attempts=0)",
    "retry=None",
    "retry=5",
    "other=1",
)

numbers = st.integers(-1, 61)
schedules = st.one_of(
    st.builds("interval {!r}".format, st.dictionaries(st.sampled_from(("minutes", "hours")), numbers, max_size=2)),
    st.builds("hourly {!r}".format, st.fixed_dictionaries({"minute_utc": numbers})),
    st.builds("daily {!r}".format, st.fixed_dictionaries({"hour_utc": numbers, "minute_utc": st.just(0)})),
    st.builds(
        "weekly {!r}".format,
        st.fixed_dictionaries(
            {"day_of_week": st.sampled_from(("monday", "Sunday", "mon")), "hour_utc": st.just(8)},
            optional={"minute_utc": numbers},
        ),
    ),
    st.builds(
        "monthly {!r}".format,
        st.fixed_dictionaries({"day": numbers, "hour_utc": st.just(0), "minute_utc": st.just(0)}),
    ),
    st.builds("cron {!r}".format, st.sampled_from(EXPRESSIONS)),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=30), inner, max_size=4),
    max_leaves=12,
)
arguments = st.one_of(
    st.just("{}"),
    st.just("None"),
    st.builds(repr, st.dictionaries(st.text(max_size=20), json_values, max_size=4)),
    st.sampled_from(("[1]", "{1: 2}", "{'a': (1, 2)}", "{'a': b'bytes'}", "{'a': 1e999}", "{'a': ...}", "{'a': 1j}")),
)
names = st.text(min_size=1, max_size=12) | st.sampled_from(("a", "b", "ä", " ", "\ud800", "x" * 201))


@st.composite
def declarations(draw: st.DrawFn) -> str:
    """One call, its arguments given by position or by name."""
    method, _, schedule = draw(schedules).partition(" ")
    parts = [draw(names).__repr__(), schedule, draw(st.sampled_from(TARGETS))]
    parts += [draw(arguments)] if draw(st.booleans()) else []
    keywords = ("name", "expression" if method == "cron" else "schedule", "target", "args")
    by_position = draw(st.integers(0, len(parts)))
    written = [part if index < by_position else f"{keywords[index]}={part}" for index, part in enumerate(parts)]
    options = draw(st.lists(st.sampled_from(OPTIONS), max_size=2, unique_by=lambda each: each.partition("=")[0]))
    return f".{method}({', '.join([*written, *options])})"


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Several calls, as statements or chained."""
    calls = draw(st.lists(declarations(), max_size=4))
    joiner = draw(st.sampled_from(("\ncrons", "\n    ")))
    return (
        f"(crons{joiner.join(calls)})\n"
        if calls and joiner != "\ncrons"
        else "".join(f"crons{call}\n" for call in calls)
    )


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


def test_every_single_option_is_read_as_it_is_run(project: Project) -> None:
    project.write(crons_module("")).generate()
    generated = project.generated()
    for option in OPTIONS:
        agreed(f"crons.cron('a', '* * * * *', 'deep.er.jobs:load', {option})\n", project, generated)
    for method in ("'@hourly'", "'0 0 L-3 * *'", "'0 0 * * FRIL'", "'5,10 */2 1-7 jan-mar *'"):
        agreed(f"crons.cron('a', {method}, agents.support)\n", project, generated)


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
