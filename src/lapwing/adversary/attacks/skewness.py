"""Skewness: a value that is far commoner in a class than elsewhere reveals people, even if the class is diverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing import checks
from lapwing.adversary.attacks import ward
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.publication import Publication, Targets
from lapwing.anonymity.closeness import Closeness
from lapwing.anonymity.criteria import Criterion, DistinctDiversity
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy

RARE = Fraction(1, 20)
WEIGHTS = (1 - RARE, RARE)


def skewness(
    table: Any,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    targets: Targets | None = None,
    *,
    value: Any = None,
    times: Number = 2,
) -> list[Conclusion]:
    """Find people for whom a value is much likelier than for anybody in the table.

    Source: Li, Li and Venkatasubramanian 2007, t-closeness, section 3.1.

    Args:
        table: The published table: columns by name, rows as dicts, or a data frame. Values may be coarse, as "40-50"
            or "0213*".
        quasi_identifiers: The columns that the attacker may know of a person.
        sensitive: The column that the attacker wants to know.
        targets: What the attacker knows of each person, as `{"Ann": {"zip": "13053"}}`. None means everybody: one
            conclusion for each class of rows that look alike.
        value: The value to look for. None means, for each person, the one whose chance grows most.
        times: How many times as likely a value must be among the rows that may be theirs as in the whole table.

    Returns:
        A conclusion for each person for whom a value is that much likelier.

    Raises:
        InvalidParameter: If the table does not have the value.

    >>> tests = {"zip": ["130**"] * 4 + ["148**"] * 96, "HIV": ["yes", "yes", "no", "no"] + ["no"] * 96}
    >>> print(*skewness(tests, ["zip"], "HIV", value="yes"))
    zip 130**: yes (50.0% sure). It is 25 times as common among them as in the whole table (2.0%).
    """
    published = Publication.of(table, quasi_identifiers, sensitive)
    if value is not None and value not in published.kinds:
        known = ", ".join(map(str, published.kinds[:10]))
        raise InvalidParameter("value", value, "does not occur", f"The values are {known}.")
    wanted = float(checks.positive(times=times))
    before = published.shares
    conclusions = []
    for about, counts in published.suspects(targets):
        after = counts / counts.sum()
        best = int(np.argmax(after / before)) if value is None else published.kinds.index(value)
        gain = after[best] / before[best]
        if gain >= wanted:
            conclusions.append(
                Conclusion(
                    about=about,
                    guess=published.kinds[best],
                    sure=float(after[best]),
                    because=f"It is {gain:.3g} times as common among them as in the whole table ({before[best]:.1%}).",
                )
            )
    return conclusions


def _strategy(beliefs: ward.Beliefs, secrets: ward.Secrets, entropy: Entropy) -> bool:
    """Name somebody who is positive."""
    return bool(secrets[int(beliefs[:, 1].argmax())] == 1)


def _table(criterion: Criterion | None, k: int = 5) -> Callable[[int, Entropy], Rounds]:
    method = ward.anonymous(k, 2) if criterion is None else ward.demanding(k, 2, criterion)
    return lambda rounds, entropy: ward.play(rounds, entropy, WEIGHTS, method, _strategy)


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    return ward.play(rounds, entropy, WEIGHTS, ward.noisy(epsilon, WEIGHTS), _strategy)


def _bound(epsilon: float) -> float:
    """See `ward`: the value that is guessed has this chance before."""
    return best_guess(epsilon, prior=RARE)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """The example of the paper: 10,000 people of whom 1 % are positive, and a class in which half are."""
    tests = {
        "zip": ["1305*"] * 20 + ["1485*"] * 9_980,
        "test": ["positive", "negative"] * 10 + ["positive"] * 90 + ["negative"] * 9_890,
    }
    return skewness(tests, ["zip"], "test", {"somebody of 13053": {"zip": "13053"}}, value="positive")


SKEWNESS = Attack(
    name="skewness",
    title="Skewness: a class in which a rare value is common",
    secret="who is positive (one person in twenty is)",
    source="Li, Li and Venkatasubramanian 2007",
    weak={
        "2-anonymous table": _table(None, 2),
        "5-anonymous table": _table(None),
        "2-diverse table": _table(DistinctDiversity(sensitive=ward.SENSITIVE, least=2)),
        "0.2-close table": _table(Closeness(sensitive=ward.SENSITIVE, most=0.2)),
    },
    answer=ward.PRIVATE,
    promise=ward.PROMISE,
    private=_private,
    bound=_bound,
    chance=float(RARE),
    example=_example,
    lesson=(
        "A class with both answers is diverse, but the rare answer may still be many times as common there as "
        "elsewhere."
    ),
    measured="named people who are positive",
)
