"""`workflows.py` and `agents.py`: references to what a job starts a fresh instance of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lunorash.codegen.document import call, document
from lunorash.codegen.instances import AppInstance, InstanceKind

__all__ = ["emit_instances"]

_REFERENCE: Final = {"workflow": "WorkflowReference", "agent": "AgentReference"}


def emit_instances(kind: InstanceKind, instances: Iterable[AppInstance]) -> str:
    """The text of ``workflows.py`` or ``agents.py``."""
    chosen = [instance for instance in instances if instance.kind == kind]
    root, own, reference = f"{kind}s", f"_{kind.capitalize()}s", _REFERENCE[kind]
    body = [
        line
        for instance in chosen
        for line in call(
            f"{instance.name}: Final = {reference}",
            (f'"{instance.name}"', f'binding="{instance.binding}"'),
            indent=4,
        )
    ]
    blocks: list[Sequence[str]] = [
        ["from __future__ import annotations"],
        ["from typing import Final"],
        [f"from lunorash.refs import {reference}"] if chosen else [],
        [f'__all__ = ["{root}"]'],
        [f"class {own}:", *(body or ['    """There are none."""'])],
        [f"{root}: Final = {own}()"],
    ]
    return document(f"References to the {root} of lunora/{root}.py: `{root}.<name>`.", blocks)
