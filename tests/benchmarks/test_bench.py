"""`make bench` works. How fast it is, no test says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.figures import FIGURES, QUICK

ROOT = Path(__file__).parents[2]


def test_one_figure_is_measured_and_stdout_is_one_document() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--only", "enqueue"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["ok"] is True
    assert set(printed["figures"]) == {"enqueue"}
    rate = printed["figures"]["enqueue"]["measures"]["rate"]
    assert rate["unit"] == "jobs/s"
    assert rate["median"] > 0
    assert rate["runs"] == [rate["median"]] == [rate["lowest"]] == [rate["highest"]]
    assert printed["settings"]["enqueued"] == QUICK.enqueued
    assert printed["machine"]["cores"] >= 1
    assert {"cpu", "python", "workerd", "wrangler", "pyodide", "load_before"} <= set(printed["machine"])
    assert "enqueue, run 1" in done.stderr


def test_a_figure_that_is_not_there_is_refused_with_those_that_are() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", "everything"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "everything" in done.stderr
    assert "lateness" in done.stderr
    assert len(FIGURES) > 10
