"""Ports for programs that must be told one."""

from __future__ import annotations

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """A port that nobody has and that the system gives to nobody who asks for any.

    One that the system gave and took back may be another program's before a server that starts slowly listens there.
    """
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
