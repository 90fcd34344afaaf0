"""What the admin API is asked and what it answers, as models: the kinds of values, and reading a request by a model."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo

from lunorash.errors import LunoraError, shown
from lunorash.http import HttpRequest
from lunorash.scheduler.ids import check_id
from lunorash.scheduler.job_filter import check_prefix
from lunorash.scheduler.options import MAX_INSTANT_MS
from lunorash.scheduler.pool import MAX_CONCURRENCY, check_max_concurrency, check_pool_name

__all__ = [
    "Asked",
    "CapField",
    "DelayField",
    "IdField",
    "InstantField",
    "LimitField",
    "PoolField",
    "PrefixField",
    "QueryInstant",
    "Told",
    "read_body",
    "read_number",
    "read_query",
]

_NAME: Final = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"
_ENDS: Final = ("ge", "le")
_DIGITS: Final = re.compile(r"\d{1,16}", re.ASCII)


class Asked(BaseModel):
    """Part of a request. It is built when it is first used: a Worker starts without, and most are never asked."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)


class Told(BaseModel):
    """Part of an answer. A field that is not set is left out."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, defer_build=True)


def read_number(text: Any) -> Any:
    """A number of a query; what is none stays text, which is refused by its rule."""
    return int(text) if isinstance(text, str) and _DIGITS.fullmatch(text) else text


# What has a rule and a code of its own elsewhere keeps them: an error of Lunora's passes through pydantic as it is.
IdField = Annotated[str, BeforeValidator(check_id), WithJsonSchema({"type": "string", "pattern": _NAME})]
PrefixField = Annotated[str, BeforeValidator(check_prefix), WithJsonSchema({"type": "string", "pattern": _NAME})]
PoolField = Annotated[str, BeforeValidator(check_pool_name), WithJsonSchema({"type": "string", "pattern": _NAME})]
CapField = Annotated[
    int,
    BeforeValidator(check_max_concurrency),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_CONCURRENCY}),
]
LimitField = Annotated[int, Field(ge=1, le=100), BeforeValidator(read_number)]
QueryInstant = Annotated[int, Field(ge=0, le=MAX_INSTANT_MS), BeforeValidator(read_number)]
InstantField = (
    Annotated[int, Field(le=MAX_INSTANT_MS)] | Annotated[float, Field(le=MAX_INSTANT_MS, allow_inf_nan=False)]
)

DelayField = Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0, allow_inf_nan=False)]

A = TypeVar("A", bound=Asked)


def read_query(request: HttpRequest, model: type[A]) -> A:
    """What the query asks. Of a parameter that is given several times the last counts, unless it is a list.

    A parameter without a value is not the same as none: a script whose variable is not set would list all jobs.

    Raises:
        LunoraError: ``INVALID_INPUT``, or the code of a value's own rule; ``BAD_REQUEST`` for more than 100 fields.
    """
    try:
        given = parse_qs(request.query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise LunoraError("BAD_REQUEST", "the query has more than 100 fields") from None
    lists = {name for name, field in model.model_fields.items() if field.default_factory is list}
    # what has to be there is refused by its own rule when it is not
    absent: dict[str, Any] = {name: None for name, field in model.model_fields.items() if field.is_required()}
    values = {name: texts if name in lists else texts[-1] for name, texts in given.items()}
    return _validated(absent | values, model, "parameter", "the query")


async def read_body(request: HttpRequest, model: type[A]) -> A:
    """What the body asks, a JSON object.

    Raises:
        LunoraError: ``INVALID_INPUT``, or the code of a value's own rule; ``BAD_REQUEST`` when it is no JSON object,
            ``PAYLOAD_TOO_LARGE`` when it is too long.
    """
    return _validated(await request.json(), model, "field", "the body")


def _validated(values: dict[str, Any], model: type[A], part: str, whole: str) -> A:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(step)[:60] for step in problem["loc"][:8])
        parent = _parent(model, problem["loc"])
        if problem["type"] == "extra_forbidden":
            why = f"there is no {part} {shown(where)}; there is {', '.join(parent.model_fields)}"
        elif problem["type"] == "missing":
            why = f"{where} is missing; {whole} must have it"
        else:
            rule = _range(parent.model_fields.get(str(problem["loc"][-1])))
            rule = rule or problem["msg"].replace("Input should be", "it must be").replace("String should", "it must")
            why = f"{where} is {shown(problem['input'])}; {rule[0].lower()}{rule[1:]}"
        raise LunoraError("INVALID_INPUT", why) from None


def _parent(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    """The model in which a field is, or is not."""
    for step in location[:-1]:
        inner = model.model_fields.get(str(step))
        models = _models_of(inner.annotation if inner else None)
        if not models:
            break
        model = models[0]
    return model


def _models_of(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_of(part)]


def _range(field: FieldInfo | None) -> str:
    """The rule of a whole number that has two ends; "" for any other field."""
    ends = {
        name: getattr(rule, name) for rule in (field.metadata if field else ()) for name in _ENDS if hasattr(rule, name)
    }
    if field is None or field.annotation is not int or len(ends) < len(_ENDS):
        return ""
    return f"it must be a whole number from {ends['ge']:,} to {ends['le']:,}"
