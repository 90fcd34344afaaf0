"""The admin API does what its document says, on real workerd, whatever it is asked: schemathesis asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from lunorash.studio.admin import AdminParts, admin_operations
from lunorash.studio.openapi import openapi_document
from tests.integration.client import TOKEN, Client
from tests.integration.conftest import Launch

_DOCUMENT: Final = openapi_document(admin_operations(AdminParts()))
_PATH: Final = "/_lunora/admin/v1"
_SETTINGS: Final[dict[str, Any]] = {
    "seed": 1,
    "generation": {"deterministic": True, "with-security-parameters": False},
    "checks": {
        # what is well-formed may lead nowhere all the same, such as a cursor or a path, and is refused then
        "positive_data_acceptance": {"enabled": False},
        "missing_required_header": {"expected-statuses": [403]},
    },
    # what is done to dead letters takes the body of cancel-many, which is tried in every way
    "operations": [{"include-path-regex": "dead/.*-many", "phases": {"coverage": {"enabled": False}}}],
}
_API: Final = schemathesis.openapi.from_dict(_DOCUMENT, config=SchemathesisConfig.from_dict(_SETTINGS))


@_API.auth()
class _Token:
    """What every request bears, but those by which schemathesis finds out whether it is looked at."""

    def get(self, case: Any, ctx: Any) -> str:
        return TOKEN

    def set(self, case: Any, data: str, ctx: Any) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


@pytest.fixture(scope="module")
def admin(launch: Launch) -> Client:
    """A Worker with a job in every state, and pools."""
    client = launch(name="admin")
    client.schedule("probes:fail", {}, id="dead", retry={"max_attempts": 1, "base_ms": 1})
    client.schedule("probes:note", {}, id="done")
    client.wait("dead", "dead")
    return client


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """Keeps its connection."""
    with requests.Session() as kept:
        yield kept


@_API.parametrize()
@settings(max_examples=10, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_the_document_says(case: Any, admin: Client, session: requests.Session) -> None:
    case.call_and_validate(base_url=admin.worker.url, session=session)


def test_the_worker_tells_this_document(admin: Client) -> None:
    assert admin.call("GET", f"{_PATH}/openapi.json").json() == _DOCUMENT
