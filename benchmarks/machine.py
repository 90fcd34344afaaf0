"""What stands beside every number: the machine, and the versions of what ran on it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_workers.runtime import Project
from pytest_workers.runtime.npm import npm_package

__all__ = ["facts", "worker_memory_mb"]


def facts(project: Project) -> dict[str, Any]:
    """Describe the machine, and what a project runs on.

    Args:
        project: whose packages are looked at.
    """
    return {
        "cores": os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count(),
        "cpu": _cpu(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "system": platform.platform(),
        # of the last minute, before anything was started: what else the machine had to do
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "lunorash": version("lunorash"),
        **{name: npm_package(project, name).version for name in ("wrangler", "workerd", "pyodide")},
    }


def worker_memory_mb(process_group: int) -> float:
    """The resident memory of the workerd that holds the Worker, in MiB.

    A server has two, and the other one, a proxy, holds no Python: it is the smaller one by far.

    Args:
        process_group: of the server.

    Raises:
        RuntimeError: no workerd is running there.
    """
    listed = subprocess.run(
        ["ps", "-A", "-o", "pgid=", "-o", "rss=", "-o", "comm="],  # noqa: S607 - wherever it is
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    sizes = [int(rss) for group, rss, name in rows if int(group) == process_group and name.endswith("workerd")]
    if not sizes:
        raise RuntimeError(f"no workerd is running in the process group {process_group}")
    return max(sizes) / 1024


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
