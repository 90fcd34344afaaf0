"""The Worker of the integration tests."""

from conformance_do import ConformanceDO
from journal import JournalDO
from peepholes import PEEPHOLES
from probes import PROBES

from lunora.demo import DEMO_ROUTES
from lunorash.scheduler import SchedulerDO
from lunorash.server import define_app

app = (
    define_app()
    .scheduler(namespace=lambda env: env.SCHEDULER)
    .functions(PROBES)
    .routes([*DEMO_ROUTES, *PEEPHOLES])
    .build()
)

Default = app.Default

__all__ = ["ConformanceDO", "Default", "JournalDO", "SchedulerDO"]
