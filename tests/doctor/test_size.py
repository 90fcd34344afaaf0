from __future__ import annotations

import pytest

from lunorash.doctor.size import MAX_BYTES, check_size
from tests.doctor.project import Project


def built(project: Project, size: int) -> Project:
    """A Worker of this many bytes: most of them in one package, and some that wrangler leaves out."""
    project.write(".lunora/worker/worker.py", "x" * 100)
    package = project.folder / "python_modules/large"
    package.mkdir(parents=True)
    for name, length in (("module.so", size - 100), ("module.pyc", MAX_BYTES)):
        with (package / name).open("wb") as file:
            file.truncate(length)
    return project


def test_what_is_not_built_has_no_size(project: Project) -> None:
    assert project.says(check_size) == [("info", "worker-size-unknown")]
    project.configure(lambda config: config.pop("main"))
    assert project.says(check_size) == [("info", "worker-size-unknown")]


@pytest.mark.parametrize(
    ("size", "level", "code"),
    [
        (9_000_000, "pass", "worker-size-ok"),
        (MAX_BYTES * 95 // 100, "warn", "worker-nearly-too-large"),
        (MAX_BYTES, "warn", "worker-nearly-too-large"),
        (MAX_BYTES + 1, "fail", "worker-too-large"),
    ],
)
def test_the_size_against_the_limit(project: Project, size: int, level: str, code: str) -> None:
    (finding,) = built(project, size).findings(check_size)
    assert (finding.level.value, finding.code) == (level, code)
    if finding.fix is not None:
        assert "large 6" in finding.fix, "the largest package is named"
