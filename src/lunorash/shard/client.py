"""A shard as the Worker calls it."""

from __future__ import annotations

from typing import Any

from lunorash.codec import decode_json
from lunorash.errors import LunoraError, UnavailableError
from lunorash.shard.calls import ShardCall

__all__ = ["Shards"]

_DEFAULT = "default"


class Shards:
    """Calls queries and mutations on shards.

    Args:
        namespace: the Durable Object binding, ``env.SHARD``.
    """

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    async def query(self, call: ShardCall, shard_key: str | None = None) -> str:
        """Run a query; returns its result as JSON text."""
        return await self._call("query", call, shard_key)

    async def mutate(self, call: ShardCall, shard_key: str | None = None) -> str:
        """Run a mutation; returns its result as JSON text."""
        return await self._call("mutate", call, shard_key)

    async def _call(self, method: str, call: ShardCall, shard_key: str | None) -> str:
        if self._namespace is None:
            raise LunoraError(
                "SHARD_NOT_CONFIGURED",
                "there is no binding to a ShardDO; bind the class as SHARD under durable_objects in wrangler.jsonc "
                "and build the app with .shard(lambda env: env.SHARD)",
            )
        stub = self._namespace.get(self._namespace.idFromName(shard_key or _DEFAULT))
        try:
            text = await getattr(stub, method)(call.to_text())
        except Exception as error:
            raise LunoraError(
                "SHARD_UNAVAILABLE", f"the shard did not answer ({type(error).__name__}); try again"
            ) from error
        answer = decode_json(text, what="the shard's answer")
        if "error" in answer:
            raise UnexpectedError.of(answer) if "detail" in answer else _error(answer)
        result: str = answer["ok"]
        return result


class UnexpectedError(LunoraError):
    """An exception nobody expected, raised by a function on a shard. ``detail`` is for whoever may see it."""

    detail: str = ""

    @classmethod
    def of(cls, answer: dict[str, Any]) -> UnexpectedError:
        """Read the answer of a shard."""
        error = cls(answer["error"]["code"], answer["error"]["message"])
        error.detail = answer["detail"]
        return error


def _error(answer: dict[str, Any]) -> LunoraError:
    error = answer["error"]
    kind = UnavailableError if answer["unavailable"] else LunoraError
    return kind(error["code"], error["message"], status=answer["status"], data=error.get("data"))
