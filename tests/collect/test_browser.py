"""The client for browsers: the same bytes as the library's, and real requests to real servers."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from browser import FRONTEND, needs_node
from collecting import CROWD, NOON, Keys, Parties, running
from in_node import in_node
from in_node import signed as signed_by
from scipy.stats import binom

from lapwing.collect import blinding, oprf, reader, tokens
from lapwing.collect.crowds import CROWD_BYTES, crowd_id
from lapwing.collect.participant import Participant
from lapwing.collect.relay import answered, unwrapped
from lapwing.collect.sealing import ID_BYTES, Envelope, envelope_bytes, layer_info, opened, opened_by
from lapwing.collect.workspace import _exact
from lapwing.crowd import Reports
from lapwing.crowd.catalogue import protocol_from
from lapwing.errors import InvalidParameter

FALSE_ALARM = 1e-6
VECTOR = json.loads((Path(__file__).parent / "vectors" / "wire.json").read_text(encoding="utf-8"))
KEYS = Keys()
signed = partial(signed_by, KEYS)
MILLISECONDS = int(NOON.timestamp() * 1000)


def test_the_signed_file_is_read_alike_and_changes_are_noticed() -> None:
    odd = signed(question='Wie geht\'s? 😀 "é"\n\t\u2028\u007f\\')
    changed = odd.to_json().decode().replace("Wie", "Was")
    read, vector, refused = in_node(
        {"job": "read", "text": odd.to_json().decode()},
        {"job": "read", "text": VECTOR["collection"]},
        {"job": "refused", "text": changed},
    )
    assert read == {"hash": odd.digest.hex(), "operator": KEYS.operator.public.hex(), "answers": 8, "epochs": 1}
    assert vector["hash"] == VECTOR["hash"]
    assert refused["refused"]
    assert "do not take part" in refused["why"]


def test_what_a_browser_seals_opens_here_and_its_tokens_are_redeemed() -> None:
    collection = signed()
    text, report = collection.to_json().decode(), collection.protocol.randomize(["bike"]).to_bytes()
    [asked] = in_node({"job": "request", "epoch": 1, "count": 3})
    answer = tokens.issue(KEYS.tokens.secret, bytes.fromhex(asked["body"])[4:])
    key = KEYS.tokens.public.hex()
    [got] = in_node({"job": "tokens", "kept": asked["kept"], "key": key, "answer": answer.hex()})
    [made] = in_node({"job": "seal", "text": text, "report": report.hex(), "token": got["tokens"][0]})
    envelope = Envelope.from_bytes(collection, bytes.fromhex(made["envelope"]))
    assert tokens.redeemable(KEYS.tokens.secret, collection, envelope)
    inside = opened(collection, 1, KEYS.reports.private, envelope.sealed)
    assert inside is not None
    assert inside[1] == report
    [wrapped] = in_node({"job": "wrap", "text": text, "envelope": made["envelope"]})
    unpacked = unwrapped(collection, {1: KEYS.gateway}, bytes.fromhex(wrapped["body"]))
    assert unpacked == (bytes.fromhex(wrapped["key"]), bytes.fromhex(made["envelope"]))
    sent = answered(bytes.fromhex(wrapped["key"]), 201).hex()
    assert in_node({"job": "status", "key": wrapped["key"], "answer": sent}) == [{"status": 201}]


def test_the_vectors_of_the_wire_hold_in_browsers_too() -> None:
    kept = {"epoch": 1, "ids": [VECTOR["id"]], "blinds": [VECTOR["blind"]], "blinded": [VECTOR["blinded"]]}
    key = reader.read(VECTOR["collection"]).epochs[0].token_key.hex()
    answer = VECTOR["evaluated"] + VECTOR["proof"]
    got, status = in_node(
        {"job": "tokens", "kept": kept, "key": key, "answer": answer},
        {"job": "status", "key": VECTOR["answer_key"], "answer": VECTOR["relayed_201"]},
    )
    assert got["tokens"] == [{"epoch": 1, "id": VECTOR["id"], "secret": VECTOR["token"]}]
    assert status == {"status": 201}


def test_a_browser_refuses_tokens_of_another_key() -> None:
    [asked] = in_node({"job": "request", "epoch": 1, "count": 2})
    answer = tokens.issue(Keys().tokens.secret, bytes.fromhex(asked["body"])[4:])
    with pytest.raises(AssertionError, match="roof"):
        in_node({"job": "tokens", "kept": asked["kept"], "key": KEYS.tokens.public.hex(), "answer": answer.hex()})


PROTOCOLS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "yes or no": ({"protocol": "BinaryResponse", "yes_if_yes": "3/4", "yes_if_no": "1/4"}, [True, False, None]),
    "one of three": (
        {"protocol": "UnaryEncoding", "one_if_true": "3/4", "one_if_other": "1/4", "domain": ["a", "b", "c"]},
        [0, 2, None],
    ),
    "a category": ({"protocol": "CategoryResponse", "keep": "1/2", "domain": ["a", "b", "c"]}, [0, 1, None]),
    "a number": ({"protocol": "StochasticRounding", "flip": "1/4", "bounds": ["0", "24"]}, ["0", "6", "24", None]),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_over_all_words_a_browser_reports_with_the_odds_of_the_library(name: str) -> None:
    """All words that differ in their first two bits: with odds of quarters these are the exact probabilities."""
    written, answers = PROTOCOLS[name]
    collection = signed(protocol=written, limits={"reports_per_day": 1, "lifetime_epsilon": 30})
    protocol = protocol_from(written)
    draws = 3 if name == "one of three" else 2
    words = [[str(quarter << 62) for quarter in quarters] for quarters in product(range(4), repeat=draws)]
    text = collection.to_json().decode()
    for answer in answers:
        jobs = [
            {"job": "report", "text": text, "answer": answer, "words": [*some, "0", "0", "0", "0"]} for some in words
        ]
        counts = Counter(
            int(Reports.from_bytes(protocol, bytes.fromhex(result["report"])).columns[0].ravel()[0])
            for result in in_node(*jobs)
        )
        law = {value: Fraction(count, len(words)) for value, count in counts.items()}
        assert law == _law(name, answer), (name, answer)


def _law(name: str, answer: Any) -> dict[int, Fraction]:
    quarter = Fraction(1, 4)
    if name == "yes or no":
        return {1: 3 * quarter, 0: quarter} if answer else {0: 3 * quarter, 1: quarter}
    if name == "one of three":
        ones = [3 * quarter if place == answer else quarter for place in range(3)]
        law = {}
        for bits in product((0, 1), repeat=3):
            chance = Fraction(1)
            for bit, one in zip(bits, ones, strict=True):
                chance *= one if bit else 1 - one
            law[sum(bit << place for place, bit in enumerate(bits))] = chance
        return law
    if name == "a category":
        if answer is None:  # a word that begins with 3 draws again; after two of them these words give a zero
            return {0: Fraction(6, 16), 1: Fraction(5, 16), 2: Fraction(5, 16)}
        return {place: Fraction(1, 2) if place == answer else quarter for place in range(3)}
    share = {"0": Fraction(0), "6": quarter, "24": Fraction(1), None: Fraction(1, 2)}[answer]
    one = quarter + share / 2
    return {value: chance for value, chance in ((1, one), (0, 1 - one)) if chance}


def test_the_browsers_own_generator_has_these_odds() -> None:
    collection = signed()
    text, n = collection.to_json().decode(), 4_000
    [made] = in_node({"job": "sample", "text": text, "answer": 1, "count": n})
    rows = [Reports.from_bytes(collection.protocol, bytes.fromhex(report)) for report in made["reports"]]
    counts = collection.protocol.absorb(None, Reports.together(rows)).table.tolist()
    other = float(Fraction(collection.document["protocol"]["one_if_other"]))
    for place, count in enumerate(counts):
        odds = 0.5 if place == 1 else other
        tail = min(binom.cdf(count, n, odds), binom.sf(count - 1, n, odds))
        assert tail > FALSE_ALARM / 6


@pytest.mark.parametrize("relay", [False, True], ids=["directly", "through a relay"])
def test_browsers_take_part_over_real_requests(tmp_path: Path, relay: bool) -> None:
    exact = _exact({"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["bus", "bike", "car"]})
    limits = {"reports_per_day": 1, "lifetime_epsilon": 8, "answers": 8}
    with running(tmp_path, relay=relay, protocol=exact, limits=limits) as parties:
        text = parties.collection.to_json().decode()
        day = 86_400_000
        steps = [
            {"now": MILLISECONDS, "answer": 1},  # nothing without consent
            {"now": MILLISECONDS, "optIn": True, "answer": 1},
            {"now": MILLISECONDS + 1000, "answer": 2},  # the slot is used
            {"now": MILLISECONDS + day, "network": "down", "answer": 0},
            {"now": MILLISECONDS + day, "answer": 0},  # the same bytes again
            {"now": MILLISECONDS + 2 * day, "crash": 1, "answer": 0},
            {"now": MILLISECONDS + 2 * day, "answer": 2},  # the power failed after the slot was marked: no answer
            {"now": MILLISECONDS, "answer": 0},  # the clock went back
            {"now": MILLISECONDS + 2 * day, "optOut": True, "answer": 0},
        ]
        [life] = in_node({"job": "live", "text": text, "steps": steps})
        assert len(life["sent"]) == 3
        assert [entry["left"] for entry in life["log"]] == [8, 7, 7, 6, 6, 5, 5, 5]
        assert [entry["done"] for entry in life["log"]] == [True, True, True, False, True, True, True, True]
        assert parties.ingestor.totals["stored"] == 3
        assert '"tokens":[]' in life["log"][-1]["kept"]
        many = [{"job": "live", "text": text, "steps": [{"now": MILLISECONDS, "optIn": True, "answer": 0}]}] * 9
        in_node(*many)
        parties.clock[0] = NOON + timedelta(days=1)
        assert parties.settle() == 12
        assert parties.analyzer.together().reports == 12


def test_who_leaves_in_a_browser_and_returns_goes_on_with_the_tokens_of_the_epoch(tmp_path: Path) -> None:
    exact = _exact({"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["bus", "bike", "car"]})
    limits = {"reports_per_day": 1, "lifetime_epsilon": 8, "answers": 8}
    with running(tmp_path, protocol=exact, limits=limits, admission="codes") as parties:
        [code] = parties.issuer.new_codes(1)
        steps = [
            {"now": MILLISECONDS, "optIn": True, "answer": 1},
            {"now": MILLISECONDS, "optOut": True, "skip": True},
            {"now": MILLISECONDS + 86_400_000, "optIn": True, "answer": 2},
        ]
        [life] = in_node({"job": "live", "text": parties.collection.to_json().decode(), "steps": steps, "code": code})
        assert parties.ingestor.totals["stored"] == len(set(life["sent"])) == 2
        assert parties.issuer.issued() == parties.collection.tokens_each(parties.collection.epochs[0])


@pytest.mark.parametrize("transport", ["shuffled", "blinded"])
def test_browsers_take_part_through_shufflers(tmp_path: Path, transport: str) -> None:
    """A person whose lifetime is spent is in the crowd of no answer; with one shuffler, crowds are of an attribute."""
    source = {"from": "answer"} if transport == "blinded" else {"from": "attribute", "values": ["north", "south"]}
    exact = _exact({"protocol": "CategoryResponse", "epsilon": 8, "domain": ["bus", "bike", "car"]})
    limits = {"reports_per_day": 1, "lifetime_epsilon": 8, "answers": 1}
    named = {"transport": transport, "crowd": {**CROWD, **source}, "protocol": exact, "limits": limits}
    with running(tmp_path, admission="nobody-asked", **named) as parties:
        text, crowd = parties.collection.to_json().decode(), {"attribute": "south"}
        steps = [
            {"now": MILLISECONDS, "optIn": True, "answer": 1, **crowd},
            {"now": MILLISECONDS + 86_400_000, "answer": 1},
        ]
        lives = in_node(*[{"job": "live", "text": text, "steps": steps}] * 12)
        assert [len(life["sent"]) for life in lives] == [2] * 12
        assert [entry["left"] for entry in lives[0]["log"]] == [0, 0]
        assert {len(one) // 2 for life in lives for one in life["sent"]} == {envelope_bytes(parties.collection)}
        assert parties.ingestor.totals == {"stored": 24}
        parties.clock[0] = NOON + timedelta(days=2)
        parties.settle()
        totals = [shuffler.totals() for shuffler in parties.shufflers.values()]
        assert [one["taken"] for one in totals] == [24] * len(totals)
        assert not any(one.get("no crowd") or one.get("sealed for another key") for one in totals)
        assert parties.aggregator.totals()["counted"] == totals[-1]["passed on"]
        names = [b"answer\nbike", b"no answer\n"] if transport == "blinded" else [b"attribute\nsouth"] * 2
        assert [crowd_in(parties, bytes.fromhex(one)) for one in lives[0]["sent"]] == [
            crowd_id(parties.collection, name) if transport == "shuffled" else element_of(parties, name)
            for name in names
        ]


def element_of(parties: Parties, name: bytes) -> bytes:
    return oprf.hash_to_group(crowd_id(parties.collection, name))


def crowd_in(parties: Parties, envelope: bytes) -> bytes:
    """What all shufflers together find out about the crowd of a report."""
    collection = parties.collection
    first = collection.after("ingestor")
    sealed = Envelope.from_bytes(collection, envelope).sealed
    plain = opened_by(parties.keys.hops[first].private, sealed, layer_info(first, collection.digest, 1))
    assert plain is not None
    if first == "shuffler":
        return plain[ID_BYTES : ID_BYTES + CROWD_BYTES]
    pseudonym = blinding.pseudonym(plain[ID_BYTES:][: blinding.PAIR_BYTES], parties.keys.crowds.secret)
    assert pseudonym is not None
    return pseudonym


DAY = 86_400_000
OFFLINE = {"network": "down"}
"""Nothing arrives, and nobody needs to: what was made is kept."""


def version(number: int, *, epsilon: Any, lifetime: Any, places: int = 10_000, **changes: Any) -> str:
    """A version whose truthful reports repeat the answer, and whose others do once in 10⁴."""
    protocol = {"protocol": "CategoryResponse", "epsilon": epsilon, "domain": places}
    limits = {"reports_per_day": 1, "lifetime_epsilon": lifetime}
    named = {"version": number, "admission": "nobody-asked", "protocol": protocol, "limits": limits}
    return signed(**named | changes).to_json().decode()


def lived(*texts: str, before: Sequence[tuple[str, str]] = (), answer: int = 7_777) -> list[dict[str, Any]]:
    """A device that agrees to a version each day, and answers."""
    steps = [
        {"now": MILLISECONDS + day * DAY, "text": text, "optIn": True, "answer": answer, **OFFLINE}
        for day, text in enumerate(texts)
    ]
    [life] = in_node({"job": "live", "steps": steps, "before": list(before)})
    log: list[dict[str, Any]] = life["log"]
    return log


def is_truthful(text: str, entry: dict[str, Any], answer: int = 7_777) -> bool:
    """Whether the newest report that waits is for the answer."""
    collection = reader.read(text)
    bytes_ = bytes.fromhex(json.loads(entry["kept"])["outbox"][-1]["bytes"])
    inside = opened(collection, 1, KEYS.reports.private, Envelope.from_bytes(collection, bytes_).sealed)
    assert inside is not None
    return bool(Reports.from_bytes(collection.protocol, inside[1]).columns[0].ravel()[0] == answer)


def test_what_a_browser_spent_under_one_version_is_spent_under_the_next() -> None:
    dear, cheap = version(1, epsilon=40, lifetime=80), version(2, epsilon=20, lifetime=80)
    assert [entry["left"] for entry in lived(dear, cheap, cheap, cheap)] == [1, 1, 0, 0]
    texts = [dear, dear, cheap, cheap]
    log = lived(*texts)
    assert [entry["left"] for entry in log] == [1, 0, 0, 0]
    told = [is_truthful(text, entry) for text, entry in zip(texts, log, strict=True)]
    assert told[:2] == [True, True]
    assert told[2:] != [True, True]  # of reports for no answer, both are the answer once in 10⁸


def test_a_lifetime_is_counted_in_exact_fractions() -> None:
    """A third and a tenth are no binary fractions: ten tenths are one, three thirds are one, and not a bit more."""
    thirds = version(1, epsilon="1/3", lifetime=1, places=3)
    assert [entry["left"] for entry in lived(*[thirds] * 4, answer=1)] == [2, 1, 0, 0]
    tenths = version(1, epsilon="0.1", lifetime="0.3", places=3)
    less = version(2, epsilon="0.1", lifetime="0.2", places=3)
    assert [entry["left"] for entry in lived(*[tenths] * 4, answer=1)] == [2, 1, 0, 0]
    assert [entry["left"] for entry in lived(tenths, less, less, answer=1)] == [2, 0, 0]


def refusal_of(tmp_path: Path, *texts: str) -> str:
    """How the library refuses the last of these versions."""
    person = Participant(tmp_path / "device", clock=lambda: NOON.timestamp())
    *accepted, last = map(reader.read, texts)
    for one in accepted:
        person.opt_in(one)
    with pytest.raises(InvalidParameter) as refused:
        person.opt_in(last)
    return str(refused.value).partition(": ")[2].partition(". ")[0]


LATER_VERSIONS = {
    "a larger lifetime": {"number": 3, "lifetime": "80.5"},
    "an older version": {"number": 1, "lifetime": 80},
    "another accounting": {"number": 3, "lifetime": 80, "accounting": "donation"},
}


@pytest.mark.parametrize("name", LATER_VERSIONS)
def test_a_browser_refuses_what_a_participant_refuses_with_the_same_sentence(tmp_path: Path, name: str) -> None:
    first = version(2, epsilon=40, lifetime=80)
    wrong = version(**{"epsilon": 40} | LATER_VERSIONS[name])
    why = refusal_of(tmp_path, first, wrong)
    agreed, refused, after = lived(first, wrong, first)
    assert refused == {"refused": f"This collection {why}."}
    assert (agreed["left"], after["left"]) == (1, 0)


def test_the_smallest_lifetime_that_was_agreed_to_binds_after_leaving_too() -> None:
    large, small = version(1, epsilon=40, lifetime=80), version(2, epsilon=40, lifetime=40)
    larger_again = version(3, epsilon=40, lifetime=80)
    steps = [
        {"now": MILLISECONDS, "text": large, "optIn": True, "skip": True},
        {"now": MILLISECONDS, "text": small, "optIn": True, "skip": True},
        {"now": MILLISECONDS, "text": small, "optOut": True, "skip": True},
        {"now": MILLISECONDS, "text": larger_again, "optIn": True, "skip": True},
    ]
    [life] = in_node({"job": "live", "steps": steps})
    assert life["log"][-1] == {
        "refused": "This collection allows more than the 40 that this device was promised before."
    }


def test_what_pages_kept_that_counted_slots_is_still_read_and_never_for_less_than_it_cost() -> None:
    """The same version: so many times its epsilon. Another one, or one with others before it: everything."""
    first, second = version(1, epsilon=40, lifetime=160), version(2, epsilon=40, lifetime=160)

    def kept(text: str, charged: int) -> list[tuple[str, str]]:
        one = reader.read(text)
        assert one.operator is not None
        state = {"operator": one.operator.hex(), "hash": one.digest.hex(), "charged": charged, "perDay": 1, "slot": 1}
        state |= {"made": True, "asking": None, "asked": [], "tokens": [], "outbox": []}
        return [(f"lapwing-collect-{one.operator.hex()}-{one.name}", json.dumps(state))]

    assert [entry["left"] for entry in lived(first, first, before=kept(first, 2))] == [1, 0]
    assert [entry["left"] for entry in lived(second, before=kept(first, 2))] == [0]
    assert [entry["left"] for entry in lived(second, before=kept(second, 2))] == [0]
    assert [entry["left"] for entry in lived(second, before=kept(first, 0))] == [3]


def test_a_report_of_a_past_epoch_does_not_wait_for_ever_behind_a_relay(tmp_path: Path) -> None:
    exact = _exact({"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["bus", "bike", "car"]})
    with running(tmp_path, relay=True, admission="nobody-asked", protocol=exact) as parties:
        parties.clock[0] = NOON + timedelta(days=46)  # the epoch ended a day and its grace ago
        parties.ingestor.retire()
        steps = [
            {"now": MILLISECONDS, "optIn": True, "answer": 1, **OFFLINE},
            {"now": MILLISECONDS + 45 * DAY, "answer": 1, **OFFLINE},
            {"now": MILLISECONDS + 46 * DAY, "answer": 1},
        ]
        [life] = in_node({"job": "live", "text": parties.collection.to_json().decode(), "steps": steps})
        assert [entry["done"] for entry in life["log"]] == [False, False, True]
        assert [len(json.loads(entry["kept"])["outbox"]) for entry in life["log"]] == [1, 1, 0]
        assert life["sent"] == []


def test_all_envelopes_of_a_browser_have_the_length_of_the_librarys() -> None:
    collection = signed()
    text = collection.to_json().decode()
    made = in_node(*({"job": "sample", "text": text, "answer": answer, "count": 1} for answer in (0, 1, None)))
    sealed = in_node(*({"job": "seal", "text": text, "report": one["reports"][0], "token": None} for one in made))
    assert {len(one["envelope"]) // 2 for one in sealed} == {envelope_bytes(collection)}


def test_the_client_is_small(tmp_path: Path) -> None:
    import gzip

    needs_node()
    out = tmp_path / "client.js"
    command = ["npx", "esbuild", "src/collect/device.ts", "--bundle", "--minify", "--format=esm", f"--outfile={out}"]
    subprocess.run(command, cwd=FRONTEND, check=True, capture_output=True)
    assert len(gzip.compress(out.read_bytes(), 9)) < 30_000
