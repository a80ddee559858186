"""How the two servers speak: messages of lengths that both know beforehand, over one connection.

What a message may be follows from the plan alone. One of another length, or none, ends the run: nothing that is not
expected is read, and nothing is said about it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from lapwing.errors import LapwingError

Place = Literal[0, 1]
"""Of a server in the pair: 0 speaks first."""
HEADER_BYTES = 8
LARGEST = 1 << 32


class Disagreement(LapwingError):
    """The other server is gone, or does something else than this one: what was being computed ends here."""

    def __init__(self) -> None:
        super().__init__(
            "the other server ended the conversation, or sent something that this step does not have. Nothing of it "
            "was used. Start the question again; what it cost stays charged"
        )


@dataclass(slots=True)
class Link:
    """One server's end; counts what it sent, and how often it waited for the other."""

    place: Place
    connection: socket.socket = field(repr=False)
    heard: Callable[[bytes], None] | None = field(default=None, repr=False)
    """Is told every message that came, for tests of what a server sees."""
    sent: int = 0
    rounds: int = 0

    def send(self, data: bytes | memoryview) -> None:
        """One message."""
        try:
            self.connection.sendall(len(data).to_bytes(HEADER_BYTES, "little"))
            self.connection.sendall(data)
        except OSError:
            raise Disagreement from None
        self.sent += len(data)

    def receive(self, size: int) -> bytes:
        """The next message, which has this length."""
        if int.from_bytes(self._read(HEADER_BYTES), "little") != size:
            raise Disagreement
        data = self._read(size)
        self.rounds += 1
        if self.heard is not None:
            self.heard(data)
        return data

    def exchange(self, data: bytes | memoryview) -> bytes:
        """Both say something of the same length."""
        if self.place == 0:
            self.send(data)
            return self.receive(len(data))
        theirs = self.receive(len(data))
        self.send(data)
        return theirs

    def _read(self, size: int) -> bytes:
        data, view, start = bytearray(size), None, 0
        view = memoryview(data)
        while start < size:
            try:
                count = self.connection.recv_into(view[start:])
            except OSError:
                raise Disagreement from None
            if not count:
                raise Disagreement
            start += count
        return bytes(data)
