"""A project in a temporary folder, with an app that a test writes as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from lunorash.codegen import Generation, generate

__all__ = ["Project"]


@dataclass(frozen=True)
class Project:
    folder: Path

    def write(self, files: Mapping[str, str | bytes]) -> Project:
        """Write files of the app, named relative to ``lunora/``."""
        for name, content in files.items():
            path = self.folder / "lunora" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else dedent(content).lstrip("\n").encode())
        return self

    def generate(self) -> Generation:
        """Generate and write; there must be nothing wrong with the app."""
        generation = generate(self.folder)
        assert not generation.diagnostics, "\n".join(str(each) for each in generation.diagnostics)
        generation.write()
        return generation

    def problems(self) -> list[tuple[str, str, int]]:
        """Code, file and line of each diagnostic."""
        return [(each.code, each.file.removeprefix("lunora/"), each.line) for each in generate(self.folder).diagnostics]

    def generated(self) -> dict[str, str]:
        """The generated files."""
        return {path.name: path.read_text() for path in sorted((self.folder / "lunora/_generated").glob("*.py"))}
