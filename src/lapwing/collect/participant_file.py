"""What a device stores: consent and collection, answers and envelopes that wait, and reports that were begun."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from lapwing.collect import reader, tokens
from lapwing.collect.clock import GRACE
from lapwing.collect.collection import COUNTED, Collection, Epoch
from lapwing.collect.tokens import Request, Token
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, uniform_below
from lapwing.privacy import ApproxDP, PureDP
from lapwing.privacy.journal import Database
from lapwing.privacy.store import IN_USE, PATIENCE, FileStore

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""A name that Linux draws whenever it starts."""
LONGEST_PAUSE = 3600.0
"""Seconds between two ticks of a device, at most."""
LONGEST_ANSWER = 4096
"""Characters of an answer in JSON; a longer one counts as none."""


@dataclass(frozen=True, slots=True)
class Status:
    """What a person may want to know about their device.

    Attributes:
        opted_in: Whether the person takes part.
        tokens: How many tokens the device has for sending reports.
        spent: What its reports have cost so far; None if it takes no part.
        remaining: What they may still cost; None if it takes no part.

    >>> import tempfile
    >>> from lapwing.collect import Participant
    >>> status = Participant(tempfile.mkdtemp() + "/device").status()
    >>> status.opted_in, status.answers, status.spent
    (False, 0, None)
    """

    opted_in: bool
    answers: int
    """That wait on the device."""
    envelopes: int
    """That wait to be sent."""
    tokens: int
    spent: PureDP | ApproxDP | None
    remaining: PureDP | ApproxDP | None


class SecretFile(FileStore):
    """A file of a device: what is deleted in it is overwritten."""

    __slots__ = ()

    @contextmanager
    def transaction(self, *, write: bool = True, fresh: bool = False) -> Iterator[Database]:
        """As in every store, with overwriting."""
        with super().transaction(write=write, fresh=fresh) as database:
            database.execute("PRAGMA secure_delete = ON")
            yield database


class ParticipantFile(SecretFile):
    """The SQLite file of a participant."""

    __slots__ = ()

    statements = (
        "CREATE TABLE home (device TEXT NOT NULL, inode TEXT NOT NULL)",
        "CREATE TABLE consent (operator BLOB NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,"
        " accounting TEXT NOT NULL, slots INTEGER NOT NULL, document BLOB, code TEXT,"
        " attribute TEXT)",
        "CREATE TABLE answer (place INTEGER PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE seen (answers INTEGER NOT NULL)",
        "CREATE TABLE slot (number INTEGER PRIMARY KEY, due INTEGER NOT NULL, made INTEGER NOT NULL)",
        "CREATE TABLE asking (epoch INTEGER PRIMARY KEY, request TEXT NOT NULL)",
        "CREATE TABLE token (id BLOB PRIMARY KEY, epoch INTEGER NOT NULL, secret BLOB NOT NULL)",
        "CREATE TABLE outbox (place INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, envelope BLOB NOT NULL)",
    )
    since_breaker = ()
    layout = frozenset(statements)

    def compact(self) -> None:
        """Leave no free page behind."""
        with IN_USE, closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database:
            database.execute("VACUUM")


def home_of(path: Path) -> dict[str, str]:
    """Where on the disk a file is, since when the machine runs: a copy is elsewhere."""
    place = path.stat()
    try:
        boot = BOOT.read_text(encoding="ascii").strip()
    except OSError:  # not every system says it
        boot = ""
    return {"device": f"{place.st_dev} {boot}".strip(), "inode": str(place.st_ino)}


def check_home(database: Database, path: Path) -> None:
    """A copy of the folder is not the folder: it has another place on the disk.

    Systems number their disks anew when they start, so another number is that of another disk only if the machine has
    been running all the time.
    """
    here, row = home_of(path), database.execute("SELECT device, inode FROM home").fetchone()
    if row is None:
        database.execute("INSERT INTO home VALUES (:device, :inode)", here)
        database.execute("INSERT INTO seen VALUES (0)")
    elif dict(row) == here:
        return
    elif row["inode"] == here["inode"] and _boot(row["device"]) != _boot(here["device"]):
        database.execute("UPDATE home SET device = :device", here)
    else:
        why = "was copied or restored, and two copies would answer the same question twice"
        hint = "Go on with the original, or begin with a new folder."
        raise InvalidParameter("folder", str(path.parent), why, hint)


def _boot(device: str) -> str:
    """When the machine was started that numbered its disks; empty where nobody wrote it down."""
    return device.partition(" ")[2]


def consent_in(database: Database) -> Any:
    """The row of the consent; None before the first."""
    return database.execute("SELECT * FROM consent").fetchone()


def collection_in(database: Database) -> Collection | None:
    """What the person agrees to now."""
    row = consent_in(database)
    return None if row is None or row["document"] is None else reader.read(bytes(row["document"]))


def digest_of(consent: Any) -> bytes:
    """The hash of what a row of the consent holds."""
    return reader.read(bytes(consent["document"])).digest


def agreed(database: Database, collection: Collection) -> bool:
    """Whether the person still agrees to this version."""
    row = consent_in(database)
    return row is not None and row["document"] is not None and bytes(row["document"]) == collection.to_json()


def check_promise(collection: Collection, before: Any) -> None:
    """What a device agreed to once binds what may be asked of it later."""
    why = None
    if bytes(before["operator"]) != collection.operator:
        why = "is signed by somebody else than the operator whom this device knows"
    elif before["name"] != collection.name:
        why = f"is another collection than {before['name']!r}, which this folder belongs to"
    elif before["accounting"] != collection.accounting:
        why = "counts in another way than before, so what was spent would not count"
    elif before["version"] > collection.version:
        why = f"is older than version {before['version']}, which this device has seen"
    if why is not None:
        raise InvalidParameter("collection", collection.name, why, "Use another folder if you trust it.")


def schedule_of(collection: Collection) -> int:
    """A number that differs wherever rows of the table `slot` mean other times, or other fragments.

    Without fragments it is the number of slots of a day, at most 24.
    """
    return collection.reports_per_day + 1000 * (collection.messages_each - 1)


def due_numbers(database: Database, slot: int, each: int, moment: float) -> list[int]:
    """Which reports (or fragments: `each` in a slot, numbered through) are due and were not made; others are deleted.

    If a report of a later slot was made, the clock went back: an earlier slot is not made again.
    """
    here = {"first": slot * each, "last": (slot + 1) * each - 1, "each": each, "moment": moment}
    database.execute("DELETE FROM slot WHERE made = 0 AND number NOT BETWEEN :first AND :last", here)
    latest = "(SELECT MAX(number) FROM slot WHERE made = 1) / :each"
    database.execute(f"DELETE FROM slot WHERE number / :each < {latest}", here)
    [last] = database.execute("SELECT MAX(number) FROM slot").fetchone()
    if last is None or last > here["last"]:
        return []
    query = "SELECT number FROM slot WHERE made = 0 AND due <= :moment AND number BETWEEN :first AND :last"
    return [number for (number,) in database.execute(query, here)]


def begun_in(database: Database, slot: int, each: int) -> bool:
    """Whether a fragment of this slot was made already."""
    query = "SELECT 1 FROM slot WHERE made = 1 AND number BETWEEN :first AND :last"
    return database.execute(query, {"first": slot * each, "last": (slot + 1) * each - 1}).fetchone() is not None


def pause_in(database: Database, collection: Collection, moment: float, entropy: Entropy = SYSTEM) -> float:
    """Seconds until the next report is due; or fewer, at random, so that ticks have no rhythm."""
    longest = int(1000 * min(LONGEST_PAUSE, collection.slot.total_seconds() / 4))
    now = int(moment * 1000)
    query = "SELECT MIN(due) FROM slot WHERE made = 0 AND due > :now"
    [due] = database.execute(query, {"now": now}).fetchone()
    pause = 1 + uniform_below(longest, entropy=entropy)
    return (pause if due is None else min(pause, int(due) - now)) / 1000


def token_request(database: Database, collection: Collection, epoch: Epoch, entropy: Entropy) -> Request | None:
    """What to ask the issuer for; None if everything of this epoch was asked for and came.

    A later version may give more tokens. Who is counted asks for the difference, everybody else for all: requests under
    one version do not differ more than they must.
    """
    place = {"epoch": epoch.number}
    row = database.execute("SELECT request FROM asking WHERE epoch = :epoch", place).fetchone()
    if row is not None and row["request"].startswith("{"):
        return Request.from_json(row["request"])
    most = collection.tokens_each(epoch)
    before = 0 if row is None else int(row["request"] or most)  # once it was not written down how many came
    if before >= most:
        return None
    request = tokens.request(epoch.number, most - before if collection.admission in COUNTED else most, entropy)
    written = json.dumps(json.loads(request.to_json()) | {"before": before})
    database.execute("INSERT OR REPLACE INTO asking VALUES (:epoch, :request)", place | {"request": written})
    return request


def keep_tokens(database: Database, request: Request, held: Sequence[Token]) -> None:
    """Store what came for a request, once."""
    place = {"epoch": request.epoch}
    row = database.execute("SELECT request FROM asking WHERE epoch = :epoch", place).fetchone()
    if row is None or not row["request"].startswith("{") or Request.from_json(row["request"]) != request:
        return  # somebody else has stored them, or the person has left
    in_all = json.loads(row["request"]).get("before", 0) + len(held)
    database.execute("UPDATE asking SET request = :count WHERE epoch = :epoch", place | {"count": str(in_all)})
    for token in held:
        values = {"id": token.id, "epoch": token.epoch, "secret": token.secret}
        database.execute("INSERT OR IGNORE INTO token VALUES (:id, :epoch, :secret)", values)


def tokens_left(database: Database, epoch: int) -> int:
    """How many reports of an epoch can still be paid for."""
    query = "SELECT COUNT(*) FROM token WHERE epoch = :epoch"
    return int(database.execute(query, {"epoch": epoch}).fetchone()[0])


def next_token(database: Database, epoch: int) -> Token | None:
    """A token that is used from now on."""
    query = "SELECT id, secret FROM token WHERE epoch = :epoch ORDER BY rowid LIMIT 1"  # any other order would tell
    row = database.execute(query, {"epoch": epoch}).fetchone()
    if row is None:
        return None
    database.execute("DELETE FROM token WHERE id = :id", {"id": row["id"]})
    return Token(epoch, bytes(row["id"]), bytes(row["secret"]))


def drawn_answer(database: Database, entropy: Entropy) -> str:
    """A uniform one of the answers that wait, in JSON; null if none does."""
    values = [value for (value,) in database.execute("SELECT value FROM answer ORDER BY place")]
    return str(values[uniform_below(len(values), entropy=entropy)]) if values else "null"


def drop_answers(database: Database, places: Sequence[int] | None = None) -> None:
    """Delete the answers that wait, all of them or those at some places; the others count for the next report."""
    if places is None:
        database.execute("DELETE FROM answer")
    for place in places or ():
        database.execute("DELETE FROM answer WHERE place = :place", {"place": place})
    database.execute("UPDATE seen SET answers = (SELECT COUNT(*) FROM answer)")


def forget(database: Database, *, tokens: bool = True) -> None:
    """Delete what waits."""
    for table in ("outbox", *(("token", "asking") if tokens else ())):
        database.execute(f"DELETE FROM {table}")
    drop_answers(database)


def give_up(database: Database, collection: Collection, day: date) -> None:
    """Delete envelopes of epochs that are over. Through a relay nobody says so: the key for the answer is gone, too."""
    taken = {epoch.number for epoch in collection.epochs if day <= epoch.end + GRACE}
    for (number,) in list(database.execute("SELECT DISTINCT epoch FROM outbox")):
        if number not in taken:
            database.execute("DELETE FROM outbox WHERE epoch = :epoch", {"epoch": number})


def written_answer(answer: Any) -> str:
    """Text, a number, true or false as JSON; anything else is no answer."""
    if not isinstance(answer, str | int | float):
        return "null"
    try:
        text = json.dumps(answer, allow_nan=False)
    except ValueError:
        return "null"
    return text if len(text) <= LONGEST_ANSWER else "null"
