"""Strings from devices to published results, over real HTTP: what opens, what stays closed, what each party sees."""

from __future__ import annotations

import csv
import io
import json
import math
import tracemalloc
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import together
from collecting import CROWD, LATE, NOON, Keys, Parties, devices, document, free_addresses, running
from crowd_laws import delta_at, number_chance
from typer.testing import CliRunner

from lapwing.cli.commands import app
from lapwing.collect import blinding, exports, hops, oprf, reader
from lapwing.collect.analyzer import Analyzer
from lapwing.collect.batches import Batch
from lapwing.collect.collection import Collection
from lapwing.collect.courier import Delivery, HttpCourier
from lapwing.collect.crowds import Crowd
from lapwing.collect.drafts import ports_of
from lapwing.collect.handovers import Handover
from lapwing.collect.participant import Participant
from lapwing.collect.quotes import quote
from lapwing.collect.sealing import ID_BYTES, Envelope, layer_info, opened_by, random_id, sealed_for
from lapwing.collect.secret_strings import ELEMENT_BYTES
from lapwing.collect.segments import SealedSegment
from lapwing.collect.shuffled_promises import central_loss
from lapwing.collect.string_counts import StringCounts, count_interval, estimated_strings
from lapwing.collect.string_device import Question, StringDevice
from lapwing.collect.string_protocol import NAME_BYTES, StringProtocol
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter

FALSE_ALARM = 1e-6
SHARES = 2 * ELEMENT_BYTES
ISSUED = {"protocol": "SecretStrings", "threshold": 3, "length": 16, "randomness": "issuer"}
GUESSABLE = {**ISSUED, "randomness": "none"}
STRINGS: dict[str, Any] = {
    "protocol": ISSUED,
    "transport": "blinded",
    "crowd": {**CROWD, "from": "answer"},
    "limits": {"reports_per_day": 1, "lifetime_epsilon": 14},
    "days": 4,
}
NARROW = {"from": "answer", "threshold": 3, "mean_drop": 2, "sigma": "0.5", "delta": "0.01"}
SURE = 8
"""A crowd of so many is passed on unless more than 5 are dropped, whose mean is 2 and sigma 0.5: with 1e-8."""
KEYS = Keys()


def collection(**changes: Any) -> Collection:
    return reader.sign(reader.checked(document(KEYS, **{**STRINGS, **changes})), KEYS.operator)


def protocol_of(ours: Collection) -> StringProtocol:
    assert isinstance(ours.protocol, StringProtocol)
    return ours.protocol


def seed_of(ours: Collection, keys: Keys, text: str) -> bytes | None:
    """What the issuer's key makes of a string."""
    protocol = protocol_of(ours)
    given = protocol.in_epoch(ours.digest, 1).function_input(text.encode())
    return oprf.evaluate(keys.strings.secret, given) if protocol.oblivious else None


def report_of(ours: Collection, keys: Keys, text: str | None) -> bytes:
    protocol = protocol_of(ours)
    seed = None if text is None else seed_of(ours, keys, text)
    return protocol.report(ours.digest, 1, protocol.text(text), seed)[0]


def handed_over(parties: Parties, reports: list[bytes], taken: int = 0) -> None:
    """To the aggregator, by the thresholder, with so many taken before its threshold."""
    ours, key = parties.collection, parties.keys.reports.public
    info = layer_info("aggregator", ours.digest, 1)
    sealed = b"".join(sealed_for(key, random_id() + report, info) for report in reports)
    rows = np.frombuffer(sealed, dtype=np.uint8).reshape(len(reports), -1)
    data = Handover(SealedSegment(ours.digest, 1, rows), taken or max(10, len(reports))).to_bytes()
    hops.deliver(ours, "aggregator", "/segments", data, parties.keys.signing["thresholder"])


def published(parties: Parties) -> dict[str, int]:
    """The strings of the last batch, and how many messages of each were counted."""
    parties.settle()
    counts = parties.analyzer.stored()[-1].counts
    assert isinstance(counts, StringCounts)
    return {text.decode(): sum(sizes) for text, sizes in counts.sizes.items()}


@pytest.mark.parametrize("protocol", [ISSUED, pytest.param(GUESSABLE, marks=pytest.mark.sweep)], ids=["issuer", "none"])
def test_what_many_devices_send_is_published_and_what_few_send_is_not(tmp_path: Path, protocol: Any) -> None:
    changes = {"protocol": protocol, "crowd": NARROW, "limits": {"reports_per_day": 1, "lifetime_epsilon": 40}}
    with running(tmp_path, **{**STRINGS, **changes}) as parties:
        people = devices(parties, tmp_path, ["/home"] * SURE + ["my own page"] * 2 + [None])
        for moment in (NOON, LATE):
            parties.clock[0] = moment
            for person in people:
                person.tick()
        assert [person.status().envelopes for person in people] == [0] * len(people)
        parties.settle()
        [result] = parties.analyzer.results()
        [row] = result.rows()
        assert row["answer"] == "/home"
        passed_on = row["count"] - 2
        assert 3 <= passed_on <= SURE
        assert row["low"] >= passed_on
        assert (result.reports, result.plain()["taken"], result.removed) == (11, 11, 11 - passed_on)
        everything = b"".join(path.read_bytes() for path in (tmp_path / "aggregator").rglob("*") if path.is_file())
        assert b"/home" in everything
        assert b"my own page" not in everything


def test_a_string_opens_at_the_threshold_and_not_one_before_and_closed_messages_end_with_their_batch(
    tmp_path: Path,
) -> None:
    with running(tmp_path, **STRINGS) as parties:
        ours, keys = parties.collection, parties.keys
        enough, few = [report_of(ours, keys, "/home") for _ in range(3)], [report_of(ours, keys, "/rare") for _ in "ab"]
        handed_over(parties, [*enough, *few])
        assert published(parties) == {"/home": 3}
        parties.clock[0] = LATE.replace(day=18)
        handed_over(parties, [report_of(ours, keys, "/rare"), *enough])
        assert published(parties) == {"/home": 3}, "two of before and one of now do not open"
        assert [sorted(batch.counts.sizes) for batch in parties.analyzer.stored()] == [[b"/home"], [b"/home"]]
        assert parties.analyzer.together().rows()[0]["count"] == 6 + 2 * 4


def test_as_many_false_devices_as_the_threshold_open_what_they_can_send_and_one_message_counts_once(
    tmp_path: Path,
) -> None:
    with running(tmp_path, **STRINGS) as parties:
        ours, keys = parties.collection, parties.keys
        honest, false = report_of(ours, keys, "/rare"), [report_of(ours, keys, "/rare") for _ in range(3)]
        handed_over(parties, [honest, *false, false[0], false[0]])
        assert published(parties) == {"/rare": 4}


def test_false_shares_hide_somebody_elses_string_only_from_half_of_the_surplus_on(tmp_path: Path) -> None:
    with running(tmp_path, **STRINGS) as parties:
        ours, keys = parties.collection, parties.keys
        true = [report_of(ours, keys, "/home") for _ in range(6)]
        false = [true[0][:-SHARES] + bytes([0] * 31 + [place]) + bytes(32) for place in range(1, 5)]
        handed_over(parties, [false[0], *true[:2], false[1], *true[2:4], false[2], *true[4:]])  # 9 messages, 3 false
        assert published(parties) == {"/home": 9}
        parties.clock[0] = LATE.replace(day=18)
        handed_over(parties, [false[0], *true[:2], false[1], *true[2:4], false[2], true[4], false[3]])
        assert published(parties) == {}


def test_what_is_no_message_or_no_text_is_left_out(tmp_path: Path) -> None:
    with running(tmp_path, **STRINGS) as parties:
        ours, keys, protocol = parties.collection, parties.keys, protocol_of(parties.collection)
        strings, width = protocol.in_epoch(ours.digest, 1), protocol.message_bytes
        good = [report_of(ours, keys, "/home") for _ in range(3)]
        unprintable = [protocol.header + strings.message(b"\x1b[2J", b"a seed") for _ in range(3)]
        no_unicode = [protocol.header + strings.message(b"\xff\xfe", b"a seed") for _ in range(3)]
        no_share = [protocol.header + good[0][28:-SHARES] + b"\xff" * SHARES, protocol.header + bytes(width)]
        foreign = [b"LWR1" + bytes(24) + bytes(width), bytes(28 + width)]
        handed_over(parties, [*good, *unprintable, *no_unicode, *no_share, *foreign])
        assert published(parties) == {"/home": 3}
        assert parties.aggregator.totals()["no report"] == 2


def test_messages_that_cannot_open_cost_no_more_memory_than_a_few_times_their_own() -> None:
    protocol = StringProtocol(threshold=3, length=16, randomness="none")
    strings, size = protocol.in_epoch(bytes(32), 1), 20_000
    rows = np.random.default_rng(1).integers(0, 256, (size, protocol.message_bytes), dtype=np.uint8)
    strings.opened_rows(rows[:10])
    tracemalloc.start()
    assert strings.opened_rows(rows) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * rows.nbytes


class Recorder(HttpCourier):
    """Real requests, and what an observer of the device sees of them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int]] = []
        self.envelopes: list[bytes] = []

    def send(self, collection: Collection, epoch: int, envelope: bytes) -> Delivery:
        self.seen.append(("report", len(envelope)))
        self.envelopes.append(envelope)
        return super().send(collection, epoch, envelope)

    def ask(self, collection: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        self.seen.append(("tokens", len(blinded)))
        return super().ask(collection, epoch, blinded, code)

    def ask_seed(self, collection: Collection, epoch: int, blinded: bytes, code: str | None) -> bytes | None:
        self.seen.append(("seed", len(blinded)))
        return super().ask_seed(collection, epoch, blinded, code)


def recorded(parties: Parties, folder: Path, answer: Any) -> tuple[Participant, Recorder]:
    courier = Recorder()
    person = Participant(folder, courier=courier, clock=lambda: parties.clock[0].timestamp())
    person.opt_in(parties.collection)
    if answer is not None:
        person.record(answer)
    return person, courier


def layers(parties: Parties, envelope: bytes) -> tuple[bytes, bytes]:
    """The pseudonym of a report's crowd and its message, which only all parties together can find."""
    ours, keys = parties.collection, parties.keys
    sealed = Envelope.from_bytes(ours, envelope).sealed
    outer = opened_by(keys.hops["blinder"].private, sealed, layer_info("blinder", ours.digest, 1))
    assert outer is not None
    pair, payload = outer[ID_BYTES : ID_BYTES + blinding.PAIR_BYTES], outer[ID_BYTES + blinding.PAIR_BYTES :]
    inner = opened_by(keys.hops["thresholder"].private, payload, layer_info("thresholder", ours.digest, 1))
    assert inner is not None
    report = opened_by(keys.reports.private, inner[ID_BYTES:], layer_info("aggregator", ours.digest, 1))
    assert report is not None
    name = blinding.pseudonym(pair, keys.crowds.secret)
    assert name is not None
    return name, report[ID_BYTES + 28 :]


def test_a_device_does_the_same_with_an_answer_with_none_and_with_one_that_is_too_long(tmp_path: Path) -> None:
    with running(tmp_path, **STRINGS) as parties:
        people = [
            recorded(parties, tmp_path / str(place), answer) for place, answer in enumerate(["/a", None, "x" * 17])
        ]
        for moment in (NOON, LATE, LATE.replace(day=17, hour=1), LATE.replace(day=17)):
            parties.clock[0] = moment
            for person, _ in people:
                person.tick()
        seen = [courier.seen for _, courier in people]
        assert seen[0] == seen[1] == seen[2]
        assert [kind for kind, _ in seen[0]] == ["tokens", "seed", "report", "seed", "report"]
        assert len({size for kind, size in seen[0] if kind == "report"}) == 1
        strings = protocol_of(parties.collection).in_epoch(parties.collection.digest, 1)
        closed = [layers(parties, envelope) for _, courier in people for envelope in courier.envelopes][1:]
        assert len({name for name, _ in closed}) == 5, "nobody shares a crowd with whoever has no answer"
        assert len({message[:-SHARES] for _, message in closed}) == 5
        assert strings.opened([message for _, message in closed]) == []


@pytest.mark.parametrize("protocol", [ISSUED, GUESSABLE], ids=["issuer", "none"])
def test_a_lifetime_pays_for_so_many_strings_and_nothing_of_them_stays_on_the_device(
    tmp_path: Path, protocol: Any
) -> None:
    with running(tmp_path, **{**STRINGS, "protocol": protocol}) as parties:
        ours, limit = parties.collection, parties.collection.policy().periods()
        assert limit == 2
        person, courier = recorded(parties, tmp_path / "device", None)
        for day in range(16, 20):
            person.record("my own page")
            for hour in (1, 23):
                parties.clock[0] = LATE.replace(day=day, hour=hour)
                person.tick()
        key = (
            protocol_of(ours)
            .in_epoch(ours.digest, 1)
            .message(b"my own page", seed_of(ours, parties.keys, "my own page"))
        )
        messages = [layers(parties, envelope)[1] for envelope in courier.envelopes]
        told = [message[:-SHARES] == key[:-SHARES] for message in messages]
        assert told == [True, True, False, False]
        spent = person.status().spent
        assert spent is not None
        assert (spent.epsilon, spent.delta) == (2 * ours.report_loss.epsilon, 2 * ours.report_loss.delta)
        person.opt_out()
        kept = b"".join(path.read_bytes() for path in (tmp_path / "device").iterdir())
        assert b"my own page" not in kept
        assert not any(message[:-SHARES] in kept for message in messages)


def test_a_report_is_made_once_for_a_slot(tmp_path: Path) -> None:
    with running(tmp_path, **{**STRINGS, "protocol": GUESSABLE}) as parties:
        person, _ = recorded(parties, tmp_path / "device", "/home")
        device, account = person._strings(), person._account(parties.collection)
        assert isinstance(device, StringDevice)
        assert account is not None
        first = device.report(parties.collection, 1, 5, account)
        assert device.report(parties.collection, 1, 5, account) == first
        assert len(first[1]) == NAME_BYTES


def test_an_issuer_with_another_key_gets_no_string(tmp_path: Path) -> None:
    with running(tmp_path, **STRINGS) as parties:
        parties.issuer.string_keys[1] = oprf.random_scalar()
        person, courier = recorded(parties, tmp_path / "device", "/home")
        for moment in (NOON, LATE):
            parties.clock[0] = moment
            person.tick()
        [envelope] = courier.envelopes
        strings = protocol_of(parties.collection).in_epoch(parties.collection.digest, 1)
        marked = strings.message(
            b"/home", oprf.evaluate(parties.issuer.string_keys[1], strings.function_input(b"/home"))
        )
        plain = strings.message(b"/home")
        assert layers(parties, envelope)[1][:-SHARES] not in (marked[:-SHARES], plain[:-SHARES])
        assert person.status().answers == 1, "it waits for the next slot"


def test_a_string_waits_for_the_next_slot_if_its_device_is_off_when_the_report_is_due(tmp_path: Path) -> None:
    with running(tmp_path, **STRINGS) as parties:
        person, courier = recorded(parties, tmp_path / "device", "/home")
        for day, hour in ((16, 1), (17, 1), (17, 2), (17, 23)):  # on the first day it asks, and is off after that
            parties.clock[0] = LATE.replace(day=day, hour=hour)
            person.tick()
            if (day, hour) == (17, 2):
                person.record("/later")
        ours = parties.collection
        expected = report_of(ours, parties.keys, "/home")[28:-SHARES]
        assert [layers(parties, envelope)[1][:-SHARES] for envelope in courier.envelopes] == [expected]
        assert person.status().answers == 1, "what was answered after the question is for the next slot"


def test_an_issuer_answers_as_many_questions_as_it_gives_tokens(tmp_path: Path) -> None:
    with running(tmp_path, **{**STRINGS, "admission": "codes"}) as parties:
        ours, [code] = parties.collection, parties.issuer.new_codes(1)
        courier, most = HttpCourier(), ours.tokens_each(ours.epochs[0])
        blinded = Question.about(b"x").blinded
        assert courier.ask_seed(ours, 1, blinded, None) is None
        for _ in range(3):
            assert courier.ask_seed(ours, 1, blinded, code) is not None, "the same question counts once"
        key = parties.issuer.string_keys[1]
        for number in range(1, most):  # without the network, which a loop need not test
            assert parties.issuer._counted(key, parties.issuer._by_code(_request(code)) or "", 1, _body(number), most)
        assert courier.ask_seed(ours, 1, Question.about(b"z").blinded, code) is None
        address = ours.servers["issuer"].address
        statuses = [hops.post(f"{address}/seeds", body, {"x-lapwing-code": code}).status for body in (b"", b"x" * 69)]
        assert statuses == [410, 413]
        assert parties.issuer.issued() == most


def _request(code: str) -> Any:
    from lapwing.collect.http import Request

    return Request("POST", "/seeds", {b"x-lapwing-code": code.encode()}, None)  # type: ignore[arg-type]


def _body(number: int) -> bytes:
    return (1).to_bytes(4, "little") + number.to_bytes(32, "little")


def test_a_guess_opens_a_rare_string_without_the_issuer_and_not_with_it() -> None:
    """The thresholder and the aggregator together hold a message that was never passed on."""
    for protocol, guessed in ((GUESSABLE, True), (ISSUED, False)):
        ours = collection(protocol=protocol)
        strings = protocol_of(ours).in_epoch(ours.digest, 1)
        rare = report_of(ours, KEYS, "yes")[28:]
        guesses = {strings.message(guess)[:-SHARES] for guess in (b"no", b"yes", b"maybe")}
        others = [oprf.random_scalar() for _ in range(3)]
        guesses |= {
            strings.message(b"yes", oprf.evaluate(key, strings.function_input(b"yes")))[:-SHARES] for key in others
        }
        assert (rare[:-SHARES] in guesses) is guessed
    held = seed_of(ours, KEYS, "yes")  # who has the issuer's key guesses for free
    assert strings.message(b"yes", held)[:-SHARES] == rare[:-SHARES]


def test_a_crowd_has_a_name_that_needs_the_issuer_as_well() -> None:
    """Both shufflers together try out names of crowds: with the issuer's part they have nothing to try."""
    for protocol, guessed in ((GUESSABLE, True), (ISSUED, False)):
        ours = collection(protocol=protocol)
        seed = seed_of(ours, KEYS, "yes")
        name = protocol_of(ours).report(ours.digest, 1, b"yes", seed)[1]
        again = protocol_of(ours).report(ours.digest, 1, b"yes", seed)[1]
        assert name == again
        assert (name == b"string\n" + protocol_of(ours).in_epoch(ours.digest, 1).crowd(b"yes")) is guessed


def kept_law(crowd: Crowd, sizes: dict[str, int]) -> dict[Any, float]:
    law: dict[Any, float] = {}
    for numbers in product(*(range(size + 1) for size in sizes.values())):
        chance = math.prod(number_chance(k, size, crowd) for k, size in zip(numbers, sizes.values(), strict=True))
        seen = tuple(sorted((name, k) for name, k in zip(sizes, numbers, strict=True) if k >= crowd.threshold))
        law[seen] = law.get(seen, 0.0) + chance
    return law


def test_what_the_aggregator_sees_of_a_tiny_collection_costs_what_the_quote_says() -> None:
    """Exactly, for somebody who moves from one string to another, to one that nobody else has, or to none."""
    ours = collection(crowd={**CROWD, "from": "answer", "threshold": 3})
    crowd, loss = ours.crowd, central_loss(ours)
    assert crowd is not None
    assert loss == crowd.mechanism.privacy_loss() == ours.report_loss
    worst = 0.0
    for first, second in product((6, 9, 12), repeat=2):
        worlds = [
            kept_law(crowd, sizes)
            for sizes in (
                {"a": first + 1, "b": second},
                {"a": first, "b": second + 1},
                {"a": first, "b": second, "nobody else's": 1},
            )
        ]
        assert all(math.isclose(sum(world.values()), 1) for world in worlds)
        for one, other in product(worlds, repeat=2):
            worst = max(worst, delta_at(float(loss.epsilon), one, other))
    assert worst <= float(loss.delta)
    assert worst > float(loss.delta) / 4, "and not much less"


def test_intervals_hold_for_crowds_of_every_size_that_are_seen_at_all() -> None:
    crowd = collection().crowd
    assert crowd is not None
    for size in range(crowd.threshold, 40):
        chances = {k: number_chance(k, size, crowd) for k in range(crowd.threshold, size + 1)}
        seen = sum(chances.values())
        ends = {k: count_interval(crowd, k) for k in chances}
        held = sum(p for k, p in chances.items() if ends[k][0] <= size <= ends[k][1])
        assert held >= 0.95 * seen, size
    estimates = estimated_strings(StringCounts(protocol_of(collection()), {b"/a": (30, 50), b"/b": (90,)}), crowd, 400)
    assert estimates.labels == ["/b", "/a"]
    assert estimates.counts.tolist() == [94, 88]
    assert (estimates.interval()[0] < estimates.counts).all()
    assert (estimates.interval()[1] > estimates.counts).all()


@together(
    ("changes", "says"),
    [
        ({"transport": "direct"}, "transport: strings need two shufflers"),
        ({"transport": "shuffled"}, "transport: strings need two shufflers"),
        ({"crowd": {**CROWD, "from": "report"}}, "write answer"),
        ({"crowd": {**CROWD, "from": "answer", "prefix": 3}}, "crowd.prefix: a string opens as a whole"),
        ({"crowd": {**CROWD, "from": "answer", "threshold": 2}}, "is below protocol.threshold"),
        ({"crowd": {**CROWD, "from": "answer", "dummies": {"epsilon": 1, "delta": "0.01"}}}, "crowd.dummies"),
        ({"accounting": "donation"}, "accounting: lifetime"),
        ({"admission": "nobody-asked"}, "there is no issuer"),
        ({"admission": "sign-in"}, "browsers cannot send strings"),
        ({"candidates": ["/home"]}, "candidates: this protocol knows"),
        ({"limits": {"reports_per_day": 1, "lifetime_epsilon": 1}}, "is less than one report costs"),
        ({"protocol": {**ISSUED, "threshold": 1}}, "with 1 every message opens"),
        ({"protocol": {**ISSUED, "randomness": "server"}}, "must be issuer or none"),
        ({"protocol": {**ISSUED, "epsilon": 1}}, "has no epsilon"),
        ({"protocol": {"protocol": "SecretStrings"}}, "needs length"),
        ({"protocol": {**ISSUED, "version": 9}}, "is a version of SecretStrings that"),
        ({"protocol": {**ISSUED, "fingerprint": "00"}}, "is that of other parameters"),
    ],
)
def test_what_would_not_protect_strings_is_refused_with_what_to_write(changes: dict[str, Any], says: str) -> None:
    problems = reader.problems(document(KEYS, **{**STRINGS, **changes}))
    assert says in "; ".join(problems)


def test_keys_for_strings_are_asked_for_where_the_issuer_makes_seeds_and_nowhere_else() -> None:
    with_key, without = document(KEYS, **STRINGS), document(KEYS, **{**STRINGS, "protocol": GUESSABLE})
    swapped = [with_key | {"epochs": without["epochs"]}, without | {"epochs": with_key["epochs"]}]
    assert reader.problems(with_key) == reader.problems(without) == []
    assert all("string_key" in "; ".join(reader.problems(draft)) for draft in swapped)


def test_a_collection_of_strings_has_no_local_epsilon() -> None:
    ours = collection()
    with pytest.raises(InvalidParameter, match="no local protocol"):
        _ = ours.local
    words = str(quote(ours))
    assert "no local epsilon" in words
    assert "local ε" not in words
    rows = {promise.party: promise.guarantee for promise in quote(ours).promises}
    assert "question to the issuer" in rows["thresholder with aggregator"]
    assert rows["issuer with aggregator"] == rows["aggregator"]
    guessable = {promise.party: promise.guarantee for promise in quote(collection(protocol=GUESSABLE)).promises}
    assert guessable["thresholder with aggregator"].endswith("unless somebody guesses them")


def test_with_dummy_crowds_nobody_is_told_that_all_numbers_are_exact() -> None:
    dummies = {"epsilon": 8, "delta": "0.1", "crowds_up_to": 2}
    for crowd in (STRINGS["crowd"], {**STRINGS["crowd"], "dummies": dummies}):
        rows = {promise.party: promise for promise in quote(collection(crowd=crowd)).promises}
        assert ("exactly" in rows["thresholder"].learns) == ("dummies" not in crowd)
        assert ("counts exactly" in rows["thresholder"].guarantee) == ("dummies" in crowd)


@together("data", [b"", b"LWT1", b"LWT1" + bytes(16) + b"{}"])
def test_an_analyzer_takes_no_other_bytes_for_strings(data: bytes) -> None:
    with pytest.raises(InvalidParameter):
        StringCounts.from_bytes(protocol_of(collection()), data)


@together("strings", ['{"/a": [2]}', '{"/a": []}', '{"/a": 3}', "[]", '{"\\u001b": [3]}', '{"/a": [3.5]}', "x"])
def test_strings_that_no_aggregator_publishes_are_refused(strings: str) -> None:
    protocol = protocol_of(collection())
    with pytest.raises(InvalidParameter):
        StringCounts.from_bytes(protocol, b"LWT1" + protocol.fingerprint + strings.encode())


def test_results_of_strings_can_be_read_in_every_form(tmp_path: Path) -> None:
    ours = collection()
    analyzer = Analyzer(ours, tmp_path)
    for number, sizes in enumerate(({b"/a": (30,), b"/b": (9,)}, {b"/a": (20, 25)}, {}), start=1):
        batch = Batch(ours.digest, number, NOON.date(), {}, StringCounts(protocol_of(ours), sizes), 100, 0)
        assert analyzer._stored(batch.to_bytes()).status == 201
    results = json.loads(analyzer._page())
    assert [[row["answer"] for row in batch["answers"]] for batch in results["batches"]] == [["/a", "/b"], ["/a"], []]
    assert results["together"]["answers"][0]["count"] == 75 + 3 * 4
    assert results["together"]["taken"] == 300
    assert results["delta"] > 0
    table = exports.exported(results, "table").decode()
    assert "300 reports in 3 batches" in table
    assert "/a" in table
    assert "Shufflers removed 216 reports" in table
    rows = list(csv.DictReader(io.StringIO(exports.exported(results, "csv").decode())))
    assert [(row["batch"], row["answer"]) for row in rows] == [("1", "/a"), ("1", "/b"), ("2", "/a")]
    assert exports.exported(results, "parquet").startswith(b"PAR1")
    empty = {**results, "batches": results["batches"][2:], "together": results["batches"][2]}
    assert "No string was sent by enough people." in exports.exported(empty, "table").decode()


def test_a_draft_of_strings_can_be_opened(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "pages")
    protocol = StringProtocol(threshold=25, length=64, randomness="issuer")
    workspace.create(question="Which page?", strings=protocol, servers=free_addresses(ports_of("blinded")))
    assert workspace.checked() == []
    ours = workspace.open()
    assert ours.protocol == protocol
    assert ours.crowd is not None
    assert (ours.crowd.threshold, ours.policy().periods()) == (25, 8)
    assert "25 or more people" in ours.consent
    assert workspace.issuer().string_keys.keys() == {1}
    assert oprf.public_key(workspace.issuer().string_keys[1]) == ours.epochs[0].string_key
    workspace.destroy_keys("issuer", ["token", "string"], [1])
    assert workspace.issuer().string_keys == {}


def test_the_command_line_begins_a_collection_of_strings_or_says_what_to_write(tmp_path: Path) -> None:
    def words(*arguments: str) -> str:
        asked = ["collect", *arguments[:1], str(tmp_path / "pages"), *arguments[1:]]
        return " ".join(CliRunner().invoke(app, asked).output.split())

    question = ("--question", "Which page?")
    assert "--strings 32" in words("new", *question)
    assert "--strings 32" in words("new", *question, "--answers", "a, b", "--strings", "32")
    assert "must be issuer or none" in words("new", *question, "--strings", "32", "--randomness", "server")
    assert "Draft written" in words("new", *question, "--strings", "32", "--threshold", "30")
    assert "can be opened" in words("check")
    quoted = words("quote")
    assert "no local epsilon" in quoted
    assert "fewer than about" in quoted


@pytest.mark.sweep
def test_every_party_of_a_collection_of_strings_is_a_process_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    result = CliRunner().invoke(app, ["collect", "demo", "--strings", "--devices", "400", "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    assert "400 reports were acknowledged, 0 refused" in result.output
    together = Workspace(folder).analyzer().together()
    assert [row["answer"] for row in together.rows()][:1] == ["/home"]  # 240 of 400; 60 are needed at most
    assert "/my/own/page" not in [row["answer"] for row in together.rows()], "4 of 400"
