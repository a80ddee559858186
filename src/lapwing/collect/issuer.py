"""The issuer of tokens: decides who may take part, counts the tokens of each, and cannot tell what became of them.

    POST /tokens   epoch (4 bytes) ‖ blinded elements, and a code of admission where the collection wants one
                   → evaluated elements ‖ proof
    POST /seeds    epoch (4 bytes) ‖ one blinded element: of a string that a device will send (string_device.py)

Whoever is admitted gets the same number of tokens for an epoch, in one or several requests. What was issued is written
down before the answer leaves; asking the same again gives the same again, so an answer that got lost costs nothing.

Privacy: who asked is written down under a hash with the secret key of the epoch. Without that key nobody can try names,
and it is destroyed when the epoch is over; then the lines go, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path

from lapwing.collect import tokens
from lapwing.collect.clock import GRACE, Certainty, over, today
from lapwing.collect.collection import Collection
from lapwing.collect.files import make_folder
from lapwing.collect.http import ANYWHERE, Answer, Application, Request, application
from lapwing.collect.oprf import ELEMENT_BYTES
from lapwing.collect.sealing import EPOCH_BYTES
from lapwing.errors import InvalidParameter, LedgerUnavailable
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.store import FileStore

CODE_HEADER = b"x-lapwing-code"
CODE_BYTES = 16
EVERYBODY = "everybody"
"""Who asks where nobody is asked for a name."""
_REFUSED = {
    "codes": "This code is not known. Ask the person who runs the collection.",
    "sign-in": "Sign in first. This collection gives tokens to people who have an account.",
}
Admit = Callable[[Request], str | None]
"""A name that stays the same for whoever asks, or None for those who are not let in."""


class IssueFile(FileStore):
    """Who got how many tokens, in SQLite. No token and no element is in it, only hashes of requests."""

    __slots__ = ()

    statements = (
        "CREATE TABLE code (hash TEXT PRIMARY KEY)",
        "CREATE TABLE issue (request TEXT PRIMARY KEY, name TEXT NOT NULL, epoch INTEGER NOT NULL,"
        " tokens INTEGER NOT NULL)",
    )
    since_breaker = ()
    layout = frozenset(statements)


class Issuer:
    """One process of an issuer; `app` is what uvicorn serves. `keys` are its secrets by epoch."""

    def __init__(
        self,
        collection: Collection,
        folder: Path,
        keys: Mapping[int, bytes],
        *,
        string_keys: Mapping[int, bytes] | None = None,
        admit: Admit | None = None,
        day: Callable[[], date] = today,
        sure: Certainty | None = None,
        entropy: Entropy = SYSTEM,
    ) -> None:
        make_folder(folder)
        self.collection, self.keys, self.day, self.entropy = collection, dict(keys), day, entropy
        self.string_keys, self.sure = dict(string_keys or {}), sure or Certainty()
        self._file = IssueFile(folder / "issued.db", None)
        self._file.create(allowed=True)
        if collection.admission == "sign-in" and admit is None:
            hint = (
                "Where people sign in, a school is the issuer: start `lapwing serve --collections FOLDER`. "
                "In Python pass admit=…, a function from a request to a name."
            )
            raise InvalidParameter("admit", None, "is missing: this collection asks people to sign in", hint)
        self._admit = admit or (self._by_code if collection.admission == "codes" else lambda _: EVERYBODY)

    def app(self) -> Application:
        """The ASGI application."""
        routes = {("POST", "/tokens"): self.tokens, ("POST", "/seeds"): self.seeds}
        return application(routes, extra_headers=ANYWHERE)

    def new_codes(self, count: int) -> list[str]:
        """Fresh codes to give to people; only their hashes are kept."""
        codes = [self.entropy.bits(8 * CODE_BYTES).to_bytes(CODE_BYTES, "little").hex() for _ in range(count)]
        self.add_codes(codes)
        return codes

    def add_codes(self, codes: Iterable[str]) -> None:
        """Let in whoever has one of these codes."""
        with self._file.transaction() as database:
            for code in filter(None, codes):
                database.execute("INSERT OR IGNORE INTO code VALUES (:hash)", {"hash": _hash(code.encode())})

    async def tokens(self, request: Request) -> Answer:
        """Issue tokens, or say why not."""
        body = await request.body(EPOCH_BYTES + tokens.MOST_AT_ONCE * ELEMENT_BYTES)
        if isinstance(body, Answer):
            return body
        return await asyncio.to_thread(self._issued, request, body, self.keys, "tokens")

    async def seeds(self, request: Request) -> Answer:
        """Evaluate one element with the key for strings. As many are answered to each as they get tokens."""
        body = await request.body(EPOCH_BYTES + ELEMENT_BYTES)
        if isinstance(body, Answer):
            return body
        return await asyncio.to_thread(self._issued, request, body, self.string_keys, "seeds")

    def _issued(self, request: Request, body: bytes, keys: Mapping[int, bytes], what: str) -> Answer:
        number, blinded = int.from_bytes(body[:EPOCH_BYTES], "little"), body[EPOCH_BYTES:]
        epoch, key, day = self.collection.numbered(number), keys.get(number), self.day()
        if epoch is None or key is None or not epoch.start - GRACE <= day <= epoch.end + GRACE:
            return Answer.error(410, f"There are no {what} of this epoch now.")
        name = self._admit(request)
        if name is None:
            return Answer.error(403, _REFUSED.get(self.collection.admission, _REFUSED["codes"]))
        try:
            answer = tokens.issue(key, blinded, self.entropy)  # before anything is counted: elements may be wrong
            if self.collection.admission != "open" and not self._counted(
                key, name, number, body, self.collection.tokens_each(epoch)
            ):
                return Answer.error(429, f"All {what} of this epoch were issued to you.")
        except InvalidParameter:
            return Answer.error(400, "The body does not hold blinded elements.")
        except LedgerUnavailable:
            return Answer.busy()
        return Answer(200, answer, b"application/octet-stream")

    def _counted(self, key: bytes, name: str, epoch: int, body: bytes, most: int) -> bool:
        """Write down so many more tokens; false if that is too many. The same request counts once."""
        count = (len(body) - EPOCH_BYTES) // ELEMENT_BYTES
        row = {
            "request": _keyed(key, b"request", name.encode() + b"\n" + body),
            "name": _keyed(key, b"name", name.encode()),
            "epoch": epoch,
            "tokens": count,
        }
        with self._file.transaction() as database:
            if database.execute("SELECT 1 FROM issue WHERE request = :request", row).fetchone() is not None:
                return True
            query = "SELECT COALESCE(SUM(tokens), 0) FROM issue WHERE name = :name AND epoch = :epoch"
            [before] = database.execute(query, row).fetchone()
            if before + count > most:
                return False
            database.execute("INSERT INTO issue VALUES (:request, :name, :epoch, :tokens)", row)
        return True

    def retire(self) -> list[int]:
        """Forget the keys of epochs that are over, and who got tokens of them; which epochs are."""
        ended = sorted(self.sure.of(over(self.collection, self.day())))
        for number in ended:
            self.keys.pop(number, None)
            self.string_keys.pop(number, None)
        with self._file.transaction(write=False) as database:
            listed = {epoch for (epoch,) in database.execute("SELECT DISTINCT epoch FROM issue")}
        if listed & set(ended):
            with self._file.transaction() as database:
                for number in ended:
                    database.execute("DELETE FROM issue WHERE epoch = :epoch", {"epoch": number})
        return ended

    def held(self, name: str) -> dict[int, int]:
        """How many tokens somebody got, by epoch, as far as it is known."""
        query = "SELECT COALESCE(SUM(tokens), 0) FROM issue WHERE name = :name AND epoch = :epoch"
        held = {}
        with self._file.transaction(write=False) as database:
            for number, key in self.keys.items():
                row = {"name": _keyed(key, b"name", name.encode()), "epoch": number}
                [held[number]] = database.execute(query, row).fetchone()
        return {number: int(count) for number, count in held.items() if count}

    def forget(self, name: str) -> None:
        """Delete that somebody got tokens. Under this name they could get them again: it must not come back."""
        with self._file.transaction() as database:
            for number, key in (*self.keys.items(), *self.string_keys.items()):
                row = {"name": _keyed(key, b"name", name.encode()), "epoch": number}
                database.execute("DELETE FROM issue WHERE name = :name AND epoch = :epoch", row)

    def issued(self) -> int:
        """How many tokens there are of epochs that are not over."""
        with self._file.transaction(write=False) as database:
            [count] = database.execute("SELECT COALESCE(SUM(tokens), 0) FROM issue").fetchone()
        return int(count)

    def _by_code(self, request: Request) -> str | None:
        code = _hash(request.headers.get(CODE_HEADER, b""))
        with self._file.transaction(write=False) as database:
            known = database.execute("SELECT 1 FROM code WHERE hash = :hash", {"hash": code}).fetchone()
        return None if known is None else code


def _keyed(key: bytes, what: bytes, data: bytes) -> str:
    """A hash that only whoever has the secret key of an epoch can compute."""
    return hmac.digest(key, b"lapwing issue " + what + b"\n" + data, "sha256").hex()


def _hash(data: bytes) -> str:
    return hashlib.sha256(b"lapwing code\n" + data).hexdigest()
