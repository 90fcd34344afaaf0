from __future__ import annotations

import base64
import hashlib
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_workers.errors import (
    HashMismatchError,
    PinsInvalidError,
    PinsMissingError,
    VendoringFailedError,
    WheelUnavailableError,
)
from pytest_workers.runtime import Project, prepare
from pytest_workers.runtime.pins import read_pins
from pytest_workers.runtime.toolchain import Toolchain
from pytest_workers.runtime.vendoring import STAMP, explain_pip


def write_wheel(folder: Path, name: str, *, requires: str = "", tag: str = "py3-none-any") -> str:
    """Write a wheel by hand, so that the tests need no index; the return value is its hash."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-1.0-{tag}.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        f"{name}/__init__.py": "x = 1\n",
        f"{name}.pth": "import site\n",
        f"{name}-1.0.dist-info/METADATA": metadata,
        f"{name}-1.0.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = ""
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
            record += f"{file},sha256={digest},{len(content)}\n"
        archive.writestr(f"{name}-1.0.dist-info/RECORD", record + f"{name}-1.0.dist-info/RECORD,,\n")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def pinned(
    fake_project: Callable[..., Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Project]:
    """A project with the given pins, whose wheels come from a folder and from nowhere else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    project = fake_project()

    def make(text: str) -> Project:
        (project.folder / "requirements-worker.txt").write_text(text, encoding="utf-8")
        return Project.load(project.folder, cache=project.cache)

    return make


def test_packages_are_vendored_once(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    digest = write_wheel(tmp_path / "wheels", "tiny")
    said: list[str] = []
    project = pinned(f"# comment\nTiny==1.0 \\\n    --hash=sha256:{digest}\n")
    prepare(project, said.append)
    modules = project.python_modules
    assert (modules / "tiny" / "__init__.py").is_file()
    assert (modules / "tiny.pth").is_file()
    assert not list(modules.rglob("__pycache__"))
    assert said[0] == "vendoring 1 packages for Python 3.14"
    (modules / "tiny" / "__init__.py").unlink()
    prepare(project, said.append)
    assert len([line for line in said if "vendoring" in line]) == 1
    assert not (modules / "tiny" / "__init__.py").exists()
    # A folder that is gone comes back from the cache, without pip.
    modules.rename(tmp_path / "moved")
    prepare(project, said.append)
    assert (modules / "tiny" / "__init__.py").is_file()
    assert len([line for line in said if "vendoring" in line]) == 1


def test_changed_pins_replace_the_folder(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny")
    write_wheel(tmp_path / "wheels", "other")
    prepare(pinned("tiny==1.0\n"))
    project = pinned("other==1.0\n")
    prepare(project)
    assert sorted(path.name for path in project.python_modules.iterdir() if path.suffix != ".dist-info") == [
        STAMP,
        "other",
        "other.pth",
    ]
    assert list((project.folder / ".wrangler").iterdir()) == []


def test_several_preparations_at_once(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny")
    project = pinned("tiny==1.0\n")
    said: list[str] = []
    threads = [threading.Thread(target=prepare, args=(project, said.append)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (project.python_modules / "tiny" / "__init__.py").is_file()
    assert len([line for line in said if line.startswith("vendoring")]) == 1
    assert len([line for line in said if line.startswith("assembling")]) == 1


def test_an_interrupted_run_leaves_nothing(
    pinned: Callable[[str], Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(tmp_path / "wheels", "tiny")
    project = pinned("tiny==1.0\n")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pytest_workers.runtime.vendoring._check_requirements", interrupt)
        with pytest.raises(KeyboardInterrupt):
            prepare(project)
    assert not project.python_modules.exists()
    assert list((project.cache / "vendored").iterdir()) == []
    prepare(project)
    assert (project.python_modules / "tiny").is_dir()


def test_there_is_no_wheel(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "native", tag="cp314-cp314-manylinux_2_28_x86_64")
    with pytest.raises(WheelUnavailableError, match=r"native==1\.0") as caught:
        prepare(pinned("native==1.0\n"))
    assert caught.value.code == "WHEEL_UNAVAILABLE"
    assert "pyemscripten_2026_0_wasm32" in caught.value.rule


def test_a_wheel_for_the_worker_is_taken(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "native", tag="cp314-cp314-pyemscripten_2026_0_wasm32")
    project = pinned("native==1.0\n")
    prepare(project)
    assert (project.python_modules / "native").is_dir()


def test_the_hash_is_another(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny")
    with pytest.raises(HashMismatchError, match=r"tiny==1\.0") as caught:
        prepare(pinned(f"tiny==1.0 --hash=sha256:{'0' * 64}\n"))
    assert caught.value.code == "HASH_MISMATCH"


def test_the_index_cannot_be_reached(fake_project: Callable[..., Project]) -> None:
    output = (
        "WARNING: Retrying (Retry(total=4)) after connection broken\n"
        "ERROR: Could not find a version that satisfies the requirement tiny==1.0 (from versions: none)\n"
        "ERROR: No matching distribution found for tiny==1.0\n"
    )
    error = explain_pip(output, Toolchain.find(fake_project()))
    assert isinstance(error, VendoringFailedError)
    assert error.code == "VENDORING_FAILED"
    assert "network" in error.remedy


def test_a_package_needs_one_that_is_not_pinned(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny", requires="Missing_Part>=2")
    with pytest.raises(PinsMissingError, match="tiny needs missing-part, which requirements-worker"):
        prepare(pinned("tiny==1.0\n"))


def test_what_is_needed_on_other_platforms_only_is_not_missed(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny", requires='part; sys_platform != "emscripten"')
    prepare(pinned("tiny==1.0\n"))


def test_pyproject_names_one_that_is_not_pinned(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny")
    project = pinned("tiny==1.0\n")
    pyproject = '[project]\nname = "x"\ndependencies = ["httpx"]\n'
    (project.folder / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    with pytest.raises(PinsMissingError, match="needs httpx"):
        prepare(project)


def test_a_folder_made_by_hand_is_not_replaced(pinned: Callable[[str], Project], tmp_path: Path) -> None:
    write_wheel(tmp_path / "wheels", "tiny")
    project = pinned("tiny==1.0\n")
    project.python_modules.mkdir()
    mine = project.python_modules / "mine.py"
    mine.touch()
    with pytest.raises(VendoringFailedError, match="was not made by"):
        prepare(project)
    assert mine.is_file()
    # The folders of pywrangler are generated too.
    (project.python_modules / ".synced").touch()
    prepare(project)
    assert not mine.exists()


@pytest.mark.parametrize(
    "text",
    ["tiny>=1\n", "tiny\n", "tiny==1.*\n", "-r other.txt\n", "!\n", f"a==1 --hash=sha256:{'0' * 64}\nb==1\n"],
)
def test_pins_that_are_not_exact(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pins.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PinsInvalidError, match=r"pins\.txt") as caught:
        read_pins(path, "3.14")
    assert caught.value.code == "PINS_INVALID"


def test_markers_are_those_of_the_worker(tmp_path: Path) -> None:
    path = tmp_path / "pins.txt"
    path.write_text(
        'old==1 ; python_version < "3.12"\n'
        'new==1 ; python_version >= "3.14" and sys_platform == "emscripten"\n'
        "extra[one]==2 # why\n",
        encoding="utf-8",
    )
    assert [pin.line for pin in read_pins(path, "3.14")] == ["new==1", "extra[one]==2"]


def test_the_pins_file_is_gone(tmp_path: Path) -> None:
    with pytest.raises(PinsMissingError):
        read_pins(tmp_path / "pins.txt", "3.14")
