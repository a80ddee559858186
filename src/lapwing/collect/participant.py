"""One person's device in a collection: consent comes first, answers stay on it, and every slot sends one report.

    opt_in        the person read the text and agreed; the operator's key is pinned
    record        an answer is stored on the device, without id or time; of many, a uniform sample
    tick          to be called now and then: in each slot, at a random time, one report is made, kept and sent
    opt_out       what waits is deleted; what was sent cannot be recalled

A report is made once for a slot and stored before it is sent. A crash burns a slot or sends the same bytes again, and
never makes a second report. A copied folder is refused, because two copies would answer the same slot twice. Should
that fail (a machine restored from a snapshot), both send the same token, and the ingestor takes one of them. Fragments
of an answer are drawn and paid for together, and sent one by one (`answer_fragments.py`).

Privacy: with accounting `lifetime` everything that leaves the device, and when, is alike within e^lifetime for any two
histories of answers (`crowd.Lifetime`): there is a report in every slot, at a time that coins chose, of one length.
With accounting `donation` (`crowd.Device`) a day without an event sends nothing, so *that* something happened is seen.
Strings (string_device.py) have no local ε: what their lifetime counts is what the shufflers' threshold lets out.
Proof: participant.md
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from lapwing.collect import tokens
from lapwing.collect.answers import countable
from lapwing.collect.collection import COUNTED, Collection
from lapwing.collect.courier import Courier, Delivery, HttpCourier
from lapwing.collect.files import make_folder, make_private_file
from lapwing.collect.participant_file import (
    LONGEST_PAUSE,
    ParticipantFile,
    Status,
    agreed,
    begun_in,
    check_home,
    check_promise,
    collection_in,
    consent_in,
    digest_of,
    drawn_answer,
    drop_answers,
    due_numbers,
    forget,
    give_up,
    keep_tokens,
    next_token,
    pause_in,
    schedule_of,
    token_request,
    tokens_left,
    written_answer,
)
from lapwing.collect.sealing import Envelope, drawn_shuffler, random_id, seal
from lapwing.collect.string_device import StringDevice, asks_issuer
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Device, Lifetime
from lapwing.crowd.lifetime import DeviceFile
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, permutation, uniform_below
from lapwing.privacy.journal import Database

MOST_STORED = 64
"""Answers that wait at a time; of more, a uniform sample waits."""
MOST_WAITING = 32
"""Slots whose envelopes wait to be sent; of more, some are dropped."""
ACCOUNTS = {"lifetime": "lifetime.db", "donation": "device.db"}
"""The files that know what was spent."""


class Participant:
    """The device of one person, in one collection. Any number of threads and processes may use one folder.

    Args:
        folder: Where the device keeps its files; made if it does not exist. A copy of the folder is refused.
        courier: How the device reaches the servers; None sends HTTP requests.
        clock: Gives the time in seconds since 1970.
        entropy: Source of random bits. Only tests should use another than the system's.

    >>> import tempfile
    >>> from lapwing.collect.workspace import Workspace
    >>> workspace, person = Workspace(tempfile.mkdtemp() + "/commute"), Participant(tempfile.mkdtemp() + "/device")
    >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
    >>> person.opt_in(workspace.open())
    >>> person.record("bike"), person.record("rocket"), str(person.status().remaining)
    (True, False, 'ε = 8 (replace, per person)')
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        courier: Courier | None = None,
        clock: Callable[[], float] = time.time,
        entropy: Entropy = SYSTEM,
    ) -> None:
        self._folder = Path(folder)
        make_folder(self._folder)
        make_private_file(self._folder / "participant.db")
        self._courier, self._clock, self._entropy = courier or HttpCourier(), clock, entropy
        self._file = ParticipantFile(self._folder / "participant.db", None)
        self._file.create(allowed=True)
        with self._file.transaction() as database:
            self._file.check(database)
            check_home(database, self._file.path)

    def __repr__(self) -> str:
        return f"Participant({str(self._folder)!r})"

    @property
    def collection(self) -> Collection | None:
        """What the person agreed to; None before they agree, and after they leave."""
        with self._file.transaction(write=False) as database:
            return collection_in(database)

    def opt_in(self, collection: Collection, *, code: str | None = None, attribute: str | None = None) -> None:
        """Agree to a collection: the person has read the question and the text of this version.

        Args:
            collection: The signed collection. Its operator's key is pinned: a later version must be signed with it.
            code: The admission code, where people need one; None elsewhere. If it is unknown, or its tokens were given
                out before, nothing is sent, and `status().tokens` stays 0.
            attribute: To which crowd the person belongs, where the collection makes crowds of an attribute.

        Raises:
            InvalidParameter: If the collection is not signed, promises less than before, or does not fit code or
                attribute.
        """
        if not collection.signed or collection.operator is None:
            raise InvalidParameter("collection", collection.name, "is not signed", "Run `lapwing collect open` first.")
        if code is not None and not re.fullmatch(r"[!-~]{1,200}", code):
            raise InvalidParameter("code", "<text>", "is not a code", "Copy it without spaces.")
        if collection.crowd is not None and collection.crowd.source == "attribute":
            collection.crowd.name(b"", attribute=attribute)  # refuses what the collection does not list
        with self._file.transaction(write=False) as database:
            check_home(database, self._file.path)
            before = consent_in(database)
        if before is not None:
            check_promise(collection, before)
            if not (self._folder / ACCOUNTS[collection.accounting]).exists():
                why = "has lost its record of what was spent"
                raise InvalidParameter("folder", str(self._folder), why, "Do not take part again with this device.")
        device = self._opened_accounts(collection)  # refuses a version that promises less protection than the last
        changed = before is not None and before["document"] is not None and digest_of(before) != collection.digest
        if changed:  # first: a crash after this loses events, and sends none under another text
            self._forget_reports()
            if device is not None:
                device.forget()
        with self._file.transaction() as database:
            if changed:  # what waits was answered and sealed under other promises; tokens are not bound to a version
                forget(database, tokens=False)
            if before is not None and before["slots"] != schedule_of(collection):
                database.execute("DELETE FROM slot")  # their numbers mean other times; the account goes on
            database.execute("DELETE FROM consent")
            values = {
                "operator": collection.operator,
                "name": collection.name,
                "version": collection.version,
                "accounting": collection.accounting,
                "slots": schedule_of(collection),
                "document": collection.to_json(),
                "code": code,
                "attribute": attribute,
            }
            names = ", ".join(f":{name}" for name in values)
            database.execute(f"INSERT INTO consent VALUES ({names})", values)
        if device is not None:
            device.opt_in()

    def _opened_accounts(self, collection: Collection) -> Device | None:
        make_private_file(self._folder / ACCOUNTS[collection.accounting])
        self._account(collection)
        return self._device(collection)

    def opt_out(self) -> None:
        """Leave: answers, reports and envelopes are deleted. What was sent cannot be recalled.

        What was spent stays spent, also for those who come back. Tokens stay where the issuer counts them: nobody gets
        them twice, and they tell no more than that this device took part.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace, person = Workspace(tempfile.mkdtemp() + "/commute"), Participant(tempfile.mkdtemp() + "/device")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> person.opt_in(workspace.open())
        >>> person.opt_out()
        >>> person.status().opted_in, person.record("bike")
        (False, False)
        """
        collection = self.collection
        device = None if collection is None else self._device(collection)
        counted = collection is None or collection.admission in COUNTED
        if device is not None:
            device.opt_out()  # first: a crash after this leaves nothing that waits
        with self._file.transaction() as database:
            forget(database, tokens=not counted)
            database.execute("UPDATE consent SET document = NULL, code = NULL, attribute = NULL")
        self._file.compact()
        self._forget_reports()

    def _forget_reports(self) -> None:
        """Of an answer nothing stays that its consent does not cover: what the account keeps of reports is deleted."""
        if (self._folder / "strings.db").exists():
            self._strings().forget()
        path = self._folder / ACCOUNTS["lifetime"]
        if path.exists():
            DeviceFile(path, None).forget()

    def record(self, answer: Any) -> bool:
        """Store an answer on the device. Nothing happens without consent. No answer raises an error.

        Args:
            answer: The true answer.

        Returns:
            Whether the answer counts: the person agreed, and the collection knows it. Nothing that is sent tells this.
        """
        collection = self.collection
        if collection is None:
            return False
        device, known = self._device(collection), countable(collection, answer)
        if device is not None:  # whatever it was: a day with an event sends something
            device.record(collection.name, answer)
        elif known:
            self._store(collection, written_answer(answer))
        return known

    def _store(self, collection: Collection, value: str) -> None:
        """Let an answer wait. Of many, a uniform sample does."""
        with self._file.transaction() as database:
            if not agreed(database, collection):
                return
            [seen] = database.execute("SELECT answers FROM seen").fetchone()
            database.execute("UPDATE seen SET answers = answers + 1")
            places = [place for (place,) in database.execute("SELECT place FROM answer")]
            if seen >= MOST_STORED:  # a reservoir: each answer of the slot waits with the same probability
                drawn = uniform_below(seen + 1, entropy=self._entropy)
                if drawn >= len(places):
                    return
                database.execute("DELETE FROM answer WHERE place = :place", {"place": places[drawn]})
            row = {"place": uniform_below(1 << 62, entropy=self._entropy), "value": value}
            database.execute("INSERT OR REPLACE INTO answer VALUES (:place, :value)", row)

    def tick(self) -> float:
        """Do what is due: get tokens, make the report of this slot if its time has come, send what waits.

        Returns:
            The seconds until the next call. They are partly random: the rhythm of a timer would identify the device.
        """
        collection, moment = self.collection, self._clock()
        if collection is None:
            self._forget_reports()  # should a crash have come between leaving and forgetting
            return LONGEST_PAUSE
        self._do(collection, moment)
        with self._file.transaction(write=False) as database:
            return pause_in(database, collection, moment, self._entropy)

    def _do(self, collection: Collection, moment: float) -> None:
        day = datetime.fromtimestamp(moment, UTC).date()
        sent = self._send(collection)
        if collection.opens <= day <= collection.closes:
            # the issuer knows the name, the ingestor the report: they must not hear of one device at the same time
            tokens_asked = not sent and self._refill(collection, day)
            self._make(collection, moment, day, tokens_asked=tokens_asked)
            sent = (not tokens_asked and self._send(collection)) or sent
            if not sent and asks_issuer(collection):
                self._strings().ask(collection, moment, day, self._courier)

    def status(self) -> Status:
        """What waits on the device, and how much privacy budget it has spent so far.

        Returns:
            Whether the device takes part, how many answers, envelopes and tokens wait, and the budget spent and
                remaining.
        """
        with self._file.transaction(write=False) as database:
            collection = collection_in(database)
            tables = ("answer", "outbox", "token")
            answers, envelopes, held = [
                database.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in tables
            ]
        if collection is None:
            return Status(False, answers, envelopes, held, None, None)
        device, account = self._device(collection), self._account(collection)
        if device is not None:
            spent, remaining = device.spent(collection.name), device.remaining(collection.name)
            return Status(True, device.stored(collection.name), envelopes, held, spent, remaining)
        assert account is not None
        losses = [collection.lifetime_loss(loss.epsilon) for loss in (account.spent(), account.remaining())]
        return Status(True, answers, envelopes, held, *losses)

    def _account(self, collection: Collection) -> Lifetime | None:
        if collection.accounting != "lifetime":
            return None
        return Lifetime(collection.policy(), self._folder / "lifetime.db")

    def _device(self, collection: Collection) -> Device | None:
        if collection.accounting != "donation":
            return None
        path, features = self._folder / "device.db", {collection.name: collection.donation()}
        return Device(path, features, clock=lambda: self._day(), entropy=self._entropy)

    def _day(self) -> date:
        return datetime.fromtimestamp(self._clock(), UTC).date()

    def _refill(self, collection: Collection, day: date) -> bool:
        """Ask for all tokens of an epoch; number and time do not depend on answers. True if the issuer was asked."""
        epoch = collection.epoch(day)
        if epoch is None or not collection.tokens:
            return False
        with self._file.transaction() as database:
            request = token_request(database, collection, epoch, self._entropy)
            if request is None:
                return False
            [code] = database.execute("SELECT code FROM consent").fetchone()
        answer = self._courier.ask(collection, epoch.number, request.to_bytes(), code)
        if answer is None:
            return True
        try:
            held = request.tokens(epoch.token_key, answer)
        except InvalidParameter:  # an issuer that breaks or marks tokens gets none of them used
            return True
        with self._file.transaction() as database:
            keep_tokens(database, request, held)
        return True

    def _strings(self) -> StringDevice:
        return StringDevice(self._folder, self._file, self._entropy)

    def _make(self, collection: Collection, moment: float, day: date, *, tokens_asked: bool) -> None:
        """The report of this slot, if it is due and was not made: at most once, whatever happens. So each fragment.

        Its time is drawn when there is a token for it, and in the tick that asked for tokens only if half of the slot
        is left: an issuer that answers late does not choose when a report is sent.
        """
        epoch, policy = collection.epoch(day), collection.policy()
        if epoch is None:
            return
        slot = policy.period_at(moment)
        length = collection.slot.total_seconds()
        with self._file.transaction() as database:
            check_home(database, self._file.path)
            if not agreed(database, collection):
                return
            if collection.tokens and not tokens_left(database, epoch.number):
                return
            rest = max(1, int((slot + 1) * length * 1000) - int(moment * 1000))
            late = tokens_asked and 2 * rest < int(length * 1000)  # then the time is after the slot, which is left out
            each, now = collection.messages_each, int(moment * 1000)
            for number in range(slot * each, (slot + 1) * each):
                due = now + 1 + (rest if late else uniform_below(rest, entropy=self._entropy))
                row = {"number": number, "due": due}
                database.execute("INSERT OR IGNORE INTO slot VALUES (:number, :due, 0)", row)
            numbers = due_numbers(database, slot, each, moment * 1000)
        for number in numbers:
            if collection.accounting == "donation":
                self._donate(collection, epoch.number, number)
            else:
                self._report(collection, epoch.number, number)

    def _report(self, collection: Collection, epoch: int, number: int) -> None:
        account = self._account(collection)
        assert account is not None
        slot, fragment = divmod(number, collection.messages_each)
        places: Sequence[int] | None = None  # of the answers that this report is for: all that wait
        strings = isinstance(collection.protocol, StringProtocol)
        if strings:
            report, crowd = self._strings().report(collection, epoch, slot, account)
            sealed = seal(collection, epoch, report, self._entropy, crowd=crowd)
            places = self._strings().places(slot) if asks_issuer(collection) else None
        else:
            sealed = self._randomised(collection, epoch, slot, fragment, account)
        with self._file.transaction() as database:
            agrees = agreed(database, collection)
            begun = begun_in(database, slot, collection.messages_each)
            if agrees and self._first(database, number):
                if not begun:  # what was recorded since then belongs to the next slot
                    drop_answers(database, places)
                self._post(database, collection, epoch, sealed)
        if strings or not agrees:  # a string is not kept beside its envelope; or the person agrees no more
            self._forget_reports()

    def _randomised(self, collection: Collection, epoch: int, slot: int, fragment: int, account: Lifetime) -> bytes:
        shuffler = drawn_shuffler(collection, self._entropy)  # before anything is known of an answer
        with self._file.transaction(write=False) as database:
            value = json.loads(drawn_answer(database, self._entropy))
        before = account.spent().epsilon
        report = account.report(collection.name, value, collection.whole, period=slot, entropy=self._entropy)
        paid = account.spent().epsilon > before  # a crowd tells of an answer only where the answer was paid for
        if collection.fragments is not None:
            report = collection.fragments.split(report)[fragment]
        return self._sealed(collection, epoch, report, value if paid else None, shuffler)

    def _donate(self, collection: Collection, epoch: int, number: int) -> None:
        device = self._device(collection)
        assert device is not None
        with self._file.transaction() as database:
            if not agreed(database, collection) or not self._first(database, number):
                return
        sealed = [self._sealed(collection, epoch, envelope.report, None, 0) for envelope in device.donate()]
        with self._file.transaction() as database:
            for report in sealed if agreed(database, collection) else ():
                self._post(database, collection, epoch, report)

    def _sealed(self, collection: Collection, epoch: int, report: bytes, answer: Any, shuffler: int) -> bytes:
        crowd = None
        if collection.crowd is not None:
            with self._file.transaction(write=False) as database:
                [attribute] = database.execute("SELECT attribute FROM consent").fetchone()
            crowd = collection.crowd.name(report, answer=answer, attribute=attribute)
        return seal(collection, epoch, report, self._entropy, crowd=crowd, shuffler=shuffler)

    def _first(self, database: Database, number: int) -> bool:
        """Whether nobody has made the report, or fragment, of this number; from now on somebody has."""
        query = "UPDATE slot SET made = 1 WHERE number = :number AND made = 0 RETURNING 1"
        return bool(list(database.execute(query, {"number": number})))

    def _post(self, database: Database, collection: Collection, epoch: int, sealed: bytes) -> None:
        """Under a token, into the outbox, in no order. Without a token it would be refused, so it is dropped."""
        if collection.tokens:
            token = next_token(database, epoch)
            if token is None:
                return
            envelope = tokens.tagged(token, collection, sealed)
        else:
            envelope = Envelope(epoch, random_id(self._entropy), sealed)
        place = uniform_below(1 << 62, entropy=self._entropy)
        row = {"place": place, "epoch": epoch, "envelope": envelope.to_bytes()}
        database.execute("INSERT INTO outbox VALUES (:place, :epoch, :envelope)", row)
        [waiting] = database.execute("SELECT COUNT(*) FROM outbox").fetchone()
        most = MOST_WAITING * collection.messages_each
        if waiting > most:
            query = "DELETE FROM outbox WHERE place IN (SELECT place FROM outbox WHERE place != :place LIMIT :surplus)"
            database.execute(query, {"place": place, "surplus": waiting - most})

    def _send(self, collection: Collection) -> bool:
        """Send what waits, in random order; what was taken, refused or is too late is deleted. True if any was sent."""
        sent = False
        for place in self._waiting(collection):
            with self._file.transaction(write=False) as database:  # consent may end at any moment
                query = "SELECT epoch, envelope FROM outbox WHERE place = :place"
                row = database.execute(query, {"place": place}).fetchone() if agreed(database, collection) else None
            if row is None:
                continue
            sent = True
            if self._courier.send(collection, row["epoch"], bytes(row["envelope"])) is Delivery.LATER:
                break
            with self._file.transaction() as database:
                database.execute("DELETE FROM outbox WHERE place = :place", {"place": place})
        return sent

    def _waiting(self, collection: Collection) -> list[int]:
        with self._file.transaction() as database:
            if agreed(database, collection):
                give_up(database, collection, self._day())
            places = [place for (place,) in database.execute("SELECT place FROM outbox")]
        return [places[turn] for turn in permutation(len(places), self._entropy).tolist()]
