"""Who calls: whoever bears the admin token acts as `admin`; everybody else is nobody."""

from __future__ import annotations

from lunorash.server import Auth, HttpRequest
from lunorash.studio.admin_token import require_admin


async def identify(request: HttpRequest) -> Auth:
    """Identify a caller. A real app would take `lunorash.server.jwt_hs256(...)` here, or its own sessions."""
    if "authorization" not in request.headers:
        return Auth()
    require_admin(request)
    return Auth(user_id="admin")
