"""`lunora codegen`: makes `lunora/_generated/` from the functions of an app."""

from __future__ import annotations

from pathlib import Path

from lunorash.cli.output import Output
from lunorash.codegen import Generation, generate
from lunorash.config.reconcile import with_bindings

__all__ = ["codegen"]


def codegen(project: Path, output: Output, *, check: bool) -> int:
    """Run the command.

    Args:
        project: the folder of wrangler.jsonc.
        output: where it reports.
        check: write nothing, and fail when something is stale.

    Returns:
        the exit status: 0, or 1 when there are diagnostics or, with ``check``, stale files.
    """
    generation = with_bindings(generate(project))
    stale = bool(check and generation.changes)
    if not check:
        generation.write()
    ok = not (generation.diagnostics or stale)
    for problem in generation.diagnostics:
        output.warn(str(problem))
    for notice in generation.notices:
        output.warn(f"note: {notice}")
    output.document(
        {
            "ok": ok,
            "changed": [change.file for change in generation.changes],
            "diagnostics": [diagnostic.to_dict() for diagnostic in generation.diagnostics],
            "notices": [notice.to_dict() for notice in generation.notices],
            "cron_triggers": list(generation.triggers),
        }
    )
    if not output.json:
        _report(generation, output, check=check)
    return 0 if ok else 1


def _report(generation: Generation, output: Output, *, check: bool) -> None:
    count = len(generation.diagnostics)
    if count:
        output.warn(f"lunora codegen: {count} problem{'' if count == 1 else 's'}, nothing was written")
        return
    changed = len(generation.changes)
    if not check:
        inside = sum(change.file.startswith("lunora/_generated/") for change in generation.changes)
        output.say(f"lunora codegen: {inside or 'no'} file{'' if inside == 1 else 's'} changed in lunora/_generated")
        if inside < changed:
            output.say("lunora codegen: brought the wrangler configuration in step with the app")
    elif changed:
        for change in generation.changes:
            output.say(change.diff().rstrip("\n"))
        output.warn(f"lunora codegen: {changed} file{' is' if changed == 1 else 's are'} stale; run lunora codegen")
    else:
        output.say("lunora codegen: lunora/_generated is up to date")
