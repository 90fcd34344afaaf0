"""`lunora openapi`: what the admin API is, for whoever generates a client of it."""

from __future__ import annotations

from typing import Any

from lunorash.studio.admin import AdminParts, admin_operations
from lunorash.studio.openapi import openapi_document

__all__ = ["document"]


def document() -> dict[str, Any]:
    """The OpenAPI document: the same for every app."""
    return openapi_document(admin_operations(AdminParts()))
