"""A server as a process of its own that ends with whoever started it."""

from __future__ import annotations

from pathlib import Path

from lapwing.pair.server import PairServer
from lapwing.processes import job, say


def party() -> None:
    """Serve until the parent is gone."""
    work = job()
    server = PairServer(Path(work["folder"]), work["server"], patience=float(work.get("patience", 60)))
    server.serve(lambda: say(address=server.address))
