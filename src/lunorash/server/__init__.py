"""What app code imports to make a Worker."""

from lunorash.errors import LunoraError
from lunorash.server.app import App, AppBuilder, define_app
from lunorash.server.functions import Context, Job
from lunorash.server.http import HttpAnswer, HttpRequest, Route

__all__ = [
    "App",
    "AppBuilder",
    "Context",
    "HttpAnswer",
    "HttpRequest",
    "Job",
    "LunoraError",
    "Route",
    "define_app",
]
