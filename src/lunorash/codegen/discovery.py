"""The functions of an app: found by their decorators, described by their signatures."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lunorash.codegen.annotations import read_annotation
from lunorash.codegen.decorators import Decorated, decorated_functions
from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.expression import Expression
from lunorash.codegen.names import Names
from lunorash.codegen.scopes import FunctionNode, nodes_of
from lunorash.codegen.source import Module
from lunorash.errors import LunoraError
from lunorash.refs import Kind, check_function_path

__all__ = ["RESERVED", "AppFunction", "Parameter", "find_functions"]

RESERVED: Final = frozenset({"Final", "FunctionReference", "NoArgs"})
"""Names that the generated classes use themselves."""

_RESERVED_ARGUMENTS: Final = frozenset({"Any", "NotRequired", "builtins"})
_MODEL: Final = frozenset({"pydantic.BaseModel", "pydantic.main.BaseModel"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a function."""

    name: str
    annotation: Expression
    required: bool


@dataclass(frozen=True, slots=True)
class AppFunction:
    """A function of an app.

    Args:
        module: the module's part of its path, ``"crons.jobs"``.
        name: its name.
        kind: what it is.
        internal: whether only jobs and other functions may call it.
        parameters: its arguments.
        model: the pydantic model that is all of its arguments, if there is one; it has no parameters then.
        file: where it is defined.
        line: the line of its ``def``.
    """

    module: str
    name: str
    kind: Kind
    internal: bool
    parameters: tuple[Parameter, ...]
    model: Expression | None
    file: str
    line: int

    @property
    def path(self) -> str:
        """Its function path, ``"crons.jobs:run"``."""
        return f"{self.module}:{self.name}"


def find_functions(modules: Mapping[str, Module], names: Names, diagnostics: Diagnostics) -> list[AppFunction]:
    """Find the functions of all modules, in order of their paths."""
    found: list[AppFunction] = []
    for module in modules.values():
        decorated = decorated_functions(module, names, diagnostics)
        _check_bound_once(module, decorated, diagnostics)
        for each in decorated:
            _check_names(module, each.node, modules, diagnostics)
            function = _read(module, each, names, diagnostics)
            if function is not None:
                found.append(function)
    return sorted(found, key=lambda function: function.path)


def _check_bound_once(module: Module, decorated: Iterable[Decorated], diagnostics: Diagnostics) -> None:
    first: dict[str, FunctionNode] = {}
    for each in decorated:
        first.setdefault(each.node.name, each.node)
    for name, node in first.items():
        for binding in module.bindings[name]:
            if binding.node is not node:
                diagnostics.report(
                    "FUNCTION_PATH_DUPLICATE",
                    module.file,
                    binding.line,
                    f"{name} is bound again; the function {module.path}:{name} is defined in line {node.lineno}, "
                    "and a path names one function. Rename one of them",
                )


def _check_names(module: Module, node: FunctionNode, modules: Mapping[str, Module], diagnostics: Diagnostics) -> None:
    name, file, line = node.name, module.file, node.lineno
    if not module.path:
        diagnostics.report(
            "FUNCTION_IN_PACKAGE_ROOT",
            file,
            line,
            f"{name} has no module in its path; move it from {file} to a module below lunora/",
        )
        return
    private = next((part for part in (*module.path.split("."), name) if part.startswith("_")), None)
    reserved = next((part for part in (*module.path.split("."), name) if part in RESERVED), None)
    if private is not None:
        diagnostics.report(
            "NAME_RESERVED",
            file,
            line,
            f"{module.path}:{name} has the part {private}, and names that begin with an underscore are reserved; "
            "rename it, or remove the decorator",
        )
    elif reserved is not None:
        diagnostics.report(
            "NAME_RESERVED", file, line, f"{reserved} is a name that generated code uses itself; rename it"
        )
    elif f"{module.name}.{name}" in modules:
        diagnostics.report(
            "NAME_RESERVED",
            file,
            line,
            f"{name} is also the module {modules[f'{module.name}.{name}'].file}, and only one of the two can be the "
            f"attribute of {module.path}; rename one",
        )
    else:
        try:
            check_function_path(f"{module.path}:{name}")
        except LunoraError as error:
            diagnostics.report("FUNCTION_PATH_INVALID", file, line, f"{error.message}; rename it")


def _read(module: Module, decorated: Decorated, names: Names, diagnostics: Diagnostics) -> AppFunction | None:
    node = decorated.node
    _check_body(module, node, diagnostics)
    parameters = _parameters(module, node, names, diagnostics)
    if parameters is None:
        return None
    sole = parameters[0] if len(parameters) == 1 else None
    model = None if sole is None or not _is_model(module, node, names) else sole.annotation
    return AppFunction(
        module=module.path,
        name=node.name,
        kind=decorated.decorator.kind,
        internal=decorated.decorator.internal,
        parameters=tuple(parameters) if model is None else (),
        model=model,
        file=module.file,
        line=node.lineno,
    )


def _check_body(module: Module, node: FunctionNode, diagnostics: Diagnostics) -> None:
    for inside in nodes_of(node.body):
        if isinstance(inside, ast.Yield | ast.YieldFrom):
            diagnostics.report(
                "FUNCTION_IS_GENERATOR",
                module.file,
                inside.lineno,
                f"{node.name} yields, and a generator has no value to return; return a list, or remove the decorator",
            )
            break
    if getattr(node, "type_params", None):
        diagnostics.report(
            "FUNCTION_GENERIC",
            module.file,
            node.lineno,
            f"{node.name} has type parameters; a job's arguments need concrete types",
        )


def _parameters(module: Module, node: FunctionNode, names: Names, diagnostics: Diagnostics) -> list[Parameter] | None:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    pairs = [*zip(positional, [*defaults, *arguments.defaults], strict=True)]
    usable = _check_context(module, node, pairs[0] if pairs else None, diagnostics)
    for unsupported, kind in (
        *((argument, "can be given by position only") for argument in arguments.posonlyargs[1:]),
        *((argument, "takes any number of arguments") for argument in (arguments.vararg, arguments.kwarg)),
    ):
        if unsupported is not None:
            usable = False
            diagnostics.report(
                "ARGUMENT_KIND_UNSUPPORTED",
                module.file,
                unsupported.lineno,
                f"{unsupported.arg} of {node.name} {kind}, and a job's arguments are given by name; "
                "declare each as an ordinary parameter",
            )
    pairs = [
        *pairs[max(1, len(arguments.posonlyargs)) :],
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    parameters: list[Parameter] = []
    for argument, default in pairs:
        annotation = _annotation(module, node, argument, names, diagnostics)
        if annotation is None:
            usable = False
        else:
            parameters.append(Parameter(argument.arg, annotation, default is None))
    return parameters if usable else None


def _check_context(
    module: Module, node: FunctionNode, first: tuple[ast.arg, ast.expr | None] | None, diagnostics: Diagnostics
) -> bool:
    if first is None:
        line, problem = node.lineno, "has no parameter for its context"
    elif first[1] is not None:
        line, problem = first[0].lineno, f"gives its first parameter, {first[0].arg}, a default"
    elif isinstance(first[0].annotation, ast.Name) and _is_builtin(module, first[0].annotation.id):
        line = first[0].lineno
        problem = f"has {first[0].arg}: {first[0].annotation.id} as its first parameter, which is no context"
    else:
        return True
    diagnostics.report(
        "FUNCTION_NO_CONTEXT",
        module.file,
        line,
        f"{node.name} {problem}; the first parameter is the context: `def {node.name}(ctx, ...)`",
    )
    return False


def _is_builtin(module: Module, name: str) -> bool:
    return name not in module.bindings and isinstance(getattr(builtins, name, None), type)


def _annotation(
    module: Module, node: FunctionNode, argument: ast.arg, names: Names, diagnostics: Diagnostics
) -> Expression | None:
    if argument.arg.startswith("_"):
        diagnostics.report(
            "ARGUMENT_NAME_RESERVED",
            module.file,
            argument.lineno,
            f"the argument {argument.arg} of {node.name} begins with an underscore, which a field of a model may not; "
            "rename it",
        )
        return None
    if argument.arg in _RESERVED_ARGUMENTS:
        diagnostics.report(
            "ARGUMENT_NAME_RESERVED",
            module.file,
            argument.lineno,
            f"the argument {argument.arg} of {node.name} has a name that generated code uses itself; rename it",
        )
        return None
    if argument.annotation is None:
        diagnostics.report(
            "ARGUMENT_NOT_ANNOTATED",
            module.file,
            argument.lineno,
            f"the argument {argument.arg} of {node.name} has no type, and arguments are validated by their types; "
            f"write `{argument.arg}: str` or whatever it is",
        )
        return None
    return read_annotation(
        argument.annotation, module, names, diagnostics, what=f"the argument {argument.arg} of {node.name}"
    )


def _is_model(module: Module, node: FunctionNode, names: Names) -> bool:
    """Whether the one argument of a function is annotated with a pydantic model that the app defines."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs][1:]
    annotation = arguments[0].annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value.strip(), mode="eval").body
        except SyntaxError:
            return False
    found = None if annotation is None else names.find_class(names.canonical(module, annotation))
    return found is not None and names.derives(*found, _MODEL)
