"""The Worker of the integration tests."""

from conformance_do import ConformanceDO
from deliveries import with_deliveries
from failpoints import with_failpoints
from identity import identify, may_use
from journal import JournalDO
from kept_statistics import with_kept_statistics
from lost_alarms import with_lost_alarms
from peepholes import PEEPHOLES
from ticks import CRONS
from timers import with_timers

from lunora._generated import scheduler
from lunora._generated.app import define_app
from lunora.agents import Courier
from lunora.workflows import Errand

app = (
    define_app()
    .shard(lambda env: env.SHARD)
    .scheduler(namespace=lambda env: env.SCHEDULER)
    .auth(identify)
    .authorize_shard(may_use)
    .routes(PEEPHOLES)
    .crons(CRONS)
    .build()
)

Default = with_deliveries(app.Default)
SchedulerDO = with_kept_statistics(with_timers(with_lost_alarms(scheduler.SchedulerDO)))
ShardDO = with_failpoints(app.ShardDO)

__all__ = ["ConformanceDO", "Courier", "Default", "Errand", "JournalDO", "SchedulerDO", "ShardDO"]
