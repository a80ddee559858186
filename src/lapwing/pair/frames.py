"""Messages between people and servers: a length, and JSON."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path
from typing import Any

from lapwing.errors import LapwingError
from lapwing.pair.certificates import calling
from lapwing.pair.deployment import Server

LARGEST = 1 << 24
_HEADER = 4


class NotReached(LapwingError):
    """A server did not answer."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(
            f"the server {name} at {address} does not answer, or has another key than the file says. "
            f"Start it: lapwing pair serve FOLDER {name}"
        )


def send_frame(connection: socket.socket, content: Any) -> None:
    """One message."""
    data = json.dumps(content, separators=(",", ":")).encode()
    connection.sendall(len(data).to_bytes(_HEADER, "little") + data)


def read_frame(connection: socket.socket, most: int = LARGEST) -> Any:
    """The next message; ValueError if it is none, OSError if the connection ended."""
    size = int.from_bytes(_read(connection, _HEADER), "little")
    if size > most:
        raise ValueError("too large")
    try:
        return json.loads(_read(connection, size))
    except RecursionError:
        raise ValueError("too deep") from None


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionResetError
        data += part
    return bytes(data)


def connected(server: Server, key_file: Path | None, patience: float) -> ssl.SSLSocket:
    """A connection to a server, which shows the certificate of the file."""
    try:
        plain = socket.create_connection(server.place, timeout=patience)
    except OSError:
        raise NotReached(server.name, server.address) from None
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return calling(server.certificate, key_file).wrap_socket(plain)
    except (OSError, ValueError):
        plain.close()
        raise NotReached(server.name, server.address) from None
