"""The configuration as it would be deployed: wrangler takes it, offline, and everything is in the bundle."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyjson5
import pytest
from pytest_workers.runtime import Project, prepare

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `npx wrangler deploy` would upload."""
    prepare(Project.load(ROOT), print)
    folder = tmp_path_factory.mktemp("bundle")
    done = subprocess.run(
        ["npx", "wrangler", "deploy", "--dry-run", "--outdir", str(folder)],
        cwd=ROOT,
        env={
            "PATH": f"{ROOT / '.venv/bin'}:/usr/bin:/bin",
            "HOME": str(folder),
            "WRANGLER_SEND_METRICS": "false",
            "CI": "true",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--dry-run: exiting now." in done.stdout
    assert "env.SCHEDULER (SchedulerDO)" in done.stdout
    assert "env.WORKFLOW_ONBOARDING" in done.stdout
    return folder


def test_the_bundle_has_the_library_the_app_and_what_they_need(bundle: Path) -> None:
    modules = {str(path.relative_to(bundle)) for path in bundle.rglob("*.py")}
    assert {"worker.py", "lunora/trials.py", "lunora/_generated/registry.py", "lunorash/scheduler/engine.py"} <= modules
    for package in ("pydantic", "croniter", "workers", "pydantic_core", "dateutil", "tzdata"):
        assert any(f"python_modules/{package}/" in module for module in modules), package
    assert list(bundle.rglob("_pydantic_core*.so"))
    assert list(bundle.rglob("*.pth")), "the SDK's import patches"


def test_the_bundle_has_no_tooling_and_fits(bundle: Path) -> None:
    staged = [path.relative_to(bundle) for path in bundle.rglob("*") if path.is_file()]
    assert not [path for path in staged if path.parts[:2] == ("lunorash", "cli")]
    assert sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file()) < 64 * 1024 * 1024


def test_the_configuration_is_fit_for_production() -> None:
    config = pyjson5.decode((ROOT / "wrangler.jsonc").read_text(encoding="utf-8"))
    assert set(config["compatibility_flags"]) == {"python_workers", "global_fetch_strictly_public"}
    assert config["compatibility_date"] >= "2026-09-08", "Python 3.14"
    assert {"name": "SCHEDULER", "class_name": "SchedulerDO"} in config["durable_objects"]["bindings"]
    assert config["migrations"] == [{"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"]}]
    assert config["limits"]["cpu_ms"] == 300_000
    assert config["observability"]["enabled"] is True
    assert "vars" not in config, "an origin and secrets belong to each deployment"
