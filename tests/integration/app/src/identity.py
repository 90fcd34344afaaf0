"""Who calls, as the tests say it; and which shards they may name."""

from __future__ import annotations

from lunorash.server import Auth, HttpRequest


async def identify(request: HttpRequest) -> Auth:
    user = request.headers.get("x-user")
    return Auth() if user is None else Auth(user_id=user, claims={"from": "a header"})


async def may_use(auth: Auth, shard_key: str) -> bool:
    return not shard_key.startswith("private") or auth.user_id == "owner"
