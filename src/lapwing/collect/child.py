"""Runs one party of a collection as a child process, which gets its job on standard input.

It ends with its parent.
"""

from __future__ import annotations

import socket

from lapwing.collect.parties import serve
from lapwing.collect.sealer import SEAL_AFTER
from lapwing.collect.serving import run
from lapwing.collect.workspace import Workspace
from lapwing.processes import job, say


def party() -> None:
    """What the process of a whole party does."""
    work = job()
    serve(
        work["folder"],
        work["party"],
        workers=work.get("workers", 1),
        seal_after=work.get("seal_after", SEAL_AFTER),
        ready=lambda address: say(address=address),
    )


def ingestor() -> None:
    """What one of several processes of an ingestor does: it takes envelopes and seals nothing."""
    work = job()
    app = Workspace(work["folder"]).ingestor(work["longest_open"], work["database"]).app()
    with socket.socket(fileno=work["listener"]) as listener:
        run(app, listener)
