"""Every error this package raises on purpose: a class and a stable code for each thing that can be wrong."""

from __future__ import annotations

from typing import ClassVar


class WorkersError(Exception):
    """Something about the project, its tools or its Worker is wrong, and the message says how to fix it.

    The message has three parts: what is wrong with the value, the rule it breaks, and the way out. `code` is
    stable across releases and is what a program should compare; the message may be reworded.

    Args:
        problem: what is wrong, naming the value.
        rule: the rule that is broken.
        remedy: what to do now.

    Example:
        >>> try:
        ...     raise PortTakenError("Port 8787 is taken.", "A server needs a free port.", "Use port 0.")
        ... except WorkersError as error:
        ...     print(error.code)
        PORT_TAKEN
    """

    code: ClassVar[str] = "WORKERS"

    def __init__(self, problem: str, rule: str, remedy: str) -> None:
        self.problem = problem
        self.rule = rule
        self.remedy = remedy
        super().__init__(f"[{self.code}] {problem} {rule} {remedy}")


class PlatformUnsupportedError(WorkersError):
    """The operating system or the processor has no local workerd, or lacks process groups."""

    code = "PLATFORM_UNSUPPORTED"


class NodeMissingError(WorkersError):
    """No Node could be found."""

    code = "NODE_MISSING"


class NodeTooOldError(WorkersError):
    """The Node that was found is older than the one wrangler asks for."""

    code = "NODE_TOO_OLD"


class NpmPackageMissingError(WorkersError):
    """An npm package that is needed (wrangler, miniflare, workerd, pyodide) is not installed."""

    code = "NPM_PACKAGE_MISSING"


class VersionMismatchError(WorkersError):
    """The npm package pyodide is not the version that workerd was built for."""

    code = "VERSION_MISMATCH"


class WorkerdUnreadableError(WorkersError):
    """The workerd program does not say which Pyodide it expects."""

    code = "WORKERD_UNREADABLE"


class RecipeMismatchError(WorkersError):
    """A text that the bundle recipe replaces is not in this version of Pyodide."""

    code = "RECIPE_MISMATCH"


class ConfigMissingError(WorkersError):
    """The project folder or its wrangler configuration does not exist."""

    code = "CONFIG_MISSING"


class ConfigInvalidError(WorkersError):
    """The wrangler configuration, or the project's pyproject.toml, cannot be read."""

    code = "CONFIG_INVALID"


class PythonFlagMissingError(WorkersError):
    """The wrangler configuration does not name the flag `python_workers`."""

    code = "PYTHON_FLAG_MISSING"


class CompatibilityDateError(WorkersError):
    """The compatibility date is absent, or too old for Python 3.14."""

    code = "COMPATIBILITY_DATE"


class PinsMissingError(WorkersError):
    """A dependency of the Worker has no pinned version."""

    code = "PINS_MISSING"


class PinsInvalidError(WorkersError):
    """A line of the pins file is not an exact pin."""

    code = "PINS_INVALID"


class HashMismatchError(WorkersError):
    """What the package index delivered is not what the pins file names."""

    code = "HASH_MISMATCH"


class WheelUnavailableError(WorkersError):
    """A dependency has no wheel that runs in a Worker."""

    code = "WHEEL_UNAVAILABLE"


class VendoringFailedError(WorkersError):
    """The packages could not be vendored for another reason: no network, a full disk, a foreign folder."""

    code = "VENDORING_FAILED"


class PortTakenError(WorkersError):
    """The port asked for is in use."""

    code = "PORT_TAKEN"


class StateInUseError(WorkersError):
    """Another server runs on the same state folder."""

    code = "STATE_IN_USE"


class WorkerStartError(WorkersError):
    """The Worker failed to start; the message ends with the tail of its log."""

    code = "WORKER_START_FAILED"


class StartTimeoutError(WorkerStartError):
    """The Worker gave no answer within the start timeout; the message ends with the tail of its log."""

    code = "START_TIMEOUT"


class ServerStateError(WorkersError):
    """The call does not fit the server's state: it is not running, or is running already."""

    code = "SERVER_STATE"


class TriggerError(WorkersError):
    """The local trigger of a handler was refused by the server."""

    code = "TRIGGER_FAILED"


class LogTimeoutError(WorkersError):
    """No log line matched the pattern in time."""

    code = "LOG_TIMEOUT"


class OptionError(WorkersError):
    """An option of the plugin, or a key below `[tool.pytest-workers]`, is unknown or has a bad value."""

    code = "OPTION_INVALID"
