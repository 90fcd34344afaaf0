"""What app code imports to make a Worker."""

from lunorash.contexts import ActionContext, Auth, Job, MutationContext, QueryContext
from lunorash.crons import CronJobs, cron_jobs
from lunorash.errors import LunoraError
from lunorash.functions import RegisteredFunction, register
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.retrying import NonRetryableError, RetryAfter, raise_for_retry
from lunorash.server.app import App, AppBuilder, define_app
from lunorash.server.auth import jwt_hs256

__all__ = [
    "ActionContext",
    "App",
    "AppBuilder",
    "Auth",
    "CronJobs",
    "HttpAnswer",
    "HttpRequest",
    "Job",
    "LunoraError",
    "MutationContext",
    "NonRetryableError",
    "QueryContext",
    "RegisteredFunction",
    "RetryAfter",
    "Route",
    "cron_jobs",
    "define_app",
    "jwt_hs256",
    "raise_for_retry",
    "register",
]
