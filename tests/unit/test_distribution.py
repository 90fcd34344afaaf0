"""What is built is complete: the wheel has what commands copy into projects, hidden files too."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lunorash

ROOT = Path(__file__).parents[2]
LIBRARY = Path(lunorash.__file__).parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of what is in the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys, uv_build; uv_build.build_wheel(sys.argv[1])"
    environment = {"PATH": str(Path(sys.executable).parent)}  # uv_build looks for its program there
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, env=environment, check=True)
    (built,) = folder.glob("lunorash-*.whl")
    return {name for name in zipfile.ZipFile(built).namelist() if not name.endswith("/")}


@pytest.mark.parametrize("folder", ["template", "registry", "codegen", "scheduler", "studio"])
def test_every_file_of_a_folder_is_in_the_wheel(wheel: set[str], folder: str) -> None:
    files = {
        path.relative_to(LIBRARY.parent).as_posix()
        for path in (LIBRARY / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files
    assert {name for name in wheel if name.startswith(f"lunorash/{folder}/")} == files


def test_nothing_of_this_machine_is_in_the_wheel(wheel: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel if ".dist-info/" not in name} == {"lunorash"}
    assert not [name for name in wheel if name.endswith((".pyc", ".dev.vars"))]
