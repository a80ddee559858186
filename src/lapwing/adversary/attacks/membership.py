"""Membership: was this person in the training data? A model that fits a row unusually well has probably seen it.

The threshold attack of Yeom et al. 2018: a row is called a member if its loss is small. The attack with shadow models
is in shadow_models.py; both end in a `Membership`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import CONFIDENCE, Conclusion
from lapwing.adversary.attacks.bounds import limits
from lapwing.calls import helpful
from lapwing.errors import InvalidParameter

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rows = tuple[Any, Any]
"""Columns and targets, (X, y)."""
Fit = Any
"""An estimator as scikit-learn has them, or a function of (X, y) that gives a model."""
Score = Callable[[Any, Any, Any], Floats]
"""How much each row looks like one that the model has seen: a function of the model, X and y."""
_TINY = 1e-12  # a probability is not taken to be smaller


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The result of a membership attack: for every candidate, whether it was in the training data.

    >>> import numpy as np
    >>> evidence, chances = np.array([2.0, 1.0, -1.0]), np.array([0.9, 0.7, 0.2])
    >>> result = Membership(attack="example", scores=evidence, chances=chances, truth=np.array([True, False, False]))
    >>> result.guesses.tolist(), result.advantage, result.hits(false_alarms=0)
    ([True, True, False], 0.5, 1.0)
    """

    attack: str
    """The attack, in a few words."""
    scores: Floats
    """The evidence that each candidate was in the training data: the larger, the more."""
    chances: Floats
    """The chance of each candidate to have been in it, as the attacker computes it, with even odds beforehand."""
    truth: Bools | None = None
    """Which candidates were in it; None if that is not known. How good an attack is can only be said with it."""

    @property
    def guesses(self) -> Bools:
        """Which candidates the attacker calls members: those with a chance above one half."""
        return np.asarray(self.chances > 0.5)

    @property
    def advantage(self) -> float:
        """The share of members who are called members, less the share of others who are."""
        inside = self._known()
        return float(np.mean(self.guesses[inside]) - np.mean(self.guesses[~inside]))

    def limits(self, confidence: checks.Number = CONFIDENCE) -> tuple[float, float]:
        """An interval for the advantage over all candidates like these. They must be independent of one another.

        Args:
            confidence: How sure the interval is, between 0 and 1.

        Returns:
            The lower and the upper end.

        Raises:
            InvalidParameter: If `confidence` is not between 0 and 1, or the members and the others are not known.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> truth = np.arange(1000) < 500
        >>> scores = rng.normal(size=1000) + truth
        >>> result = Membership(attack="example", scores=scores, chances=1 / (1 + np.exp(0.5 - scores)), truth=truth)
        >>> low, high = result.limits()
        >>> low < result.advantage < high
        True
        """
        inside, alpha = self._known(), (1 - float(checks.probability(confidence=confidence))) / 4
        hits, alarms = (
            limits(float(np.mean(self.guesses[group])), int(group.sum()), alpha) for group in (inside, ~inside)
        )
        return hits[0] - alarms[1], hits[1] - alarms[0]

    def hits(self, false_alarms: checks.Number = 0.01) -> float:
        """The share of members that are detected at a given rate of false alarms.

        Args:
            false_alarms: The share of others who may be called members.

        Returns:
            A number from 0 to 1.

        Raises:
            InvalidParameter: If `false_alarms` is not between 0 and 1, or the members and the others are not known.
        """
        inside, share = self._known(), float(checks.share(false_alarms=false_alarms))
        return hits_at(self.scores, inside, share)

    def curve(self) -> tuple[Floats, Floats]:
        """False alarms and hits for every threshold, from the strictest to the laxest.

        Returns:
            The shares of false alarms and the shares of hits, both rising from 0 to 1.

        Raises:
            InvalidParameter: If the members and the others are not known.

        >>> import numpy as np
        >>> evidence, chances = np.array([2.0, 1.0, -1.0]), np.array([0.9, 0.7, 0.2])
        >>> truth = np.array([True, False, False])
        >>> result = Membership(attack="example", scores=evidence, chances=chances, truth=truth)
        >>> [shares.tolist() for shares in result.curve()]
        [[0.0, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0]]
        """
        inside = self._known()
        order = np.argsort(-self.scores, kind="stable")
        last = np.append(np.diff(self.scores[order]) != 0, True)  # a threshold takes equal values together
        alarms, hits = (np.cumsum(group[order])[last] / group.sum() for group in (~inside, inside))
        return np.append(0.0, alarms), np.append(0.0, hits)

    @property
    def learned(self) -> list[Conclusion]:
        """The result as conclusions in words, one for each candidate."""
        return [
            Conclusion(
                about=f"candidate {place}",
                guess="a member" if chance > 0.5 else "not a member",
                sure=max(chance, 1 - chance),
                because=f"{self.attack}: evidence {score:.3g}.",
                truth=None if self.truth is None else ("a member" if self.truth[place] else "not a member"),
            )
            for place, (score, chance) in enumerate(zip(self.scores.tolist(), self.chances.tolist(), strict=True))
        ]

    def __str__(self) -> str:
        return self.explain()

    def explain(self) -> str:
        """How well the attack does, in words.

        Returns:
            A few sentences. If the members are not known, they say only how many are suspected.

        >>> import numpy as np
        >>> evidence, chances = np.array([2.0, 1.0, -1.0]), np.array([0.9, 0.7, 0.2])
        >>> print(Membership(attack="example", scores=evidence, chances=chances).explain())
        example: 2 of 3 candidates are called members. The surest guess is 90.0% sure.
        """
        called = int(self.guesses.sum())
        if self.truth is None or self.truth.all() or not self.truth.any():
            surest = float(np.max(np.maximum(self.chances, 1 - self.chances)))
            counted = f"{called} of {len(self.scores)} candidates are called members"
            return f"{self.attack}: {counted}. The surest guess is {surest:.1%} sure."
        low, high = self.limits()
        return (
            f"{self.attack}: {np.mean(self.guesses[self.truth]):.1%} of {int(self.truth.sum())} members are detected, "
            f"with {np.mean(self.guesses[~self.truth]):.1%} false alarms among {int((~self.truth).sum())} others. The "
            f"advantage is {self.advantage:.3f} (between {low:.3f} and {high:.3f} with {CONFIDENCE:g} confidence). An "
            f"(ε,δ)-private model allows at most (e^ε − 1 + 2δ)/(e^ε + 1). At 1 % false alarms, {self.hits(0.01):.1%} "
            "of the members are detected."
        )

    def _known(self) -> Bools:
        if self.truth is None or self.truth.all() or not self.truth.any():
            why = "an attack can be judged only if both members and others are known"
            raise InvalidParameter("truth", None, why, "Say who was in: shadow_attack(…, truth=inside).")
        return self.truth


@helpful
def threshold_attack(model: Any, members: Rows, others: Rows, *, score: Score | None = None) -> Membership:
    """Measure how well members of the training data are told from others by their loss alone (Yeom et al. 2018).

    The loss is the squared error, or the logarithmic loss where there are probabilities. The threshold is chosen on
    half of the rows and used on the other half, and the reverse. So guesses, advantage and limits are not biased. The
    chances are biased, since they are counted where the threshold was chosen: with a few dozen rows that tell nothing
    they are 0.58 on average, not 0.5.

    Args:
        model: The fitted model: an estimator, or its `predict_proba` or `predict`.
        members: Rows (X, y) that the model was fitted to.
        others: Rows (X, y) like them that it was not fitted to.
        score: The evidence that a model has seen each row, as a function of the model, X and y. None means minus the
            loss.

    Returns:
        The result for all rows, members first, with the truth.

    Raises:
        InvalidParameter: If there are fewer than two members or two others.

    >>> import numpy as np
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> known = dict(zip(X[:4, 0], [3, 1, 4, 1]))
    >>> predict = lambda rows: np.array([known.get(x, 0) for x in rows[:, 0]])
    >>> threshold_attack(predict, (X[:4], [3, 1, 4, 1]), (X[4:], [5, 5, 9, 9])).advantage
    1.0
    """
    sides = [as_given(members=members), as_given(others=others)]
    looks = score or evidence
    scores = np.concatenate([np.asarray(looks(model, X, y), dtype=float) for X, y in sides])
    truth = np.arange(len(scores)) < len(sides[0][0])
    chances = np.empty(len(scores))
    turn = np.arange(len(scores)) % 2 == 0
    turn[~truth] = np.arange(int((~truth).sum())) % 2 == 0
    for learn in (turn, ~turn):
        if not truth[learn].any() or truth[learn].all():
            raise InvalidParameter("members", "<rows>", "two of each are needed at least", "Pass more rows.")
        threshold = best_threshold(scores[learn], truth[learn])
        above = scores >= threshold
        hits, alarms = (smooth(above[learn & group]) for group in (truth, ~truth))
        chances[~learn] = np.where(above, hits / (hits + alarms), (1 - hits) / (2 - hits - alarms))[~learn]
    return Membership(attack="threshold on the loss", scores=scores, chances=chances, truth=truth)


def best_threshold(scores: Floats, inside: Bools) -> float:
    """What members' scores exceed where hits less false alarms are largest: midway between two scores."""
    order = np.argsort(-scores, kind="stable")
    gain = np.cumsum(np.where(inside[order], 1 / inside.sum(), -1 / (~inside).sum()))
    last = np.append(np.diff(scores[order]) != 0, True)  # of equal values: a threshold takes all of them or none
    least = float(scores[order[np.argmax(np.where(last, gain, -1.0))]])
    below = scores[scores < least]
    return (least + float(below.max())) / 2 if len(below) else least


def advantage(scores: Sequence[Floats], inside: Sequence[Bools]) -> tuple[float, float]:
    """Hits less false alarms at the best threshold over several models, and its standard error over the models.

    The threshold is chosen on half of the models and used on the others, and the other way round.
    """
    advantages = []
    for parity in (0, 1):
        learn, use = (slice(parity, None, 2), slice(1 - parity, None, 2))
        threshold = best_threshold(np.concatenate(scores[learn]), np.concatenate(inside[learn]))
        advantages += [
            float(np.mean(score[member] >= threshold) - np.mean(score[~member] >= threshold))
            for score, member in zip(scores[use], inside[use], strict=True)
        ]
    return float(np.mean(advantages)), float(np.std(advantages, ddof=1) / math.sqrt(len(advantages)))


def hits_at(scores: Floats, inside: Bools, false_alarms: float) -> float:
    """The share of members above the threshold that so many of the others are above."""
    others = np.sort(scores[~inside])[::-1]
    place = round(false_alarms * len(others))
    return 1.0 if place == len(others) else float(np.mean(scores[inside] > others[place]))


def evidence(model: Any, X: Any, y: Any) -> Floats:
    """How well a model fits every row: minus its logarithmic loss, or minus its squared error.

    The model is an estimator (its `predict_proba` if there is one, otherwise `predict`), or such a function itself.
    """
    predict = getattr(model, "predict_proba", None) or getattr(model, "predict", model)
    try:
        said = np.asarray(predict(X), dtype=float)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        hint = "Pass the model itself or its predict_proba."
        raise InvalidParameter("model", "<predict>", "predicts words, which have no loss", hint) from error
    if said.ndim == 2 and said.shape[1] > 1:
        chance = np.maximum(said[np.arange(len(said)), _places(model, y)], _TINY)
        return np.asarray(np.log(chance))
    return np.asarray(-((np.asarray(y, dtype=float) - said.reshape(len(said))) ** 2))


def fitted(fit: Fit, X: Any, y: Any) -> Any:
    """A fresh model of these rows: a clone of an estimator, fitted, or what a function gives."""
    if not hasattr(fit, "fit"):
        if not callable(fit):
            hint = "Pass an estimator, such as LinearRegression(…), or a function of (X, y)."
            raise InvalidParameter("fit", f"<{type(fit).__name__}>", "cannot fit a model", hint)
        return fit(X, y)
    from sklearn.base import clone

    return clone(fit).fit(X, y)


def as_rows(**named: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """A pair (X, y) of as many rows each, as arrays."""
    X, y = as_given(**named)
    return np.asarray(X), y


def as_given(**named: Any) -> tuple[Any, NDArray[Any]]:
    """The same, but a pandas frame stays one: models know its columns by name."""
    [(name, rows)] = named.items()
    hint = f"Write {name}=(X, y)."
    if not isinstance(rows, (tuple, list)) or len(rows) != 2:
        raise InvalidParameter(name, f"<{type(rows).__name__}>", "must be columns and targets", hint)
    X, y = rows[0] if hasattr(rows[0], "iloc") else np.asarray(rows[0]), np.asarray(rows[1])
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise InvalidParameter(name, (X.shape, y.shape), "must be a table and as many targets", hint)
    return X, y


def stacked(upper: Any, lower: Any) -> Any:
    """The rows of two tables, one below the other."""
    if not (hasattr(upper, "iloc") and hasattr(lower, "iloc")):
        return np.concatenate([upper, lower])
    import pandas  # type: ignore[import-untyped]

    return pandas.concat([upper, lower], ignore_index=True)


def _places(model: Any, y: Any) -> NDArray[np.intp]:
    """The column of each target among the probabilities."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        classes = getattr(getattr(model, "__self__", None), "classes_", None)  # predict_proba of an estimator
    if classes is None:
        return np.asarray(y, dtype=np.intp)
    return np.searchsorted(np.asarray(classes), np.asarray(y))


def smooth(said: Bools) -> float:
    """A share that is neither 0 nor 1, for nobody is certain after a few rows (Laplace's rule)."""
    return float((said.sum() + 1) / (len(said) + 2))
