"""Where cron jobs are found, what is generated of them, and what is worth a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.codegen import Diagnostic, generate
from lunorash.codegen.emit_crons import emit_crons
from lunorash.crons import CronJob
from lunorash.scheduler import RetryPolicy
from tests.codegen.cron_app import APP, HEAD, crons_module
from tests.codegen.project import Project

ROOT: Final = Path(__file__).parents[2]
SWEEP: Final = "('sweep', {'minutes': 5}, 'presence:sweep')"
FOUND: Final = {
    "at the top": f"from lunorash.server import cron_jobs\nc = cron_jobs()\nc.interval{SWEEP}\n",
    "directly": f"from lunorash.crons import cron_jobs\ncron_jobs().interval{SWEEP}\n",
    "as it is assigned": f"from lunorash.crons.builder import cron_jobs\nc = cron_jobs().interval{SWEEP}\n",
    "with an annotation": "from lunorash.server import CronJobs, cron_jobs\n"
    f"c: CronJobs = cron_jobs()\nc.interval{SWEEP}\n",
    "declared before": f"from lunorash.server import cron_jobs\nc: object\nc = cron_jobs()\nc.interval{SWEEP}\n",
    "of the class": f"from lunorash.server import CronJobs\nc = CronJobs()\nc.interval{SWEEP}\n",
    "under an alias": f"from lunorash.server import cron_jobs as make\nc = make()\nc.interval{SWEEP}\n",
    "of a module": f"import lunorash.server as s\nc = s.cron_jobs()\nc.interval{SWEEP}\n",
    "by the whole name": f"import lunorash.server\nc = lunorash.server.cron_jobs()\nc.interval{SWEEP}\n",
    "beside a parameter of its name": "from lunorash import server\nc = server.cron_jobs()\n"
    f"c.interval{SWEEP}\ndef f(c): c.x\n",
    "on another variable": f"from lunorash.server import cron_jobs\nb = c = cron_jobs()\nd = c\nd.interval{SWEEP}\n",
    "on what a call returned": f"from lunorash.server import cron_jobs\nc = cron_jobs()\nd = c.interval{SWEEP}\n",
    "with either function": "try:\n    from lunorash.server import cron_jobs\nexcept ImportError:\n"
    f"    from lunorash.crons import cron_jobs\nc = cron_jobs()\nc.interval{SWEEP}\n",
    "and read": "from lunorash.server import cron_jobs\nc = cron_jobs()\n"
    f"c.interval{SWEEP}\nif 1:\n    print(c.jobs())\n",
    "by name": "from lunorash.server import cron_jobs\nc = cron_jobs()\n"
    "c.interval(target='presence:sweep', args=None, schedule={'minutes': 5}, name='sweep')\n",
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND.keys())
@pytest.mark.parametrize("file", ["crons.py", "crons/__init__.py", "deep/er/anything.py", "__init__.py"])
def test_a_job_is_found(text: str, file: str, project: Project) -> None:
    project.write({**APP, file: text})
    (cron,) = project.generate().crons
    assert cron.job == CronJob("sweep", "*/5 * * * *", "presence:sweep", {})
    assert cron.file == f"lunora/{file}"
    assert cron.line == next(number for number, line in enumerate(text.splitlines(), 1) if "'sweep'" in line)


def test_a_job_is_found_across_modules(project: Project) -> None:
    project.write(
        {
            **APP,
            "make.py": "from lunorash.server import cron_jobs as build\n",
            "base.py": "from .make import build\nregistry = build()\n",
            "shared.py": "from .base import registry as crons\n",
            "a.py": f"from lunora.shared import crons\ncrons.interval{SWEEP}\n",
            "b/c.py": "import lunora.shared as s\ns.crons.hourly('b', {'minute_utc': 1}, 'presence:sweep')\n",
            "d.py": "from lunora import base\nbase.registry.hourly('a', {'minute_utc': 1}, 'presence:sweep')\n",
        }
    )
    found = [(cron.job.name, cron.file) for cron in project.generate().crons]
    assert found == [("a", "lunora/d.py"), ("b", "lunora/b/c.py"), ("sweep", "lunora/a.py")]


def test_what_only_looks_like_a_job_is_none(project: Project) -> None:
    text = "from lunorash.crons import CronJobs\nfrom other import crons, cron_jobs\n"
    text += "def f(crons: CronJobs): crons.daily()\n"
    project.write({"m.py": text + "crons.daily()\nx = [crons.cron(1) for crons in ()]\nprint(cron_jobs())\n"})
    assert project.generate().crons == ()


def output(project: Project, code: str) -> str:
    """What a process in the project's folder prints, which imports what was generated."""
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert answer.stderr == ""
    return answer.stdout


@pytest.mark.parametrize(
    ("registry", "functions", "target"),
    [("crons/__init__.py", "crons/jobs.py", "crons.jobs.run"), ("crons.py", "cron_jobs.py", "cron_jobs.run")],
)
def test_both_layouts_of_the_starter_run(registry: str, functions: str, target: str, project: Project) -> None:
    project.write(
        {
            "__init__.py": "",
            registry: "from lunora._generated.internal import internal\nfrom lunorash.server import cron_jobs\n"
            f"crons = cron_jobs()\ncrons.interval('heartbeat', {{'hours': 1}}, internal.{target})\n",
            functions: "from lunora._generated.server import internal_mutation\n@internal_mutation\n"
            "def run(ctx, since: int = 0) -> None: ...\n",
        }
    ).generate()
    code = (
        "from lunora.crons import crons\nfrom lunora._generated import crons as generated\n"
        "from lunora._generated.app import define_app\ndefine_app().build()\n"
        "assert generated.LUNORA_CRONS == {'0 * * * *': crons.jobs()}, generated.LUNORA_CRONS\n"
        "print(crons.jobs()[0].target)\n"
    )
    assert output(project, code) == f"{target.removesuffix('.run')}:run\n"


def test_functions_may_live_in_the_module_of_crons(project: Project) -> None:
    text = "from lunora._generated.internal import internal\nfrom lunora._generated.server import internal_mutation\n"
    text += "from lunorash.server import cron_jobs\n@internal_mutation\ndef run(ctx) -> None: ...\n"
    text += "cron_jobs().hourly('a', {'minute_utc': 1}, internal.crons.run)\n"
    project.write({"crons.py": text}).generate()
    code = "from lunora._generated import crons, registry; import lunora.crons\n"
    code += "print(*registry.FUNCTIONS, *crons.LUNORA_CRONS, lunora.crons.run.internal)\n"
    assert output(project, code) == "crons:run 1 * * * * True\n"


def test_jobs_of_one_expression_share_a_trigger_in_the_order_of_names(project: Project) -> None:
    text = "".join(
        f"crons.cron('{name}', '{expression}', 'presence:sweep')\n"
        for name, expression in (("c", "0 9 * * MON"), ("b", "* * * * *"), ("a", "0 9 * * 2"), ("d", "0 * * * *"))
    )
    generation = project.write(crons_module(text)).generate()
    assert generation.triggers == ("0 9 * * MON", "* * * * *", "0 * * * *")
    assert [cron.job.name for cron in generation.crons] == ["a", "b", "c", "d"]


def test_no_crons_are_an_empty_table(project: Project) -> None:
    project.write(APP).generate()
    text = project.generated()["crons.py"]
    assert "LUNORA_CRON_TRIGGERS: Final[tuple[str, ...]] = ()\n" in text
    assert "LUNORA_CRONS: Final[dict[str, tuple[CronJob, ...]]] = {}\n" in text


def notices(project: Project) -> list[Diagnostic]:
    generation = generate(project.folder)
    assert generation.diagnostics == ()
    return list(generation.notices)


def test_what_is_worth_a_word_about_an_expression(project: Project) -> None:
    text = "crons.cron('a', '0 7 * * 1-5', 'presence:sweep')\n"
    text += "crons.monthly('b', {'day': 31, 'hour_utc': 0, 'minute_utc': 0}, internal.presence.sweep)\n"
    text += "crons.cron('c', '0 7 * * MON', 'presence:count')\n"
    digits, short, query = notices(project.write(crons_module(text)))
    assert {each.code for each in (digits, short, query)} == {"CRON_EXPR_NOTICE"}
    assert [(each.file, each.line) for each in (digits, short, query)] == [("lunora/crons.py", n) for n in (9, 10, 11)]
    assert "'a': the day of week field is '1-5': Cloudflare" in digits.message
    assert "SUN-THU" in digits.message
    assert "months without a day 31 are passed over" in short.message
    assert "presence:count is a query" in query.message


@pytest.mark.parametrize(("count", "line"), [(5, None), (6, 14), (250, 14), (251, 259)])
def test_many_triggers(count: int, line: int | None, project: Project) -> None:
    text = "".join(f"crons.cron('{n:03}', '{n % 60} {n // 60} * * *', 'presence:sweep')\n" for n in range(count))
    found = notices(project.write(crons_module(f"{text}crons.cron('same', '0 0 * * *', 'presence:sweep')\n")))
    assert [(each.code, each.line) for each in found] == ([("CRON_TRIGGERS_MANY", line)] if line else [])
    if found:
        assert f"needs {count} cron triggers, and an account may have 5 on" in found[0].message
        assert "250 on a paid one" in found[0].message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[build-system]\n\n[project]\nname = 'app'\n", 3),
        ("[project]\nname = 'app'\ndependencies = []\n", 1),
        ("[project]\nname = 'app'\ndependencies = ['lunorashes', 'pydantic>=2']\n", 1),
        ("[ project ]\nname = 'app'\n[dependency-groups]\ndev = ['lunorash']\n", 1),
        ("project.name = 'app'\n", 1),
        ("[project]\nname = 'app'\ndependencies = ['lunorash']\n", None),
        ("[project]\nname = 'app'\ndependencies = [' Lunorash[cli] >= 0.1; python_version > \"3\"']\n", None),
        ("[project]\nname = 'app'\ndependencies = ['lunorash @ https://example.com/lunorash.whl']\n", None),
        ("[project]\nname = 'app'\ndynamic = ['dependencies']\n", None),
        ("[project]\nname = 'lunorash'\n", None),
        ("[tool.other]\n", None),
        ("[project\n", None),
        ("[project]\ndependencies = 5\n", None),
        ("[project]\ndependencies = ['lunorash']\ndynamic = 5\n", None),
        ("project = 5\n", None),
        ("x = " + "[" * 100_000, None),
        ("x = '\ud800'\n", None),
    ],
)
def test_a_dependency_that_is_not_listed(text: str, line: int | None, project: Project) -> None:
    project.write({"m.py": ""})
    assert notices(project) == []
    (project.folder / "pyproject.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    found = notices(project)
    assert [(each.code, each.file, each.line) for each in found] == (
        [("DEPENDENCY_MISSING", "pyproject.toml", line)] if line else []
    )


def test_a_directory_for_a_pyproject_is_passed_over(project: Project) -> None:
    (project.write({"m.py": ""}).folder / "pyproject.toml").mkdir()
    assert notices(project) == []


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=150)
    | st.sampled_from(("https://example.com/" + "x" * 120, "x" * 130, "x y" * 50, '"' * 130)),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=60), inner, max_size=5),
    max_leaves=25,
)
policies = st.builds(RetryPolicy, max_attempts=st.integers(1, 9), jitter=st.floats(0, 1))
jobs = st.lists(
    st.builds(
        CronJob,
        name=st.text(min_size=1, max_size=200),
        expression=st.sampled_from(("* * * * *", "0 8 * * MON", ",".join(map(str, range(50))) + " * * * *")),
        target=st.sampled_from(("a:b", "workflows.onboarding", "a" * 100 + ":" + "b" * 99)),
        args=st.dictionaries(st.text(max_size=150), json_values, max_size=6),
        overlap=st.sampled_from(("allow", "skip")),
        timeout_ms=st.integers(1, 900_000),
        retry=st.none() | policies,
    ),
    max_size=4,
)


def test_what_is_generated_is_formatted_and_means_the_same(tmp_path: Path) -> None:
    written: list[Path] = []

    @given(jobs)
    @settings(max_examples=150, deadline=None, database=None)
    def collect(jobs: list[CronJob]) -> None:
        text = emit_crons(jobs)
        assert text.isascii()
        variables: dict[str, object] = {}
        exec(compile(text, "crons.py", "exec"), variables)  # noqa: S102
        crons = variables["LUNORA_CRONS"]
        assert isinstance(crons, dict)
        assert sorted(map(repr, jobs)) == sorted(repr(job) for several in crons.values() for job in several)
        written.append(tmp_path / f"crons_{len(written)}.py")
        written[-1].write_text(text, encoding="utf-8")

    collect()
    deep: object = "x y" * 40
    for _ in range(60):
        deep = {"key": [deep]}
    (tmp_path / "deep.py").write_text(emit_crons([CronJob("a", "* * * * *", "a:b", {"deep": deep})]), encoding="utf-8")
    for command in (["format", "--diff"], ["check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--config", str(ROOT / "pyproject.toml")]
        answer = subprocess.run([*ruff, str(tmp_path)], capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout[:5_000] + answer.stderr


def test_the_head_of_the_test_app_is_eight_lines() -> None:
    assert HEAD.count("\n") == 8
