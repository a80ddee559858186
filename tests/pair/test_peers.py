"""A peer that misbehaves, or runs on an old copy of its folder: a clear error in time, and nothing is opened."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from two_servers import BOUND, NAMES, PRODUCT, Servers, asking, made, said, two_servers

from lapwing.errors import LapwingError
from lapwing.pair.certificates import listening
from lapwing.pair.client import ServerRefused
from lapwing.pair.frames import read_frame, send_frame
from lapwing.pair.links import Link
from lapwing.pair.runs import Run
from lapwing.pair.server import PairServer

Peer = Callable[[Any, Servers], None]


def introduced(connection: Any, servers: Servers) -> Any:
    """The second server's part until computing begins, played by the test."""
    hello = read_frame(connection)
    if hello["do"] == "stored":
        send_frame(connection, {"stored": None, "begun": False})
        return None
    store = servers.store(NAMES[0])
    send_frame(connection, {**hello, "batches": store.batches(), "used": {}})
    read_frame(connection)
    send_frame(connection, {"rows": store.row_list()})
    return hello


def closes(connection: Any, servers: Servers) -> None:
    """At once."""


def is_silent(connection: Any, servers: Servers) -> None:
    threading.Event().wait(2 * servers.patience)


def says_too_much(connection: Any, servers: Servers) -> None:
    connection.sendall(b"\xff\xff\xff\x7f")


def says_nonsense(connection: Any, servers: Servers) -> None:
    read_frame(connection)
    send_frame(connection, [1, 2])


def truncates(connection: Any, servers: Servers) -> None:
    if introduced(connection, servers):
        connection.sendall((32).to_bytes(8, "little") + bytes(5))


def exceeds(connection: Any, servers: Servers) -> None:
    if introduced(connection, servers):
        connection.sendall((1 << 40).to_bytes(8, "little") + bytes(1000))


def replays(connection: Any, servers: Servers) -> None:
    """Sends back what it hears: it agrees to everything, and then repeats."""
    if introduced(connection, servers):
        link = Link(1, connection)
        link.send(link.receive(32))
        link.send(link.receive(32))
        link.send(bytes(32))


def reorders(connection: Any, servers: Servers) -> None:
    if introduced(connection, servers):
        link = Link(1, connection)
        agreed = link.receive(32)
        link.send(bytes(4096))
        link.send(agreed)


@pytest.mark.parametrize(
    "peer", [closes, is_silent, says_too_much, says_nonsense, truncates, exceeds, replays, reorders]
)
def test_a_peer_that_misbehaves_is_an_error_in_time_and_nothing_is_opened(
    tmp_path: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    answers = Run.answers
    monkeypatch.setattr(Run, "answers", lambda run, orders: opened.append(answers(run, orders)) or opened[-1])
    with two_servers(tmp_path / "p", patience=0.5) as servers:
        servers.first.take_in()
        servers.second.close()
        deployment = servers.first.deployment
        context = listening(servers.folder / NAMES[1] / "key.pem", [deployment.servers[0].certificate])
        with closing(socket.create_server(deployment.servers[1].place)) as listener:
            ended = threading.Event()

            def played() -> None:
                listener.settimeout(0.1)
                while not ended.is_set():
                    try:
                        plain, _ = listener.accept()
                        plain.settimeout(2)
                        with closing(context.wrap_socket(plain, server_side=True)) as connection:
                            peer(connection, servers)
                    except (OSError, LapwingError, ValueError):
                        continue

            thread = threading.Thread(target=played)
            thread.start()
            answer = said(
                Servers(servers.folder, 10, servers.running), NAMES[0], asking(servers), servers.folder / "analyst.pem"
            )
            ended.set()
            thread.join()
        assert answer["kind"] in ("Disagreement", "NotReached"), answer
        assert opened == []
        assert servers.spent(NAMES[0]) == 1, "it stays charged"


def test_servers_that_count_different_products_or_rows_or_questions_open_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest of everything that both rely on: here one server lies about nothing but its products."""
    opened: list[Any] = []
    with two_servers(tmp_path / "p") as servers:
        servers.first.take_in()
        introduction = PairServer._introduction

        def lying(server: PairServer, *given: Any, **named: Any) -> Any:
            facts = introduction(server, *given, **named)
            return facts | {"used": {"a": 5}} if server.name == NAMES[0] else facts

        monkeypatch.setattr(PairServer, "_introduction", lying)
        monkeypatch.setattr(Run, "answers", lambda run, orders: opened.append(run))
        with pytest.raises(ServerRefused, match="Nothing of it was used"):
            servers.client.ask(PRODUCT, "k")
        assert opened == []
        assert max(servers.store(name).used()["a"] for name in NAMES) == 6
        with pytest.raises(ServerRefused, match="begun before and did not end"):
            servers.client.ask(PRODUCT, "k")


@pytest.mark.parametrize("old", NAMES)
def test_an_old_copy_of_a_folder_uses_no_product_and_no_key_again(tmp_path: Path, old: str) -> None:
    """The maximum of both counts; keys that the other server knows; rows that one lacks are RowsDiffer."""
    folder = made(tmp_path / "p")
    with two_servers(folder) as servers:
        empty = tmp_path / "empty"
        _copied(folder / old, empty)
        servers.first.take_in()
        taken = tmp_path / "taken"
        _copied(folder / old, taken)
        told = servers.client.ask(PRODUCT, "k")
    _restore(taken, folder / old)
    with two_servers(folder, rows=()) as servers:
        assert servers.store(old).used()["a"] == 0
        assert servers.client.ask(PRODUCT, "k").numbers == told.numbers, "the release that the other one stored"
        servers.client.ask(PRODUCT, "another")
        assert [servers.store(name).used() for name in NAMES] == [BOUND + BOUND] * 2
    _restore(empty, folder / old)
    with two_servers(folder, rows=()) as servers:
        with pytest.raises(ServerRefused, match="do not have the same rows"):
            servers.client.ask(PRODUCT, "third")
        assert not any(servers.store(name).has_begun("third") for name in NAMES)


def _copied(folder: Path, copy: Path) -> None:
    """A copy of a folder in use, as a backup makes it: SQLite removes files beside a database when it is closed."""
    for _ in range(20):
        try:
            shutil.copytree(folder, copy)
        except shutil.Error:
            shutil.rmtree(copy)
        else:
            return
    raise AssertionError(f"{folder.name} never stays as it is")


def _restore(copy: Path, folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
