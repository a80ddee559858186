"""What a device does for a string: ask the issuer for its seed, make one message a slot, and keep nothing of it.

    first tick of a slot   one of the answers that wait, or none, is blinded; the issuer is asked, once
    when the report is due the message: of that string if its seed came and the lifetime pays, else of nothing

The issuer is asked once in every slot, whatever was answered, and what it gets is uniformly random: neither a question
nor its time depends on answers. If its answer does not come, or its proof is wrong, the answers wait for the next slot.
Proof: string_protocol.md
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from lapwing.collect import oprf
from lapwing.collect.collection import Collection
from lapwing.collect.courier import Courier
from lapwing.collect.files import make_private_file
from lapwing.collect.participant_file import ParticipantFile, SecretFile, agreed, drawn_answer
from lapwing.collect.secret_strings import SEED_BYTES
from lapwing.collect.string_protocol import NAME_BYTES, StringProtocol
from lapwing.crowd import Lifetime
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy


def asks_issuer(collection: Collection) -> bool:
    """Whether a device asks the issuer about a string in every slot."""
    return isinstance(collection.protocol, StringProtocol) and collection.protocol.oblivious


class SeedFile(SecretFile):
    """That the issuer was asked in the present slot, and the string and seed that wait for its report."""

    __slots__ = ()

    statements = (
        "CREATE TABLE question (slot INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, text BLOB, seed BLOB,"
        " places TEXT NOT NULL)",
    )
    since_breaker = ()
    layout = frozenset(statements)


@dataclass(frozen=True, slots=True)
class Question:
    """What a device keeps in memory while it waits for the issuer; `blinded` is what it sends."""

    data: bytes
    scalar: bytes
    blinded: bytes

    def __repr__(self) -> str:
        return "<question to the issuer>"

    @classmethod
    def about(cls, data: bytes, entropy: Entropy = SYSTEM) -> Question:
        """Whatever the data is, what is sent is uniform."""
        scalar, blinded = oprf.blind(data, entropy)
        return cls(data, scalar, blinded)

    def seed(self, key: bytes, answer: bytes) -> bytes | None:
        """The seed in the issuer's answer; None if it is not one of the key in the signed file."""
        size = oprf.ELEMENT_BYTES
        if len(answer) != size + oprf.PROOF_BYTES:
            return None
        try:
            oprf.verify(key, [self.blinded], [answer[:size]], answer[size:])
        except InvalidParameter:
            return None
        return oprf.finalize(self.data, self.scalar, answer[:size])


class StringDevice:
    """The part of a participant that sends strings; `file` is the participant's."""

    def __init__(self, folder: Path, file: ParticipantFile, entropy: Entropy = SYSTEM) -> None:
        make_private_file(folder / "strings.db")
        self._file, self._entropy, self._seeds = file, entropy, SeedFile(folder / "strings.db", None)
        self._seeds.create(allowed=True)

    def ask(self, collection: Collection, moment: float, day: date, courier: Courier) -> None:
        """Ask the issuer for the seed of one of the answers, or of none; once in a slot, whatever it says."""
        protocol, epoch, slot = collection.protocol, collection.epoch(day), collection.policy().period_at(moment)
        if not isinstance(protocol, StringProtocol) or not protocol.oblivious or epoch is None:
            return
        if not self._reports_later(collection, moment, slot) or not self._first(slot, epoch.number):
            return
        with self._file.transaction(write=False) as database:
            if not agreed(database, collection):
                return
            value = drawn_answer(database, self._entropy)
            places = [place for (place,) in database.execute("SELECT place FROM answer")]
            [code] = database.execute("SELECT code FROM consent").fetchone()
        text = protocol.text(json.loads(value))
        nothing = self._entropy.bits(8 * SEED_BYTES).to_bytes(SEED_BYTES, "little")
        strings = protocol.in_epoch(collection.digest, epoch.number)
        question = Question.about(nothing if text is None else strings.function_input(text), self._entropy)
        answer = courier.ask_seed(collection, epoch.number, question.blinded, code)
        seed = None if answer is None else question.seed(epoch.string_key or b"", answer)
        if seed is None:
            return
        with self._seeds.transaction() as database:
            row = {"slot": slot, "text": text, "seed": seed, "places": json.dumps(places)}
            query = "UPDATE question SET text = :text, seed = :seed, places = :places WHERE slot = :slot"
            database.execute(query, row)
        if not self._agrees(collection):  # any more, since the issuer was asked
            self.forget()

    def _reports_later(self, collection: Collection, moment: float, slot: int) -> bool:
        """Whether this slot has a report that is not due yet."""
        end = int((slot + 1) * collection.slot.total_seconds() * 1000)
        times = {"slot": slot, "now": int(moment * 1000), "end": end}
        with self._file.transaction(write=False) as database:
            query = "SELECT 1 FROM slot WHERE number = :slot AND made = 0 AND due > :now AND due <= :end"
            return database.execute(query, times).fetchone() is not None

    def _agrees(self, collection: Collection) -> bool:
        with self._file.transaction(write=False) as database:
            return agreed(database, collection)

    def _first(self, slot: int, epoch: int) -> bool:
        """Whether nobody has asked in this slot, or in a later one; from now on somebody has."""
        row = {"slot": slot, "epoch": epoch}
        with self._seeds.transaction() as database:
            later = database.execute("SELECT 1 FROM question WHERE slot >= :slot", row).fetchone()
            if later is None:
                database.execute("DELETE FROM question")
                database.execute("INSERT INTO question VALUES (:slot, :epoch, NULL, NULL, '[]')", row)
        return later is None

    def report(self, collection: Collection, epoch: int, slot: int, account: Lifetime) -> tuple[bytes, bytes]:
        """The report of a slot and the name of its crowd: made once, charged before an answer is looked at."""
        protocol = collection.protocol
        assert isinstance(protocol, StringProtocol)

        def encoded(truthful: bool) -> bytes:
            text, seed = self._waiting(protocol, epoch, slot) if truthful else (None, None)
            return b"".join(protocol.report(collection.digest, epoch, text, seed, self._entropy))

        kept = account.message(collection.name, protocol.fingerprint.hex(), encoded, period=slot)
        return kept[:-NAME_BYTES], kept[-NAME_BYTES:]

    def _waiting(self, protocol: StringProtocol, epoch: int, slot: int) -> tuple[bytes | None, bytes | None]:
        """The string of this slot and its seed."""
        if not protocol.oblivious:
            with self._file.transaction(write=False) as database:
                return protocol.text(json.loads(drawn_answer(database, self._entropy))), None
        with self._seeds.transaction(write=False) as database:
            query = "SELECT text, seed FROM question WHERE slot = :slot AND epoch = :epoch"
            row = database.execute(query, {"slot": slot, "epoch": epoch}).fetchone()
        return (None, None) if row is None else (row["text"], row["seed"])

    def places(self, slot: int) -> list[int]:
        """Of the answers that the string of this slot was drawn from; none if it has no seed, so that they wait."""
        with self._seeds.transaction(write=False) as database:
            row = database.execute("SELECT places FROM question WHERE slot = :slot", {"slot": slot}).fetchone()
        return [] if row is None else list(json.loads(row["places"]))

    def forget(self) -> None:
        """Delete the string and the seed, and that the issuer was asked: of a slot that has its report, or ended."""
        with self._seeds.transaction() as database:
            database.execute("DELETE FROM question")
