"""A device: consent, one report a slot whatever happens, and what an observer sees of it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import NOON, Keys, document

from lapwing.collect import reader, sealing, tokens
from lapwing.collect.collection import Collection
from lapwing.collect.courier import Delivery
from lapwing.collect.keys import Key
from lapwing.collect.participant import MOST_STORED, MOST_WAITING, Participant
from lapwing.crowd import Lifetime, Reports
from lapwing.errors import InvalidParameter

KEYS = Keys()


def collection(**changes: Any) -> Collection:
    return reader.sign(reader.checked(document(KEYS, **changes)), KEYS.operator)


class Network:
    """What an observer of the network sees, and a network that fails when it is told to."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.asked: list[bytes] = []
        self.outcome = Delivery.STORED

    def send(self, _: Collection, epoch: int, envelope: bytes) -> Delivery:
        self.sent.append(envelope)
        return self.outcome

    def ask(self, _: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        self.asked.append(blinded)
        return tokens.issue(KEYS.tokens.secret, blinded)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now.timestamp()

    def early(self, days: int = 0) -> None:
        """When a day begins, and the time of its report is drawn."""
        self.now = NOON.replace(hour=0) + timedelta(days=days)

    def late(self, days: int = 0) -> None:
        """The last moment of a day, when its report is due (but for one in 10⁸)."""
        self.now = NOON.replace(hour=23, minute=59, second=59, microsecond=999_000) + timedelta(days=days)


def a_day(clock: Clock, days: int, *people: Participant) -> None:
    """The clock at both ends of a day, and a tick at each."""
    for moment in (clock.early, clock.late):
        moment(days)
        for person in people:
            person.tick()


def device(folder: Path, network: Network, clock: Clock, poll: Collection | None = None) -> Participant:
    person = Participant(folder, courier=network, clock=clock)
    person.opt_in(poll or collection())
    return person


def answer_in(poll: Collection, envelope: bytes) -> list[int]:
    inside = sealing.opened(poll, 1, KEYS.reports.private, sealing.Envelope.from_bytes(poll, envelope).sealed)
    assert inside is not None
    return Reports.from_bytes(poll.protocol, inside[1]).columns[0].ravel().tolist()


def test_nothing_happens_before_consent(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = Participant(tmp_path, courier=network, clock=clock)
    person.record("bus")
    a_day(clock, 0, person)
    assert not network.sent
    assert not network.asked
    assert person.status().answers == 0
    with pytest.raises(InvalidParameter, match="not signed"):
        person.opt_in(reader.checked(document(KEYS)))


def test_there_is_one_report_a_slot_with_and_without_answers(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    quiet, busy = (device(tmp_path / name, network, clock) for name in ("quiet", "busy"))
    sent: dict[Participant, list[int]] = {quiet: [], busy: []}
    for day in range(11):  # the lifetime of 8 is used up after eight
        for person in (quiet, busy):
            network.sent.clear()
            clock.early(day)
            person.tick()
            for answer in ("bus", "car") * (day % 3) if person is busy else ():
                person.record(answer)
            clock.late(day)
            for _ in range(3):
                person.tick()
            sent[person] += [len(envelope) for envelope in network.sent]
    assert sent[quiet] == sent[busy] == [sealing.envelope_bytes(collection())] * 11
    assert quiet.status().spent == busy.status().spent
    assert busy.status().remaining is not None
    assert busy.status().remaining.epsilon < collection().protocol.privacy_loss().epsilon


def test_the_time_of_sending_is_random_and_does_not_depend_on_answers(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    hours = []
    for number in range(12):
        network.sent.clear()
        person = device(tmp_path / str(number), network, clock)
        clock.early()
        person.tick()
        if number % 2:
            person.record("bus")
        for hour in range(24):
            clock.now = NOON.replace(hour=hour, minute=59, second=59, microsecond=999_000)
            person.tick()
            if network.sent:
                hours.append(hour)
                break
    assert len(hours) == 12
    assert len(set(hours)) > 3  # all twelve within three hours of a day: less than 1e-7


def test_called_when_it_says_a_device_reports_in_every_short_slot_and_has_no_rhythm(tmp_path: Path) -> None:
    """An hourly timer misses slots of an hour, and its phase would join a request for tokens with a report."""
    network, clock = Network(), Clock()
    hourly = collection(limits={"reports_per_day": 24, "lifetime_epsilon": 8})
    person, phases = device(tmp_path, network, clock, hourly), set()
    clock.early()
    while clock.now < NOON.replace(hour=9):
        pause = person.tick()
        assert 0 < pause <= 900
        clock.now += timedelta(seconds=pause)
        phases.add(clock.now.timestamp() % 60)
    assert len(network.sent) == 9
    assert len(phases) > 9
    person.opt_out()
    assert person.tick() == 3600


def test_retries_send_the_same_bytes(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    person.record("bus")
    network.outcome = Delivery.LATER
    a_day(clock, 0, person)
    for _ in range(3):
        person.tick()
    again = Participant(tmp_path, courier=network, clock=clock)  # a restart
    network.outcome = Delivery.STORED
    again.tick()
    again.tick()
    assert len(network.sent) > 3
    assert len(set(network.sent)) == 1
    assert again.status().envelopes == 0


def test_a_refused_envelope_is_not_sent_again(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    network.outcome = Delivery.REFUSED
    a_day(clock, 0, person)
    person.tick()
    assert len(network.sent) == 1


@pytest.mark.parametrize("moment", ["charge", "report", "seal", "post"])
def test_a_crash_never_sends_two_reports_for_one_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    from lapwing.collect import participant as module
    from lapwing.crowd import Lifetime
    from lapwing.crowd.unary import UnaryEncoding

    network, clock = Network(), Clock()
    clock.early()
    person = device(tmp_path, network, clock)
    person.tick()
    person.record("bus")
    clock.late()

    class PowerFailed(BaseException):
        pass

    def fails(*_: Any, **__: Any) -> Any:
        raise PowerFailed

    def then_fails(real: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            real(*args, **named)
            raise PowerFailed

        return call

    broken: dict[str, tuple[Any, str, Any]] = {
        "charge": (UnaryEncoding, "randomize", fails),
        "report": (Lifetime, "report", then_fails(Lifetime.report)),
        "seal": (module, "seal", then_fails(module.seal)),
        "post": (Participant, "_post", then_fails(Participant._post)),
    }
    with monkeypatch.context() as failing:
        failing.setattr(*broken[moment])
        with pytest.raises(PowerFailed):
            person.tick()
    again = Participant(tmp_path, courier=network, clock=clock)
    again.record("car")
    again.tick()
    again.tick()
    assert len(network.sent) == 1
    spent = again.status().spent
    assert spent is not None
    assert spent.epsilon == collection().protocol.privacy_loss().epsilon


def test_a_copied_folder_is_refused(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    device(tmp_path / "original", network, clock)
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    with pytest.raises(InvalidParameter, match="was copied or restored"):
        Participant(tmp_path / "copy", courier=network, clock=clock)


def test_a_folder_stays_the_same_when_a_restart_numbers_disks_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, clock = Network(), Clock()
    device(tmp_path, network, clock)

    def on(number: str, inode: str = "7") -> Participant:
        monkeypatch.setattr("lapwing.collect.participant_file.home_of", lambda path: {"device": number, "inode": inode})
        return Participant(tmp_path, courier=network, clock=clock)

    with closing(sqlite3.connect(tmp_path / "participant.db")) as database, database:
        database.execute("UPDATE home SET device = '2049', inode = '7'")  # as it was written once
    for number in ("2065 first", "2049 second", "2049 second"):
        assert on(number).collection is not None
    with pytest.raises(InvalidParameter, match="was copied or restored"):
        on("2065 second")  # the machine ran on, so this is another disk
    with pytest.raises(InvalidParameter, match="was copied or restored"):
        on("2049 third", inode="8")


def test_an_answer_that_no_report_can_stand_for_is_said_and_not_stored(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = Participant(tmp_path / "one", courier=network, clock=clock)
    assert not person.record("bus"), "nobody agreed"
    person.opt_in(collection())
    assert person.record("bus")
    assert not person.record("tram")
    assert not person.record(None)
    assert person.status().answers == 1
    donor = device(tmp_path / "donor", network, clock, collection(accounting="donation"))
    assert [donor.record(event) for event in ("bus", "tram")] == [True, False]
    assert donor.status().answers == 2, "how many events there were must not depend on what they were"


class CountingNetwork(Network):
    """An issuer that gives a code so many tokens and no more."""

    most = 0

    def ask(self, poll: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        self.most = poll.tokens_each(poll.epochs[0])
        if sum(len(asked) for asked in {*self.asked, blinded}) > 32 * self.most:
            return None
        return super().ask(poll, epoch, blinded, code)


def test_who_leaves_and_returns_goes_on_with_the_tokens_of_the_epoch(tmp_path: Path) -> None:
    network, clock, poll = CountingNetwork(), Clock(), collection(admission="codes")
    person = Participant(tmp_path, courier=network, clock=clock)
    person.opt_in(poll, code="abc")
    a_day(clock, 0, person)
    assert len(network.sent) == 1
    person.opt_out()
    assert person.status().tokens == network.most - 1
    person.opt_out()
    assert b"abc" not in (tmp_path / "participant.db").read_bytes()
    person.opt_in(poll, code="abc")
    a_day(clock, 1, person)
    ids = [sealing.Envelope.from_bytes(poll, envelope).id for envelope in network.sent]
    assert len(set(ids)) == 2
    assert len(network.asked) == 1, "nobody gets tokens twice"


@pytest.mark.parametrize("admission", ["codes", "open"])
def test_a_version_with_more_reports_a_day_gets_the_tokens_for_them(tmp_path: Path, admission: str) -> None:
    network, clock = CountingNetwork() if admission == "codes" else Network(), Clock()
    first = collection(admission=admission)
    more = collection(admission=admission, version=2, limits={"reports_per_day": 2, "lifetime_epsilon": 8})
    person = Participant(tmp_path, courier=network, clock=clock)
    person.opt_in(first, code="abc")
    a_day(clock, 0, person)
    person.opt_in(more, code="abc")
    for day in (1, 2):
        a_day(clock, day, person)
    once, twice = (poll.tokens_each(poll.epochs[0]) for poll in (first, more))
    each = twice - once if admission == "codes" else twice
    assert [len(asked) // 32 for asked in network.asked] == [once, each]
    assert person.status().tokens == once + each - len(network.sent)


def test_copies_that_are_not_noticed_spend_the_same_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot of a whole machine: both copies answer, and the ingestor takes one."""
    network, clock = Network(), Clock()
    monkeypatch.setattr("lapwing.collect.participant_file.home_of", lambda path: {"device": "1", "inode": "1"})
    clock.now = NOON.replace(hour=0)
    person = device(tmp_path / "seed", network, clock)
    person.tick()  # gets tokens; the report of the day is due later
    shutil.copytree(tmp_path / "seed", tmp_path / "copy")
    copy = Participant(tmp_path / "copy", courier=network, clock=clock)
    person.record("bus")
    copy.record("car")
    network.sent.clear()
    clock.late()
    person.tick()
    copy.tick()
    first, second = (sealing.Envelope.from_bytes(collection(), envelope) for envelope in network.sent)
    assert first.id == second.id


def test_opting_out_deletes_what_waits_and_keeps_what_was_spent(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    poll = collection(protocol={"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["bike4711", "bus4711"]})
    person = device(tmp_path, network, clock, poll)
    network.outcome = Delivery.LATER
    assert person.record("bike4711")
    a_day(clock, 0, person)
    assert person.record("bus4711")
    assert any(b"4711" in path.read_bytes() for path in tmp_path.iterdir())
    person.opt_out()
    status = person.status()
    assert (status.opted_in, status.answers, status.envelopes, status.tokens) == (False, 0, 0, 0)
    assert all(b"4711" not in path.read_bytes() for path in tmp_path.iterdir())
    sent = len(network.sent)
    a_day(clock, 1, person)
    assert len(network.sent) == sent
    person.opt_in(poll)
    spent = person.status().spent
    assert spent is not None
    assert spent.epsilon > 0


def reports_in(folder: Path) -> list[bytes]:
    """What the account on the device knows of reports."""
    with closing(sqlite3.connect(folder / "lifetime.db")) as database:
        return [report for (report,) in database.execute("SELECT report FROM answer WHERE report IS NOT NULL")]


def test_after_opting_out_no_report_is_on_the_disk(tmp_path: Path) -> None:
    """A report is randomised, and still tells something about the answer."""
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    for day in range(3):
        person.record("bike")
        a_day(clock, day, person)
    reports, spent = reports_in(tmp_path), person.status().spent
    assert len(reports) == 3
    person.opt_out()
    assert not reports_in(tmp_path)
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(report in data for report in reports for data in files)
    person.opt_in(collection())
    assert person.status().spent == spent
    a_day(clock, 2, person)  # the slot had its report: it gets no second one
    assert len(network.sent) == 3


def test_a_person_who_leaves_while_a_report_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    real = Lifetime.report

    def report(self: Lifetime, *given: Any, **named: Any) -> bytes:
        made = real(self, *given, **named)
        person.opt_out()
        real(self, *given, **named)  # as if leaving had come before the report was kept
        return made

    monkeypatch.setattr(Lifetime, "report", report)
    person.record("bike")
    a_day(clock, 0, person)
    assert not network.sent
    assert not reports_in(tmp_path)


def test_a_crash_between_leaving_and_forgetting_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    a_day(clock, 0, person)
    with monkeypatch.context() as patch:
        patch.setattr(Participant, "_forget_reports", lambda self: None)
        person.opt_out()
    assert reports_in(tmp_path)
    person.tick()
    assert not reports_in(tmp_path)


def test_a_new_version_needs_consent_and_gets_no_new_lifetime(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    a_day(clock, 0, person)
    newer = collection(version=2)
    person.opt_in(newer)
    assert person.collection == newer
    assert person.status().tokens == 46  # not bound to a version: nobody needs to be admitted again
    spent = person.status().spent
    assert spent is not None
    assert spent.epsilon > 0
    more = collection(version=3, limits={"reports_per_day": 1, "lifetime_epsilon": 80})
    with pytest.raises(InvalidParameter, match="allows more than"):
        person.opt_in(more)
    assert person.collection == newer  # what was refused is not in force
    with pytest.raises(InvalidParameter, match="is older than version 2"):
        person.opt_in(collection())
    donated = collection(version=4, accounting="donation")
    with pytest.raises(InvalidParameter, match="counts in another way"):
        person.opt_in(donated)
    (tmp_path / "lifetime.db").unlink()
    with pytest.raises(InvalidParameter, match="has lost its record"):
        person.opt_in(collection(version=5))


def test_another_operator_or_collection_is_refused(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    stranger = reader.sign(reader.checked(document(KEYS)), Key.random("ed25519"))
    with pytest.raises(InvalidParameter, match="somebody else"):
        person.opt_in(stranger)
    with pytest.raises(InvalidParameter, match="another collection"):
        person.opt_in(collection(name="lunch"))
    person.opt_out()
    with pytest.raises(InvalidParameter, match="somebody else"):
        person.opt_in(stranger)


def test_strange_answers_raise_nothing_and_are_bounded(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    loop: list[Any] = []
    loop.append(loop)
    for answer in (None, object(), float("nan"), "x" * 10_000, loop, {"a": 1}, -1, b"bytes", "😀\ud800"):
        person.record(answer)
    for _ in range(3 * MOST_STORED):
        person.record("bus")
    assert person.status().answers == MOST_STORED
    a_day(clock, 0, person)
    assert len(network.sent) == 1
    assert person.status().answers == 0


def test_a_device_that_is_offline_for_long_keeps_few_envelopes(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    network.outcome = Delivery.LATER
    for day in range(40):
        a_day(clock, day, person)
    assert person.status().envelopes == MOST_WAITING


def test_a_clock_that_goes_back_sends_nothing_twice(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    for day in (0, 3, 0, 1, 3, 2, 0):
        a_day(clock, day, person)
    days = {sealing.Envelope.from_bytes(collection(), envelope).id for envelope in network.sent}
    assert len(network.sent) == len(days) == 2  # of day 0 and of day 3; what lies before them is past


def test_tokens_are_asked_for_once_for_the_whole_epoch(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    for day in range(5):
        a_day(clock, day, person)
    assert len(network.asked) == 1
    assert len(network.asked[0]) == 32 * 47
    assert person.status().tokens == 47 - 5


def test_donations_as_apple_does_are_sent_when_something_happened(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    limits = {"reports_per_day": 1, "lifetime_epsilon": 12}
    emoji = collection(
        protocol={"protocol": "CountMeanSketch", "epsilon": 4, "functions": 16, "width": 64},
        accounting="donation",
        limits=limits,
        candidates=["😀", "🎉"],
    )
    person = device(tmp_path, network, clock, emoji)
    a_day(clock, 0, person)
    assert not network.sent  # nothing happened: the quote says that this can be seen
    for event in "😀🎉😀":
        person.record(event)
    a_day(clock, 1, person)
    person.tick()
    assert len(network.sent) == 1
    assert answer_in(emoji, network.sent[0])
    remaining = person.status().remaining
    assert remaining is not None
    assert remaining.epsilon < 12


def test_ids_do_not_tell_how_many_tokens_a_device_has_used(tmp_path: Path) -> None:
    """Tokens are spent in the order in which they were asked for: their ids come in no order."""
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock, collection(limits={"reports_per_day": 24, "lifetime_epsilon": 8}))
    for hour in range(24):
        for second in (0, 59):
            clock.now = NOON.replace(hour=hour, minute=second, second=second, microsecond=999_000 if second else 0)
            person.tick()
    ids = [sealing.Envelope.from_bytes(collection(), envelope).id for envelope in network.sent]
    assert len(ids) == 24
    assert ids != sorted(ids)  # sorted by chance: 1/24!


def test_the_request_for_tokens_and_a_report_never_leave_together(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    for number in range(10):
        person = device(tmp_path / str(number), network, clock)  # at noon: half of the slot is over
        person.tick()
    assert len(network.asked) == 10
    assert not network.sent


def test_an_issuer_does_not_choose_when_a_report_is_sent(tmp_path: Path) -> None:
    """One that is silent until the slot ends, and then answers one person after the other, would see whose it is."""

    class Late(Network):
        silent = True

        def ask(self, _: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
            issued = super().ask(_, epoch, blinded, code)
            return None if self.silent else issued

    network, clock = Late(), Clock()
    person = device(tmp_path, network, clock)
    clock.early()
    person.tick()
    network.silent = False
    clock.late()
    for _ in range(3):
        person.tick()
    assert len(network.asked) == 2
    assert not network.sent, "the rest of the slot is too short to hide in"
    a_day(clock, 1, person)
    assert len(network.sent) == 1


def test_what_waits_is_not_sent_in_the_tick_that_asks_for_tokens(tmp_path: Path) -> None:
    poll = collection()
    order: list[str] = []

    class Ordered(Network):
        def send(self, _: Collection, epoch: int, envelope: bytes) -> Delivery:
            order.append("send")
            return super().send(_, epoch, envelope)

        def ask(self, _: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
            order.append("ask")
            return super().ask(_, epoch, blinded, code)

    network, clock = Ordered(), Clock()
    person = device(tmp_path, network, clock, poll)
    network.outcome = Delivery.LATER
    a_day(clock, 0, person)
    with closing(sqlite3.connect(tmp_path / "participant.db")) as database:
        database.execute("DELETE FROM asking")  # as if another epoch began
        database.commit()
    order.clear()
    network.outcome = Delivery.STORED
    person.tick()
    assert order == ["send"]
    person.tick()
    assert order == ["send", "ask"]


def test_an_issuer_that_answers_nonsense_does_not_stop_a_device(tmp_path: Path) -> None:
    class Marking(Network):
        def ask(self, _: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
            super().ask(_, epoch, blinded, code)
            return [b"", b"x", tokens.issue(Key.random("ristretto255").secret, blinded)][len(self.asked) % 3]

    network, clock = Marking(), Clock()
    person = device(tmp_path, network, clock)
    for day in range(3):
        a_day(clock, day, person)
    assert person.status().tokens == 0
    assert len(set(network.asked)) == 1  # the same request again and again
    with pytest.raises(InvalidParameter, match="is not a code"):
        person.opt_in(collection(), code="abc\n")


def test_leaving_while_reports_are_sent_stops_them(tmp_path: Path) -> None:
    class Leaving(Network):
        person: Participant

        def send(self, _: Collection, epoch: int, envelope: bytes) -> Delivery:
            if self.outcome is Delivery.STORED:
                self.person.opt_out()
            return super().send(_, epoch, envelope)

    network, clock = Leaving(), Clock()
    network.outcome = Delivery.LATER
    person = network.person = device(tmp_path, network, clock)
    for day in range(4):
        a_day(clock, day, person)
    network.sent.clear()
    network.outcome = Delivery.STORED
    person.tick()
    assert len(network.sent) == 1


def test_events_of_one_text_are_not_sent_under_another(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    donated = {"accounting": "donation", "limits": {"reports_per_day": 1, "lifetime_epsilon": 8}}
    person = device(tmp_path, network, clock, collection(**donated))
    person.record("bus")
    person.opt_in(collection(version=2, **donated))
    for day in range(2):
        a_day(clock, day, person)
    assert not network.sent


def test_a_report_of_one_text_is_not_sent_under_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash after the report was made, before it was sealed; then the question changes, in the same slot."""
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock)
    clock.early()
    person.tick()
    person.record("bus")
    reports: list[bytes] = []

    def crash(_: Collection, __: int, report: bytes, *___: Any, **____: Any) -> bytes:
        reports.append(report)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("lapwing.collect.participant.seal", crash)
        clock.late()
        with pytest.raises(SystemExit):
            person.tick()
    with monkeypatch.context() as patched:
        patched.setattr(Lifetime, "report", lambda *_, **__: pytest.fail("asked again"))
        person.opt_in(collection(version=2, question="What do you earn?"))
    with closing(sqlite3.connect(tmp_path / "lifetime.db")) as database:
        kept = [report for (report,) in database.execute("SELECT report FROM answer WHERE report IS NOT NULL")]
    assert reports
    assert not kept


def test_fewer_slots_or_a_clock_that_was_ahead_do_not_silence_a_device(tmp_path: Path) -> None:
    network, clock = Network(), Clock()
    person = device(tmp_path, network, clock, collection(limits={"reports_per_day": 24, "lifetime_epsilon": 8}))
    a_day(clock, 0, person)
    person.opt_in(collection(version=2))
    clock.early(30)
    person.tick()  # for a moment the clock is a month ahead: nothing is made
    network.sent.clear()
    for day in (1, 2, 3):
        a_day(clock, day, person)
    assert len(network.sent) == 3


def test_others_on_the_same_machine_cannot_read_a_device(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    device(tmp_path, Network(), Clock())
    assert {path.name: path.stat().st_mode & 0o077 for path in tmp_path.glob("*.db")} == {
        "participant.db": 0,
        "lifetime.db": 0,
    }
