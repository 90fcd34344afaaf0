"""The app's recurring jobs. After a change run `lunora codegen`, which also syncs the triggers in wrangler.jsonc."""

from lunora._generated.internal import internal
from lunorash.server import cron_jobs

crons = cron_jobs()

crons.interval("heartbeat", {"hours": 1}, internal.crons.jobs.run)
