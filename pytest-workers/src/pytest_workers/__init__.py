"""Run Cloudflare Python Workers on real workerd from pytest."""

from pytest_workers.errors import WorkersError

__all__ = ["WorkersError"]
