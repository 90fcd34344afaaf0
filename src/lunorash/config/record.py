"""``lunora/wrangler.lock.json``: what in the wrangler configuration is ours to remove. It is to be committed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lunorash.codec import decode_json
from lunorash.codegen import FileChange
from lunorash.errors import LunoraError

__all__ = ["RECORD", "Record"]

RECORD: Final = "lunora/wrangler.lock.json"
_ABOUT: Final = (
    "What `lunora codegen` wrote into the wrangler configuration, and so may remove. Commit this file as it is."
)


@dataclass(frozen=True, slots=True)
class Record:
    """The record as it is on disk.

    Args:
        content: the file; None if there is none.
        owned: for each list what is ours in it; None when the file is damaged.
    """

    content: bytes | None
    owned: Mapping[str, Sequence[str]] | None

    @classmethod
    def read(cls, project: Path) -> Record:
        """Read the record of a project.

        Args:
            project: the project's folder.
        """
        path = project / RECORD
        if not path.exists():
            return cls(None, {})
        try:
            content = path.read_bytes()
            fields = decode_json(content)
        except (OSError, LunoraError):
            return cls(b"", None)
        lists = {key: value for key, value in fields.items() if key != "about"} if isinstance(fields, dict) else None
        if lists is None or not all(isinstance(value, list) and _all_texts(value) for value in lists.values()):
            return cls(content, None)
        return cls(content, lists)

    def within(self, owned: Mapping[str, Sequence[str]]) -> bool:
        """Whether all that is on record is owned still.

        Args:
            owned: for each list what is ours in it.
        """
        return all(set(each) <= set(owned.get(key, ())) for key, each in (self.owned or {}).items())

    def change(self, owned: Mapping[str, Sequence[str]]) -> FileChange | None:
        """What makes the record say what is owned now. A damaged one is left to be looked at.

        Args:
            owned: for each list what is ours in it.
        """
        after = None
        if owned:
            fields = {"about": _ABOUT, **owned}
            after = f"{json.dumps(fields, indent=2, sort_keys=True, ensure_ascii=False)}\n".encode()
        if self.owned is None or after == self.content:
            return None
        return FileChange(RECORD, self.content, after)


def _all_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)
