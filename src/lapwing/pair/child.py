"""A server as a process of its own that ends with the process that started it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from lapwing.pair.deployment import Deployment
from lapwing.processes import Crew, job, say

PATIENCE = 60.0
"""Seconds in which a server starts."""


def party() -> None:
    """Serve until the parent is gone."""
    from lapwing.pair.server import PairServer

    work = job()
    server = PairServer(Path(work["folder"]), work["server"], patience=float(work.get("patience", 60)))
    server.serve(lambda: say(address=server.address))


@contextmanager
def local_servers(folder: str | os.PathLike[str]) -> Iterator[dict[str, str]]:
    """Run both servers of a folder as processes of this machine, to try things out. They end with the block.

    One machine is one party: nothing is hidden from whoever runs both.

    Args:
        folder: The folder that `make` wrote.

    Yields:
        The address of each server, by its name.

    >>> import tempfile
    >>> from lapwing import pair
    >>> folder = tempfile.mkdtemp() + "/clinic"
    >>> columns = {"smoker": {"values": [False, True]}}
    >>> _ = pair.make(folder, name="clinic", columns=columns, owners=20, addresses=pair.free_addresses())
    >>> with pair.local_servers(folder) as addresses:
    ...     sorted(addresses)
    ['as', 'csp']
    """
    place = Path(folder)
    names = [server.name for server in Deployment.read(place).servers]
    with closing(Crew("lapwing.pair.child:party")) as crew:
        for name in names:
            crew.start(name, {"folder": str(place), "server": name})
        deadline = time.monotonic() + PATIENCE
        yield {name: str(crew.fact(name, "address", deadline)) for name in names}


def free_addresses() -> tuple[str, str]:
    """Two addresses of this machine at which nobody listens now.

    Returns:
        Two texts such as `127.0.0.1:8201`.

    >>> len(free_addresses())
    2
    """
    with ExitStack() as stack:
        lines = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        first, second = (f"127.0.0.1:{line.getsockname()[1]}" for line in lines)
    return first, second
