from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.project import Project, make


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with nothing wrong."""
    return make(tmp_path)
