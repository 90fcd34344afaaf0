"""`api.py` and `internal.py`: references to functions, and the types of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from lunorash.codegen.arguments import (
    ANY,
    NO_ARGS,
    NOT_REQUIRED,
    ArgumentTypes,
    model_type,
    pascal,
    shortened,
    symbols_of,
    unique,
)
from lunorash.codegen.discovery import AppFunction
from lunorash.codegen.document import call, document, sort_names
from lunorash.codegen.expression import WIDTH, Bracketed, Reference, flat, lay_out
from lunorash.codegen.imports import SKIP_SORTING, Imports, from_import

__all__ = ["emit_references"]

_SUMMARIES: Final = {
    "api": "References to the functions that clients may call: `api.<module>.<function>`.",
    "internal": "References to the functions that only jobs and other functions may call.",
}
_OWN_NAMES: Final = frozenset(
    {
        "TYPE_CHECKING",
        "Final",
        "FunctionReference",
        "NoArgs",
        "TypeAlias",
        "TypedDict",
        "annotations",
        "api",
        "internal",
    }
)
_AMBIGUOUS: Final = frozenset("lIO")
_GIVEN: Final = {ANY: "Any", NOT_REQUIRED: "NotRequired"}


@dataclass(slots=True)
class _Node:
    """A folder or file of the app, as a class with an attribute for each of its functions, files and folders."""

    functions: dict[str, AppFunction] = field(default_factory=dict)
    children: dict[str, _Node] = field(default_factory=dict)


def emit_references(root: Literal["api", "internal"], functions: Iterable[AppFunction], types: ArgumentTypes) -> str:
    """The text of ``api.py`` or ``internal.py``.

    Args:
        root: which.
        functions: the functions of all paths; those of the other file are left out.
        types: the names of their argument types.
    """
    chosen = [function for function in functions if function.internal == (root == "internal")]
    typed = [function for function in chosen if types.names[function.path] != NO_ARGS]
    fields = {parameter.name for function in typed for parameter in function.parameters}
    taken = _OWN_NAMES | fields | {types.names[function.path] for function in typed}
    symbols = {symbol for function in typed for symbol in symbols_of(function)}
    if any(not parameter.required for function in typed for parameter in function.parameters):
        symbols.add(NOT_REQUIRED)
    given = {symbol: name for symbol, name in _GIVEN.items() if symbol in symbols}
    imports = Imports.choose(symbols, taken=frozenset(taken), given=given)

    arguments = [_arguments(function, types, imports) for function in typed]
    tree = _tree(chosen)
    used = set(taken)
    own = unique(f"_{root.capitalize()}", used)
    classes = _classes(tree, (), own, used, types)
    only_typing = imports.lines(given=given)

    typing = {"Final", *imports.typing}
    typing.update({"TYPE_CHECKING"} if only_typing else ())
    typing.update({"TypeAlias"} if any(function.model is not None for function in typed) else ())
    typing.update({"TypedDict"} if any(function.parameters for function in typed) else ())
    refs = [*(["FunctionReference"] if chosen else []), *(["NoArgs"] if len(typed) < len(chosen) else [])]
    blocks: list[Sequence[str]] = [
        [SKIP_SORTING] if only_typing else [],
        ["from __future__ import annotations"],
        from_import("typing", sort_names(typing)),
        from_import("lunorash.refs", refs) if refs else [],
        ["if TYPE_CHECKING:", *(f"    {line}" for line in only_typing)] if only_typing else [],
        [f'__all__ = ["{root}"]'],
        *arguments,
        *classes,
        [f"{root}: Final = {own}()"],
    ]
    return document(_SUMMARIES[root], blocks)


def _arguments(function: AppFunction, types: ArgumentTypes, imports: Imports) -> list[str]:
    name = types.names[function.path]
    if function.model is not None:
        line = f'{name}: TypeAlias = "{flat(model_type(function.model), imports.name_of)}"'
        return [line if len(line) <= WIDTH else f"{line}  # fmt: skip  # noqa: E501"]
    lines = [f"class {name}(TypedDict):"]
    for parameter in function.parameters:
        annotation = parameter.annotation
        if not parameter.required:
            annotation = Bracketed(Reference(NOT_REQUIRED), (annotation,))
        noqa = "E741" if parameter.name in _AMBIGUOUS else ""
        lines.extend(lay_out(f"    {parameter.name}: ", annotation, imports.name_of, noqa=noqa))
    return lines


def _tree(functions: Iterable[AppFunction]) -> _Node:
    root = _Node()
    for function in functions:
        node = root
        for part in function.module.split("."):
            node = node.children.setdefault(part, _Node())
        node.functions[function.name] = function
    return root


def _classes(node: _Node, path: tuple[str, ...], name: str, used: set[str], types: ArgumentTypes) -> list[list[str]]:
    """The classes of a node: those of its children come first, so that it can make instances of them."""
    classes: list[list[str]] = []
    attributes: dict[str, list[str]] = {}
    for part, child in sorted(node.children.items()):
        inside = (*path, part)
        child_name = unique("_" + shortened(pascal(".".join(inside))), used)
        classes.extend(_classes(child, inside, child_name, used, types))
        attributes[part] = call(f"{part}: Final = {child_name}", (), noqa=_noqa(part), indent=4)
    for part, function in node.functions.items():
        attributes[part] = call(
            f"{part}: Final[FunctionReference[{types.names[function.path]}]] = FunctionReference",
            (f'"{function.path}"', f'kind="{function.kind}"', f"internal={function.internal}"),
            noqa=_noqa(part),
            indent=4,
        )
    body = [line for _, lines in sorted(attributes.items()) for line in lines]
    return [*classes, [f"class {name}:", *(body or ['    """There are none."""'])]]


def _noqa(name: str) -> str:
    """The rule of the linter that an attribute's name breaks, if there is one; the name is the app's to choose."""
    if name in _AMBIGUOUS:
        return "E741"
    return "N815" if name[0].islower() and name != name.lower() else ""
