"""The generator imports nothing of the app, and neither do the references that it generates."""

from __future__ import annotations

import subprocess
import sys

from tests.codegen.golden_app import source
from tests.codegen.project import Project


def run_python(project: Project, code: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=project.folder, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_app_code_is_never_imported(project: Project) -> None:
    code = "from lunora._generated.server import query\n@query\ndef f(ctx) -> int: ...\nraise SystemExit('imported')\n"
    project.write({"__init__.py": "raise SystemExit('imported')\n", "m.py": code}).generate()
    assert "m:f" in project.generated()["api.py"]


def test_references_import_no_module_of_the_app(project: Project) -> None:
    project.write(source()).generate()
    names = ("api", "internal", "workflows", "agents", "server", "scheduler", "crons")
    loaded = run_python(
        project,
        f"import sys, importlib\nfor name in {names!r}: importlib.import_module('lunora._generated.' + name)\n"
        "print(*sorted(name for name in sys.modules if name.split('.')[0] in ('lunora', 'workers')))",
    )
    assert loaded.split() == [
        "lunora",
        *sorted(("lunora._generated", *(f"lunora._generated.{each}" for each in names))),
    ]


def test_references_and_registry_are_what_the_app_says(project: Project) -> None:
    project.write(source()).generate()
    shown = run_python(
        project,
        "from lunora._generated.registry import FUNCTIONS, MIGRATIONS, WORKFLOWS, AGENTS\n"
        "from lunora._generated.internal import internal\n"
        "from lunora._generated.api import api\n"
        "from lunora._generated.workflows import workflows\n"
        "from lunora._generated.agents import agents\n"
        "print(api.trials.start_trial)\n"
        "print(internal.imports.rows.process_row.path, hasattr(api, 'imports'))\n"
        "print(workflows.http_import, agents.support)\n"
        "print(*((path, f.kind, f.internal) for path, f in FUNCTIONS.items()))\n"
        "print([name for name, _ in MIGRATIONS], WORKFLOWS, AGENTS)\n"
        "print(MIGRATIONS[0][1] == open('lunora/schema.sql').read())\n",
    )
    assert shown.splitlines() == [
        "FunctionReference(path='trials:start_trial', kind='mutation', internal=False)",
        "imports.rows:process_row False",
        "WorkflowReference(name='http_import', binding='WORKFLOW_HTTP_IMPORT') "
        "AgentReference(name='support', binding='AGENT_SUPPORT')",
        "('billing:charge', 'action', True) ('billing:end_trial', 'mutation', True) "
        "('imports.rows:finish_import_and_tell', 'mutation', True) "
        "('imports.rows:process_row', 'mutation', True) ('presence:sweep', 'mutation', True) "
        "('trials:list_trials', 'query', False) ('trials:start_trial', 'mutation', False)",
        "['schema.sql', '0001_add_days.sql'] "
        "{'http_import': 'WORKFLOW_HTTP_IMPORT', 'onboarding': 'WORKFLOW_ONBOARDING'} {'support': 'AGENT_SUPPORT'}",
        "True",
    ]


def test_the_app_can_be_put_together(project: Project) -> None:
    project.write(source()).generate()
    assert run_python(
        project,
        "from lunora._generated.app import define_app\n"
        "app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER)\n"
        "print(app.build())",
    )
