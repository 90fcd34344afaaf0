"""One thing that the admin API does: where it is asked for, with what, what is answered, and what may go wrong."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

from lunorash.http import Handler, HttpAnswer, HttpRequest, Route
from lunorash.studio.admin_token import guarded
from lunorash.studio.asking import Asked, Told, read_body, read_query

__all__ = ["PREFIX", "SCHEDULING", "STORED", "Operation", "routes_of", "written"]

PREFIX: Final = "/_lunora/admin/v1"
_OLDER_PREFIX: Final = "/_lunora/admin"

STORED: Final = ("SCHEDULER_NOT_CONFIGURED", "SCHEDULER_UNAVAILABLE")
"""What may go wrong whenever the SchedulerDO is asked."""

SCHEDULING: Final = (
    *STORED,
    "DUPLICATE_SCHEDULE_ID",
    "FUNCTION_NOT_FOUND",
    "ORIGIN_INVALID",
    "ORIGIN_NOT_CONFIGURED",
    "SCHEDULER_SECRET_INVALID",
    "SCHEDULER_SECRET_NOT_CONFIGURED",
)
"""What may go wrong when a job is scheduled."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Its name and its summary are those of its handler: the name, and the first line of its docstring.

    Args:
        method: ``"GET"`` asks by a query, ``"POST"`` by a JSON body.
        path: behind `PREFIX`.
        handler: does it, given the request and what was asked; answers with a model, or with JSON that is ready.
        asks: what it is asked; None for nothing.
        answers: what it answers.
        codes: the codes of the errors that it may answer beside those of every operation.
        older: whether it is found without the version in its path too, as the first release had it.
    """

    method: Literal["GET", "POST"]
    path: str
    handler: Callable[[HttpRequest, Any], Awaitable[Told | HttpAnswer]]
    asks: type[Asked] | None
    answers: type[Told]
    codes: tuple[str, ...] = ()
    _: KW_ONLY
    older: bool = False

    @property
    def name(self) -> str:
        """What it is called in the API's document."""
        return self.handler.__name__.strip("_")

    @property
    def text(self) -> str:
        """What it does: the docstring of its handler."""
        return " ".join((self.handler.__doc__ or "").split())

    @property
    def summary(self) -> str:
        """The same in short."""
        return self.text.partition(". ")[0].rstrip(".")

    @property
    def every_code(self) -> tuple[str, ...]:
        """The codes of all errors that it may answer."""
        asking = () if self.asks is None else ("BAD_REQUEST", "INVALID_INPUT")
        sent = ("PAYLOAD_TOO_LARGE",) if self.method == "POST" else ()
        return tuple(sorted({"ADMIN_FORBIDDEN", "INTERNAL", *asking, *sent, *self.codes}))

    def route(self, prefix: str) -> Route:
        """Where it is found, for those who may use the admin API."""
        return Route(method=self.method, path=prefix + self.path, handler=guarded(self._handle()))

    def _handle(self) -> Handler:
        async def handle(request: HttpRequest) -> HttpAnswer:
            asked: Asked | None = None
            if self.asks is not None:
                get = self.method == "GET"
                asked = read_query(request, self.asks) if get else await read_body(request, self.asks)
            told = await self.handler(request, asked)
            return told if isinstance(told, HttpAnswer) else HttpAnswer(encoded=written(told))

        return handle


def written(told: Told) -> str:
    """An answer as JSON text, without the fields that are not set.

    pydantic would do it too, down to a depth that depends on the platform: in a Worker it gives up on arguments of
    some 48 levels, of which a job may have 64.

    Example:
        >>> class Page(Told):
        ...     args: dict[str, Any]
        ...     cursor: str | None = None
        >>> written(Page(args={"whole": 1.0}))
        '{"args": {"whole": 1.0}}'
    """
    return json.dumps(told, default=_fields)


def _fields(part: Any) -> dict[str, Any]:
    if isinstance(part, BaseModel):
        return {name: getattr(part, name) for name in type(part).model_fields if name in part.model_fields_set}
    if is_dataclass(part) and not isinstance(part, type):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    raise TypeError(f"an answer holds something of type {type(part).__name__}")


def routes_of(operations: Iterable[Operation]) -> Iterator[Route]:
    """The routes of operations: each under `PREFIX`, and some as they were before there were versions."""
    for operation in operations:
        yield operation.route(PREFIX)
        if operation.older:
            yield operation.route(_OLDER_PREFIX)
