"""Learners of learning theory: what they find, from how many rows, and that an audit finds no more than they state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import together
from scipy import stats
from sklearn.base import clone

from lapwing.adversary import audit
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.models import Account
from lapwing.models.learning import (
    Conjunction,
    OccamLearner,
    Parity,
    Threshold,
    agnostic_sample_bound,
    conjunctions,
    occam_sample_bound,
    parities,
    thresholds,
)
from lapwing.models.parity import (
    ParityLearner,
    eliminated,
    heard_from,
    odd_ones,
    packed,
    parity_sample_bound,
    random_solution,
)
from lapwing.models.queries import (
    MaskedParity,
    QueryOracle,
    learn_in_one_round,
    learn_in_two_rounds,
    local_answers,
    one_round_ceiling,
    parts_of,
)
from lapwing.noise import SYSTEM, Entropy, Reproducible
from lapwing.privacy import Ledger, PureDP

FALSE_ALARM = 1e-6
RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def same_rows_in_every_order() -> None:
    """Each test draws its rows afresh, whichever tests ran before."""
    global RNG
    RNG = np.random.default_rng(4)


def assert_rate(hits: int, trials: int, probability: float) -> None:
    """A binomial count that is not too far from its mean."""
    law = stats.binom(trials, probability)
    assert min(law.cdf(hits), law.sf(hits - 1)) > FALSE_ALARM / 2, (hits, trials, probability)


def assert_at_most(hits: int, trials: int, probability: float) -> None:
    assert stats.binom.sf(hits - 1, trials, probability) > FALSE_ALARM, (hits, trials, probability)


# Occam


def test_the_sample_bound_of_occam_is_kept_by_a_class_for_which_it_is_nearly_tight() -> None:
    concepts, failure = parities(4), 0.2
    rows = occam_sample_bound(len(concepts), epsilon=1, error=0.5, failure=failure)
    source, wrong = Reproducible(1), 0
    for _ in range(300):
        X = RNG.integers(0, 2, (rows, 4))
        learner = OccamLearner(concepts=concepts, random_state=source).fit(X, Parity((0, 3))(X))
        wrong += learner.concept_ != Parity((0, 3))
    assert_at_most(wrong, 300, failure)
    assert wrong > 3, "the bound is not that loose: such a test could not fail"


def test_the_best_concept_is_found_where_none_is_right() -> None:
    X = RNG.uniform(size=(4000, 1))
    y = (X[:, 0] > 0.5) ^ (RNG.uniform(size=4000) < 0.2)
    learner = OccamLearner(concepts=thresholds(1, np.linspace(0.1, 0.9, 9)), random_state=1).fit(X, y)
    assert learner.concept_ == Threshold(0, 0.5, True)
    assert (learner.predict(X) == y).mean() > 0.75


@pytest.mark.parametrize("bound", [occam_sample_bound, agnostic_sample_bound])
def test_sample_bounds_fall_with_epsilon_and_grow_with_the_logarithm_of_the_class(bound: Callable[..., int]) -> None:
    sizes = [bound(1000, epsilon=epsilon, error=0.1, failure=0.05) for epsilon in (0.01, 0.1, 1, 50)]
    assert sizes == sorted(sizes, reverse=True)
    some, more, most = (bound(10**k, epsilon=1, error=0.1, failure=0.05) for k in (3, 6, 9))
    assert abs((most - more) - (more - some)) <= 2
    assert occam_sample_bound(100, epsilon=80, error=0.1, failure=0.05) == math.ceil(
        math.log(100 / 0.05) / -math.log(0.9)
    )


def test_concepts_say_what_they_are() -> None:
    X = np.array(list(product((0, 1), repeat=3)))
    assert Conjunction((0, 2))(X).tolist() == [bool(a and c) for a, _, c in X]
    assert Parity((0, 1))(X).tolist() == [bool(a ^ b) for a, b, _ in X]
    assert len(set(conjunctions(3))) == len(set(parities(3))) == 8
    assert Conjunction(())(X).all()
    assert not Parity(())(X).any()


@together("mistakes", list(product(range(3), repeat=3)))
def test_exact_probabilities_of_a_choice_differ_by_epsilon_at_most(mistakes: tuple[int, ...]) -> None:
    """One row more adds 0 or 1 to the mistakes of each concept: all such rows, all coins counted out."""
    recipe = OccamLearner(epsilon=2, concepts=parities(1))._recipe(1, None)
    few = law_of_a_choice(mistakes, recipe.choose._scale)
    for row in product((0, 1), repeat=3):
        more = law_of_a_choice([a + b for a, b in zip(mistakes, row, strict=True)], recipe.choose._scale)
        assert max(abs(math.log(a / b)) for a, b in zip(few, more, strict=True)) < 2 + 1e-12


def law_of_a_choice(mistakes: Sequence[int], scale: Fraction) -> list[float]:
    heads = [math.exp(-(count - min(mistakes)) / scale) for count in mistakes]
    law = [0.0] * len(heads)
    for landed in product((False, True), repeat=len(heads)):
        chance = math.prod(p if lands else 1 - p for p, lands in zip(heads, landed, strict=True))
        for place, lands in enumerate(landed):
            law[place] += chance / sum(landed) if lands else 0.0
    return law


@together("concepts", [None, [], [3]])
def test_concepts_that_are_none_are_refused(concepts: Any) -> None:
    with pytest.raises(InvalidParameter, match="concepts"):
        OccamLearner(concepts=concepts).fit(np.ones((1, 1)), [1])


LEARNERS: list[Any] = [OccamLearner(concepts=parities(2), random_state=2), ParityLearner(random_state=2)]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.empty((0, 2)), []),
        (np.array([[1, 0]]), [1]),
        (np.array([["a", None], [math.nan, math.inf]], dtype=object), [None, "b"]),
        (np.ones((3, 2)), [0, 1, 7]),
    ],
    ids=["no rows", "one row", "strange entries", "contradictions"],
)
def test_a_learner_answers_whatever_the_rows_are(learner: Any, X: Any, y: Any) -> None:
    for _ in range(5):
        fitted = clone(learner).fit(X, y)
        assert set(fitted.predict([[0, 1], [1, 1]]).tolist()) <= {0, 1}


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_learner_pays_its_epsilon(learner: Any, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(3, unit="student"))
    account = Account(ledger, "people", unit="student")
    fitted = clone(learner).set_params(account=account, epsilon=2).fit(np.array([[1, 0]]), [1])
    assert fitted.privacy_loss_ == PureDP(2, unit="student") == fitted.quote().loss
    assert account.remaining() == PureDP(1, unit="student")


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_more_than_two_classes_are_refused(learner: Any) -> None:
    with pytest.raises(InvalidParameter, match="classes"):
        clone(learner).set_params(classes=[0, 1, 2]).fit(np.array([[1, 0]]), [1])


# Equations over GF(2)


@together("shape", [(0, 3), (1, 1), (5, 3), (3, 5), (70, 64), (40, 65), (90, 130)])
def test_solutions_solve_and_contradictions_are_noticed(shape: tuple[int, int]) -> None:
    count, unknowns = shape
    for seed in range(20):
        matrix = RNG.integers(0, 2, shape)
        matrix[: count // 3] = 0  # dependent rows
        secret = RNG.integers(0, 2, unknowns)
        side = matrix @ secret % 2
        solution = random_solution(packed(np.column_stack((matrix, side))), unknowns, Reproducible(seed))
        assert solution is not None
        assert (matrix @ solution % 2 == side).all()
        if count > 1:
            wrong = np.vstack((matrix, matrix[:2].sum(axis=0) % 2))
            sides = np.append(side, (side[:2].sum() + 1) % 2)
            assert random_solution(packed(np.column_stack((wrong, sides))), unknowns, SYSTEM) is None


def test_elimination_finds_the_rank_that_brute_force_finds() -> None:
    for _ in range(40):
        matrix = RNG.integers(0, 2, (4, 5))
        span = {tuple(np.array(signs) @ matrix % 2) for signs in product((0, 1), repeat=4)}
        rows, pivots = eliminated(packed(np.column_stack((matrix, np.zeros(4)))), 5)
        assert 2 ** len(pivots) == len(span)
        assert not odd_ones(rows[len(pivots) :]).any()


def test_solutions_are_uniform() -> None:
    equations = packed([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0]])
    source = Reproducible(5)
    drawn = [tuple(random_solution(equations, 4, source).tolist()) for _ in range(4000)]  # type: ignore[union-attr]
    counts = [drawn.count(one) for one in sorted(set(drawn))]
    assert len(counts) == 8
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


# Parities


@together("columns", [3, 20, 100])
def test_a_parity_is_found_within_the_sample_bound(columns: int) -> None:
    failure = 0.05
    rows = parity_sample_bound(columns, epsilon=1, error=0.5, failure=failure)
    source, missed = Reproducible(columns), 0
    for _ in range(60):
        X, secret = RNG.integers(0, 2, (rows, columns)), RNG.integers(0, 2, columns)
        learner = ParityLearner(random_state=source).fit(X, X @ secret % 2)
        missed += learner.parity_ != tuple(np.flatnonzero(secret).tolist())
    assert_at_most(missed, 60, failure)


def test_a_found_parity_predicts_and_silence_predicts_the_first_class() -> None:
    X = RNG.integers(0, 2, (400, 6))
    y = np.where(X[:, [1, 4]].sum(axis=1) % 2, "odd", "even")
    learner = ParityLearner(epsilon=3, classes=["even", "odd"], random_state=1).fit(X, y)
    assert learner.parity_ == (1, 4)
    assert (learner.predict(X) == y).all()
    silent = ParityLearner(random_state=1, parts=1).fit(X, RNG.integers(0, 2, 400))
    assert silent.parity_ is None
    assert (silent.predict(X) == 0).all()


def test_a_bound_that_silence_alone_exceeds_asks_for_more_parts() -> None:
    with pytest.raises(InvalidParameter, match="parts=10"):
        parity_sample_bound(8, epsilon=0.5, error=0.5, failure=1e-4)
    assert parity_sample_bound(8, epsilon=0.5, error=0.5, failure=1e-4, parts=10) > 0


@together("epsilon", [0.1, 1.0, 4.0])
@together("equations", [[], [[1, 0, 1]], [[1, 0, 1], [1, 0, 0]], [[1, 1, 0], [0, 1, 1]]])
@together("new", [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]])
def test_exact_probabilities_of_one_part_differ_by_epsilon_at_most(
    epsilon: float, equations: list[list[int]], new: list[int]
) -> None:
    """All samples and all solutions counted out: the claim of parity.md, and that it is tight."""
    few, more = (law_of_a_part(rows, epsilon) for rows in (equations, [*equations, new]))
    losses = [abs(math.log(more[answer] / few[answer])) for answer in few if few[answer]]
    assert max(losses) < epsilon + 1e-12
    if any(new[:2]) and not equations:
        assert max(losses) == pytest.approx(epsilon)


def law_of_a_part(equations: list[list[int]], epsilon: float) -> dict[Any, float]:
    silence, stays = 1 / (1 + math.exp(epsilon)), -math.expm1(-epsilon)
    law: dict[Any, float] = dict.fromkeys(product((0, 1), repeat=2), 0.0) | {None: silence}
    for kept in product((False, True), repeat=len(equations)):
        sample = [row for row, keep in zip(equations, kept, strict=True) if keep]
        chance = (1 - silence) * math.prod(stays if keep else 1 - stays for keep in kept)
        solutions = [r for r in product((0, 1), repeat=2) if all((r[0] * a + r[1] * b) % 2 == c for a, b, c in sample)]
        for answer in solutions or [None]:
            law[answer] += chance / max(len(solutions), 1)
    return law


def test_a_part_answers_with_these_probabilities() -> None:
    equations = [[1, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0]]
    recipe, source = ParityLearner(epsilon=1)._recipe(2, None), Reproducible(8)
    answers = [heard_from(packed(equations), 2, recipe, source) for _ in range(6000)]
    said = [None if answer is None else tuple(answer.astype(int).tolist()) for answer in answers]
    law = law_of_a_part(equations, 1)
    assert stats.chisquare([said.count(key) for key in law], [6000 * law[key] for key in law]).pvalue > FALSE_ALARM


def parity_learnt(learner: ParityLearner) -> Callable[[int, Entropy], Any]:
    """What is said about so many times the same equation, x = 1, for one unknown."""
    recipe = learner._recipe(1, None)

    def release(many: int, entropy: Entropy) -> Any:
        learner._learn(recipe, np.ones((many, 1)), np.ones(many, dtype=np.int64), entropy)
        return learner.parity_

    return release


@pytest.mark.parametrize("parts", [1, 3])
def test_an_audit_does_not_refute_the_parity_learner(parts: int) -> None:
    release = parity_learnt(ParityLearner(epsilon=1, parts=parts))
    found = audit(release, (0, 1), samples=2500, claimed=1, confidence=1 - FALSE_ALARM, entropy=Reproducible(parts))
    assert not found.caught, found.explain()
    if parts == 1:
        assert found.epsilon_lower_bound > 0.2, "the claim is tight, so an audit comes near it"


def test_a_parity_learner_that_is_never_silent_at_first_would_be_caught() -> None:
    contradiction = packed([[1, 1], [1, 0]])

    def broken(many: int) -> Any:
        stays = contradiction[:many][[RNG.uniform() < 1 - math.exp(-1) for _ in range(many)]]
        return random_solution(stays, 1, SYSTEM) is None

    assert audit(broken, (1, 2), samples=3000, claimed=1).caught


def test_an_audit_does_not_refute_the_occam_learner_and_catches_one_that_spends_more() -> None:
    learner = OccamLearner(epsilon=1, concepts=parities(1))

    def release(rows: list[int], entropy: Entropy) -> Any:
        y = np.array(rows, dtype=np.int64)
        learner._learn(recipe, np.ones((len(y), 1)), y, entropy)
        return learner.concept_ == Parity((0,))

    recipe, source = learner._recipe(1, None), Reproducible(6)
    found = audit(
        release, ([1, 0], [1, 0, 1]), samples=4000, claimed=1, confidence=1 - FALSE_ALARM, entropy=source
    )  # fmt: skip
    assert not found.caught, found.explain()
    assert found.epsilon_lower_bound > 0.3
    recipe = OccamLearner(epsilon=3, concepts=parities(1))._recipe(1, None)
    assert audit(release, ([1, 0], [1, 0, 1]), samples=4000, claimed=1, entropy=source).caught


# Statistical queries


def test_a_query_is_answered_within_its_tolerance() -> None:
    y = RNG.uniform(-1, 1, 30_000)
    oracle = QueryOracle(np.zeros((30_000, 1)), y, epsilon=1, random_state=1)
    for _ in range(3):
        asked = oracle.ask(lambda X, y: y, people=10_000)
        assert abs(asked - y.mean()) < 2 * oracle.tolerance(10_000, failure=FALSE_ALARM)
    assert oracle.remaining == 0


def test_nobody_answers_twice() -> None:
    oracle = QueryOracle(np.zeros((10, 1)), np.zeros(10), epsilon=1)
    oracle.ask(lambda X, y: y, people=6)
    with pytest.raises(InvalidCall, match="4 people are left"):
        oracle.ask(lambda X, y: y, people=5)

    def failing(X: Any, y: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        oracle.ask(failing, people=4)
    assert oracle.remaining == 0


def test_everybody_sends_one_message_also_where_labels_are_a_column() -> None:
    """A column against a row of uniform numbers would be a square: one message of everybody for each of them."""
    oracle = QueryOracle(np.zeros((90, 2)), np.ones((90, 1)), epsilon=1)
    assert oracle.answers(lambda X, y: y, people=30).shape == (30,)
    for wrong in (lambda X, y: X, lambda X, y: y[:-1], lambda X, y: 0.5):
        with pytest.raises(InvalidCall, match="one number per person"):
            oracle.answers(wrong, people=20)
    assert oracle.remaining == 0


def test_people_for_a_tolerance_have_that_tolerance() -> None:
    oracle = QueryOracle(np.zeros((1, 1)), [0], epsilon=Fraction(1, 2))
    people = oracle.people_for(0.1, queries=4, failure=0.2)
    assert oracle.tolerance(people, failure=0.05) <= 0.1 < oracle.tolerance(people - 2, failure=0.05)


def test_messages_have_exactly_the_means_of_the_values() -> None:
    oracle = QueryOracle(np.zeros((1, 1)), [0], epsilon=1)
    source = Reproducible(3)
    for value, clamped in ((-1, -1), (0.25, 0.25), (7, 1), (math.nan, 0), (math.inf, 0)):
        sent = local_answers(np.full(20_000, value, dtype=float), oracle._coins, source)
        assert set(sent.tolist()) == {-1.0, 1.0}
        assert_rate(int((sent > 0).sum()), 20_000, 0.5 + clamped * math.tanh(0.5) / 2)


def test_an_audit_does_not_refute_a_message_and_catches_one_without_coins() -> None:
    coins = QueryOracle(np.zeros((1, 1)), [0], epsilon=1)._coins
    release = lambda value, entropy: float(local_answers(np.array([value]), coins, entropy)[0])  # noqa: E731
    found = audit(
        release, (-1.0, 1.0), samples=3000, claimed=PureDP(1, relation="replace"), relation="replace",
        confidence=1 - FALSE_ALARM, entropy=Reproducible(9),
    )  # fmt: skip
    assert not found.caught, found.explain()
    assert found.epsilon_lower_bound > 0.4
    bare = audit(lambda value: value > RNG.uniform(-1, 1), (-0.9, 0.9), samples=3000, claimed=1, relation="replace")
    assert bare.caught


# Masked parities


def test_masked_parities_label_as_defined() -> None:
    concept = MaskedParity((True, False, True, True), flipped=True)
    for x in product((0, 1), repeat=4):
        for place in range(4):
            rows = np.array([[*x, place, 0], [*x, place, 1]])
            parity = (x[0] + x[2] + x[3] + 1) % 2
            assert concept.labels(rows).tolist() == [(-1) ** parity, (-1) ** concept.secret[place]]


def test_rows_of_masked_parities_are_uniform() -> None:
    x, place, mask = parts_of(MaskedParity.draw(4, 8000, Reproducible(1)))
    assert stats.chisquare(np.bincount(place, minlength=4)).pvalue > FALSE_ALARM
    for bit in (*x.T, mask):
        assert_rate(int(bit.sum()), 8000, 0.5)


def runs(
    learn: Callable[..., MaskedParity], bits: int, people: int, repeats: int
) -> list[tuple[MaskedParity, MaskedParity]]:
    source, seen = Reproducible(bits * people), []
    for _ in range(repeats):
        concept, X = MaskedParity.drawn(bits, source), MaskedParity.draw(bits, people, source)
        oracle = QueryOracle(X, concept.labels(X), epsilon=1, random_state=source)
        more = {"random_state": source} if learn is learn_in_one_round else {}
        seen.append((concept, learn(oracle, bits, **more)))
    return seen


def test_two_rounds_find_what_one_round_must_guess() -> None:
    people, repeats = 120_000, 20
    assert all(concept == learnt for concept, learnt in runs(learn_in_two_rounds, 16, people, repeats))
    once = runs(learn_in_one_round, 16, people, repeats)
    assert all(concept.secret == learnt.secret for concept, learnt in once)
    wrong = sum(concept.flipped != learnt.flipped for concept, learnt in once)
    assert stats.binom.cdf(wrong, repeats, 0.5) > FALSE_ALARM
    assert wrong > 0


def test_one_round_is_enough_for_few_bits() -> None:
    assert all(concept == learnt for concept, learnt in runs(learn_in_one_round, 4, 20_000, 20))


def test_one_round_stays_below_its_ceiling_and_the_ceiling_is_exact_in_its_parts() -> None:
    people, repeats = 60, 300
    ceiling = one_round_ceiling(8, people, epsilon=1)
    right = sum(concept.flipped == learnt.flipped for concept, learnt in runs(learn_in_one_round, 8, people, repeats))
    assert ceiling < 0.7
    assert_at_most(right, repeats, ceiling)
    assert ceiling == pytest.approx(0.5 + 0.5 * math.sqrt(people / 256 * (math.e - 1) ** 2 / 8))


@together("bits", [0, 1, 3, 12])
def test_places_need_a_power_of_two(bits: int) -> None:
    with pytest.raises((InvalidCall, InvalidParameter)):
        MaskedParity.drawn(bits, SYSTEM)
