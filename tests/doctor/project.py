"""A healthy project in a temporary folder, for tests to break one thing in it."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_workers.runtime.pins import read_pins
from pytest_workers.runtime.vendoring import STAMP, pins_digest

from lunorash.codegen import generate
from lunorash.doctor import Finding, examine
from lunorash.doctor.evidence import Evidence
from lunorash.doctor.examine import Check

__all__ = ["PINS", "ROOT", "SECRET", "TOKEN", "Project", "make", "vendored"]

ROOT: Final = Path(__file__).parents[2]
SECRET: Final = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PINS: Final = {"lunorash": "0.1.0", "pydantic": "2.14.4"}
TOKEN: Final = "0123456789abcdef" * 4

CONFIG: Final[dict[str, Any]] = {
    "name": "app",
    "main": ".lunora/worker/worker.py",
    "compatibility_date": "2026-11-01",
    "compatibility_flags": ["python_workers", "global_fetch_strictly_public"],
    "vars": {"LUNORA_ORIGIN_URL": "https://app.example.com"},
    "durable_objects": {
        "bindings": [
            {"name": "SCHEDULER", "class_name": "SchedulerDO"},
            {"name": "SHARD", "class_name": "ShardDO"},
            {"name": "AGENT_SUPPORT", "class_name": "Support"},
        ]
    },
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"]}],
    "workflows": [{"name": "onboarding", "binding": "WORKFLOW_ONBOARDING", "class_name": "Onboarding"}],
}
FILES: Final = {
    "lunora/trials.py": """
from lunora._generated.server import mutation

@mutation
async def start(ctx) -> str:
    return await ctx.scheduler.run_after(1000, "trials:start")
""",
    "lunora/agents.py": """
from lunorash.server import Agent

class Support(Agent):
    async def run(self, params): ...
""",
    "lunora/workflows.py": """
from workers import WorkflowEntrypoint

class Onboarding(WorkflowEntrypoint): ...
""",
    "src/worker.py": """
from lunora._generated.app import define_app
from lunora._generated.scheduler import SchedulerDO
from lunora.agents import Support
from lunora.workflows import Onboarding

app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER).build()
Default = app.Default
ShardDO = app.ShardDO
""",
    ".dev.vars": f"""
LUNORA_ORIGIN_URL="http://localhost:8787"
LUNORA_SCHEDULER_SECRET="{SECRET}"
LUNORA_ADMIN_TOKEN="{TOKEN}"
""",
    ".gitignore": ".dev.vars\n",
    "pyproject.toml": '[project]\nname = "app"\nversion = "1"\ndependencies = ["lunorash", "pydantic>=2.14"]\n',
    "requirements/worker.txt": "".join(f"{name}=={version}\n" for name, version in PINS.items()),
}


@dataclass(frozen=True)
class Project:
    folder: Path

    def configure(self, change: Callable[[dict[str, Any]], object]) -> Project:
        """Change wrangler.jsonc."""
        path = self.folder / "wrangler.jsonc"
        config = json.loads(path.read_text())
        change(config)
        path.write_text(json.dumps(config, indent=2))
        return self

    def write(self, name: str, text: str) -> Project:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self

    def replace(self, name: str, old: str, new: str) -> Project:
        text = (self.folder / name).read_text()
        assert old in text
        return self.write(name, text.replace(old, new))

    def remove(self, name: str) -> Project:
        (self.folder / name).unlink()
        return self

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.folder), *arguments], check=True, capture_output=True)

    def says(self, check: Check) -> list[tuple[str, str]]:
        """Level and code of each finding of a check."""
        return [(finding.level.value, finding.code) for finding in self.findings(check)]

    def findings(self, check: Check) -> list[Finding]:
        return list(check(Evidence(self.folder)))

    def report(self) -> dict[str, str]:
        """The level of each finding of the whole examination, by its code; the worst where a code comes twice."""
        found: dict[str, str] = {}
        for finding in examine(self.folder).findings:
            if finding.level.value in ("fail", "warn") or finding.code not in found:
                found[finding.code] = finding.level.value
        return found


def make(folder: Path) -> Project:
    """A project with nothing wrong, not built yet, in a git repository."""
    project = Project(folder)
    for name, text in FILES.items():
        project.write(name, text.lstrip("\n"))
    project.write("wrangler.jsonc", json.dumps(CONFIG, indent=2))
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    generate(folder).write()
    project.git("init", "--quiet")
    return project


def vendored(
    project: Project, installed: dict[str, str], *, stamp: str | None = STAMP, tag: str = "py3-none-any"
) -> Project:
    """python_modules/ as pip leaves it, and whoever called pip."""
    for name, version in installed.items():
        folder = f"python_modules/{name}-{version}.dist-info"
        project.write(f"{folder}/METADATA", f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n")
        project.write(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
    if stamp is not None:
        pins = read_pins(project.folder / "requirements/worker.txt", "3.14")
        project.write(f"python_modules/{stamp}", pins_digest(pins, Evidence(project.folder).toolchain))
    return project
