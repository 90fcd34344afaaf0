"""The project's wrangler configuration: which file it is, and what it says. It is read as wrangler itself reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lunorash.codec import decode_json
from lunorash.config.json_syntax import plain
from lunorash.errors import LunoraError, shown

__all__ = [
    "WRANGLER_NAMES",
    "Migration",
    "Section",
    "Wrangler",
    "decode_wrangler",
    "find_wrangler",
    "read_wrangler",
    "wrangler_bytes",
]

WRANGLER_NAMES: Final = ("wrangler.json", "wrangler.jsonc")
"""The names that are read, the one that wrangler prefers first."""

_TOML: Final = "wrangler.toml"


class _Part(BaseModel):
    """A part of the configuration. Only the types of what is read here are checked; the rest is wrangler's affair."""

    model_config = ConfigDict(strict=True, frozen=True)


class DurableObjectBinding(_Part):
    """An entry of ``durable_objects.bindings``. A class with ``script_name`` is another Worker's."""

    name: str | None = None
    class_name: str | None = None
    script_name: str | None = None


class DurableObjects(_Part):
    """The section ``durable_objects``."""

    bindings: list[DurableObjectBinding | None] | None = None


class Renamed(_Part):
    """An entry of ``renamed_classes`` or ``transferred_classes``. ``from`` is a word of Python's."""

    old: str | None = Field(default=None, alias="from")
    to: str | None = None


class Migration(_Part):
    """An entry of ``migrations``."""

    tag: str | None = None
    new_classes: list[str] | None = None
    new_sqlite_classes: list[str] | None = None
    deleted_classes: list[str] | None = None
    renamed_classes: list[Renamed] | None = None
    transferred_classes: list[Renamed] | None = None


class WorkflowBinding(_Part):
    """An entry of ``workflows``."""

    name: str | None = None
    binding: str | None = None
    class_name: str | None = None
    script_name: str | None = None


class QueueProducer(_Part):
    """An entry of ``queues.producers``."""

    queue: str | None = None
    binding: str | None = None


class QueueConsumer(_Part):
    """An entry of ``queues.consumers``."""

    queue: str | None = None


class Queues(_Part):
    """The section ``queues``."""

    producers: list[QueueProducer | None] | None = None
    consumers: list[QueueConsumer | None] | None = None


class Triggers(_Part):
    """The section ``triggers``."""

    crons: list[str] | None = None


class Section(_Part):
    """What may stand at the top level as well as in an environment; None is what is not there."""

    compatibility_date: str | None = None
    compatibility_flags: list[str] | None = None
    durable_objects: DurableObjects | None = None
    exports: dict[str, dict[str, Any]] | None = None
    migrations: list[Migration | None] | None = None
    queues: Queues | None = None
    triggers: Triggers | None = None
    vars: dict[str, Any] | None = None
    workflows: list[WorkflowBinding | None] | None = None


class Wrangler(Section):
    """The whole configuration.

    Example:
        >>> Wrangler.model_validate({"triggers": {"crons": ["0 8 * * MON"]}}).triggers
        Triggers(crons=['0 8 * * MON'])
    """

    env: dict[str, Section | None] | None = None


def find_wrangler(project: Path) -> Path | None:
    """The configuration that wrangler would take: wrangler.json before wrangler.jsonc.

    Args:
        project: the project's folder.

    Returns:
        the file, or None when the project has none.

    Raises:
        LunoraError: ``WRANGLER_TOML`` when there is only a wrangler.toml.
    """
    for name in WRANGLER_NAMES:
        if (project / name).is_file():
            return project / name
    if (project / _TOML).is_file():
        raise LunoraError(
            "WRANGLER_TOML",
            f"{project / _TOML} is TOML, and only JSON can be kept in step with the app. Convert it: "
            "python -c 'import json, tomllib; "
            'print(json.dumps(tomllib.load(open("wrangler.toml", "rb")), indent=2, default=str))\' > wrangler.jsonc, '
            "put your comments back with //, and remove wrangler.toml",
        )
    return None


def read_wrangler(path: Path) -> dict[str, Any]:
    """What a configuration says.

    Args:
        path: the file, as `find_wrangler` found it.

    Returns:
        the configuration as it is written. Parts that `Wrangler` describes have the types it gives them.

    Raises:
        LunoraError: ``WRANGLER_UNREADABLE`` with line and column when it cannot be read; ``WRANGLER_INVALID`` with
            the path inside it when a value has the wrong type.
    """
    return decode_wrangler(path, wrangler_bytes(path))


def wrangler_bytes(path: Path) -> bytes:
    """The content of a configuration.

    Args:
        path: the file, as `find_wrangler` found it.

    Raises:
        LunoraError: ``WRANGLER_UNREADABLE``.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from None


def decode_wrangler(path: Path, data: bytes) -> dict[str, Any]:
    """The same for a file's content: JSON with comments and trailing commas, in UTF-8 with or without its mark.

    Args:
        path: the file, for messages.
        data: its content.

    Returns:
        the configuration as it is written.

    Raises:
        LunoraError: ``WRANGLER_UNREADABLE`` or ``WRANGLER_INVALID``.

    Example:
        >>> decode_wrangler(Path("wrangler.jsonc"), b'{ "name": "app", /* mine */ }')
        {'name': 'app'}
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        raise _unreadable(path, f"it is not UTF-8 at line {line} column {column}; save it as UTF-8") from None
    config = _decode(path, plain(text))
    if not isinstance(config, dict):
        raise LunoraError("WRANGLER_INVALID", f"{path} holds {shown(config)}; it must be an object: {{ … }}")
    try:
        Wrangler.model_validate(config)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        where = _where(found["loc"])
        raise LunoraError(
            "WRANGLER_INVALID", f"{path}: {where} is {shown(found['input'])}; {found['msg'].lower()}. Correct it"
        ) from None
    return config


def _decode(path: Path, text: str) -> Any:
    try:
        return decode_json(text, what=str(path))
    except LunoraError as error:
        problem = error.message
    try:
        # the decoder counts bytes, people count characters
        decode_json(text.encode("ascii", "replace"), what=str(path))
    except LunoraError as error:
        problem = error.message
    raise LunoraError(
        "WRANGLER_UNREADABLE",
        f"{problem}. Nothing was changed; correct it, `npx wrangler deploy --dry-run` checks it too",
    )


def _where(location: tuple[int | str, ...]) -> str:
    """A place in the configuration as people write it: ``env.staging.migrations[0].tag``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def _unreadable(path: Path, why: str) -> LunoraError:
    return LunoraError("WRANGLER_UNREADABLE", f"{path} cannot be read: {why}")
