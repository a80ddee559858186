"""Shuffled batches of any protocol: how large they must be, and what they are not."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from lapwing.crowd import UnaryEncoding
from lapwing.crowd.monitoring import Monitoring
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.shuffling import Shuffled, minimum_batch
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.exact import exp_up
from lapwing.noise import Reproducible
from lapwing.privacy import shuffling
from lapwing.privacy.notation import written_up

POLL = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike", "car"], unit="rider")
PROTOCOLS: list[Protocol] = [
    POLL,
    UnaryEncoding.from_epsilon(epsilon=3, domain=100),
    Monitoring(steps=16, changes=2, epsilon=1),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_the_central_guarantee_is_that_of_the_stated_local_loss(protocol: Protocol) -> None:
    batch = Shuffled(protocol, n=20_000, delta=1e-6)
    local = protocol.privacy_loss()
    assert batch.local_loss() == local
    assert batch.privacy_loss().epsilon == shuffling.best(local.epsilon, 20_000, 1e-6)
    assert batch.privacy_loss().epsilon < local.epsilon / 3
    assert batch.privacy_loss().unit == protocol.unit


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.5, 0.05])
def test_the_smallest_batch_reaches_its_epsilon(protocol: Protocol, epsilon: float) -> None:
    batch = Shuffled.reaching(protocol, epsilon, 1e-6, fakes=50, honest_share=0.8)
    assert batch.n == minimum_batch(protocol, epsilon, 1e-6, fakes=50, honest_share=0.8)
    assert batch.privacy_loss().epsilon <= epsilon
    smaller = Shuffled(protocol, math.floor(0.999 * batch.n), 1e-6, fakes=50, honest_share=0.8)
    assert smaller.privacy_loss().epsilon > epsilon


def test_fakes_must_be_outnumbered() -> None:
    honest = minimum_batch(POLL, 0.1, 1e-6)
    assert minimum_batch(POLL, 0.1, 1e-6, fakes=100) == honest + 100
    assert minimum_batch(POLL, 0.1, 1e-6, honest_share=Fraction(1, 3)) == 3 * honest
    with pytest.raises(InvalidParameter):
        minimum_batch(POLL, 0.1, 1e-6, honest_share=0)


def test_a_batch_that_is_too_small_is_not_opened() -> None:
    batch = Shuffled(POLL, n=1000, delta=1e-6)
    reports = POLL.randomize(["bus"] * 1000, Reproducible(1))
    with pytest.raises(InvalidParameter, match="too few") as raised:
        batch.open(reports[:999])
    assert "Wait for more people" in raised.value.hint
    with pytest.raises(InvalidParameter, match="other parameters"):
        batch.open(UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=3).randomize([0] * 1000))


def test_an_opened_batch_has_the_same_reports_in_another_order() -> None:
    batch = Shuffled(POLL, n=500, delta=1e-6)
    reports = POLL.randomize(["bus", "car"] * 300, Reproducible(2))
    opened = batch.open(reports, Reproducible(3))
    assert opened != reports
    assert sorted(opened.columns[0].ravel().tolist()) == sorted(reports.columns[0].ravel().tolist())
    assert POLL.absorb(None, opened) == POLL.absorb(None, reports)


def test_the_explanation_says_when_to_open_and_what_is_left() -> None:
    text = Shuffled.reaching(POLL, 0.1, 1e-6, fakes=100).explain()
    n = minimum_batch(POLL, 0.1, 1e-6, fakes=100)
    assert f"at least {n:,} people have reported" in text
    assert f"at least {n - 100:,} follow the protocol" in text
    assert "one rider" in text
    assert "δ = 1e-06" in text
    assert "shuffling adds no protection" in Shuffled(POLL, 3, 1e-6).explain()
    assert "if all of them" not in text
    half = written_up(Shuffled(POLL, 10_000, 1e-6, honest_share=0.5).privacy_loss().epsilon)
    condition = f"That holds if all of them follow the protocol. If only half do, ε = {half}."
    assert condition in Shuffled(POLL, 10_000, 1e-6).explain()


def test_no_odds_are_promised_that_hold_with_less_than_the_stated_probability() -> None:
    """One person alone: the odds move by 2.25 = (0.6/0.4)² with probability 0.36, and e^ε is 1.93 at δ = 0.1."""
    alone = Shuffled(UnaryEncoding(domain=2, one_if_true=0.6, one_if_other=0.4), n=1, delta=0.1)
    assert exp_up(alone.privacy_loss().epsilon) < 2 < 2.24 < exp_up(alone.local_loss().epsilon)
    assert "except with" not in alone.explain()
    few = Shuffled(POLL, n=3, delta=0.01)  # hardly less than the local loss, and only at this δ
    assert 0.9 * few.local_loss().epsilon < few.privacy_loss().epsilon < 0.999 * few.local_loss().epsilon
    text, least = few.explain(), written_up(exp_up(few.privacy_loss().epsilon))
    assert least not in text
    assert text.count(written_up(exp_up(few.local_loss().epsilon))) == 2


def test_misuse_is_explained() -> None:
    with pytest.raises(InvalidParameter, match="not a local protocol"):
        Shuffled("poll", 1000, 1e-6)  # type: ignore[arg-type]
    with pytest.raises(InvalidCall):
        Shuffled(POLL, 1000)  # type: ignore[call-arg]
    with pytest.raises(InvalidParameter, match="delta 0"):
        Shuffled(POLL, 1000, 0)
    with pytest.raises(InvalidParameter, match="epsilon = 0"):
        minimum_batch(POLL, 0, 1e-6)
