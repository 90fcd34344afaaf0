"""The document of the admin API, OpenAPI 3.1, made from the table of its operations and their models."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from lunorash.errors import STATUS_BY_CODE
from lunorash.studio.asking import Asked, Told
from lunorash.studio.operation import PREFIX, Operation

__all__ = ["VERSION", "openapi_document"]

VERSION: Final = "1"
"""The version of the API, as in its paths."""

_REF: Final = "#/components/schemas/{model}"
_ARGUMENT: Final = re.compile(r"^    (\w+): (.*(?:\n {8,}.*)*)", re.MULTILINE)
_PROBLEM: Final = {
    "type": "object",
    "description": "What went wrong.",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "A stable word."},
                "message": {"type": "string", "description": "The value, the rule and the way out."},
                "data": {"description": "Details for programs, where there are any."},
            },
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}
_ABOUT: Final = (
    "Look at the jobs, dead letters, workpools and cron jobs of a Worker, and steer them. "
    "Instants are epoch milliseconds. Integers may be of any size in arguments and results."
)


def openapi_document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Describe operations.

    Args:
        operations: all of them.

    Example:
        >>> from lunorash.studio.admin import AdminParts, admin_operations
        >>> document = openapi_document(admin_operations(AdminParts()))
        >>> document["paths"]["/_lunora/admin/v1/scheduled/count"]["get"]["operationId"]
        'count_jobs'
    """
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = []
    for operation in operations:
        models += [] if operation.asks is None else [(operation.asks, "validation")]
        models.append((operation.answers, "serialization"))
    schema_of, definitions = models_json_schema(list(dict.fromkeys(models)), ref_template=_REF)
    said = {model.__name__: _arguments(*_docstrings(model)) for model in _models(Asked, Told)}
    described = {name: _described(schema, said.get(name)) for name, schema in definitions["$defs"].items()}
    schemas = _Schemas(described, schema_of)
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for operation in operations:
        paths[PREFIX + operation.path][operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.1",
        "info": {"title": "Lunora admin API", "version": VERSION, "description": _ABOUT},
        "security": [{"admin_token": []}],
        "paths": dict(paths),
        "components": {
            "schemas": {**schemas.used, "Problem": _PROBLEM},
            "securitySchemes": {
                "admin_token": {"type": "http", "scheme": "bearer", "description": "LUNORA_ADMIN_TOKEN"}
            },
        },
    }


@dataclass(slots=True)
class _Schemas:
    """The schemas of models.

    Args:
        definitions: by name.
        references: by model and what it is for.
        spelled_out: the names of those that became parameters.
        referred_to: the names of those that bodies refer to.
    """

    definitions: dict[str, dict[str, Any]]
    references: Mapping[tuple[Any, JsonSchemaMode], dict[str, Any]]
    spelled_out: set[str] = field(default_factory=set)
    referred_to: set[str] = field(default_factory=set)

    def reference(self, model: type[BaseModel], mode: JsonSchemaMode) -> dict[str, Any]:
        """A reference to the schema of what is sent or got in a body."""
        reference = self.references[model, mode]
        self.referred_to.add(_name(reference))
        return reference

    def fields(self, model: type[BaseModel]) -> tuple[dict[str, Any], list[str]]:
        """The properties of a model that is asked by a query, and which of them have to be there."""
        name = _name(self.references[model, "validation"])
        self.spelled_out.add(name)
        schema = self.definitions[name]
        return schema["properties"], schema.get("required", [])

    @property
    def used(self) -> dict[str, dict[str, Any]]:
        """Those that something refers to."""
        unused = self.spelled_out - self.referred_to
        return {name: schema for name, schema in sorted(self.definitions.items()) if name not in unused}


def _name(reference: Mapping[str, Any]) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def _operation(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": operation.text,
        "tags": [operation.path.split("/")[1].removesuffix(".json")],
        "responses": {
            "200": _response("It was done.", schemas.reference(operation.answers, "serialization")),
            **_problems(operation.every_code),
        },
    }
    if operation.asks is not None and operation.method == "GET":
        told["parameters"] = _parameters(*schemas.fields(operation.asks))
    elif operation.asks is not None:
        content = {"application/json": {"schema": schemas.reference(operation.asks, "validation")}}
        told["requestBody"] = {"required": True, "content": content}
    return told


def _parameters(properties: dict[str, Any], required: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": schema.get("description", ""),
            "schema": _without_null({key: value for key, value in schema.items() if key != "description"}),
        }
        for name, schema in properties.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: what may be left out is left out."""
    options = [option for option in schema.get("anyOf", []) if option != {"type": "null"}]
    kept = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    return {**kept, **options[0]} if len(options) == 1 else kept


def _problems(codes: Iterable[str]) -> dict[str, Any]:
    by_status: dict[int, list[str]] = defaultdict(list)
    for code in codes:
        by_status[STATUS_BY_CODE[code]].append(code)
    problem = {"$ref": _REF.format(model="Problem")}
    return {str(status): _response(", ".join(same), problem) for status, same in sorted(by_status.items())}


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _described(schema: dict[str, Any], said: Mapping[str, str] | None) -> dict[str, Any]:
    """A schema with the descriptions of its fields where they belong.

    Args:
        schema: as pydantic makes it, with the docstring of the class as its description.
        said: what was said of its fields; None if only that docstring says it.
    """
    docstring = schema.get("description", "")
    said = _arguments(docstring) if said is None else said
    properties = {
        name: {**_untitled(field), **({"description": said[name]} if name in said else {})}
        for name, field in schema.get("properties", {}).items()
    }
    described = {**_untitled(schema), "description": " ".join(docstring.partition("\n\n")[0].split())}
    return {**described, "properties": properties} if properties else described


def _arguments(*docstrings: str) -> dict[str, str]:
    """What docstrings say of arguments."""
    sections = [text.partition("\nArgs:\n")[2].partition("\n\n")[0] for text in docstrings]
    return {name: " ".join(told.split()) for section in sections for name, told in _ARGUMENT.findall(section)}


def _docstrings(model: type[BaseModel]) -> list[str]:
    """Those of a model and of what it inherits fields from."""
    return [inspect.cleandoc(base.__doc__ or "") for base in reversed(model.__mro__)]


def _models(*bases: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for base in bases:
        yield base
        yield from _models(*base.__subclasses__())


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}
