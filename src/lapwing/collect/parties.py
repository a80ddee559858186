"""What each party does as a process: its server, and the work that goes on beside it."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from itertools import chain
from urllib.parse import urlsplit

from lapwing.collect.clock import today
from lapwing.collect.collection import PARTIES, Collection, role
from lapwing.collect.counting import Counting, counted_here
from lapwing.collect.drafts import FIRST_PORT
from lapwing.collect.forwarder import forward
from lapwing.collect.http import Application
from lapwing.collect.intake import LONGEST_OPEN
from lapwing.collect.issuer import Admit
from lapwing.collect.key_ring import check_keys
from lapwing.collect.sealer import SEAL_AFTER
from lapwing.collect.serving import Work, run
from lapwing.collect.string_protocol import StringProtocol
from lapwing.collect.versions import answered_by, earlier, of_every_version, rest_of_the_ingestor
from lapwing.collect.workers import run_workers
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter


def listener_of(collection: Collection, party: str, host: str | None = None, port: int | None = None) -> socket.socket:
    """A socket where the collection says that this party is reached; another host or port stands behind a proxy."""
    if party not in PARTIES or party not in collection.servers:
        known = ", ".join(collection.servers)
        raise InvalidParameter("party", party, "is not a party of this collection", f"Write one of: {known}.")
    address = collection.servers[party].address
    parts = urlsplit(address)
    place = (host or parts.hostname or "127.0.0.1", port or parts.port or 443)
    try:
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        listener = socket.create_server(place, family=family, backlog=1024, reuse_port=False)
    except OSError as error:
        raise _unusable(address, party, place, error) from None
    listener.set_inheritable(True)
    return listener


def _unusable(address: str, party: str, place: tuple[str, int], error: OSError) -> InvalidParameter:
    """Why a party cannot listen where it should, and what to write instead."""
    behind = f"If a proxy passes on what comes to {address}, choose another port here with --port."
    if error.errno == errno.EADDRINUSE:
        why = "is in use already, by this collection, another one, or another program"
        hint = (
            f"End that program. Or move this collection: write another address for {party} under servers in "
            "draft.yaml, write its next version, and run `lapwing collect open`. A new collection gets other ports "
            f"with `lapwing collect new … --port {FIRST_PORT + 100}`. {behind}"
        )
        return InvalidParameter("port", place[1], why, hint)
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        why = "is not an address of this machine"
        hint = f"Start the {party} on that machine, or listen on an address of this one: --host 127.0.0.1. {behind}"
        return InvalidParameter("host", place[0], why, hint)
    why = f"cannot be used: {error.strerror}"
    return InvalidParameter("port", place[1], why, f"Ports below 1024 are for the system. {behind}")


def serve(
    folder: str | os.PathLike[str],
    party: str,
    *,
    host: str | None = None,
    port: int | None = None,
    workers: int = 1,
    seal_after: float = SEAL_AFTER,
    database: str | None = None,
    admit: Admit | None = None,
    counting: Counting = counted_here,
    oblivious: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve one party until the process is asked to end. `ready` is told the address."""
    workspace = Workspace(str(folder))
    collection = workspace.collection()
    if workers < 1 or (workers > 1 and party != "ingestor"):
        why = "must be 1 or more, and only an ingestor has several processes"
        raise InvalidParameter("workers", workers, why, "Leave it out.")
    if oblivious and role(party) not in collection.route[1:-1]:
        raise InvalidParameter("oblivious", oblivious, "is for shufflers only", "Leave it out.")
    if counting is not counted_here and isinstance(collection.protocol, StringProtocol):
        why = "counts reports of local protocols, and this collection has strings"
        raise InvalidParameter("spark", "<master>", why, "Leave it out: the aggregator opens strings itself.")
    if party in collection.servers:
        check_keys(collection, workspace.folder, party, today())
    with listener_of(collection, party, host, port) as listener:
        if ready is not None:
            ready("http://{}:{}".format(*listener.getsockname()[:2]))
        if party == "ingestor":
            longest, work = min(LONGEST_OPEN, seal_after), _beside_the_ingestor(workspace, seal_after, database)
            if workers == 1:
                run(workspace.ingestor(longest, database).app(), listener, *work)
            else:
                job = {"folder": str(folder), "longest_open": longest, "database": database}
                run_workers(job, listener, workers, *work)
        elif party == "issuer":
            issuer = workspace.issuer(admit)
            run(issuer.app(), listener, lambda: workspace.destroy_keys("issuer", ["token", "string"], issuer.retire()))
        elif party == "relay":
            run(workspace.relay().app(), listener)
        else:
            app, work = behind_the_ingestor(workspace, party, counting, oblivious=oblivious)
            run(app, listener, *work)


def behind_the_ingestor(
    workspace: Workspace, party: str, counting: Counting = counted_here, *, oblivious: bool = False
) -> tuple[Application, tuple[Work, ...]]:
    """The server of a shuffler, the aggregator or the analyzer, and the work beside it, for every version."""
    work: tuple[Work, ...] = ()
    apps: list[tuple[Collection, tuple[str, ...], Application]]
    if party == "analyzer":
        analyzers = [version.analyzer() for version in (workspace, *earlier(workspace, party))]
        apps = [(analyzer.collection, ("aggregator",), analyzer.app(analyzers)) for analyzer in analyzers]
    elif party == "aggregator":
        aggregators = of_every_version(workspace, party, lambda version, needed: version.aggregator(counting, needed))
        apps = [(server.collection, server.collection.senders(party), server.app()) for server in aggregators]
        for server in aggregators:
            work += (server.work, server.close_batch, server.count_closed, server.pass_on, server.retire)
    else:
        shufflers = of_every_version(
            workspace, party, lambda version, needed: version.shuffler(party, needed, oblivious=oblivious)
        )
        apps = [(shuffler.collection, shuffler.collection.senders(party), shuffler.app()) for shuffler in shufflers]
        for shuffler in shufflers:
            work += (shuffler.work, shuffler.pass_on, shuffler.retire)
    [(_, _, present), *others] = apps
    return answered_by(present, others), work


def _beside_the_ingestor(workspace: Workspace, seal_after: float, database: str | None) -> tuple[Work, ...]:
    sealer, key = workspace.sealer(database), workspace.signing_key("ingestor")

    def retire() -> None:
        sealer.retire(today())
        workspace.destroy_keys("ingestor", ["token", "gateway"], sealer.retired())

    rest = [rest_of_the_ingestor(version, seal_after, key) for version in earlier(workspace, "ingestor")]
    return lambda: sealer.seal(seal_after), lambda: forward(sealer, key), retire, *chain.from_iterable(rest)
