"""The app whose generated files are kept beside its sources.

All files end in ``.txt``, so that linters, type checkers and pytest take them for what they are: test data.
After a wanted change run ``python -m tests.codegen.golden_app``, and read the difference.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from tests.codegen.project import Project

__all__ = ["GENERATED", "source"]

_GOLDEN: Final = Path(__file__).parent / "golden"
GENERATED: Final = _GOLDEN / "generated"


def source() -> dict[str, str | bytes]:
    """The app's files, named relative to ``lunora/``."""
    folder = _GOLDEN / "source"
    return {
        path.relative_to(folder).as_posix().removesuffix(".txt"): path.read_bytes() for path in folder.rglob("*.txt")
    }


def main() -> None:
    """Keep what is generated now."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder)).write(source())
        project.generate()
        for name, text in project.generated().items():
            (GENERATED / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
