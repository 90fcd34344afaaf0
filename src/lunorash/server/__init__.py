"""What app code imports to make a Worker."""

from lunorash.errors import LunoraError
from lunorash.functions import Context, Job
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.server.app import App, AppBuilder, define_app

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
