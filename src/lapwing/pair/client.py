"""The client side of two servers: owners upload a row, analysts ask, anybody looks at the status."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from lapwing.errors import InvalidParameter, LapwingError
from lapwing.noise import SYSTEM, Entropy
from lapwing.pair.deployment import Deployment, Server
from lapwing.pair.domains import split
from lapwing.pair.frames import connected, read_frame, send_frame
from lapwing.pair.orders import Request
from lapwing.pair.server import PATIENCE
from lapwing.pair.uploads import commitment
from lapwing.privacy import ApproxDP

SALT = 16
AT_A_TIME = 512
"""Rows that are split and sent together."""


class ServerRefused(LapwingError):
    """A server said no, and why."""

    def __init__(self, server: str, why: str) -> None:
        self.server, self.why = server, why
        super().__init__(f"the server {server} refuses: {why}")


class CutOff(ServerRefused):
    """A server ended the conversation before it answered."""


class AnswersDiffer(LapwingError):
    """The two servers say different things."""

    def __init__(self) -> None:
        super().__init__("the two servers gave different answers: one of them does not follow the protocol")


@dataclass(frozen=True)
class Reply:
    """What both servers answered.

    Attributes:
        numbers: The noisy numbers, a list for each measurement of the request.
        charge: The number of the charge in the ledgers.
        remaining: What the ledgers have left.
    """

    numbers: list[list[int]]
    charge: int
    remaining: ApproxDP


@dataclass(frozen=True)
class Client:
    """A connection to the two servers of a pair, for owners and analysts.

    Args:
        deployment: The file of the pair.
        key_file: The key of an analyst whom the file names. None for owners, who need only a code.
        patience: How many seconds to wait for a server.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lapwing import pair
    >>> folder = tempfile.mkdtemp() + "/clinic"
    >>> columns = {"smoker": {"values": [False, True]}}
    >>> deployment = pair.make(folder, name="clinic", columns=columns, owners=20, addresses=pair.free_addresses())
    >>> codes = Path(folder, "codes.txt").read_text().split()
    >>> with pair.local_servers(folder):
    ...     client = pair.Client(deployment)
    ...     client.upload(codes[0], {"smoker": True})
    ...     more = client.upload_all((code, {"smoker": False}) for code in codes[1:])
    ...     waiting, left = client.status_of("csp")["waiting"], client.remaining()
    >>> more, waiting
    (19, 20)
    >>> print(left)
    ε = 3, δ = 1e-09 (replace, per person, towards either server alone)
    """

    deployment: Deployment
    key_file: Path | None = None
    patience: float = 4 * PATIENCE

    # ------------------------------------------------------------------------------------------------------ owners

    def upload(self, code: str, row: Mapping[str, Any] | None, entropy: Entropy = SYSTEM) -> None:
        """Upload one person's row: each server gets a share that looks random.

        Args:
            code: The code of the owner. A later upload with the same code replaces a row that still waits.
            row: The values by column. A column that is left out, or a value that the file does not know, counts as
                NULL. None for somebody on the list who does not take part (relation "add_remove").
            entropy: Source of random bits for the shares. Only tests should use another than the system's.

        Raises:
            InvalidParameter: If the row has a column that the pair does not know.
            ServerRefused: If a server refuses the row.
            CutOff: If a server ends the conversation before it answers.
        """
        self.upload_all([(code, row)], entropy)

    def upload_all(
        self,
        rows: Iterable[tuple[str, Mapping[str, Any] | None]],
        entropy: Entropy = SYSTEM,
        progress: Callable[[int], None] = lambda count: None,
    ) -> int:
        """Upload rows of many people, for simulations and for organisations that hold them already.

        Args:
            rows: Pairs of a code and a row, as `upload` takes them.
            entropy: Source of random bits for the shares. Only tests should use another than the system's.
            progress: Is told how many rows both servers have.

        Returns:
            How many rows were uploaded.

        Raises:
            InvalidParameter: If a row has a column that the pair does not know.
            ServerRefused: If a server refuses the rows.
            CutOff: If a server ends the conversation before it answers.
        """
        count = 0
        with ExitStack() as stack:
            connections = [
                stack.enter_context(closing(connected(server, None, self.patience)))
                for server in self.deployment.servers
            ]
            for part in _parts(rows):
                messages = self._messages(part, entropy)
                for server, connection, content in zip(self.deployment.servers, connections, messages, strict=True):
                    self._deliver(server, connection, content)
                count += len(part)
                progress(count)
        return count

    def _deliver(self, server: Server, connection: socket.socket, rows: Sequence[Mapping[str, Any]]) -> None:
        """Until the server has them on its disk. If it goes away, the same shares are sent once more."""
        content = {"do": "upload", "file": self.deployment.fingerprint, "rows": rows}
        try:
            _exchanged(server.name, connection, content)
        except CutOff:
            with closing(connected(server, None, self.patience)) as again:
                _exchanged(server.name, again, content)

    def _messages(
        self, rows: Sequence[tuple[str, Mapping[str, Any] | None]], entropy: Entropy
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """For each server, what it gets of every row."""
        layout = self.deployment.layout
        names = [domain.name for domain in layout.domains]
        for _, row in rows:
            unknown = [] if row is None else [name for name in row if name not in names]
            if unknown:
                hint = f"The columns are: {', '.join(names)}."
                raise InvalidParameter("row", unknown[0], "is not a column of this pair", hint)
        table = {name: [None if row is None else row.get(name) for _, row in rows] for name in names}
        bits = layout.encoded(table)
        absent = [place for place, (_, row) in enumerate(rows) if row is None]
        if absent:
            bits[:, absent] = layout.absent(len(absent))
        shares = split(layout.with_products(bits, entropy), entropy)
        messages: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
        for (code, _), *pair in zip(rows, *shares, strict=True):
            salts = [entropy.bits(8 * SALT).to_bytes(SALT, "big") for _ in pair]
            seals = [commitment(salt, share) for salt, share in zip(salts, pair, strict=True)]
            for place in (0, 1):
                messages[place].append(
                    {
                        "code": code_for(code, place),
                        "salt": salts[place].hex(),
                        "share": pair[place].hex(),
                        "other": seals[1 - place],
                    }
                )
        return messages

    # ---------------------------------------------------------------------------------------------------- analysts

    def ask(self, request: Request, key: str | None = None) -> Reply:
        """Ask both servers for noisy numbers: first whether their ledgers allow it, then both at the same time.

        Questions in SQL are asked with `pair.open`, which makes the request.

        Args:
            request: What to measure, and with which epsilons.
            key: A name for this question. Asked again under the same name it gives the same answer and costs nothing.
                None takes a new name.

        Returns:
            The numbers, the charge in the ledgers and what is left.

        Raises:
            ServerRefused: If a server refuses, for example because its ledger does not allow the loss.
            AnswersDiffer: If the two servers gave different answers.
        """
        content = {
            "file": self.deployment.fingerprint,
            "request": request.written(),
            "key": key or f"{SYSTEM.bits(128):032x}",
        }
        for server, answer in self._both({"do": "check", **content}):
            if not answer["fine"]:
                left = self._least([self.status_of(server)])
                why = f"its ledger does not allow {answer['loss']} any more, only "
                why += f"ε = {float(left.epsilon):.4g}, δ = {float(left.delta):.3g}"
                raise ServerRefused(server, why)
        answers = [answer for _, answer in self._both({"do": "ask", **content})]
        if answers[0]["content"] != answers[1]["content"]:
            raise AnswersDiffer
        numbers = json.loads(answers[0]["content"])["numbers"]
        return Reply(numbers, int(answers[0]["charge"]), self._least(answers))

    def remaining(self) -> ApproxDP:
        """What the ledgers of both servers still allow.

        Returns:
            The lesser of what the two servers allow.

        Raises:
            ServerRefused: If a server refuses to tell.
            CutOff: If a server ends the conversation before it answers.
        """
        return self._least([answer for _, answer in self._both({"do": "status"})])

    def status(self) -> dict[str, dict[str, Any]]:
        """What each server says of itself, by its name.

        Returns:
            A dictionary for each server.

        Raises:
            ServerRefused: If a server refuses to tell.
            CutOff: If a server ends the conversation before it answers.
        """
        return dict(self._both({"do": "status"}))

    def status_of(self, name: str) -> dict[str, Any]:
        """What one server says of itself: rows, ledger and products left.

        Args:
            name: The name of the server, "as" or "csp".

        Returns:
            Its status, by name of the number.

        Raises:
            InvalidParameter: If no server has this name.
            ServerRefused: If the server refuses to tell.
            CutOff: If it ends the conversation before it answers.
        """
        return self._said(self.deployment.place_of(name), {"do": "status"})

    def _least(self, answers: Sequence[Mapping[str, Any]]) -> ApproxDP:
        epsilon, delta = (min(Fraction(answer[name]) for answer in answers) for name in ("epsilon", "delta"))
        return replace(self.deployment.allowance, epsilon=epsilon, delta=delta)

    def _both(self, content: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """The same to both servers, at the same time."""
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(self._said, place, content) for place in (0, 1)]
            errors = [error for run in runs if (error := run.exception()) is not None]
        for error in sorted(errors, key=lambda error: not isinstance(error, ServerRefused)):
            raise error
        return [(server.name, run.result()) for server, run in zip(self.deployment.servers, runs, strict=True)]

    def _said(self, place: int, content: Mapping[str, Any]) -> dict[str, Any]:
        server = self.deployment.servers[place]
        with closing(connected(server, self.key_file, self.patience)) as connection:
            return _exchanged(server.name, connection, content)


def code_for(code: str, place: int) -> str:
    """What a server is shown of a code: the other one is shown something else, so neither can upload for an owner."""
    return hashlib.sha256(f"lapwing pair owner\0{place}\0{code}".encode()).hexdigest()


def _exchanged(server: str, connection: socket.socket, content: Any) -> dict[str, Any]:
    """What a server answers, or a refusal."""
    try:
        send_frame(connection, content)
        answer = read_frame(connection)
    except (OSError, ValueError):
        why = "it ended the conversation. Try again: a row counts once, and a question under the same key costs once"
        raise CutOff(server, why) from None
    if not isinstance(answer, dict) or "error" in answer:
        raise ServerRefused(server, answer["error"] if isinstance(answer, dict) else "its answer cannot be read")
    return answer


def _parts(rows: Iterable[tuple[str, Any]]) -> Iterator[list[tuple[str, Any]]]:
    part: list[tuple[str, Any]] = []
    for row in rows:
        part.append(row)
        if len(part) == AT_A_TIME:
            yield part
            part = []
    if part:
        yield part
