"""Ports of this machine: find a free one, and check one that was asked for."""

from __future__ import annotations

import random
import socket

from pytest_workers.errors import PortTakenError

# Below the range from which Linux and macOS take ports for outgoing connections: a port found here stays free
# during the seconds that a server needs to start.
LOWEST, HIGHEST = 20_000, 32_000
ATTEMPTS = 200


def is_free(port: int) -> bool:
    """Tell whether a server could listen on a port of localhost, on IPv4 and on IPv6 where there is one.

    Args:
        port: 1 to 65535.

    Returns:
        False when another process listens there.
    """
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            probe = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            continue
        with probe:
            # As servers do: a port whose last connections are still closing counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                if family == socket.AF_INET or not _has_no_ipv6():
                    return False
    return True


def pick_free(avoid: frozenset[int] = frozenset()) -> int:
    """Pick a free port at random.

    Args:
        avoid: ports not to pick.

    Returns:
        A port between 20,000 and 32,000.

    Raises:
        PortTakenError: (PORT_TAKEN) no free one was found.
    """
    # `SystemRandom`, because tests may seed the global generator, and then all would pick the same port.
    generator = random.SystemRandom()
    for _ in range(ATTEMPTS):
        port = generator.randrange(LOWEST, HIGHEST)
        if port not in avoid and is_free(port):
            return port
    raise PortTakenError(
        f"No free port was found between {LOWEST} and {HIGHEST}.",
        "A server needs one, and its inspector another.",
        "End servers that are left over, or name a port.",
    )


def check_free(port: int) -> None:
    """Check that a port that was asked for can be used.

    Args:
        port: the port.

    Raises:
        PortTakenError: (PORT_TAKEN) it is out of range or in use.
    """
    if not 1 <= port <= 65_535:
        raise PortTakenError(f"{port} is not a port.", "A port is 1 to 65535; 0 picks a free one.", "Use port 0.")
    if not is_free(port):
        raise PortTakenError(
            f"Port {port} is taken.",
            "A server needs a port that no other program listens on.",
            f"End the program that listens on {port}, or use another port; 0 picks a free one.",
        )


def _has_no_ipv6() -> bool:
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return True
    return False
