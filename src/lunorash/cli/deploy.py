"""`lunora deploy`: makes sure that what is deployed is what the sources say, then hands over to wrangler."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_workers.runtime import Project
from pytest_workers.runtime.npm import npm_package
from pytest_workers.runtime.toolchain import check_node, find_node, tool_path

from lunorash.cli.build import STAGED, build, write_generated
from lunorash.cli.doctor import show
from lunorash.cli.local_server import vendor_packages
from lunorash.cli.output import Output
from lunorash.codegen import generate
from lunorash.config.reconcile import with_bindings
from lunorash.doctor import Finding, Level, Report, examine_build, examine_deployment
from lunorash.errors import LunoraError

__all__ = ["deploy"]

_GENERATED: Final = "lunora/_generated/"
_STDERR: Final = 2


def deploy(
    project: Path,
    output: Output,
    *,
    environment: str | None,
    dry_run: bool,
    skip_doctor: bool,
    arguments: Sequence[str] = (),
) -> int:
    """Run the command: codegen, doctor, build, ``wrangler deploy``. What fails stops it before anything is uploaded.

    Args:
        project: the folder of wrangler.jsonc.
        output: where it reports; wrangler's own output goes there too.
        environment: the environment, as in ``env.<name>``; None for the top level.
        dry_run: upload nothing.
        skip_doctor: deploy whatever the doctor would say.
        arguments: passed on to wrangler.

    Returns:
        wrangler's exit status, or 1 if the doctor found what must not be deployed.

    Raises:
        LunoraError: ``CODEGEN_FAILED``; ``CODEGEN_STALE`` for a committed file that codegen would change; what `build`
            raises.
        pytest_workers.errors.WorkersError: Node or wrangler is missing, or packages cannot be vendored.
    """
    _generate(project, output)
    findings: tuple[Finding, ...] = ()
    if not skip_doctor:
        report = examine_deployment(project, environment)
        findings = report.findings
        if not _passes(report, output):
            return _report(output, 1, findings)
    changed = build(project)
    output.say(f"lunora deploy: {changed or 'no'} file{'' if changed == 1 else 's'} changed in {STAGED}")
    vendor_packages(project, lambda line: output.say(f"lunora deploy: {line}"), refresh=True)
    if not skip_doctor:
        report = examine_build(project)
        findings += report.findings
        if not _passes(report, output):
            return _report(output, 1, findings)
    return _report(
        output, _run_wrangler(project, output, _arguments(environment, arguments, dry_run=dry_run)), findings
    )


def _generate(project: Path, output: Output) -> None:
    """Bring ``lunora/_generated`` up to date; what else codegen would change is committed, so somebody must look."""
    if not (project / "lunora").is_dir():
        return
    generation = with_bindings(generate(project))
    committed = [change.file for change in generation.changes if not change.file.startswith(_GENERATED)]
    if committed:
        raise LunoraError(
            "CODEGEN_STALE",
            f"{', '.join(committed)} {'is' if len(committed) == 1 else 'are'} not as the app needs; "
            "run `lunora codegen`, look at the change and commit it",
        )
    write_generated(generation)
    for change in generation.changes:
        output.say(f"lunora deploy: generated {change.file}")


def _passes(report: Report, output: Output) -> bool:
    for finding in report.findings:
        if finding.level in (Level.FAIL, Level.WARN):
            show(finding, output)
    if not report.ok:
        output.say("lunora deploy: nothing was uploaded; put right what failed, or deploy with --skip-doctor")
    return report.ok


def _run_wrangler(project: Path, output: Output, arguments: Sequence[str]) -> int:
    loaded = Project.load(project)
    wrangler, node = npm_package(loaded, "wrangler"), find_node()
    check_node(node, wrangler, loaded.cache)
    output.say(f"lunora deploy: wrangler {' '.join(arguments)}")
    # wrangler's own custom build finds this environment's programs first
    done = subprocess.run(  # noqa: S603
        [str(node), str(wrangler.folder / "bin" / "wrangler.js"), *arguments],
        cwd=project,
        env={**os.environ, "PATH": tool_path()},
        stdout=_STDERR if output.json else None,
        check=False,
    )
    # a signal that ended it, as a shell tells it
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _arguments(environment: str | None, arguments: Sequence[str], *, dry_run: bool) -> list[str]:
    chosen = [] if environment is None else ["--env", environment]
    return ["deploy", *chosen, *(["--dry-run"] if dry_run else []), *arguments]


def _report(output: Output, status: int, findings: Sequence[Finding]) -> int:
    output.document(
        {"ok": status == 0, "exit_status": status, "findings": [finding.to_dict() for finding in findings]},
    )
    return status
