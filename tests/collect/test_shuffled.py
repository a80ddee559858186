"""Reports through shufflers: from a device to an estimate, batches that are refused, and what leaves a crowd."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from collecting import CROWD, LATE, NOON, Keys, Parties, devices, document, fresh, post, running, shuffler_of
from scipy.stats import binom

from lapwing.collect import hops, quote, reader
from lapwing.collect.crowds import Crowd
from lapwing.collect.forwarder import forward
from lapwing.collect.handovers import Handover
from lapwing.collect.participant import Participant
from lapwing.collect.segments import SealedSegment, sealed_name
from lapwing.collect.shuffled_promises import central_loss, consent_with_words
from lapwing.collect.shuffler import thresholded
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
YES_NO = {"protocol": "BinaryResponse", "yes_if_yes": "3/4", "yes_if_no": "1/4"}
SOURCES: dict[str, dict[str, Any]] = {
    "report": {"from": "report"},
    "attribute": {"from": "attribute", "values": ["north", "south"]},
    "answer": {"from": "answer"},
}
WAYS = [("shuffled", "report"), ("shuffled", "attribute"), ("blinded", "report"), ("blinded", "answer")]


def crowded(source: str) -> dict[str, Any]:
    return {**CROWD, **SOURCES[source]}


@pytest.mark.parametrize(("transport", "source"), WAYS, ids=lambda word: word)
def test_what_devices_answer_becomes_an_estimate(tmp_path: Path, transport: str, source: str) -> None:
    changes = {"transport": transport, "crowd": crowded(source)}
    with running(tmp_path, protocol=YES_NO, **changes) as parties:
        people = devices(parties, tmp_path, [True] * 30, attribute="north" if source == "attribute" else None)
        for moment in (NOON, LATE):
            parties.clock[0] = moment
            for person in people:
                person.tick()
        counted = parties.settle()
        assert parties.ingestor.totals["stored"] == 30
        assert 3 <= counted <= 30  # some are dropped on purpose
        [result] = parties.analyzer.results()
        assert result.removed == 30 - counted
        assert result.reports == 30
        assert f"Shufflers removed {30 - counted} of 30 reports" in result.missing()
        assert "The intervals allow for what is missing." in result.missing()
        low, high = (float(ends[0]) for ends in result.estimates.interval())
        room = NormalDist().inv_cdf(1 - FALSE_ALARM / 8) * float(result.estimates.sample_standard_error[0])
        assert low - room <= 30 <= high + room  # everybody said yes
        for shuffler in parties.shufflers.values():
            assert shuffler.totals()["taken"] == 30
            assert not list(shuffler.incoming.iterdir())
            assert not list(shuffler.outgoing.iterdir())


def handed_in(parties: Parties, reports: int = 30) -> None:
    """So many reports are at the first shuffler."""
    assert post(parties, b"".join(fresh(parties) for _ in range(reports))).status == 201
    parties.ingestor.intake.rotate(now=True)
    parties.sealer.seal()
    assert forward(parties.sealer, parties.keys.ingestor) == 1


def output_of(shuffler: Any) -> bytes:
    [path] = shuffler.outgoing.iterdir()
    return bytes(path.read_bytes())


def test_a_batch_that_is_sent_again_is_the_same_and_counts_once(tmp_path: Path) -> None:
    with running(tmp_path, protocol=YES_NO, transport="blinded") as parties:
        blinder, thresholder = parties.shufflers.values()
        handed_in(parties)
        blinder.work()
        sent = output_of(blinder)
        for _ in range(3):  # nobody hears the answers
            hops.deliver(parties.collection, "thresholder", "/segments", sent, parties.keys.signing["blinder"])
        assert blinder.pass_on() == 1
        assert thresholder.work() > 0
        hops.deliver(parties.collection, "thresholder", "/segments", sent, parties.keys.signing["blinder"])
        assert thresholder.work() == 0
        assert thresholder.totals()["taken"] == 30
        assert blinder.digests()[1] == thresholder.digests()[0], "both sides have seen the same batches"


def test_a_blinder_that_replays_reports_in_another_batch_is_found_out(tmp_path: Path) -> None:
    with running(tmp_path, transport="blinded") as parties:
        blinder, thresholder = parties.shufflers.values()
        handed_in(parties)
        [came] = blinder.incoming.iterdir()
        data = came.read_bytes()
        blinder.work()
        blinder.pass_on()
        thresholder.work()
        other = shuffler_of(parties.collection, tmp_path / "forgetful", parties.keys, "blinder")
        (other.incoming / f"{sealed_name(data)}.sealed").write_bytes(data)
        other.work()  # with another exponent, in another order: other bytes
        other.pass_on()
        assert thresholder.work() == 0
        assert thresholder.totals()["duplicate"] == 30


def test_what_is_no_batch_of_the_party_before_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, transport="blinded") as parties:
        blinder, thresholder = parties.shufflers.values()
        handed_in(parties)
        blinder.work()
        sent, signing = output_of(blinder), parties.keys.signing

        def answer(party: str, body: bytes, key: Any) -> str:
            try:
                hops.deliver(parties.collection, party, "/segments", body, key)
            except hops.Unreachable as error:
                return str(error)
            return "taken"

        assert "403" in answer("thresholder", sent, parties.keys.ingestor)
        assert "400" in answer("thresholder", sent[:200] + b"!" + sent[201:], signing["blinder"])
        assert "403" in answer("aggregator", sent, parties.keys.ingestor)
        assert "400" in answer("aggregator", sent, signing["thresholder"])
        assert not list(thresholder.incoming.iterdir())
        few = SealedSegment.from_bytes(parties.collection.digest, sent[:-24])
        small = Handover(SealedSegment(few.digest, few.epoch, few.reports[:5]), 5).to_bytes()
        assert answer("thresholder", small, signing["blinder"]) == "taken"
        assert thresholder.work() == 0
        assert len(list(thresholder.incoming.iterdir())) == 1, "it is too small to hide anybody, so it waits"
        assert thresholder._waiting() == []


def test_few_reports_wait_for_others(tmp_path: Path) -> None:
    with running(tmp_path, transport="shuffled", publishing={"smallest_batch": 20, "every_hours": 1}) as parties:
        [shuffler] = parties.shufflers.values()
        handed_in(parties, 12)
        assert shuffler.work() == 0
        assert len(list(shuffler.incoming.iterdir())) == 1
        handed_in(parties, 12)
        shuffler.work()
        assert shuffler.totals()["taken"] == 24


def test_a_key_that_is_over_is_destroyed_and_what_waits_is_dropped(tmp_path: Path) -> None:
    gone: list[int] = []
    with running(tmp_path, transport="shuffled") as parties:
        [shuffler] = parties.shufflers.values()
        handed_in(parties, 5)
        shuffler._destroy = gone.append
        shuffler.clock = lambda: NOON + timedelta(days=60)
        assert shuffler.retire() == 1
        assert gone == [1]
        shuffler.work()
        assert shuffler.totals()["the key is gone"] == 5
        assert not list(shuffler.incoming.iterdir())


def test_a_batch_of_which_nothing_is_left_is_not_published(tmp_path: Path) -> None:
    with running(tmp_path, transport="blinded", crowd={**CROWD, "threshold": 100}) as parties:
        for _ in range(2):  # their outputs differ only by random bytes
            handed_in(parties, 12)
            assert parties.settle() == 0
        assert parties.aggregator.totals()["before thresholding"] == 24
        assert parties.analyzer.results() == []
        handed_in(parties, 600)
        assert parties.settle() > 0
        [result] = parties.analyzer.results()
        assert result.reports == 624, "those of which nothing was left took part, too"


CROWDS = Crowd(source="report", threshold=5, mean_drop=10, sigma=Fraction(2), delta=Fraction(1, 1000))


def rows(sizes: list[int]) -> tuple[Any, Any]:
    """Crowds of these sizes; each row has a number of its own."""
    names = np.repeat(np.arange(len(sizes), dtype="<u4"), sizes)
    numbers = np.arange(len(names), dtype="<u4")
    return names.view(np.uint8).reshape(-1, 4), numbers.view(np.uint8).reshape(-1, 4)


def kept_of(sizes: list[int], seed: int) -> list[int]:
    kept = thresholded(CROWDS, *rows(sizes), Reproducible(seed))
    return np.ascontiguousarray(kept).view("<u4").ravel().tolist()


def test_small_crowds_vanish_and_large_ones_lose_a_random_few() -> None:
    sizes = [4, 100, 6, 200]
    crowd_of = np.repeat(np.arange(4), sizes)
    for seed in range(50):
        kept = kept_of(sizes, seed)
        assert len(set(kept)) == len(kept)
        left = Counter(crowd_of[kept].tolist())
        assert set(left) == {1, 3}
        assert 80 <= left[1] <= 100
        assert 180 <= left[3] <= 200


def test_every_report_of_a_crowd_is_as_likely_to_be_dropped_and_to_come_first() -> None:
    repeats, size = 2_000, 20
    dropped, first = np.zeros(size), np.zeros(size)
    for seed in range(repeats):
        kept = kept_of([size], seed)
        dropped += 1
        dropped[kept] -= 1
        if kept:
            first[kept[0]] += 1
    for counts in (dropped, first):
        share = counts.sum() / repeats / size
        low, high = binom.ppf([FALSE_ALARM / 80, 1 - FALSE_ALARM / 80], repeats, share)
        assert ((counts >= low) & (counts <= high)).all()


def test_the_order_of_what_is_passed_on_does_not_tell_crowds() -> None:
    """Also not that one crowd lost half of its reports and another hardly any."""
    repeats, small, large = 2_000, 20, 60
    first = 0
    share = 0.0
    for seed in range(repeats):
        kept = kept_of([small, large], seed)
        inside = sum(number < small for number in kept)
        share += inside / len(kept)
        first += kept[0] < small
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], repeats, share / repeats)
    assert low <= first <= high


KEYS = Keys()


def problems(**changes: Any) -> str:
    return "; ".join(reader.problems(document(KEYS, **changes)))


def test_a_file_without_what_a_transport_needs_is_refused() -> None:
    assert not problems(transport="shuffled")
    assert not problems(transport="blinded", crowd=crowded("answer"))
    assert "crowd.from: one shuffler" in problems(transport="shuffled", crowd=crowded("answer"))
    assert "accounting: lifetime" in problems(transport="blinded", crowd=crowded("answer"), accounting="donation")
    assert "crowd: has no meaning" in problems(crowd=dict(CROWD))
    assert "crowd: must be there" in problems(transport="shuffled", crowd=None)
    assert "crowd.values" in problems(transport="shuffled", crowd={**CROWD, "from": "attribute"})
    assert "prefix" in problems(transport="shuffled", crowd={**CROWD, "prefix": 2})
    assert "crowd.threshold" in problems(transport="shuffled", crowd={**CROWD, "threshold": 0})
    whole = document(KEYS, transport="blinded")
    servers = {name: server for name, server in whole["servers"].items() if name != "blinder"}
    assert "servers.blinder: is missing" in problems(transport="blinded", servers=servers)
    [epoch] = whole["epochs"]
    assert "crowd_key" in problems(transport="blinded", epochs=[{k: v for k, v in epoch.items() if k != "crowd_key"}])
    assert "servers.shuffler: has nothing to do" in problems(
        servers=whole["servers"] | {"shuffler": whole["servers"]["blinder"]}
    )


def test_a_device_must_name_an_attribute_that_the_collection_lists(tmp_path: Path) -> None:
    collection = reader.sign(
        reader.checked(document(KEYS, transport="shuffled", crowd=crowded("attribute"))), KEYS.operator
    )
    person = Participant(tmp_path / "device")
    with pytest.raises(InvalidParameter, match="attribute"):
        person.opt_in(collection, attribute="east")
    person.opt_in(collection, attribute="north")


@pytest.mark.parametrize(("transport", "source"), WAYS, ids=lambda word: word)
def test_a_quote_has_a_row_for_every_party_and_every_collusion(transport: str, source: str) -> None:
    publishing = {"smallest_batch": 10_000, "every_hours": 1}
    crowd = {**crowded(source), "threshold": 20, "mean_drop": 10, "sigma": 2, "delta": "0.000002"}
    collection = reader.checked(document(KEYS, transport=transport, crowd=crowd, publishing=publishing))
    promises = {promise.party: promise.guarantee for promise in quote(collection).promises}
    assert {*collection.route, "analyzer, public", "network"} <= promises.keys()
    central, local = central_loss(collection), collection.protocol.privacy_loss()
    if source == "report":
        assert central.epsilon < local.epsilon / 10
    elif source == "answer":
        assert central.epsilon > local.epsilon
        assert promises["blinder with thresholder"].startswith("none")
        assert promises["thresholder with aggregator"].startswith("none")
        assert "none, because crowds are made of true answers" in promises["ingestor"]
    if transport == "shuffled":
        assert "shuffler with aggregator" in promises
    assert str(quote(collection))


def test_the_text_to_agree_to_says_what_shufflers_do(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="How?", answers=["bus", "bike"], transport="blinded")
    draft = workspace.draft.read_text(encoding="utf-8")
    workspace.draft.write_text(draft.replace("from: report", "from: answer"), encoding="utf-8")
    consent = workspace.open().consent
    assert "made of your true answer" in consent
    assert "tell nothing more about you" not in consent
    assert consent.index("made of your true answer") < consent.index("Your answer is randomised"), "what tells more"
    assert consent_with_words(consent, "direct", "report").count("servers") == 0
