"""Whether Node, wrangler, workerd and Pyodide are installed and fit each other."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_workers.errors import PlatformUnsupportedError, WorkersError
from pytest_workers.runtime.npm import npm_package

from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, failed, kebab, passed, warned

__all__ = ["check_toolchain"]


def check_toolchain(evidence: Evidence) -> Iterator[Finding]:
    """``node-missing``, ``node-too-old``, ``npm-package-missing``, ``version-mismatch``, ``platform-unsupported``, …"""
    try:
        toolchain = evidence.toolchain
        wrangler = npm_package(evidence.installation, "wrangler")
    except PlatformUnsupportedError as error:
        yield warned(kebab(error.code), f"{error.problem} {error.rule}", error.remedy)
    except WorkersError as error:
        yield failed(kebab(error.code), f"{error.problem} {error.rule}", error.remedy)
    else:
        yield passed(
            "toolchain-ok",
            f"wrangler {wrangler.version} and Pyodide {toolchain.pyodide_version} fit, and Node is new enough for both",
        )
