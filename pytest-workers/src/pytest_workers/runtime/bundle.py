"""Assemble the Pyodide bundle that workerd loads at start, from the npm package `pyodide`.

workerd downloads released bundles and pins them by checksum; the one called `dev` is meant to be made
locally. It holds three modules: the Emscripten glue (with every use of WebAssembly compilation, `eval` and
the clock handed to functions that workerd offers), the WebAssembly program, and Python's standard library.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_workers.errors import RecipeMismatchError

FILE_NAME = "pyodide_dev.capnp.bin"

GLUE_FILE = "pyodide.asm.mjs"
WASM_FILE = "pyodide.asm.wasm"
STDLIB_FILE = "python_stdlib.zip"

# The id of a schema file does not travel in a message, so any will do.
SCHEMA = """
@0xcb6ef3a4c6c4d8f1;
struct Bundle {
  modules @0 :List(Module);
}
struct Module {
  name @0 :Text;
  union {
    src @1 :Data;
    wasm @4 :Data;
    data @5 :Data;
    json @6 :Text;
  }
  type @2 :Kind;
  tsDeclaration @3 :Text;
  compileCache @7 :Data;
}
enum Kind {
  bundle @0;
  builtin @1;
  internal @2;
}
"""

WRAPPERS_MODULE = "pyodide-internal:builtin_wrappers"
WRAPPERS = (
    "getRandomValues",
    "monotonicDateNow",
    "newWasmModule",
    "patchedLoadLibData",
    "wasmInstantiate",
)
NO_EVAL = '(()=>{throw new Error("eval is not available in a Worker")})()'


@dataclass(frozen=True, slots=True)
class Substitution:
    """One text of the Emscripten glue and what takes its place, everywhere it occurs."""

    text: str
    replacement: str


SUBSTITUTIONS = (
    Substitution("new WebAssembly.Module", "newWasmModule"),
    # Also matches inside `instantiateStreaming`, in a branch that a Worker never reaches.
    Substitution("WebAssembly.instantiate", "wasmInstantiate"),
    Substitution("Date.now", "monotonicDateNow"),
    Substitution("crypto.getRandomValues(", "getRandomValues(Module,"),
    Substitution("eval(func)", NO_EVAL),
    Substitution("eval(data)", NO_EVAL),
    Substitution("eval(UTF8ToString(ptr))", NO_EVAL),
    # The old body stays behind the return, dead: it has nested braces that are not worth matching.
    Substitution(
        "function loadLibData(){",
        "function loadLibData(){"
        "const patched=patchedLoadLibData(Module,libName,flags.rpath);"
        "return flags.loadAsync?Promise.resolve(patched):patched;",
    ),
    Substitution("getMemory(", "Module.getMemoryPatched(Module,libName,"),
    Substitution(
        "export default _createPyodideModule;",
        "export default _createPyodideModule;export{_createPyodideModule};",
    ),
)

# How often each text occurs, in the order above, in the versions that were run. Another count means that the
# glue was rewritten, and a bundle made from it would fail inside workerd with a message that misleads.
KNOWN_COUNTS: dict[str, tuple[int, ...]] = {
    "314.0.6": (4, 3, 22, 1, 2, 1, 3, 1, 1, 1),
}


def recipe_digest() -> str:
    """Name the recipe by its content, so that a bundle made by another recipe is never reused.

    Returns:
        Twelve hexadecimal digits.
    """
    parts = [SCHEMA, WRAPPERS_MODULE, *WRAPPERS]
    for substitution in SUBSTITUTIONS:
        parts += [substitution.text, substitution.replacement]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def patch_glue(source: str, version: str) -> str:
    """Rewrite the Emscripten glue for workerd.

    Args:
        source: the content of `pyodide.asm.mjs`.
        version: the version of the npm package it came from.

    Returns:
        The rewritten module, with the import of workerd's wrappers in front.

    Raises:
        RecipeMismatchError: (RECIPE_MISMATCH) a text to be replaced is absent, or occurs another number of
            times than in the same version when it was tried.
    """
    counts = tuple(source.count(substitution.text) for substitution in SUBSTITUTIONS)
    known = KNOWN_COUNTS.get(version)
    for index, (substitution, count) in enumerate(zip(SUBSTITUTIONS, counts, strict=True)):
        if count == 0 or (known is not None and count != known[index]):
            expected = "at least once" if known is None else f"{known[index]} times"
            raise RecipeMismatchError(
                f"pyodide {version}: the text {substitution.text!r} occurs {count} times in {GLUE_FILE}.",
                f"The bundle recipe replaces it and needs it {expected}.",
                "Reinstall the npm package pyodide; if that does not help, use a version of pyodide (and the "
                f"wrangler that fits it) that this package knows: {', '.join(KNOWN_COUNTS)}.",
            )
    patched = source
    for substitution in SUBSTITUTIONS:
        patched = patched.replace(substitution.text, substitution.replacement)
    return f'import{{{",".join(WRAPPERS)}}}from"{WRAPPERS_MODULE}";\n{patched}'


def encode(modules: list[tuple[str, str, bytes]]) -> bytes:
    """Write modules as a Cap'n Proto message with standard, unpacked framing.

    Args:
        modules: name, union member (`src`, `wasm` or `data`) and content of each.

    Returns:
        The bytes of the bundle file.
    """
    schema = _load_schema()
    message = schema.Bundle.new_message()
    slots = message.init("modules", len(modules))
    for slot, (name, member, content) in zip(slots, modules, strict=True):
        slot.name = name
        slot.type = "internal"
        setattr(slot, member, content)
    encoded: bytes = message.to_bytes()
    return encoded


def assemble(pyodide: Path, version: str, target: Path) -> Path:
    """Make the bundle file from an installed npm package `pyodide`.

    Args:
        pyodide: the package's folder.
        version: the package's version.
        target: the file to write; its folder must exist. The file appears whole or not at all.

    Returns:
        `target`.

    Raises:
        RecipeMismatchError: (RECIPE_MISMATCH) this version of Pyodide does not fit the recipe.
    """
    glue = patch_glue((pyodide / GLUE_FILE).read_text(encoding="utf-8"), version)
    prefix = "pyodideRuntime-internal:"
    content = encode(
        [
            (prefix + "pyodide.asm", "src", glue.encode()),
            (prefix + "pyodide.asm.wasm", "wasm", (pyodide / WASM_FILE).read_bytes()),
            (prefix + "python_stdlib.zip", "data", (pyodide / STDLIB_FILE).read_bytes()),
        ]
    )
    # One name for all, since callers hold a lock: what a killed run has left is overwritten by the next.
    partial = target.with_suffix(".partial")
    partial.write_bytes(content)
    return partial.replace(target)


def ensure(pyodide: Path, version: str, cache: Path, progress: Callable[[str], None]) -> Path:
    """Return the folder that holds the bundle for a version of Pyodide, making the bundle when it is absent.

    Args:
        pyodide: the folder of the npm package.
        version: its version.
        cache: the cache folder shared by all projects.
        progress: called with a line of text before anything slow.

    Returns:
        The folder to give to workerd as its bundle cache.

    Raises:
        RecipeMismatchError: (RECIPE_MISMATCH) this version of Pyodide does not fit the recipe.
    """
    folder = cache / "bundles" / f"{version}-{recipe_digest()}"
    target = folder / FILE_NAME
    if not target.is_file():
        progress(f"assembling the Pyodide {version} bundle")
        folder.mkdir(parents=True, exist_ok=True)
        assemble(pyodide, version, target)
    return folder


@functools.cache
def _load_schema() -> Any:
    # Cached not for speed: pycapnp aborts the process when a schema of the same id is loaded a second time.
    # Imported here: it costs 0.1 s, and is needed only when a bundle has to be made.
    import capnp  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle.capnp"
        path.write_text(SCHEMA, encoding="utf-8")
        return capnp.load(str(path))
