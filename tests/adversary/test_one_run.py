"""One fit, many canaries: the bound against every mechanism there is, its coverage, and who is caught."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from scipy.optimize import linprog
from scipy.sparse import lil_matrix
from scipy.stats import binom

from lapwing.adversary.one_run import audit_once, canaries_apart, epsilon_shown, rightly, tail
from lapwing.errors import InvalidParameter
from lapwing.models import LogisticRegression, MLPClassifier, SGDClassifier
from lapwing.noise import Reproducible, bernoulli
from lapwing.privacy import ApproxDP

FALSE_ALARM = 1e-6
SETTINGS: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], "epochs": 10, "sampling": 0.5}


def most_right(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The largest chance of so many right guesses over all (epsilon, delta)-private mechanisms: a linear program."""
    secrets = list(itertools.product((-1, 1), repeat=canaries))
    answers = [answer for answer in itertools.product((-1, 0, 1), repeat=canaries) if sum(map(abs, answer)) == guesses]
    pairs = [(a, b) for a, s in enumerate(secrets) for b, t in enumerate(secrets) if _apart(s, t) == 1]
    many, size = len(answers), len(secrets) * len(answers)
    close, slack = lil_matrix((len(pairs) * (many + 1), size + len(pairs) * many)), []
    for place, (a, b) in enumerate(pairs):
        for answer in range(many):  # P(answer | a) ≤ e^ε·P(answer | b) + slack, and all slack is δ at most
            row = place * (many + 1) + answer
            close[row, a * many + answer] = 1
            close[row, b * many + answer] = -math.exp(epsilon)
            close[row, size + place * many + answer] = -1
        close[place * (many + 1) + many, size + place * many : size + (place + 1) * many] = 1
        slack += [0.0] * many + [delta]
    whole = lil_matrix((len(secrets), size + len(pairs) * many))
    aim = np.zeros(size + len(pairs) * many)
    for a, secret in enumerate(secrets):
        whole[a, a * many : (a + 1) * many] = 1
        for place, answer in enumerate(answers):
            aim[a * many + place] = -float(canaries - _apart(secret, answer) >= right) / len(secrets)
    found = linprog(aim, close.tocsr(), slack, whole.tocsr(), np.ones(len(secrets)), bounds=(0, None), method="highs")
    return float(-found.fun)


def _apart(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(one != other for one, other in zip(first, second, strict=True))


@together(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
@together(("epsilon", "delta"), [(1.0, 0.0), (0.0, 0.05), (1.0, 0.05), (1.0, 0.3), (3.0, 0.01)])
def test_no_mechanism_at_all_exceeds_the_bound(canaries: int, guesses: int, epsilon: float, delta: float) -> None:
    for right in range(1, guesses + 1):
        best = most_right(canaries, guesses, right, epsilon, delta)
        bound = tail(right, guesses, canaries, delta=delta)(epsilon)
        assert best <= bound + 1e-7
        if delta == 0 or right == guesses == canaries or guesses == 1:
            assert best == pytest.approx(bound, abs=1e-7)  # and here one of them reaches it


def test_helping_whoever_would_miss_twice_needs_all_of_the_bound() -> None:
    """The mechanism of one_run.md, by hand: two canaries, e^ε = 10, δ = 1/100."""
    both, one, none = Fraction(1001, 1210), Fraction(1001, 12100), Fraction(88, 12100)
    assert both + 2 * one + none == 1
    assert max(both - 10 * one, 0) + max(one - 10 * none, 0) == Fraction(1, 100)  # the same whichever coin is changed
    assert 1 - Fraction(96, 12100) == 1 - Fraction(1, 121) + 4 * Fraction(1, 100) / 121  # the expression of the paper
    assert 1 - Fraction(96, 12100) < 1 - none <= tail(1, 2, 2, delta=0.01)(math.log(10))


def test_telling_everything_once_in_a_while_reaches_the_bound() -> None:
    count, delta, truth = 50, 1e-3, 1 / (1 + math.exp(-2.0))
    assert tail(count, count, count, delta=delta)(2.0) == pytest.approx(truth**count + delta * (1 - truth**count))


def test_grouping_places_and_asking_for_delta_only_makes_the_bound_larger() -> None:
    for guesses in (100, 400, 700):
        right = round(0.8 * guesses)
        coarse = tail(right, guesses, 700, delta=1e-5)(1.0)
        assert binom.sf(right - 1, guesses, 1 / (1 + math.exp(-1.0))) < coarse
        assert coarse < tail(right, guesses, 700, delta=1e-4)(1.0)


def test_the_bound_is_as_large_as_that_of_the_paper_says() -> None:
    """Steinke, Nasr and Jagielski 2023, appendix D: 75 right guesses of 100 among 1000 canaries, delta = 0 and 1e-4."""
    assert tail(75, 100, 100)(math.log(3)) == pytest.approx(0.553, abs=0.001)

    def paper(epsilon: float) -> float:
        truth = 1 / (1 + math.exp(-epsilon))
        steps = [float(binom.cdf(74, 100, truth) - binom.cdf(74 - i, 100, truth)) / i for i in range(1, 76)]
        return float(binom.sf(74, 100, truth)) + 2 * 1000 * 1e-4 * max(steps)

    ours = epsilon_shown(75, 100, 1000, delta=1e-4, alpha=0.05)
    assert paper(ours - 0.05) < 0.05 < paper(ours)  # a little more is shown by us


def test_randomized_response_with_known_epsilon_is_almost_measured_and_hardly_ever_exceeded() -> None:
    source, epsilon, count, runs, alpha = Reproducible(3), 1.0, 2000, 400, 0.05
    truth = 1 / (1 + math.exp(-epsilon))
    shown = []
    for _ in range(runs):
        inside = bernoulli(0.5, count, source)
        said = inside ^ ~bernoulli(truth, count, source)
        shown.append(epsilon_shown(rightly(said.astype(float), inside, count), count, count, alpha=alpha))
    too_large = sum(bound > epsilon for bound in shown)
    assert too_large <= binom.isf(FALSE_ALARM, runs, alpha)
    assert too_large > 0  # so it could have been more
    assert np.median(shown) > 0.85


def test_of_equal_scores_half_of_the_guesses_are_right() -> None:
    inside = np.arange(100) % 2 == 0
    assert rightly(np.zeros(100), inside, 100) == 50
    assert rightly(np.where(inside, 1.0, 0.0), inside, 40) == 40
    assert rightly(np.where(inside, 0.0, 1.0), inside, 7) == 0


def without_noise(X: np.ndarray, y: np.ndarray) -> Any:
    """Descent with gradients that are cut, as they should be, and noise that was forgotten."""
    weights = np.zeros(X.shape[1])
    for _ in range(20):
        gradients = (1 / (1 + np.exp(-X @ weights)) - y)[:, None] * X
        lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
        weights -= 0.5 * np.sum(gradients / np.maximum(lengths, 1.0), axis=0)
    return lambda given: np.column_stack([1 / (1 + np.exp(sign * given @ weights)) for sign in (1, -1)])


def test_descent_that_forgot_the_noise_is_caught_in_one_run() -> None:
    found = audit_once(
        without_noise, canaries_apart(300, Reproducible(1)), claimed=2, delta=1e-5, entropy=Reproducible(2)
    )
    assert found.caught
    assert found.verdict == "caught"
    assert found.right == found.guesses
    assert found.epsilon_lower_bound > 2.5
    assert "The claim of 2.000 is false" in found.explain()
    assert repr(found) == f"<OneRun: caught, ε is at least {found.epsilon_lower_bound - 0.005:.2f}: print it>"
    assert str(found).startswith("Caught: claimed ε = 2 at δ = 1e-05, but ε is at least ")
    assert f"and {found.right:,} guesses are right. Blind guesses are right half the time." in str(found)


@together(
    "model",
    [
        SGDClassifier(epsilon=1, **SETTINGS),
        SGDClassifier(epsilon=8, **SETTINGS),
        MLPClassifier(epsilon=1, hidden=(8,), **SETTINGS),
        LogisticRegression(epsilon=1, bounds=(-1, 1), classes=[0, 1]),
    ],
)
def test_private_models_are_not_caught(model: Any) -> None:
    model = model.set_params(random_state=7)
    found = audit_once(model, canaries_apart(300, Reproducible(1)), confidence=1 - FALSE_ALARM, entropy=Reproducible(2))
    assert not found.caught
    assert found.claimed == pytest.approx(float(model.epsilon))
    assert "does not contradict" in found.explain()
    assert str(found).startswith("Not caught: claimed ε = ")
    assert "That is not a proof." in str(found)


def test_much_noise_too_little_is_measured() -> None:
    """A large epsilon shows: so the audit could have caught a small claim."""
    model = SGDClassifier(epsilon=64, random_state=7, **SETTINGS)
    found = audit_once(model, canaries_apart(600, Reproducible(1)), claimed=1, delta=1e-6, entropy=Reproducible(2))
    assert found.caught
    assert found.guesses < found.canaries
    assert found.epsilon_lower_bound < found.ceiling < 64


def test_rows_that_are_always_in_are_given_to_the_fit() -> None:
    seen: list[int] = []

    def fit(X: np.ndarray, y: np.ndarray) -> Any:
        seen.append(len(X))
        return lambda rows: np.zeros(len(rows))

    X, y = canaries_apart(40, Reproducible(1))
    found = audit_once(fit, (X, y), rest=(np.ones((1000, 40)), np.ones(1000)), entropy=Reproducible(2))
    assert 1000 < seen[0] < 1040
    assert found.verdict == "no claim"
    with pytest.raises(InvalidParameter, match="claimed"):
        _ = found.caught


def test_a_claim_may_be_a_loss_and_brings_its_delta() -> None:
    X, y = canaries_apart(20, Reproducible(1))
    found = audit_once(lambda X, y: lambda rows: np.zeros(len(rows)), (X, y), claimed=ApproxDP(2, 1e-3))
    assert (found.claimed, found.delta) == (2, pytest.approx(1e-3))


def test_impossible_requests_say_what_to_write() -> None:
    X, y = canaries_apart(20)
    with pytest.raises(InvalidParameter, match="only 20 canaries"):
        audit_once(lambda X, y: None, (X, y), guesses=30)
    with pytest.raises(InvalidParameter, match="canaries"):
        audit_once(lambda X, y: None, X)
    with pytest.raises(InvalidParameter, match="cannot fit a model"):
        audit_once(3, (X, y))
