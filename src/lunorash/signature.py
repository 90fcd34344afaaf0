"""What a function takes and returns, by its annotations: arguments are validated, results encoded."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, get_type_hints

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError, create_model
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
        parameters, hints = _read(function, name)
        self._takes_more = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
        parameters = [parameter for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        self._model_parameter: str | None = None
        if len(parameters) == 1 and not self._takes_more and _is_model(hints.get(parameters[0].name)):
            self._model_parameter = parameters[0].name
            self._model: type[BaseModel] = hints[parameters[0].name]
        else:
            fields: dict[str, Any] = {
                parameter.name: (
                    hints.get(parameter.name, Any),
                    ... if parameter.default is inspect.Parameter.empty else parameter.default,
                )
                for parameter in parameters
            }
            try:
                config = ConfigDict(**{**_CONFIG, "extra": "allow"}) if self._takes_more else _CONFIG
                self._model = create_model("Arguments", __config__=config, **fields)
            except (PydanticUserError, NameError, TypeError) as error:
                raise LunoraError(
                    "FUNCTION_INVALID", f"the parameters of {name} cannot be validated: {error}"
                ) from None
        returns = hints.get("return", Any)
        self._returns: TypeAdapter[Any] | None = None
        if returns not in (Any, None, type(None)):
            encoding = None if _is_model(returns) else ConfigDict(ser_json_bytes="base64", ser_json_timedelta="iso8601")
            self._returns = TypeAdapter(returns, config=encoding)

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
            model = self._model.model_validate_json(text, strict=True)
        except ValidationError as error:
            raise self._refused(error) from None
        if self._model_parameter is not None:
            return {self._model_parameter: model}
        named = {name: getattr(model, name) for name in type(model).model_fields}
        return {**named, **(model.model_extra or {})}

    def check(self, args: Mapping[str, Any]) -> None:
        """Refuse arguments that `parse` would refuse; takes them as Python values made of JSON's types."""
        self.parse(json.dumps(args))

    def encode(self, value: Any) -> str:
        """The result as JSON text.

        Raises:
            LunoraError: ``RESULT_INVALID`` when it is not what the annotation says, or cannot be encoded.
        """
        try:
            if self._returns is not None:
                value = self._returns.dump_python(
                    self._returns.validate_python(value), mode="json", warnings="error", by_alias=True
                )
            return encode_value(value, what="the result")
        except ValidationError as error:
            problems = "; ".join(f"{where or 'the result'}: {why}" for where, why in _problems(error))
            raise LunoraError(
                "RESULT_INVALID", f"{self._name} returned something else than its annotation says: {problems}"
            ) from None
        except (LunoraError, PydanticSerializationError) as error:
            why = error.message if isinstance(error, LunoraError) else str(error)
            raise LunoraError("RESULT_INVALID", f"{self._name} returned what cannot be encoded: {why}") from None

    def _refused(self, error: ValidationError) -> LunoraError:
        problems = _problems(error)
        told = "; ".join(f"{where or 'args'}: {why}" for where, why in problems)
        return LunoraError(
            "INVALID_INPUT",
            f"the arguments of {self._name} are not what it takes: {told}",
            data=[{"path": where, "reason": why} for where, why in problems],
        )


def _read(function: Callable[..., Any], name: str) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    try:
        context, *parameters = inspect.signature(function).parameters.values()
        hints = get_type_hints(function, include_extras=True)
    except (ValueError, TypeError, NameError) as error:
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
    return parameters, hints


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _problems(error: ValidationError) -> list[tuple[str, str]]:
    """Path and reason of each problem; what was refused is not repeated, it may be somebody's data."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    return [
        (".".join(str(step)[:60] for step in detail["loc"][:8]), detail["msg"][:200])
        for detail in details[:_SHOWN_PROBLEMS]
    ]
