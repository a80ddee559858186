"""Answers in fragments: each an envelope of its own, through a shuffler that coins choose, at a time of its own."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from collecting import CROWD, FRAGMENTS, LATE, NOON, Keys, devices, document, free_addresses, post, running
from scipy.stats import binom, chi2
from sweeps import few
from typer.testing import CliRunner

from lapwing.cli.collect_demo import ANSWERS, SHARES, queue
from lapwing.cli.commands import app
from lapwing.collect import participant, quote, reader, sealing
from lapwing.collect.collection import Collection
from lapwing.collect.courier import Delivery
from lapwing.collect.drafts import ports_of
from lapwing.collect.exports import exported, published
from lapwing.collect.forwarder import forward
from lapwing.collect.fragment_promises import exposures, stepwise
from lapwing.collect.participant import Participant
from lapwing.collect.sealing import (
    HEAD_BYTES,
    ID_BYTES,
    Envelope,
    envelope_bytes,
    layer_info,
    opened_by,
    random_id,
    seal,
)
from lapwing.collect.shuffled_promises import consent_with_words
from lapwing.collect.simulation import population, send_answers
from lapwing.collect.workspace import Workspace
from lapwing.crowd import Lifetime
from lapwing.noise import uniform_below
from lapwing.privacy.shuffling import shuffled
from lapwing.processes import Crew

FALSE_ALARM = 1e-6
KEYS = Keys()
TWO = ("shuffler", "shuffler2")
YES_NO = {"protocol": "BinaryResponse", "yes_if_yes": "3/4", "yes_if_no": "1/4"}
WAYS: dict[str, dict[str, Any]] = {
    "report": {**FRAGMENTS["report"], "protocol": YES_NO},
    "attribute": dict(FRAGMENTS["attribute"]),
}
by_report_first = pytest.mark.parametrize("by", few(["report", "attribute"], stays=1))
by_attribute_first = pytest.mark.parametrize("by", few(["attribute", "report"], stays=1))


def changes(by: str, shufflers: tuple[str, ...] = TWO) -> dict[str, Any]:
    return {"transport": "shuffled", "shufflers": shufflers, "days": 2, **WAYS[by]}


def collection(by: str, shufflers: tuple[str, ...] = TWO, **more: Any) -> Collection:
    return reader.sign(reader.checked(document(KEYS, **{**changes(by, shufflers), **more})), KEYS.operator)


# --- from devices to an estimate --------------------------------------------------------------------------------------


@by_report_first
def test_what_devices_answer_in_fragments_becomes_an_estimate(tmp_path: Path, by: str) -> None:
    answer = {"report": True, "attribute": "bike"}[by]
    publishing = {"smallest_batch": 3, "every_hours": 1}
    with running(tmp_path, **changes(by), publishing=publishing) as parties:
        people = devices(parties, tmp_path, [answer] * 10)
        for moment in (NOON, LATE):
            parties.clock[0] = moment
            for person in people:
                person.tick()
        assert parties.ingestor.totals["stored"] == 30
        counted = parties.settle()
        totals = [shuffler.totals() for shuffler in parties.shufflers.values()]
        assert sum(total["taken"] for total in totals) == 30
        assert min(total["taken"] for total in totals) >= 3, "each has a batch of its own (but for one of 10⁶ runs)"
        assert len(parties.analyzer.results()) == (counted > 0)
        for result in parties.analyzer.results():
            assert result.removed == 30 - counted
            assert result.fragments == counted
            assert result.plain()["taken"] == 30
            assert f"removed {30 - counted} of 30 fragments" in result.missing()
            assert ("allow for what is missing" in result.missing()) == (by == "report")
        for shuffler in parties.shufflers.values():
            assert not list(shuffler.incoming.iterdir())
            assert not list(shuffler.outgoing.iterdir())
        assert not list(parties.sealer.folders.sealed.iterdir())


def sent_by(people: Collection, answers: Sequence[Any]) -> bytes:
    """The envelopes of many devices, where nobody asks for tokens."""
    assert people.fragments is not None
    wholes = [people.whole.randomize([answer]).to_bytes() for answer in answers]
    fragments = [fragment for whole in wholes for fragment in people.fragments.split(whole)]
    return b"".join(Envelope(1, random_id(), seal(people, 1, fragment)).to_bytes() for fragment in fragments)


@by_attribute_first
def test_estimates_are_as_close_as_they_say(tmp_path: Path, by: str) -> None:
    answers = {"report": [True] * 90 + [False] * 30, "attribute": ["bike"] * 60 + ["bus"] * 40 + ["car"] * 20}[by]
    with running(tmp_path, **changes(by), admission="nobody-asked") as parties:
        assert post(parties, sent_by(parties.collection, answers)).status == 201
        parties.settle()
        [result] = parties.analyzer.results()
        estimates, z = result.estimates, NormalDist().inv_cdf(1 - FALSE_ALARM / 8)
        assert estimates.n == result.reports
        low, high = estimates.interval()
        assert ((low <= estimates.counts) & (estimates.counts <= high)).all()
        for place, label in enumerate(estimates.labels):
            error, truth = estimates.sample_standard_error[place], answers.count(label) / 120 * estimates.n
            assert low[place] - z * error <= truth <= high[place] + z * error


def test_fragments_go_through_oblivious_shufflers_to_an_estimate(tmp_path: Path) -> None:
    with running(tmp_path, **changes("attribute"), admission="nobody-asked") as parties:
        for server in parties.shufflers.values():
            server.oblivious = True
        assert post(parties, sent_by(parties.collection, ["bike"] * 60)).status == 201
        counted = parties.settle()
        [result] = parties.analyzer.results()
        assert result.fragments == counted > 0
        assert result.removed == 180 - counted


def test_a_shuffler_that_is_away_does_not_hold_up_the_others(tmp_path: Path) -> None:
    with running(tmp_path, **changes("report"), admission="nobody-asked") as parties:
        parties.collection.servers["shuffler"]
        away = dict(parties.collection.servers)
        away["shuffler"] = type(away["shuffler"])("http://127.0.0.1:9", away["shuffler"].key)
        assert post(parties, sent_by(parties.collection, [True] * 20)).status == 201
        parties.ingestor.intake.rotate(now=True)
        parties.sealer.seal()
        object.__setattr__(parties.sealer.collection, "servers", away)
        assert forward(parties.sealer, parties.keys.ingestor) == 1
        [waits] = parties.sealer.folders.sealed.iterdir()
        assert waits.stem.endswith("-shuffler")


def test_a_fragment_for_no_shuffler_of_the_collection_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, **changes("report"), admission="nobody-asked") as parties:
        whole = sent_by(parties.collection, [True])
        size = envelope_bytes(parties.collection)
        lost = whole[:HEAD_BYTES] + b"\3" + whole[HEAD_BYTES + 1 :]
        assert post(parties, lost[:size]).status == 403
        assert post(parties, lost).status == 201
        assert parties.ingestor.totals["no such shuffler"] == 2
        assert parties.ingestor.totals["stored"] == 2


@pytest.mark.sweep
def test_a_shuffler_cannot_open_what_is_for_another(tmp_path: Path) -> None:
    """An ingestor that sends fragments elsewhere only loses them."""
    with running(tmp_path, **changes("report"), admission="nobody-asked") as parties:
        names = {0: b"\1", 1: b"\2"}
        body = sent_by(parties.collection, [True] * 10)
        size = envelope_bytes(parties.collection)
        rows = [body[start : start + size] for start in range(0, len(body), size)]
        swapped = [row[:HEAD_BYTES] + names[row[HEAD_BYTES] % 2] + row[HEAD_BYTES + 1 :] for row in rows]
        assert post(parties, b"".join(swapped)).status == 201
        assert parties.settle() == 0
        wrong = [shuffler.totals().get("sealed for another key", 0) for shuffler in parties.shufflers.values()]
        assert sum(wrong) in (0, 30)  # those that are too few for a batch wait


# --- the way of a fragment --------------------------------------------------------------------------------------------


class Network:
    """What an observer of the network sees."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.outcome = Delivery.STORED

    def send(self, _: Collection, epoch: int, envelope: bytes) -> Delivery:
        self.sent.append(envelope)
        return self.outcome

    def ask(self, _: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        raise AssertionError("nobody asks for tokens here")


class Clock:
    def __init__(self) -> None:
        self.now = NOON.replace(hour=0)

    def __call__(self) -> float:
        return self.now.timestamp()


FREE = {"admission": "nobody-asked", "days": 45}


def device(folder: Path, network: Network, clock: Clock, poll: Collection) -> Participant:
    person = Participant(folder, courier=network, clock=clock)
    person.opt_in(poll)
    return person


def opened_fragment(poll: Collection, envelope: bytes) -> tuple[int, bytes, bytes]:
    """Number of the shuffler, inner id and fragment: what shuffler and aggregator find together."""
    sealed = Envelope.from_bytes(poll, envelope).sealed
    party = poll.shufflers[sealed[0] - 1]
    inside = opened_by(KEYS.hops[party].private, sealed[1:], layer_info(party, poll.digest, 1))
    assert inside is not None
    report = sealing.opened(poll, 1, KEYS.reports.private, inside[ID_BYTES + 32 :])
    assert report is not None
    return sealed[0], *report


def test_the_shuffler_is_uniform_and_does_not_depend_on_the_answer() -> None:
    """One shuffler for each fragment, independent of its content and of the fragment before: three tables of counts."""
    poll = collection("report", ("shuffler", "shuffler2", "shuffler3"))
    assert poll.fragments is not None
    whole = {answer: poll.whole.randomize([answer]).to_bytes() for answer in (True, False)}
    counts = {answer: np.zeros((3, 3)) for answer in (True, False)}
    for answer, bundle in whole.items():
        for _ in range(150):
            first, second = (seal(poll, 1, fragment)[0] - 1 for fragment in poll.fragments.split(bundle)[:2])
            counts[answer][first, second] += 1
    for table in counts.values():  # all nine pairs alike: uniform, and two fragments independent
        assert chi2.sf(((table - 150 / 9) ** 2 / (150 / 9)).sum(), 8) > FALSE_ALARM


def test_every_fragment_has_a_time_of_its_own(tmp_path: Path) -> None:
    clock, poll = Clock(), collection("report", **FREE)
    person = device(tmp_path, Network(), clock, poll)
    days, quarters = 40, []
    for _ in range(days):  # the first tick of a day draws the times of its fragments
        person.tick()
        with closing(sqlite3.connect(tmp_path / "participant.db")) as database:
            rows = database.execute("SELECT due FROM slot WHERE made = 0 ORDER BY number").fetchall()
        start = int(clock() * 1000)
        quarters.append([(due - start) // (86_400_000 // 4) for (due,) in rows])
        clock.now += timedelta(days=1)
    assert all(len(row) == 3 for row in quarters)
    same = sum(row[0] == row[1] for row in quarters)
    low, high = binom.ppf([FALSE_ALARM / 8, 1 - FALSE_ALARM / 8], days, 1 / 4)
    assert low <= same <= high, "two times are independent"
    for place in range(3):
        early = sum(row[place] < 2 for row in quarters)
        low, high = binom.ppf([FALSE_ALARM / 8, 1 - FALSE_ALARM / 8], days, 1 / 2)
        assert low <= early <= high, "and each is uniform"


def a_day(person: Participant, clock: Clock, day: int, hours: Sequence[int] = (0, 24)) -> None:
    start = NOON.replace(hour=0) + timedelta(days=day)
    for hour in hours:
        clock.now = start + timedelta(hours=hour) - timedelta(milliseconds=1 if hour else 0)
        person.tick()


@by_attribute_first
def test_a_device_sends_each_fragment_once_and_no_bytes_repeat(tmp_path: Path, by: str) -> None:
    network, clock, poll = Network(), Clock(), collection(by, **FREE)
    person = device(tmp_path, network, clock, poll)
    assert poll.fragments is not None
    bodies = set[bytes]()
    for day in range(3):
        person.record(True if by == "report" else "bus")
        network.sent.clear()
        a_day(person, clock, day)
        a_day(person, clock, day, (24,))
        assert len(network.sent) == poll.messages_each == 3
        assert {len(envelope) for envelope in network.sent} == {envelope_bytes(poll)}
        pieces = [opened_fragment(poll, envelope) for envelope in network.sent]
        with closing(sqlite3.connect(tmp_path / "lifetime.db")) as database:
            whole = database.execute("SELECT report FROM answer ORDER BY period DESC").fetchone()[0]
        assert sorted(fragment for _, _, fragment in pieces) == sorted(poll.fragments.split(bytes(whole)))
        for envelope, (_, inner, _) in zip(network.sent, pieces, strict=True):
            sealed = envelope[HEAD_BYTES + 1 :]
            bodies |= {inner, envelope[4:20], sealed, sealed[:32], sealed[-64:]}
    assert len(bodies) == 9 * 5, "ids, keys and cipher texts are fresh for every fragment"
    status = person.status()
    assert status.spent is not None
    assert status.spent.epsilon == 3 * poll.whole.privacy_loss().epsilon


def test_a_crash_between_fragments_makes_no_second_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, clock, poll = Network(), Clock(), collection("report", **FREE)
    assert poll.fragments is not None
    person, original, calls = device(tmp_path, network, clock, poll), Participant._post, [0]
    person.record(True)

    def crashing(self: Participant, *what: Any) -> None:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt  # amid the transaction of the second fragment
        original(self, *what)

    monkeypatch.setattr(Participant, "_post", crashing)
    with pytest.raises(KeyboardInterrupt):
        a_day(person, clock, 0)
    with closing(sqlite3.connect(tmp_path / "lifetime.db")) as database:
        [whole] = database.execute("SELECT report FROM answer").fetchone()
    network.outcome = Delivery.LATER
    again = Participant(tmp_path, courier=network, clock=clock)
    again.record(False)  # for the next slot: this one has begun
    again.tick()
    again.tick()
    network.outcome = Delivery.STORED
    again.tick()
    envelopes = set(network.sent)  # what was sent again was the same
    assert len(envelopes) == 3
    pieces = sorted(opened_fragment(poll, envelope)[2] for envelope in envelopes)
    assert pieces == sorted(poll.fragments.split(bytes(whole)))
    assert again.status().answers == 1
    assert again.status().spent == Lifetime(poll.policy(), tmp_path / "lifetime.db").spent()


def test_leaving_between_fragments_sends_no_more(tmp_path: Path) -> None:
    network, clock, poll = Network(), Clock(), collection("report", **FREE)
    person = device(tmp_path, network, clock, poll)
    person.record(True)
    a_day(person, clock, 0, (0, *range(1, 24)))
    sent = len(network.sent)
    person.opt_out()
    a_day(person, clock, 0, (24,))
    assert len(network.sent) == sent
    with closing(sqlite3.connect(tmp_path / "lifetime.db")) as database:
        assert database.execute("SELECT COUNT(*) FROM answer WHERE report IS NOT NULL").fetchone()[0] == 0


# --- who tries to link them -------------------------------------------------------------------------------------------

HOURS = (0, 8, 16, 24)
Seen = tuple[int, int, int, bytes]
"""Day, tick, number of the shuffler, inner id."""


def watched(folder: Path, poll: Collection, people: int, days: int) -> Iterator[tuple[int, Seen]]:
    """What ingestor, shufflers and aggregator together see of each fragment, and (not for them) whose it is."""
    for number in range(people):
        network, clock = Network(), Clock()
        person = device(folder / str(number), network, clock, poll)
        for day in range(days):
            for hour in HOURS:
                network.sent.clear()
                a_day(person, clock, day, (hour,))
                for envelope in network.sent:
                    shuffler, inner, _ = opened_fragment(poll, envelope)
                    yield number, (day, hour, shuffler, inner)


def linked(fragments: Sequence[tuple[int, Seen]]) -> tuple[int, int, int]:
    """Pairs of fragments of one person and day; those that share an id; and those at one time through one shuffler."""
    groups: dict[tuple[int, int], list[Seen]] = {}
    for person, seen in fragments:
        groups.setdefault((person, seen[0]), []).append(seen)
    ordered = [sorted(group, key=lambda seen: seen[3]) for group in groups.values()]  # ids are random
    pairs = [(group[0], group[1]) for group in ordered if len(group) > 1]
    by_id = sum(first[3] == second[3] for first, second in pairs)
    return len(pairs), by_id, sum(first[1:3] == second[1:3] for first, second in pairs)


def is_linkable(pairs: int, by_id: int, by_way: int) -> bool:
    """Whether more pairs can be linked than independent times and shufflers allow."""
    chance = 1 / (len(HOURS) - 1) / len(TWO)
    return by_id > 0 or by_way > binom.isf(FALSE_ALARM, pairs, chance)


def test_nobody_can_link_fragments_by_their_way_and_a_device_that_lets_them_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = collection("report", **FREE)
    honest = linked(list(watched(tmp_path / "honest", poll, people=1, days=9)))
    assert honest[0] == 9
    assert not is_linkable(*honest)

    def same_time(n: int, *, entropy: Any) -> int:
        return 5 if n < 10**9 else int(uniform_below(n, entropy=entropy))

    with monkeypatch.context() as mutant:  # all fragments of a slot at once, through one shuffler
        mutant.setattr(participant, "uniform_below", same_time)
        mutant.setattr(participant, "drawn_shuffler", lambda *_: 1)
        assert is_linkable(*linked(list(watched(tmp_path / "at-once", poll, people=1, days=9))))
    with monkeypatch.context() as mutant:  # and with a common id
        mutant.setattr(sealing, "random_id", lambda *_: bytes(16))
        assert is_linkable(*linked(list(watched(tmp_path / "one-id", poll, people=1, days=2))))


# --- the file, the quote, the text ------------------------------------------------------------------------------------


def problems(by: str = "report", **more: Any) -> str:
    return "; ".join(reader.problems(document(KEYS, **{**changes(by), **more})))


def test_a_file_with_fragments_that_do_not_fit_says_what_to_write() -> None:
    assert not problems()
    assert not problems("attribute")
    assert "write transport: shuffled" in problems(transport="blinded", shufflers=("blinder", "thresholder"))
    assert "write accounting: lifetime" in problems(accounting="donation")
    assert "write from: position" in problems("attribute", crowd=dict(CROWD))
    assert "write from: report" in problems(crowd={**CROWD, "from": "position"})
    assert "write from: report" in problems(crowd={**CROWD, "from": "position"}, fragments={"by": "report", "count": 2})
    assert "delete it" in problems("attribute", fragments={"by": "attribute", "count": 3})
    assert "fragments: must be" in problems(fragments={"by": "letter"})
    assert "fragments: must be" in problems(fragments=3)
    assert "fragments.count" in problems(fragments={"by": "report"})
    assert "fragments.count" in problems(fragments={"by": "report", "count": 1})
    assert "without a gap" in problems(shufflers=("shuffler", "shuffler3"))
    assert "no bits" in problems("attribute", protocol=YES_NO)
    strings = {"protocol": "SecretStrings", "threshold": 20, "length": 16, "randomness": "none"}
    assert "fragments: a string is sent whole" in problems(protocol=strings)
    dummies = {**CROWD, "dummies": {"epsilon": 1, "delta": "0.000001"}}
    assert "crowd.dummies: are for crowds of an answer; delete them" in problems(crowd=dummies)
    assert "or write from: answer" not in problems(crowd=dummies), "fragments have no crowds of answers"
    mean = {"protocol": "StochasticRounding", "epsilon": "1", "bounds": ["0", "1"]}
    assert "does not estimate counts" in problems(protocol=mean)
    assert "is less than one report costs" in problems(limits={"reports_per_day": 1, "lifetime_epsilon": 2})
    many = {"reports_per_day": 24, "lifetime_epsilon": 24}
    assert "tokens for an epoch" in problems(limits=many, days=45)
    assert not problems(limits=many, days=45, admission="nobody-asked")
    whole = document(KEYS, **changes("report"))
    del whole["fragments"]
    assert "shuffler2: has nothing to do without fragments" in "; ".join(reader.problems(whole))
    epoch = whole["epochs"][0]
    assert "the same key" in problems(epochs=[{**epoch, "shuffler2_key": epoch["shuffler_key"]}])


def test_tokens_and_lifetime_pay_for_all_fragments() -> None:
    poll, bits = collection("report"), collection("attribute")
    assert poll.tokens_each(poll.epochs[0]) == bits.tokens_each(bits.epochs[0]) == 3 * (2 + 2)
    assert poll.policy().periods() == int(24 / (3 * poll.protocol.privacy_loss().epsilon))
    assert bits.policy().periods() == int(8 / bits.protocol.privacy_loss().epsilon)


REAL = {"publishing": {"smallest_batch": 1_000, "every_hours": 1}}
LARGE = {**CROWD, "threshold": 500, "mean_drop": 10, "sigma": 2, "delta": "0.000002"}


def real(by: str, shufflers: int = 3) -> Collection:
    names = ("shuffler", "shuffler2", "shuffler3")[:shufflers]
    crowd = {**LARGE, "from": "report" if by == "report" else "position"}
    return collection(by, names, crowd=crowd, **REAL)


@by_attribute_first
def test_a_quote_has_rows_for_shufflers_that_work_together(by: str) -> None:
    poll = real(by)
    rows = {promise.party: promise.guarantee for promise in quote(poll).promises}
    assert {
        "one of 3 shufflers",
        "one of 3 shufflers with aggregator",
        "2 of 3 shufflers with aggregator",
    } <= rows.keys()
    local = poll.whole.privacy_loss().epsilon
    assert rows["all shufflers with aggregator"].startswith(f"local ε = {float(local):.6g}"[:12])
    assert "against no answer" in rows["aggregator"]
    text = quote(poll).explain()
    assert "There are 3 shufflers. An attacker who corrupts 2" in text
    assert "3 fragments" in text
    alone = {promise.party for promise in quote(real(by, 1)).promises}
    assert {"shuffler", "shuffler with aggregator"} <= alone


@by_report_first
def test_what_colluding_shufflers_see_has_the_law_that_is_stated(by: str) -> None:
    poll = real(by)
    for colluders in (1, 2, 3):
        rows = exposures(poll, colluders)
        assert sum(row.probability for row in rows) == 1
        assert [row.epsilon for row in rows] == sorted(row.epsilon for row in rows)
        assert rows[-1].epsilon == min(
            poll.whole.privacy_loss().epsilon, rows[-1].fragments * poll.message.privacy_loss().epsilon
        )
    assert exposures(poll, 3)[-1].probability == 1


def test_steps_are_never_cheaper_than_their_sum_and_never_dearer_than_local() -> None:
    loss, delta = real("report").message.privacy_loss(), Fraction(1, 10**6)
    for n in (20, 500):
        single = shuffled(loss, n, delta).epsilon
        for steps in (1, 3):
            assert steps * single <= stepwise(loss, n, steps, delta) <= steps * loss.epsilon
    assert stepwise(loss, 500, 3, delta) < 3 * loss.epsilon / 2


def test_the_text_to_agree_to_speaks_of_parts(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(
        question="How?", answers=["bus", "bike"], transport="shuffled", fragments={"by": "attribute"}, shufflers=2
    )
    signed = workspace.open()
    assert "sent in several parts" in signed.consent
    assert signed.shufflers == TWO
    assert signed.epochs[0].hop_keys["shuffler"] != signed.epochs[0].hop_keys["shuffler2"]
    assert workspace.shuffler("shuffler2").party == "shuffler2"
    assert "several parts" not in consent_with_words(signed.consent, "shuffled", "report")


def test_an_operator_begins_a_collection_in_fragments(tmp_path: Path) -> None:
    run, folder = CliRunner().invoke, tmp_path / "commute"
    begin = ["collect", "new", str(folder), "--question", "How?", "--answers", "bus, bike"]
    for wrong in (["--shufflers", "2"], ["--fragments", "letters"], ["--fragments", "3", "--shufflers", "10"]):
        assert run(app, [*begin, *wrong]).exit_code != 0
        assert not folder.exists()
    assert run(app, [*begin, "--fragments", "3", "--shufflers", "2"]).exit_code == 0
    opened = run(app, ["collect", "open", str(folder)])
    assert "serve shuffler2" in opened.output
    signed = Workspace(folder).collection()
    assert signed.messages_each == 3
    assert signed.policy().periods() == 8


@pytest.mark.sweep
def test_every_shuffler_is_a_process_of_its_own(tmp_path: Path) -> None:
    workspace, servers = Workspace(tmp_path), free_addresses(ports_of("shuffled", 2))
    workspace.create(
        question="How?",
        answers=["bus", "bike"],
        servers=servers,
        publishing={"smallest_batch": 60, "every_hours": 1},
        transport="shuffled",
        fragments={"by": "report", "count": 2},
        shufflers=2,
    )
    poll = workspace.open()
    with closing(Crew("lapwing.collect.child:party")) as crew:
        for party in poll.servers:
            crew.start(party, {"folder": str(tmp_path), "party": party, "seal_after": 1.0})
        for party in poll.servers:
            crew.fact(party, "address", time.monotonic() + 60)
        assert send_answers(poll, ["bus"] * 100).stored == 100
        deadline = time.monotonic() + 120
        while not workspace.analyzer().stored():
            assert time.monotonic() < deadline, "no batch was published"
            time.sleep(0.2)
        status = CliRunner().invoke(app, ["collect", "status", str(tmp_path)]).output
    result = workspace.analyzer().together()
    assert result.fragments is not None
    assert result.fragments + result.removed >= 60
    assert "shuffler2" in status
    table = exported(published(workspace), "table").decode()
    assert "fragments, of about" in table


@pytest.mark.parametrize("wrong", [["--strings"], ["--transport", "blinded"]], ids=" ".join)
def test_a_demonstration_in_fragments_refuses_what_has_none(tmp_path: Path, wrong: list[str]) -> None:
    folder = tmp_path / "demo"
    refused = CliRunner().invoke(app, ["collect", "demo", "--fragments", "--folder", str(folder), *wrong])
    assert refused.exit_code != 0
    assert "Write --fragments alone" in refused.output
    assert not folder.exists()


def test_the_demonstration_has_every_answer_among_the_first_devices() -> None:
    people, first = queue(ANSWERS, SHARES, 4000), 2000
    assert sorted(people) == sorted(population(ANSWERS, SHARES, 4000))
    reach = math.sqrt(math.log(2 * len(ANSWERS) / FALSE_ALARM) / 2 / first)  # Hoeffding 1963, also without replacement
    for answer, share in zip(ANSWERS, SHARES, strict=True):
        assert people[:first].count(answer) / first == pytest.approx(share, abs=reach)


@pytest.mark.sweep
def test_the_demonstration_in_fragments_publishes_estimates(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shown = CliRunner().invoke(app, ["collect", "demo", "--fragments", "--devices", "150", "--folder", str(folder)])
    assert shown.exit_code == 0, shown.output
    assert "shuffler2" in shown.output
    assert "each in 4 fragments" in shown.output
    result = Workspace(folder).analyzer().together()
    assert result.fragments is not None
    assert f"{result.fragments:,} fragments of complete batches" in shown.output
    assert result.fragments + result.removed >= 200
