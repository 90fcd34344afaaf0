"""A slow server that actions wait for."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

__all__ = ["Upstream"]


class Upstream:
    """Answers each request after some seconds, however many there are, from `__enter__` to `__exit__`.

    Args:
        wait_s: how long it takes for each.
    """

    def __init__(self, wait_s: float) -> None:
        self.most_at_once = 0
        waiting = 0
        lock = threading.Lock()
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                nonlocal waiting
                with lock:
                    waiting += 1
                    upstream.most_at_once = max(upstream.most_at_once, waiting)
                time.sleep(wait_s)
                with lock:
                    waiting -= 1
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
