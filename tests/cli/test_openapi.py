from __future__ import annotations

import json
from pathlib import Path

from lunorash.cli.admin_access import connect

from .conftest import Lunora
from .worker_server import RealWorker


def test_the_document_is_printed_and_is_the_workers_own(lunora: Lunora, worker: RealWorker) -> None:
    printed = lunora("openapi").json
    assert printed == lunora("openapi", "--format", "json").json
    assert printed["openapi"].startswith("3.1.")

    with connect(worker.url, Path()) as api:
        assert api.get("/_lunora/admin/v1/openapi.json") == json.loads(json.dumps(printed))
