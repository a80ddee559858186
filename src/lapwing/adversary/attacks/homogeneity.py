"""Homogeneity: if everybody in a class has the same value, it does not matter which row belongs to whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lapwing.adversary.attacks import ward
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.hospitals import FOUR_ANONYMOUS, FOUR_QUASI, TWO_ANONYMOUS, TWO_QUASI
from lapwing.adversary.attacks.publication import Publication, Targets
from lapwing.noise import Entropy

WEIGHTS = ward.even(2)


def homogeneity(
    table: Any, quasi_identifiers: Sequence[str], sensitive: str, targets: Targets | None = None
) -> list[Conclusion]:
    """Find people whose value is certain, because all rows that may be theirs have the same value.

    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam 2007, l-diversity, section 1.1.

    Args:
        table: The published table: columns by name, rows as dicts, or a data frame. Values may be coarse, as "40-50"
            or "0213*".
        quasi_identifiers: The columns that the attacker may know of a person.
        sensitive: The column that the attacker wants to know.
        targets: What the attacker knows of each person, as `{"Ann": {"zip": "13053"}}`. None means everybody: one
            conclusion for each class of rows that look alike.

    Returns:
        A conclusion for each person whose value follows. Nothing is said about the others.

    >>> wards = {"age": ["60-70", "40-50", "60-70", "40-50"], "illness": ["ulcer", "cancer", "stroke", "cancer"]}
    >>> print(*homogeneity(wards, ["age"], "illness", {"Mr. Smith": {"age": 47}}))
    Mr. Smith: cancer (certainly). All 2 rows that may be theirs say so.
    """
    published = Publication.of(table, quasi_identifiers, sensitive)
    return [
        Conclusion(
            about=about,
            guess=published.kinds[int(counts.argmax())],
            sure=1.0,
            because=f"All {counts.sum()} rows that may be theirs say so." if counts.sum() > 1 else "One row fits them.",
        )
        for about, counts in published.suspects(targets)
        if counts.max() == counts.sum()
    ]


def _strategy(beliefs: ward.Beliefs, secrets: ward.Secrets, entropy: Entropy) -> bool:
    person, value = ward.surest(beliefs)
    return bool(secrets[person] == value)


def _anonymous(k: int) -> Callable[[int, Entropy], Rounds]:
    return lambda rounds, entropy: ward.play(rounds, entropy, WEIGHTS, ward.anonymous(k, 2), _strategy)


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    return ward.play(rounds, entropy, WEIGHTS, ward.noisy(epsilon, WEIGHTS), _strategy)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """A small ward, then the 4-anonymous table of Machanavajjhala et al. 2007."""
    smith = {"Mr. Smith": {"gender": "Male", "age": 47, "zip": "02138"}}
    bob = {"Bob, 31, of 13053": {"age": 31, "zip": "13053"}}
    return [
        *homogeneity(TWO_ANONYMOUS, TWO_QUASI, "diagnosis", smith),
        *homogeneity(FOUR_ANONYMOUS, FOUR_QUASI, "condition", bob),
        *ward.private(FOUR_ANONYMOUS, FOUR_QUASI, "condition", bob, entropy),
    ]


HOMOGENEITY = Attack(
    name="homogeneity",
    title="Homogeneity: a class in which all people have the same value",
    secret="whether a patient has cancer; the attacker chooses the patient",
    source="Machanavajjhala et al. 2007",
    weak={f"{k}-anonymous table": _anonymous(k) for k in (2, 5, 10)},
    answer=ward.PRIVATE,
    promise=ward.PROMISE,
    private=_private,
    bound=best_guess,
    example=_example,
    lesson=(
        "k-anonymity hides which row belongs to whom, but not what the rows say. A larger k only makes such classes "
        "rarer."
    ),
)
