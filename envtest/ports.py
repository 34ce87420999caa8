"""Free ports that stay free until the component listens on them.

A port is reserved by a bound socket that never listens. `SO_REUSEADDR`, set after the bind, lets our component (Go sets it too)
bind the same port beside it, while everybody else's search for a free port passes it by. The kernel gives the port back when
this process ends.
"""

from __future__ import annotations

import socket
import sys


class Ports:
    """The reserved ports of one cluster."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def reserve(self) -> int:
        """A port on 127.0.0.1 that nobody else gets until `release`."""
        holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        holder.bind(("127.0.0.1", 0))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port: int = holder.getsockname()[1]
        if sys.platform == "linux":
            self._sockets.append(holder)
        else:  # elsewhere a bound socket would keep the component out as well
            holder.close()
        return port

    def release(self) -> None:
        """Give all of them back. Idempotent."""
        while self._sockets:
            self._sockets.pop().close()
