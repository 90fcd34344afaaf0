"""Run a Python Worker on real workerd: prepare a project once, then start and stop servers.

Example:
    >>> from pytest_workers.runtime import DevServer, Project, prepare
    >>> project = Project.load(".")  # doctest: +SKIP
    >>> prepare(project, print)  # doctest: +SKIP
    >>> with DevServer(project) as server:  # doctest: +SKIP
    ...     print(server.url)
"""

from pytest_workers.errors import WorkersError
from pytest_workers.runtime.preparation import Prepared, prepare
from pytest_workers.runtime.project import Project
from pytest_workers.runtime.server import DevServer

__all__ = ["DevServer", "Prepared", "Project", "WorkersError", "prepare"]
