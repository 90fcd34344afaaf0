"""The conformance suite once more, inside a real Durable Object: the same SQL on the same tables."""

from __future__ import annotations

import pytest

from tests.conformance.suite import CASES
from tests.integration.client import Client


@pytest.mark.parametrize("case", sorted(CASES))
def test_in_a_durable_object(shared: Client, case: str) -> None:
    answer = shared.call("POST", "/test/conformance", {"case": case})
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"failure": ""}, answer.json()["failure"]
