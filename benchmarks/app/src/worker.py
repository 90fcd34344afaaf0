"""The Worker of the benchmark."""

from stocked_scheduler import StockedSchedulerDO

from lunora._generated.app import define_app

app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER).build()

Default = app.Default
ShardDO = app.ShardDO

__all__ = ["Default", "ShardDO", "StockedSchedulerDO"]
