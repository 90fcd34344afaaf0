"""What the tests share: a tiny Worker project, and a folder that looks like installed npm packages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_workers.runtime import Project, bundle
from pytest_workers.runtime.toolchain import workerd_platform

REPOSITORY = Path(__file__).parents[2]
NODE_MODULES = REPOSITORY / "node_modules"
PINS = REPOSITORY / "requirements" / "worker.txt"

CONFIG = """
{
  // Comments and trailing commas are fine.
  "name": "sample",
  "main": "src/entry.py",
  "compatibility_date": "2026-11-17",
  "compatibility_flags": ["python_workers", "global_fetch_strictly_public"],
  "vars": { "GREETING": "from the configuration", "UNTOUCHED": "kept" },
  "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Counter"] }],
}
"""

ENTRY = """
import time
from urllib.parse import urlsplit

from workers import DurableObject, Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = urlsplit(request.url).path
        if path == "/health":
            return Response("", status=204)
        if path == "/vars":
            return Response.json({"greeting": self.env.GREETING, "untouched": self.env.UNTOUCHED})
        if path.startswith("/say/"):
            print("the Worker says", path.removeprefix("/say/"))
            return Response("said")
        stub = self.env.COUNTER.getByName("only")
        if path == "/count":
            return Response(str(await stub.count()))
        if path == "/alarm":
            return Response(str(await stub.arm(1500)))
        return Response("not found", status=404)

    async def scheduled(self, controller, env, ctx):
        print("scheduled", controller.cron, int(controller.scheduledTime))
        if controller.cron == "0 0 1 1 *":
            raise RuntimeError("a handler that fails")


class Counter(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.sql = ctx.storage.sql
        self.sql.exec("CREATE TABLE IF NOT EXISTS counts (n INTEGER)")

    async def count(self):
        self.sql.exec("INSERT INTO counts VALUES (1)")
        return self.sql.exec("SELECT count(*) AS n FROM counts").one().n

    async def arm(self, delay):
        await self.ctx.storage.setAlarm(int(time.time() * 1000) + delay)
        return delay

    async def alarm(self, info=None):
        print("the alarm fires")
"""


def _write_project(folder: Path, addition: str = "") -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "wrangler.jsonc").write_text(CONFIG, encoding="utf-8")
    (folder / "src" / "entry.py").write_text(ENTRY + addition, encoding="utf-8")
    # Values of this file lose against those that a test gives.
    (folder / ".dev.vars").write_text("GREETING=from dev.vars\n", encoding="utf-8")
    return folder


def _write_npm_package(node_modules: Path, name: str, version: str, **content: object) -> Path:
    folder = node_modules / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"version": version, **content}), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The real npm packages."""
    return NODE_MODULES


@pytest.fixture(scope="session")
def pins() -> Path:
    """Pins that have a wheel for the Worker each."""
    return PINS


@pytest.fixture(scope="session")
def write_project() -> Callable[..., Path]:
    """Write a small Worker project into a folder; the second argument is added to its Python code."""
    return _write_project


@pytest.fixture
def fake_project(tmp_path: Path) -> Callable[..., Project]:
    """A project with npm packages that only look like it: nothing in it can be started."""

    def make(*, pyodide: str = "314.0.6", expected: str = "314.0.6", node: str = ">=22.12.0") -> Project:
        folder = _write_project(tmp_path / "project")
        modules = folder / "node_modules"
        _write_npm_package(modules, "wrangler", "4.1.0", engines={"node": node})
        _write_npm_package(modules, "miniflare", "5.1.0")
        _write_npm_package(modules, "workerd", "1.2.0")
        workerd = _write_npm_package(modules, f"@cloudflare/workerd-{workerd_platform()}", "1.2.0") / "bin"
        workerd.mkdir()
        table = f"314.0.4\0sha\0pythonWorkersDevPyodide\0\0{expected}\0sha256-x\0"
        (workerd / "workerd").write_bytes(b"\x7fELF" + table.encode() + b"\0" * 64)
        packaged = _write_npm_package(modules, "pyodide", pyodide)
        info = {"info": {"python": "3.14.2", "abi_version": "2026_0"}}
        (packaged / "pyodide-lock.json").write_text(json.dumps(info), encoding="utf-8")
        counts = bundle.KNOWN_COUNTS["314.0.6"]
        parts = zip(bundle.SUBSTITUTIONS, counts, strict=True)
        glue = "\n".join(part.text + ";" for part, count in parts for _ in range(count))
        (packaged / bundle.GLUE_FILE).write_text(glue, encoding="utf-8")
        (packaged / bundle.WASM_FILE).write_bytes(b"\0asm")
        (packaged / bundle.STDLIB_FILE).write_bytes(b"PK")
        return Project.load(folder, cache=tmp_path / "cache")

    return make
