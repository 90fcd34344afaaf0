"""Requests to a local server that are not for the Worker's own routes."""

from __future__ import annotations

import datetime as dt
import http.client
import json
import urllib.parse
from typing import Any

from pytest_workers.errors import TriggerError

# A handler may run for a while before there is an outcome; Cloudflare's own limit is 15 minutes.
SCHEDULED_SECONDS = 900.0


def get(port: int, path: str, timeout: float) -> tuple[int, bytes]:
    """Ask a local server, without any proxy.

    Args:
        port: its port.
        path: the path and query.
        timeout: seconds to wait for the connection and for each part of the answer.

    Returns:
        The status and the body.

    Raises:
        OSError: nobody listens, or no answer came in time.
        http.client.HTTPException: the answer is not HTTP, or was cut off.
    """
    connection = http.client.HTTPConnection("localhost", port, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def scheduled(port: int, cron: str, time: int | dt.datetime | None) -> dict[str, Any]:
    """Call the `scheduled` handler of the Worker on a local server.

    Args:
        port: the server's port.
        cron: the expression that the handler is given.
        time: the scheduled time, in milliseconds since 1970 or as an aware datetime; None is now.

    Returns:
        The outcome.

    Raises:
        TriggerError: (TRIGGER_FAILED) the time is naive, or the server gave no outcome.
    """
    query = {"cron": cron, "format": "json"}
    if isinstance(time, dt.datetime):
        if time.tzinfo is None:
            raise TriggerError(
                f"The time {time} has no time zone.",
                "Which instant it means depends on the machine.",
                "Use an aware datetime, such as datetime.now(UTC), or milliseconds since 1970.",
            )
        time = round(time.timestamp() * 1000)
    if time is not None:
        query["time"] = str(time)
    path = "/cdn-cgi/local/scheduled?" + urllib.parse.urlencode(query)
    try:
        status, body = get(port, path, SCHEDULED_SECONDS)
    except (OSError, http.client.HTTPException) as error:
        raise TriggerError(
            f"The server on port {port} gave no answer: {error!r}.",
            "The local trigger answers with an outcome.",
            "Look at the server's log: workerd may have crashed.",
        ) from error
    try:
        outcome = json.loads(body)
    except ValueError:
        outcome = None
    if not isinstance(outcome, dict):
        raise TriggerError(
            f"The server answered {status}: {body[:500].decode(errors='replace')!r}.",
            "The local trigger answers with an outcome in JSON.",
            "Check the cron expression and the time, and the server's log.",
        )
    return outcome
