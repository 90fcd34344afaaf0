"""The deployment's entry: puts the example app together and exports what wrangler binds."""

from lunora.demo import DEMO_ROUTES
from lunora.functions import FUNCTIONS
from lunorash.scheduler import SchedulerDO
from lunorash.server import define_app

app = define_app().scheduler(namespace=lambda env: env.SCHEDULER).functions(FUNCTIONS).routes(DEMO_ROUTES).build()

Default = app.Default

__all__ = ["Default", "SchedulerDO"]
