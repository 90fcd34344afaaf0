"""What a function takes and returns, by its annotations: arguments are validated, results encoded."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Annotated, Any, Final, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticSerializationError

from lunorash.errors import LunoraError
from lunorash.values import encode_value

__all__ = ["Signature"]

# Arguments arrive as JSON. Strict JSON mode takes "2026-12-01" for a date, but never "5" for a number.
_CONFIG: Final = ConfigDict(
    extra="forbid",
    arbitrary_types_allowed=False,
    hide_input_in_errors=True,
    ser_json_bytes="base64",
    ser_json_timedelta="iso8601",
    strict=True,
    val_json_bytes="base64",
)
_RESULT: Final = ConfigDict(hide_input_in_errors=True, ser_json_bytes="base64", ser_json_timedelta="iso8601")
_SHOWN_PROBLEMS: Final = 20


class Signature:
    """The signature of a function whose first parameter is its context.

    Args:
        function: the function; its annotations are looked up now, so everything they name has to exist.
        name: what messages call it.

    Raises:
        LunoraError: ``FUNCTION_INVALID`` for a parameter or an annotation that cannot be used.

    Example:
        >>> async def start_trial(ctx, plan: str, days: int = 14) -> str: ...
        >>> Signature(start_trial, "trials:start_trial").parse('{"plan": "pro"}')
        {'plan': 'pro', 'days': 14}
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        context, parameters, hints = _read(function, name)
        self._context = None if context.kind is inspect.Parameter.POSITIONAL_ONLY else context.name
        more = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_KEYWORD]
        parameters = [parameter for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        self._more: TypeAdapter[dict[str, Any]] | None = None
        self._names: dict[str, str] = {}
        self._returns: type[BaseModel] | None = None
        self._model_parameter: str | None = None
        self._closed_model: type[BaseModel] | None = None
        self._may_return_none = False
        try:
            if len(parameters) == 1 and not more and _is_model(hints.get(parameters[0].name)):
                self._model_parameter = parameters[0].name
                self._model: type[BaseModel] = hints[parameters[0].name]
                if "extra" not in self._model.model_config:  # it does not say, and so unknown fields are refused
                    closed = {"model_config": ConfigDict(extra="forbid"), "__module__": self._model.__module__}
                    self._closed_model = type(self._model)(self._model.__name__, (self._model,), closed)
            else:
                # fields have names of ours, since an app's may be what a model has already: model_config, _x
                self._names = {f"argument_{number}": parameter.name for number, parameter in enumerate(parameters)}
                fields: dict[str, Any] = {
                    field: (
                        Annotated[hints.get(parameter.name, Any), Field(alias=parameter.name)],
                        ... if parameter.default is inspect.Parameter.empty else parameter.default,
                    )
                    for field, parameter in zip(self._names, parameters, strict=True)
                }
                config = ConfigDict(**{**_CONFIG, "extra": "allow"}) if more else _CONFIG
                self._model = create_model("Arguments", __config__=config, **fields)
                if more:
                    value_type: Any = hints.get(more[0], Any)
                    self._more = TypeAdapter(dict[str, value_type], config=_CONFIG)
            returned: Any = hints.get("return", Any)
            self._may_return_none = returned in (Any, None, NoneType)
            if returned is not Any:
                self._returns = create_model("Result", __config__=_RESULT, result=(returned, ...))
        except (PydanticUserError, AttributeError, NameError, TypeError, ValueError) as error:
            raise LunoraError(
                "FUNCTION_INVALID", f"the parameters or the result of {name} cannot be validated: {error}"
            ) from None

    def parse(self, text: str | bytes) -> dict[str, Any]:
        """Validate arguments.

        Args:
            text: a JSON object, its nesting checked before.

        Returns:
            the arguments to call the function with.

        Raises:
            LunoraError: ``INVALID_INPUT`` with every field's path and reason, also as ``data``.
        """
        try:
            if self._closed_model is not None:
                self._closed_model.model_validate_json(text, strict=True)
            model = self._model.model_validate_json(text, strict=True)
            more = model.model_extra or {}
            if self._more is not None:
                more = self._more.validate_json(json.dumps(more))
        except ValidationError as error:
            raise self._refused(_problems(error)) from None
        if self._model_parameter is not None:
            return {self._model_parameter: model}
        if self._context in more:
            raise self._refused([(str(self._context), "Extra inputs are not permitted")])
        return {**{name: getattr(model, field) for field, name in self._names.items()}, **more}

    def check(self, args: Mapping[str, Any]) -> None:
        """Refuse arguments that `parse` would refuse; takes them as Python values made of JSON's types."""
        self.parse(json.dumps(args))

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments.

        Raises:
            LunoraError: ``FUNCTION_INVALID`` when an annotation has none, such as a class that only Python knows.

        Example:
            >>> def start_trial(ctx, plan: str, days: int = 14) -> None: ...
            >>> told = Signature(start_trial, "trials:start_trial").schema()
            >>> told["properties"]["days"]["type"], told["required"], told["additionalProperties"]
            ('integer', ['plan'], False)
        """
        try:
            return (self._closed_model or self._model).model_json_schema()
        except PydanticUserError as error:
            raise LunoraError(
                "FUNCTION_INVALID", f"the parameters of {self._name} have no JSON Schema: {error.message}"
            ) from None

    def encode(self, value: Any) -> str:
        """The result as JSON text.

        Raises:
            LunoraError: ``RESULT_INVALID`` when it is not what the annotation says, or cannot be encoded.
        """
        if value is None and self._may_return_none:
            return "null"
        try:
            if self._returns is not None:
                value = self._returns.model_validate({"result": value}).model_dump(
                    mode="json", warnings="error", by_alias=True
                )["result"]
            return encode_value(value, what="the result")
        except ValidationError as error:
            problems = "; ".join(f"the {where}: {why}" for where, why in _problems(error))
            raise LunoraError(
                "RESULT_INVALID", f"{self._name} returned something else than its annotation says: {problems}"
            ) from None
        except (LunoraError, PydanticSerializationError, ValueError) as error:
            why = error.message if isinstance(error, LunoraError) else str(error)
            raise LunoraError("RESULT_INVALID", f"{self._name} returned what cannot be encoded: {why}") from None

    def _refused(self, problems: list[tuple[str, str]]) -> LunoraError:
        told = "; ".join(f"{where or 'args'}: {why}" for where, why in problems)
        return LunoraError(
            "INVALID_INPUT",
            f"the arguments of {self._name} are not what it takes: {told}",
            data=[{"path": where, "reason": why} for where, why in problems],
        )


def _read(function: Callable[..., Any], name: str) -> tuple[inspect.Parameter, list[inspect.Parameter], dict[str, Any]]:
    try:
        context, *parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # noqa: BLE001 - evaluating an annotation can raise anything
        raise LunoraError(
            "FUNCTION_INVALID", f"{name} cannot be used: {error}; its first parameter is the context"
        ) from None
    if context.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY):
        raise LunoraError("FUNCTION_INVALID", f"{name} cannot be used: its first parameter is the context")
    for parameter in parameters:
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            raise LunoraError(
                "FUNCTION_INVALID",
                f"{name} has the parameter {parameter.name!r} that cannot be given by name; arguments travel by name",
            )
    return context, parameters, hints


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _problems(error: ValidationError) -> list[tuple[str, str]]:
    """Path and reason of each problem; what was refused is not repeated, it may be somebody's data."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    return [
        (".".join(str(step)[:60] for step in detail["loc"][:8]), detail["msg"][:200])
        for detail in details[:_SHOWN_PROBLEMS]
    ]
