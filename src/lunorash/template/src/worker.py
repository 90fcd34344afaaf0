"""The Worker's entry: puts the app together and exports what wrangler binds."""

from lunora._generated.app import define_app
from lunora._generated.scheduler import SchedulerDO

app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER).build()

Default = app.Default
ShardDO = app.ShardDO

__all__ = ["Default", "SchedulerDO", "ShardDO"]
