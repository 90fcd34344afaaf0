"""The deployment's entry: puts the example app together and exports what wrangler binds."""

from lunora._generated.app import define_app
from lunora._generated.scheduler import SchedulerDO
from lunora.agents import Support
from lunora.identity import identify
from lunora.workflows import Onboarding

app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER).auth(identify).build()

Default = app.Default
ShardDO = app.ShardDO

__all__ = ["Default", "Onboarding", "SchedulerDO", "ShardDO", "Support"]
