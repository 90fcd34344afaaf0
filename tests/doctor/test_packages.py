"""The Worker's packages: pinned, vendored as pinned, and made for the Python inside the Worker."""

from __future__ import annotations

import pytest
from pytest_workers.runtime.vendoring import FOREIGN_STAMP, STAMP

from lunorash.doctor.packages import check_lock, check_vendored, check_wheels
from tests.doctor.project import PINS, Project, vendored


def test_pins_that_are_those_of_pyproject(project: Project) -> None:
    assert project.says(check_lock) == [("pass", "pins-ok")]


@pytest.mark.parametrize(
    ("pins", "code"),
    [
        ("lunorash==0.1.0\npydantic==2.13.0\n", "pins-stale"),
        ("lunorash==0.1.0\n", "pins-missing"),
        ("lunorash==0.1.0\npydantic>=2\n", "pins-invalid"),
        ("--index-url x\n", "pins-invalid"),
    ],
)
def test_pins_that_are_not(project: Project, pins: str, code: str) -> None:
    assert project.write("requirements/worker.txt", pins).says(check_lock) == [("fail", code)]


def test_dependencies_without_any_pins(project: Project) -> None:
    project.remove("requirements/worker.txt")
    assert project.says(check_lock) == [("fail", "pins-missing")]
    assert project.says(check_vendored) == []
    assert project.report()["toolchain-ok"] == "pass"


def test_pins_without_what_this_library_needs(project: Project) -> None:
    """As in a new project: the build provides the library, so its own dependencies are all there is to pin."""
    project.write(
        "pyproject.toml",
        '[project]\nname = "app"\nversion = "1"\ndependencies = ["lunorash"]\n'
        '[tool.pytest-workers]\nprovided = ["lunorash"]\n',
    )
    needed = ("croniter", "pydantic", "pyjwt", "workers-runtime-sdk")
    project.write("requirements/worker.txt", "".join(f"{name}==99.0\n" for name in needed))
    assert project.says(check_lock) == [("pass", "pins-ok")]
    (finding,) = project.write("requirements/worker.txt", "").findings(check_lock)
    assert (finding.level.value, finding.code) == ("fail", "pins-missing")
    assert "lunorash needs pydantic" in finding.message
    assert project.remove("requirements/worker.txt").says(check_lock) == [("fail", "pins-missing")]
    assert project.write("pylock.toml", "").says(check_lock) == [], "pywrangler locks there"


def test_packages_as_they_are_pinned(project: Project) -> None:
    assert project.says(check_vendored) == [("info", "packages-not-vendored")]
    assert project.says(check_wheels) == []
    vendored(project, PINS)
    assert project.says(check_vendored) == [("pass", "packages-ok")]
    assert project.says(check_wheels) == [("pass", "packages-wheels-ok")]


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ({"lunorash": "0.1.0", "pydantic": "2.14.3"}, "pydantic is 2.14.3, locked is 2.14.4"),
        ({"lunorash": "0.1.0"}, "pydantic is missing, locked is 2.14.4"),
        ({**PINS, "six": "1.17.0"}, "six 1.17.0 is not locked"),
        ({}, "2.14.4"),
        ({**PINS, **{f"p{number}": "1" for number in range(7)}}, "2 more"),
    ],
)
def test_packages_that_are_not_as_they_are_pinned(project: Project, installed: dict[str, str], said: str) -> None:
    (finding,) = vendored(project, installed).findings(check_vendored)
    assert (finding.level.value, finding.code) == ("warn", "packages-stale")
    assert said in finding.message


def test_packages_of_the_same_versions_from_other_files(project: Project) -> None:
    vendored(project, PINS)
    project.write(f"python_modules/{STAMP}", "another digest")
    assert project.says(check_vendored) == [("warn", "packages-stale")]


def test_packages_that_somebody_put_there_by_hand(project: Project) -> None:
    assert vendored(project, PINS, stamp=None).says(check_vendored) == [("warn", "packages-foreign")]
    assert vendored(project, PINS, stamp=FOREIGN_STAMP).says(check_vendored) == [("pass", "packages-ok")]


def test_packages_that_pywrangler_locked(project: Project) -> None:
    vendored(project, PINS, stamp=FOREIGN_STAMP).remove("requirements/worker.txt")
    assert project.says(check_lock) == []
    assert project.says(check_vendored) == [("info", "packages-not-locked")]
    project.write(
        "pylock.toml",
        'lock-version = "1.0"\n'
        + "".join(f'[[packages]]\nname = "{name}"\nversion = "{version}"\n' for name, version in PINS.items()),
    )
    assert project.says(check_vendored) == [("pass", "packages-ok")]
    assert project.replace("pylock.toml", "2.14.4", "2.14.5").says(check_vendored) == [("warn", "packages-stale")]


@pytest.mark.parametrize(
    "tag", ["cp314-cp314-pyemscripten_2026_0_wasm32", "cp312-abi3-pyemscripten_2026_0_wasm32", "py2.py3-none-any"]
)
def test_wheels_that_run_in_a_worker(project: Project, tag: str) -> None:
    assert vendored(project, PINS, tag=tag).says(check_wheels) == [("pass", "packages-wheels-ok")]


@pytest.mark.parametrize(
    "tag", ["cp313-cp313-pyemscripten_2025_0_wasm32", "cp314-cp314-manylinux_2_28_x86_64", "cp315-none-any"]
)
def test_wheels_that_do_not(project: Project, tag: str) -> None:
    findings = vendored(project, PINS, tag=tag).findings(check_wheels)
    assert [(finding.level.value, finding.code) for finding in findings] == [("fail", "packages-wrong-wheel")] * 2
    assert tag in findings[0].message


def test_without_a_toolchain_wheels_cannot_be_judged_and_versions_can(project: Project) -> None:
    vendored(project, PINS, tag="cp313-none-any")
    (project.folder / "node_modules").unlink()
    assert project.says(check_wheels) == []
    assert project.says(check_vendored) == [("pass", "packages-ok")]
