"""Simulated devices: each has its own token and random numbers, and sends over real HTTP. None needs a disk.

They do what a `Participant` does in one slot (ask for a token, randomise, seal, send the same bytes until stored), so
that a demonstration or a load test can have a million of them.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from threading import Lock, local
from typing import Any
from urllib.parse import urlsplit

from lapwing.collect import tokens
from lapwing.collect.clock import today
from lapwing.collect.collection import Collection, Epoch
from lapwing.collect.issuer import CODE_HEADER
from lapwing.collect.sealing import EPOCH_BYTES, Envelope, random_id, seal
from lapwing.collect.string_device import Question
from lapwing.collect.string_protocol import StringProtocol
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, uniform_below

LINES = 8
"""Connections at a time."""
_PATIENCE = 60.0
_TRIES = 50
_LONGEST_LINE = 1 << 16
_REFUSED = {
    403: ("admits nobody without a code that it knows", "Copy one that `lapwing collect codes` made."),
    429: ("has issued all tokens of this epoch for this code", "Use another code, or wait for the next epoch."),
}
"""Why an issuer gives no token, and what to do."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the reports of virtual devices."""

    stored: int
    refused: int


class Line:
    """One connection to a server, kept open: as little of HTTP/1.1 as a device needs."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        secure = parts.scheme == "https"
        host, port = parts.hostname or "", parts.port or (443 if secure else 80)
        self._socket = socket.create_connection((host, port), timeout=_PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
        self._answers = self._socket.makefile("rb")
        self._head = f" HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/octet-stream\r\n".encode()

    def close(self) -> None:
        """Hang up."""
        self._answers.close()
        self._socket.close()

    def post(self, path: str, body: bytes, head: bytes = b"") -> tuple[int, bytes]:
        """One request and its answer; `head` are lines of its head besides."""
        length = b"content-length: %d\r\n\r\n" % len(body)
        self._socket.sendall(b"POST " + path.encode() + self._head + head + length + body)
        status = int(self._line().split(b" ", 2)[1])
        size = 0
        while line := self._line():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        answer = self._answers.read(size)
        if len(answer) != size:
            raise ConnectionError
        return status, answer

    def _line(self) -> bytes:
        line = self._answers.readline(_LONGEST_LINE)
        if not line.endswith(b"\r\n"):  # it hung up
            raise ConnectionError
        return line[:-2]


class Lines:
    """One connection to each server for each thread, used again and again."""

    def __init__(self, code: str | None = None) -> None:
        self._own, self._all = local(), list[Line]()
        self.admitted = b"" if code is None else CODE_HEADER + b": " + code.encode() + b"\r\n"
        """What goes along to the issuer only."""

    def close(self) -> None:
        """Hang up everywhere."""
        for line in self._all:
            line.close()

    def post(self, address: str, path: str, body: bytes, head: bytes = b"") -> tuple[int, bytes]:
        """One request; tried again where the connection was lost or the server was busy."""
        for attempt in range(_TRIES):
            try:
                status, answer = self._line(address).post(path, body, head)
                if status != 503:
                    return status, answer
            except (OSError, ValueError, IndexError):  # it hung up, or speaks something else
                pass
            self._hang_up(address)
            time.sleep(min(0.05 * 2**attempt, 1.0))
        return 503, b""

    def _lines(self) -> dict[str, Line]:
        if not hasattr(self._own, "lines"):
            self._own.lines = {}
        lines: dict[str, Line] = self._own.lines
        return lines

    def _line(self, address: str) -> Line:
        lines = self._lines()
        if address not in lines:
            lines[address] = Line(address)
            self._all.append(lines[address])
        return lines[address]

    def _hang_up(self, address: str) -> None:
        line = self._lines().pop(address, None)
        if line is not None:
            line.close()
            self._all.remove(line)


def send_answers(
    collection: Collection,
    answers: Iterable[Any],
    *,
    lines: int = LINES,
    code: str | None = None,
    progress: Callable[[int], None] | None = None,
    entropy: Entropy = SYSTEM,
) -> Outcome:
    """One virtual device for each answer; `code` admits them, `progress` hears how many have sent."""
    if code is not None and not re.fullmatch(r"[!-~]{1,200}", code):
        raise InvalidParameter("code", "<text>", "is not a code", "Copy it without spaces.")
    epoch = collection.epoch(today())
    if epoch is None:
        raise InvalidParameter("collection", collection.name, "has no epoch today", "Open it for today.")
    network, turn, waiting, done = Lines(code), Lock(), iter(answers), [0, 0]

    def device(answer: Any) -> bool:
        if isinstance(collection.protocol, StringProtocol):
            return message(*_string(collection, collection.protocol, network, epoch, answer, entropy))
        whole = collection.whole.randomize([answer], entropy).to_bytes()
        reports = [whole] if collection.fragments is None else collection.fragments.split(whole)
        stored = [message(report, _crowd(collection, report, answer, entropy)) for report in reports]
        return all(stored)  # all were sent, whatever became of the first

    def message(report: bytes, crowd: bytes | None) -> bool:
        sealed = seal(collection, epoch.number, report, entropy, crowd=crowd)
        envelope = _envelope(collection, network, epoch.number, epoch.token_key, sealed, entropy)
        status, _ = network.post(collection.servers["ingestor"].address, "/reports", envelope.to_bytes())
        return status == 201

    def people(_: int) -> None:
        """One after another, so that a million of them wait in no list."""
        while True:
            with turn:
                answer = next(waiting, waiting)
            if answer is waiting:
                return
            stored = device(answer)
            with turn:
                done[not stored] += 1
                if progress is not None:
                    progress(sum(done))

    with closing(network), ThreadPoolExecutor(lines, "devices") as pool:
        list(pool.map(people, range(lines)))
    return Outcome(stored=done[0], refused=done[1])


def _crowd(collection: Collection, report: bytes, answer: Any, entropy: Entropy) -> bytes | None:
    """The crowd of a virtual device; of an attribute, any of its values."""
    if collection.crowd is None:
        return None
    values = collection.crowd.values
    attribute = values[uniform_below(len(values), entropy=entropy)] if values else None
    return collection.crowd.name(report, answer=answer, attribute=attribute)


def _string(
    collection: Collection, protocol: StringProtocol, network: Lines, epoch: Epoch, answer: Any, entropy: Entropy
) -> tuple[bytes, bytes]:
    """The report of a virtual device that sends a string, and its crowd; it asks the issuer also for nothing."""
    text, seed = protocol.text(answer), None
    if protocol.oblivious:
        strings = protocol.in_epoch(collection.digest, epoch.number)
        question = Question.about(strings.function_input(text or b""), entropy)
        body = epoch.number.to_bytes(EPOCH_BYTES, "little") + question.blinded
        status, evaluated = network.post(collection.servers["issuer"].address, "/seeds", body, network.admitted)
        seed = question.seed(epoch.string_key or b"", evaluated) if status == 200 else None
    return protocol.report(collection.digest, epoch.number, text, seed, entropy)


def _envelope(
    collection: Collection, network: Lines, epoch: int, key: bytes, sealed: bytes, entropy: Entropy
) -> Envelope:
    if not collection.tokens:
        return Envelope(epoch, random_id(entropy), sealed)
    request = tokens.request(epoch, 1, entropy)
    body = epoch.to_bytes(EPOCH_BYTES, "little") + request.to_bytes()
    status, answer = network.post(collection.servers["issuer"].address, "/tokens", body, network.admitted)
    if status != 200:
        why, hint = _REFUSED.get(status, ("gives no tokens now", "Look at its issuer: lapwing collect status."))
        raise InvalidParameter("collection", collection.name, why, hint)
    [token] = request.tokens(key, answer)
    return tokens.tagged(token, collection, sealed)


def population(answers: Sequence[Any], shares: Sequence[float], n: int) -> list[Any]:
    """So many people for each answer that the shares hold as nearly as they can; the first gets the rest."""
    counts = [int(n * share) for share in shares]
    counts[0] += n - sum(counts)
    return [answer for answer, count in zip(answers, counts, strict=True) for _ in range(count)]
