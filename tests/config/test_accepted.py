"""Real wrangler takes what was reconciled, and inherits what we think it does."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lunorash.codegen import AppInstance, Generation
from lunorash.codegen.crons import AppCron
from lunorash.config.reconcile import with_bindings
from lunorash.config.wrangler import read_wrangler
from lunorash.crons import cron_jobs
from tests.config.test_reconcile import Queue

ROOT = Path(__file__).parents[2]
INSTANCES = (
    AppInstance("agent", "support", "AGENT_SUPPORT", "Support", "lunora/agents.py", 1),
    AppInstance("workflow", "welcome_mail", "WORKFLOW_WELCOME_MAIL", "WelcomeMail", "lunora/workflows.py", 1),
)
# the configuration is what is tested, and a Worker of JavaScript is put together in a moment
WORKER = """export class SchedulerDO {}
export class ShardDO {}
export class Support {}
export class WelcomeMail {}
export default { async fetch() {}, async queue() {}, async scheduled() {} };
"""
CONFIG = """\ufeff{
\t// the app
\t"name": "app",
\t"main": "worker.js",
\t"compatibility_date": "2026-11-01",
\t"triggers": { "crons": ["0 3 * * *",] }, // backups
\t"env": {
\t\t"staging": { "vars": { "LUNORA_ORIGIN_URL": "https://staging.example.com" } },
\t\t"own": {
\t\t\t"triggers": { "crons": [/* none of ours */ "5 5 * * *"] },
\t\t\t"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Support"] }]
\t\t},
\t\t"quiet": { "triggers": { "crons": [] } }
\t}
}
"""
READ = """
import { createRequire } from "node:module";
const { unstable_readConfig } = createRequire(process.argv[1] + "/package.json")("wrangler");
const read = (env) => unstable_readConfig({ config: "wrangler.jsonc", env });
const pick = ({ triggers, migrations, durable_objects, workflows, queues }) =>
  ({ crons: triggers.crons, migrations, objects: durable_objects.bindings, workflows, queues });
const names = ["", "staging", "own", "quiet"];
console.log("=>" + JSON.stringify(Object.fromEntries(names.map((name) => [name, pick(read(name || undefined))]))));
"""


def run(project: Path, *command: str | Path) -> str:
    done = subprocess.run(
        command,
        cwd=project,
        env={
            "PATH": f"{ROOT / '.venv/bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(project),
            "WRANGLER_SEND_METRICS": "false",
            "CI": "true",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "lunora").mkdir()
    (folder / "worker.js").write_text(WORKER)
    (folder / "wrangler.jsonc").write_bytes(CONFIG.encode())
    crons = tuple(
        AppCron(job, "lunora/crons.py", 1) for job in cron_jobs().cron("digest", "0 8 * * MON", "digest:send").jobs()
    )
    with_bindings(Generation(folder, (), INSTANCES, (), (), crons), [Queue("IMPORTS", "imports")]).write()
    return folder


@pytest.mark.parametrize("environment", ["", "staging", "own", "quiet"])
def test_wrangler_would_deploy_it(project: Path, environment: str) -> None:
    said = run(project, ROOT / "node_modules/.bin/wrangler", "deploy", "--dry-run", f"--env={environment}")
    suffix = environment and f"-{environment}"
    for binding in (
        "env.SCHEDULER (SchedulerDO)",
        "env.SHARD (ShardDO)",
        "env.AGENT_SUPPORT (Support)",
        "env.WORKFLOW_WELCOME_MAIL (WelcomeMail)",
        f"env.IMPORTS (imports{suffix})",
    ):
        assert binding in said
    assert "--dry-run: exiting now." in said
    assert "WARNING" not in said


def test_wrangler_reads_of_it_what_we_mean(project: Path) -> None:
    said = run(project, "node", "--input-type=module", "-e", READ, ROOT)
    seen: dict[str, Any] = json.loads(said.partition("=>")[2].splitlines()[0])
    top, staging, own, quiet = seen[""], seen["staging"], seen["own"], seen["quiet"]
    assert top["crons"] == staging["crons"] == ["0 8 * * MON", "0 3 * * *"]
    assert own["crons"] == ["0 8 * * MON", "5 5 * * *"]
    assert quiet["crons"] == []
    assert top["migrations"] == staging["migrations"] == quiet["migrations"]
    assert top["migrations"] == [{"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"]}]
    assert own["migrations"][1:] == [{"tag": "v2", "new_sqlite_classes": ["SchedulerDO", "ShardDO"]}]
    assert top["objects"] == staging["objects"] == own["objects"] == quiet["objects"]
    assert [each["workflows"][0]["name"] for each in seen.values()] == [
        "welcome-mail",
        "welcome-mail-staging",
        "welcome-mail-own",
        "welcome-mail-quiet",
    ]
    assert len({each["queues"]["consumers"][0]["queue"] for each in seen.values()}) == 4
    assert read_wrangler(project / "wrangler.jsonc")["triggers"]["crons"] == top["crons"]
