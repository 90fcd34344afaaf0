"""Where this library was installed from, when that was this machine and not a package index."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lunorash.codec import decode_json
from lunorash.errors import LunoraError

__all__ = ["LocalSource", "local_sources", "sources_table"]

_PACKAGES: Final = ("lunorash", "pytest-workers")
_WHY: Final = """
# From this machine, as the lunorash that made this project. Remove this table to take them from the package index.
"""


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A package that is taken from this machine.

    Args:
        package: its name.
        path: its folder, or its wheel.
        editable: whether changes there take effect at once.
    """

    package: str
    path: Path
    editable: bool


def _direct_url(package: str) -> str | None:
    """What the installer has noted of a package's origin (PEP 610); None for one from an index."""
    try:
        return importlib.metadata.distribution(package).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None


def local_sources(direct_url: Callable[[str], str | None] = _direct_url) -> tuple[LocalSource, ...]:
    """The packages of this library that were installed from this machine.

    Args:
        direct_url: the ``direct_url.json`` of an installed package.

    Example:
        >>> note = '{"url": "file:///code/lunora", "dir_info": {"editable": true}}'
        >>> [(source.package, source.path.as_posix()) for source in local_sources({"lunorash": note}.get)]
        [('lunorash', '/code/lunora')]
    """
    found = []
    for package in _PACKAGES:
        text = direct_url(package)
        try:
            note: Any = decode_json(text or "{}", what=f"direct_url.json of {package}")
            url = urlsplit(note.get("url", ""))
            editable = note.get("dir_info", {}).get("editable") is True
        except (LunoraError, AttributeError, TypeError, ValueError):
            continue  # an installer's note is only a hint
        if url.scheme == "file":
            found.append(LocalSource(package, Path(url2pathname(url.path)), editable))
    return tuple(found)


def sources_table(sources: tuple[LocalSource, ...]) -> str:
    """What pyproject.toml has to say for uv to take packages from this machine.

    Args:
        sources: the packages.
    """
    if not sources:
        return ""
    import tomlkit  # takes its time, and only this command needs it

    table = tomlkit.table()
    for source in sources:
        entry = tomlkit.inline_table()
        entry.update({"path": str(source.path), **({"editable": True} if source.editable else {})})
        table[source.package] = entry
    return _WHY + tomlkit.dumps({"tool": {"uv": {"sources": table}}})
