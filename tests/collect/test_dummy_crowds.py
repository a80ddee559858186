"""Dummy crowds for words that nobody can list: their law, what the thresholder sees, and files that are refused."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any

from chance import FALSE_ALARM, assert_share
from collecting import Keys, Parties, document, post, running, shuffler_of, some_tokens

from lapwing.collect import blinding, quote, reader, tokens
from lapwing.collect.blinder import Blinder
from lapwing.collect.collection import Collection
from lapwing.collect.sealing import row_bytes, seal
from lapwing.mechanisms.dummies import DummyCrowds

KEYS = Keys()
WORDS = {"protocol": "LocalHashing", "epsilon": 1}
DUMMIES = {"epsilon": 8, "delta": "0.01", "crowds_up_to": 2}
CROWD = {"from": "answer", "threshold": 20, "mean_drop": 6, "sigma": 1, "delta": "0.001", "dummies": DUMMIES}
CHANGES: dict[str, Any] = {"transport": "blinded", "protocol": WORDS, "candidates": ["bus", "bike"], "crowd": CROWD}


def collection(**dummies: Any) -> Collection:
    named = {**CROWD, "dummies": {**DUMMIES, **dummies}}
    return reader.sign(reader.checked(document(KEYS, **(CHANGES | {"crowd": named}))), KEYS.operator)


def dummies_of(ours: Collection) -> DummyCrowds:
    assert ours.crowd is not None
    assert isinstance(ours.crowd.dummies, DummyCrowds)
    return ours.crowd.dummies


def law_of(dummies: DummyCrowds) -> dict[int, float]:
    """How many dummy crowds of one size there are, by definition."""
    scale, shift = float(dummies._noise.scale), dummies._noise.shift
    weights = {shift + off: math.exp(-abs(off) / scale) for off in range(-shift, shift + 1)}
    return {number: weight / sum(weights.values()) for number, weight in weights.items()}


def sizes_of(rows: Any, secret: bytes) -> Counter[int]:
    """How many crowds of each size the thresholder sees."""
    names = [blinding.pseudonym(row[: blinding.PAIR_BYTES].tobytes(), secret) for row in rows]
    assert None not in names
    return Counter(Counter(names).values())


# ---------------------------------------------------------------- the law


def test_the_blinder_adds_crowds_by_the_law_of_the_mechanism(tmp_path: Path) -> None:
    ours = collection()
    blinder = shuffler_of(ours, tmp_path, KEYS, "blinder")
    assert isinstance(blinder, Blinder)
    law, runs = law_of(dummies_of(ours)), 30
    found = [sizes_of(blinder._begun(1)[1], KEYS.crowds.secret) for _ in range(runs)]
    assert all(set(sizes) <= {1, 2} for sizes in found)
    for number in (3, 4, 5):
        drawn = sum(sizes[size] == number for sizes in found for size in (1, 2))
        assert_share(drawn, 2 * runs, law[number])


def test_strings_get_dummies_that_look_like_devices_without_a_string(tmp_path: Path) -> None:
    strings = {"protocol": "SecretStrings", "threshold": 3, "length": 16, "randomness": "none"}
    named = {**CHANGES, "protocol": strings, "candidates": [], "limits": {"reports_per_day": 1, "lifetime_epsilon": 20}}
    ours = reader.sign(reader.checked(document(KEYS, **named)), KEYS.operator)
    blinder = shuffler_of(ours, tmp_path, KEYS, "blinder")
    assert isinstance(blinder, Blinder)
    rows = blinder._begun(1)[1]
    assert set(sizes_of(rows, KEYS.crowds.secret)) <= {1, 2}
    assert rows.shape == (len(rows), row_bytes(ours, "thresholder"))
    assert len(rows) > 0


def uncovered(first: tuple[int, ...], second: tuple[int, ...], law: dict[int, float], epsilon: float) -> float:
    """δ(ε) between two numbers of crowds of size 1, 2, …, summed over all that can be seen."""
    total = 0.0
    for drawn in product(law, repeat=len(first)):
        seen = [number + dummies for number, dummies in zip(first, drawn, strict=True)]
        likely = math.prod(law[dummies] for dummies in drawn)
        other = math.prod(law.get(sum_ - number, 0.0) for sum_, number in zip(seen, second, strict=True))
        total += max(0.0, likely - math.exp(epsilon) * other)
    return total


def test_a_report_that_moves_between_small_crowds_costs_what_is_stated() -> None:
    """Crowds up to 3, every pair of sizes that one report can leave and enter: replace changes up to four numbers."""
    ours = collection(epsilon=4, crowds_up_to=3)
    dummies = dummies_of(ours)
    law, loss = law_of(dummies), dummies.privacy_loss()
    assert loss.relation == "replace"
    worst = 0.0
    for left, entered in product((1, 2, 3), (0, 1, 2)):  # sizes before, of crowds that are not the same
        before, after = Counter([left, entered]), Counter([left - 1, entered + 1])
        ends = [tuple(counts[size] for size in (1, 2, 3)) for counts in (before, after)]
        for first, second in (ends, reversed(ends)):
            worst = max(worst, uncovered(first, second, law, float(loss.epsilon)))
    assert worst <= float(loss.delta)
    half = max(uncovered((2, 0, 0), (0, 1, 0), law, float(loss.epsilon) / 2), worst)
    assert half > float(loss.delta), "one of add_remove would not be enough"


# ---------------------------------------------------------------- end to end


def envelope(parties: Parties, word: str) -> bytes:
    """Of a device with this word."""
    ours = parties.collection
    assert ours.crowd is not None
    report = ours.protocol.randomize([word]).to_bytes()
    [token] = some_tokens(parties, 1)
    sealed = seal(ours, 1, report, crowd=ours.crowd.name(report, answer=word))
    return tokens.tagged(token, ours, sealed).to_bytes()


def test_words_of_many_are_estimated_and_dummies_never_pass(tmp_path: Path) -> None:
    with running(tmp_path, **CHANGES) as parties:
        blinder, thresholder = parties.shufflers.values()
        words = ["bus"] * 60 + ["a secret", "another"]
        assert post(parties, b"".join(envelope(parties, word) for word in words)).status == 201
        counted = parties.settle()
        added = blinder.totals()["passed on"] - 62
        assert 0 < added <= 2 * dummies_of(parties.collection)._noise.shift * 3
        assert thresholder.totals()["taken"] == 62 + added
        assert 45 <= counted < 60, "of one crowd only, and no dummy"
        [result] = parties.analyzer.results()
        assert result.reports == 62
        low, high = (float(ends[0]) for ends in result.estimates.interval())
        room = NormalDist().inv_cdf(1 - FALSE_ALARM) * float(result.estimates.sample_standard_error[0])
        assert low - room < 60 < high + room


# ---------------------------------------------------------------- files and quotes


def problems(**changes: Any) -> str:
    return "; ".join(reader.problems(document(KEYS, **(CHANGES | changes))))


def test_wrong_dummies_are_refused() -> None:
    def with_dummies(crowd: dict[str, Any] | None = None, **dummies: Any) -> str:
        return problems(crowd={**CROWD, **(crowd or {}), "dummies": {**DUMMIES, **dummies}})

    assert not problems()
    assert "dummies alone could fill a crowd" in with_dummies(crowds_up_to=20)
    assert not with_dummies(crowds_up_to=19)
    assert "crowds_up_to: must be a whole number" in with_dummies(crowds_up_to=0)
    assert "crowds_up_to: must be a whole number" in problems(
        crowd={**CROWD, "dummies": {"epsilon": 1, "delta": "0.01"}}
    )
    assert "dummies in each batch" in with_dummies({"threshold": 2000}, crowds_up_to=1000, epsilon=1)
    assert "are for crowds of an answer" in with_dummies({"from": "report"})
    assert "this protocol lists them" in problems(
        protocol={"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["bus", "bike"]},
        candidates=None,
    )
    assert "crowd.dummies.size: is not known" in with_dummies(size=3)


def test_the_quote_says_which_crowds_are_hidden_and_which_are_not() -> None:
    promises = {promise.party: promise.guarantee for promise in quote(collection()).promises}
    assert promises["thresholder"].startswith("ε = 8, δ = ")
    assert "which of the crowds of 2 or fewer somebody is in" in promises["thresholder"]
    assert "none about larger crowds" in promises["thresholder"]
    assert "if all of its crowd are honest" in promises["blinder with aggregator"], "no dummy is ever passed on"
