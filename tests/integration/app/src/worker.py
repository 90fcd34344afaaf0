"""The Worker of the integration tests."""

from conformance_do import ConformanceDO
from journal import JournalDO
from peepholes import PEEPHOLES

from lunora._generated.app import define_app
from lunora._generated.scheduler import SchedulerDO

app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER).routes(PEEPHOLES).build()

Default = app.Default
ShardDO = app.ShardDO

__all__ = ["ConformanceDO", "Default", "JournalDO", "SchedulerDO", "ShardDO"]
