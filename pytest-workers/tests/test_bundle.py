from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_workers.errors import RecipeMismatchError
from pytest_workers.runtime import Project, bundle, prepare

EVERY_TEXT = ";".join(substitution.text for substitution in bundle.SUBSTITUTIONS)


def test_every_text_is_replaced() -> None:
    patched = bundle.patch_glue(EVERY_TEXT, "1.0.0")
    first, _, rest = patched.partition("\n")
    assert first.startswith("import{")
    assert first.endswith('from"pyodide-internal:builtin_wrappers";')
    for gone in ("new WebAssembly.Module", "WebAssembly.instantiate", "Date.now", "eval(", "crypto."):
        assert gone not in rest
    assert "getRandomValues(Module," in rest
    assert "Module.getMemoryPatched(Module,libName," in rest
    assert rest.endswith("export default _createPyodideModule;export{_createPyodideModule};")


@pytest.mark.parametrize("substitution", bundle.SUBSTITUTIONS)
def test_a_text_is_absent(substitution: bundle.Substitution) -> None:
    with pytest.raises(RecipeMismatchError) as caught:
        bundle.patch_glue(EVERY_TEXT.replace(substitution.text, ""), "1.0.0")
    assert caught.value.code == "RECIPE_MISMATCH"
    assert repr(substitution.text) in caught.value.problem


def test_another_count_in_a_known_version() -> None:
    assert bundle.patch_glue(EVERY_TEXT, "314.0.99")
    with pytest.raises(RecipeMismatchError, match=r"314\.0\.6.*1 times.*4 times"):
        bundle.patch_glue(EVERY_TEXT, "314.0.6")


def test_the_message_can_be_read_back() -> None:
    content = bundle.encode([("a:b", "src", b"code"), ("a:c", "wasm", b"\0asm"), ("a:d", "data", b"PK")])
    with bundle._load_schema().Bundle.from_bytes(content) as message:
        read = [(module.name, module.which(), str(module.type)) for module in message.modules]
        assert read == [(n, w, "internal") for n, w in [("a:b", "src"), ("a:c", "wasm"), ("a:d", "data")]]
        assert message.modules[0].src == b"code"


def test_it_is_made_once_and_whole(fake_project: Callable[..., Project]) -> None:
    project, said = fake_project(), list[str]()
    first = prepare(project, said.append)
    target = first.bundle / bundle.FILE_NAME
    assert target.is_file()
    assert [path.name for path in first.bundle.iterdir()] == [bundle.FILE_NAME]
    made = target.stat().st_mtime_ns
    assert prepare(project, said.append) == first
    assert target.stat().st_mtime_ns == made
    assert said == ["assembling the Pyodide 314.0.6 bundle"]


def test_a_failure_leaves_no_file(fake_project: Callable[..., Project], tmp_path: Path) -> None:
    project = fake_project()
    (project.folder / "node_modules" / "pyodide" / bundle.GLUE_FILE).write_text("other", encoding="utf-8")
    with pytest.raises(RecipeMismatchError):
        prepare(project)
    assert not list(tmp_path.rglob("*.capnp.bin"))


def test_the_wrapper_inserts_the_option_after_serve(fake_project: Callable[..., Project]) -> None:
    import subprocess

    project = fake_project()
    prepared = prepare(project)
    prepared.toolchain.workerd.write_text('#!/bin/sh\nprintf "%s|" "$@"\n', encoding="utf-8")
    prepared.toolchain.workerd.chmod(0o755)

    def run(*arguments: str) -> str:
        return subprocess.check_output([prepared.workerd, *arguments], text=True)  # noqa: S603

    option = f"--pyodide-bundle-disk-cache-dir={prepared.bundle}"
    assert run("serve", "--x=a b", "-") == f"serve|{option}|--x=a b|-|"
    assert run("--version") == "--version|"
