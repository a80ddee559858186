"""Background knowledge: the attacker combines what is known already with the published class of a person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from lapwing import checks
from lapwing.adversary.attacks import ward
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.hospitals import FOUR_ANONYMOUS, FOUR_QUASI, THREE_DIVERSE, TWO_ANONYMOUS, TWO_QUASI
from lapwing.adversary.attacks.publication import Publication, Targets
from lapwing.anonymity.criteria import DistinctDiversity
from lapwing.checks import Number
from lapwing.noise import Entropy, uniform_below

KINDS = 4
WEIGHTS = ward.even(KINDS)


def background(
    table: Any,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    targets: Targets | None = None,
    *,
    ruled_out: Collection[Any] = (),
    likelihood: Mapping[Any, Number] | None = None,
) -> list[Conclusion]:
    """Find the likeliest value of each person, from the published rows and from background knowledge.

    By Bayes' rule the odds of a value are how often it occurs among the rows that may be the person's, times its
    likelihood.

    Source: Machanavajjhala et al. 2007, l-diversity, section 1.1; the rule is their theorem 3.1.

    Args:
        table: The published table: columns by name, rows as dicts, or a data frame. Values may be coarse, as "40-50"
            or "0213*".
        quasi_identifiers: The columns that the attacker may know of a person.
        sensitive: The column that the attacker wants to know.
        targets: What the attacker knows of each person, as `{"Ann": {"zip": "13053"}}`. None means everybody: one
            conclusion for each class of rows that look alike.
        ruled_out: Values that these people cannot have.
        likelihood: For a value, how well it explains what is known about the people, relative to the others. Values
            that are not named have 1.

    Returns:
        A conclusion for each person whom some row fits.

    Raises:
        InvalidParameter: If a column does not exist, or a likelihood is negative.

    >>> wards = {"age": ["60-70", "60-70"], "illness": ["Parkinson's", "stroke"]}
    >>> print(*background(wards, ["age"], "illness", {"Mrs. Brown": {"age": 65}}, likelihood={"stroke": 9}))
    Mrs. Brown: stroke (90.0% sure). It is 1 of 2 rows, and fits what is known 9 times as well as others.
    """
    published = Publication.of(table, quasi_identifiers, sensitive)
    likelihoods = {**dict.fromkeys(ruled_out, 0), **(likelihood or {})}
    weights = np.array([float(checks.not_negative(likelihood=likelihoods.get(kind, 1))) for kind in published.kinds])
    conclusions = []
    for about, counts in published.suspects(targets):
        odds = counts * weights
        if not odds.any():
            continue  # what is known contradicts the table
        best = int(odds.argmax())
        alone = np.count_nonzero(odds) == 1
        conclusions.append(
            Conclusion(
                about=about,
                guess=published.kinds[best],
                sure=1.0 if alone else float(odds[best] / odds.sum()),
                because=_why(counts, weights, best),
            )
        )
    return conclusions


def _why(counts: Any, weights: Any, best: int) -> str:
    rows = f"It is {counts[best]} of {counts.sum()} rows"
    if excluded := int(counts[weights == 0].sum()):
        return f"{rows}, and {excluded} others are ruled out."
    return rows + (
        f", and fits what is known {weights[best]:g} times as well as others." if weights[best] != 1 else "."
    )


def _strategy(beliefs: ward.Beliefs, secrets: ward.Secrets, entropy: Entropy) -> bool:
    """Of everybody's four diagnoses the attacker can rule out two that are wrong, as likely as any others."""
    decoy = (secrets + 1 + uniform_below(KINDS - 1, len(secrets), entropy)) % KINDS
    left = np.zeros_like(beliefs)
    everybody = np.arange(len(secrets))
    for possible in (secrets, decoy):
        left[everybody, possible] = beliefs[everybody, possible]
    person, value = ward.surest(left / np.maximum(left.sum(axis=1, keepdims=True), 1e-300))
    return bool(secrets[person] == value)


def _game(method: ward.Method) -> Callable[[int, Entropy], Rounds]:
    return lambda rounds, entropy: ward.play(rounds, entropy, WEIGHTS, method, _strategy)


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    return ward.play(rounds, entropy, WEIGHTS, ward.noisy(epsilon, WEIGHTS), _strategy)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """A small ward, then the tables of Machanavajjhala et al. 2007."""
    brown = {"Mrs. Brown, taken away by ambulance": {"gender": "Female", "age": 71, "zip": "02142"}}
    umeko = {"Umeko, 21, of 13068, who has a strong heart": {"age": 21, "zip": "13068"}}
    bob = {"Bob, 31, of 13053, for whom two diagnoses are ruled out": {"age": 31, "zip": "13053"}}
    two = ["heart disease", "viral infection"]
    return [
        *background(TWO_ANONYMOUS, TWO_QUASI, "diagnosis", brown, likelihood={"stroke": 20}),
        *background(FOUR_ANONYMOUS, FOUR_QUASI, "condition", umeko, ruled_out=["heart disease"]),
        *background(THREE_DIVERSE, FOUR_QUASI, "condition", bob, ruled_out=two),
    ]


BACKGROUND = Attack(
    name="background",
    title="Background knowledge: what the attacker knows already",
    secret=(
        "which of two diagnoses a patient has, after the other two of four are ruled out; the attacker chooses the "
        "patient"
    ),
    source="Machanavajjhala et al. 2007",
    weak={
        "5-anonymous table": _game(ward.anonymous(5, KINDS)),
        "3-diverse table": _game(ward.demanding(5, KINDS, DistinctDiversity(sensitive=ward.SENSITIVE, least=3))),
    },
    answer=ward.PRIVATE,
    promise=ward.PROMISE,
    private=_private,
    bound=best_guess,
    example=_example,
    lesson="l-diversity breaks once an attacker can rule out l − 1 values, and nobody knows what an attacker knows.",
)
