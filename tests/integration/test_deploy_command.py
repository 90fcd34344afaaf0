"""`lunora deploy`, with the wrangler that would upload: all of it but the upload."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyjson5
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The repository as it was just cloned: nothing generated, nothing vendored, nothing built."""
    for name in ("src", "node_modules", "pyproject.toml", "requirements"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "lunora", tmp_path / "lunora", ignore=shutil.ignore_patterns("_generated", "__pycache__"))
    shutil.copy(ROOT / "wrangler.jsonc", tmp_path)
    return tmp_path


def change(project: Path, **changes: object) -> None:
    """Write the configuration anew with other values at the top level."""
    path = project / "wrangler.jsonc"
    path.write_text(json.dumps({**pyjson5.decode(path.read_text()), **changes}))


def deploy(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lunorash.cli.main", "deploy", "--dry-run", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_clone_is_checked_built_and_handed_to_wrangler(project: Path) -> None:
    done = deploy(project, "--", "--outdir", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [
        "generated lunora/_generated/api.py",
        "[WARN] origin-missing",
        "files changed in .lunora/worker",
        "wrangler deploy --dry-run --outdir out",
        "env.SCHEDULER (SchedulerDO)",
        "--dry-run: exiting now.",
    ]
    places = [done.stdout.find(step) for step in steps]
    assert -1 not in places, done.stdout
    assert places == sorted(places), done.stdout
    assert (project / "out/lunorash/scheduler/engine.py").is_file()
    assert not (project / "out/lunorash/doctor").exists()
    assert list((project / "out").rglob("_pydantic_core*.so"))


def test_one_environment_as_json(project: Path) -> None:
    config = pyjson5.decode((project / "wrangler.jsonc").read_text())
    inherited = {key: config[key] for key in ("durable_objects", "workflows")}
    staging = {**inherited, "vars": {"LUNORA_ORIGIN_URL": "https://staging.example.com"}}
    insecure = {**inherited, "vars": {"LUNORA_ORIGIN_URL": "http://staging.example.com"}}
    change(project, env={"staging": staging, "broken": insecure})
    done = deploy(project, "--env", "staging", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["ok"] is True
    assert {finding["level"] for finding in document["findings"]} <= {"pass", "info"}
    assert any(finding["code"] == "worker-size-ok" for finding in document["findings"]), "what was built is looked at"
    assert 'env.LUNORA_ORIGIN_URL ("https://staging.example.com")' in done.stderr
    broken = deploy(project, "--env", "broken")
    assert broken.returncode == 1
    assert "[FAIL] origin-not-https" in broken.stdout
    unknown = deploy(project, "--env", "nowhere")
    assert unknown.returncode == 1
    assert "ENVIRONMENT_NOT_FOUND" in unknown.stderr


def test_what_the_doctor_fails_is_not_handed_to_wrangler_unless_asked_to(project: Path) -> None:
    change(project, vars={"LUNORA_ADMIN_TOKEN": "correct horse battery"})
    stopped = deploy(project)
    assert stopped.returncode == 1
    assert "[FAIL] secret-in-wrangler" in stopped.stdout
    assert "correct horse" not in stopped.stdout
    assert "nothing was uploaded" in stopped.stdout
    assert not (project / ".lunora").exists()
    skipped = deploy(project, "--skip-doctor")
    assert skipped.returncode == 0, skipped.stdout + skipped.stderr
    assert "[FAIL]" not in skipped.stdout


def test_packages_of_an_older_lock_are_brought_in_step(project: Path) -> None:
    assert deploy(project).returncode == 0
    stamp = project / "python_modules/.pytest-workers"
    digest = stamp.read_text()
    stamp.write_text("of another lock")
    assert deploy(project).returncode == 0
    assert stamp.read_text() == digest


def test_the_exit_status_is_wrangler_s(project: Path) -> None:
    done = deploy(project, "--", "--no-such-option")
    assert done.returncode == 1
    assert "Unknown argument" in done.stderr


def test_a_configuration_that_codegen_would_change_has_to_be_looked_at(project: Path) -> None:
    before = pyjson5.decode((project / "wrangler.jsonc").read_text())
    change(project, workflows=[])
    done = deploy(project)
    assert done.returncode == 1
    assert "CODEGEN_STALE" in done.stderr
    assert pyjson5.decode((project / "wrangler.jsonc").read_text()) == {**before, "workflows": []}, "left as it is"


def test_sources_that_are_wrong_are_told(project: Path) -> None:
    (project / "lunora/wrong.py").write_text("(")
    done = deploy(project)
    assert done.returncode == 1
    assert "lunora/wrong.py:1: MODULE_SYNTAX_ERROR" in done.stderr


def test_a_folder_with_no_project_in_it(tmp_path: Path) -> None:
    done = deploy(tmp_path)
    assert done.returncode == 1
    assert "wrangler-missing" in done.stdout
    assert "Traceback" not in done.stderr
