"""The pins file of a Worker: which packages at which exact versions, for the Python inside the Worker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import InvalidMarker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytest_workers.errors import PinsInvalidError, PinsMissingError

HASH_OPTION = re.compile(r"\s--hash[= ]\s*(\S+)")
REMEDY = "Write the file with `uv export` or `uv pip compile --generate-hashes`."


@dataclass(frozen=True, slots=True)
class Pin:
    """One line of a pins file that applies to the Worker.

    Attributes:
        name: the package's normalised name.
        line: the requirement without its marker, as pip takes it.
        hashes: such as "sha256:…"; empty when the file has none.
    """

    name: str
    line: str
    hashes: tuple[str, ...]


def worker_environment(python_version: str) -> dict[str, str]:
    """Give the values that markers have inside a Worker.

    Args:
        python_version: such as "3.14".

    Returns:
        A marker environment for `packaging`.
    """
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python_version}.0",
        "os_name": "posix",
        "platform_machine": "wasm32",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Emscripten",
        "platform_version": "",
        "python_full_version": f"{python_version}.0",
        "python_version": python_version,
        "sys_platform": "emscripten",
        "extra": "",
    }


def read_pins(path: Path, python_version: str) -> tuple[Pin, ...]:
    """Read a pins file, leaving out the lines whose marker does not hold inside a Worker.

    pip would evaluate markers for the Python that runs pip, so they are evaluated here.

    Args:
        path: the file.
        python_version: the Python inside the Worker, such as "3.14".

    Returns:
        The pins, in the file's order.

    Raises:
        PinsMissingError: (PINS_MISSING) the file does not exist.
        PinsInvalidError: (PINS_INVALID) a line is not an exact pin, or only some have hashes.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PinsMissingError(
            f"The pins file {path} cannot be read: {error}.", "What a Worker vendors is pinned there.", REMEDY
        ) from error
    environment = worker_environment(python_version)
    pins = []
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        content = re.sub(r"(^|\s)#.*$", "", line).strip()
        if not content:
            continue
        pin = _read_line(path, content, environment)
        if pin is not None:
            pins.append(pin)
    bare = [pin.name for pin in pins if not pin.hashes]
    if bare and len(bare) < len(pins):
        raise PinsInvalidError(
            f"{path.name}: {', '.join(bare)} has no hash, others have.",
            "Either every pin has hashes or none has.",
            REMEDY,
        )
    return tuple(pins)


def check_complete(path: Path, pins: tuple[Pin, ...], needed: tuple[str, ...], who: str) -> None:
    """Check that everything needed is pinned.

    Args:
        path: the pins file, for the message.
        pins: its content.
        needed: normalised names.
        who: what needs them, for the message.

    Raises:
        PinsMissingError: (PINS_MISSING) names the first that is not pinned.
    """
    pinned = {pin.name for pin in pins}
    for name in needed:
        if name not in pinned:
            raise PinsMissingError(
                f"{who} needs {name}, which {path.name} does not pin.",
                "The pins file names everything that the Worker vendors.",
                f"{REMEDY} Or, if the Worker's own build provides it, name it in `provided` below "
                "[tool.pytest-workers] of pyproject.toml.",
            )


def _read_line(path: Path, content: str, environment: dict[str, str]) -> Pin | None:
    hashes = tuple(HASH_OPTION.findall(content))
    text = HASH_OPTION.sub("", content).strip()
    rule = "A pins file holds one `name==version` per line, each with its --hash options if there are any."
    if text.startswith("-"):
        raise PinsInvalidError(f"{path.name}: the line {text!r} is an option.", rule, REMEDY)
    try:
        requirement = Requirement(text)
        applies = requirement.marker is None or requirement.marker.evaluate(environment)
    except (InvalidRequirement, InvalidMarker) as error:
        reason = str(error).splitlines()[0]
        raise PinsInvalidError(f"{path.name}: the line {text!r} cannot be read: {reason}.", rule, REMEDY) from None
    if not applies:
        return None
    exact = [part for part in requirement.specifier if part.operator in ("==", "===")]
    if requirement.url is None and (len(exact) != 1 or exact[0].version.endswith(".*")):
        raise PinsInvalidError(f"{path.name}: {text!r} is not an exact version.", rule, REMEDY)
    requirement.marker = None
    return Pin(canonicalize_name(requirement.name), str(requirement), hashes)
