"""Similarity: different values that mean the same, so that a class is diverse in words and not in meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lapwing import checks
from lapwing.adversary.attacks import ward
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.publication import Publication, Targets
from lapwing.anonymity.closeness import Closeness, Hierarchical
from lapwing.anonymity.criteria import Criterion, DistinctDiversity
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy

MEANING = np.array([0, 0, 0, 1, 1, 1])
"""Six diagnoses: three of the stomach, three of the lungs."""
WEIGHTS = ward.even(len(MEANING))


def similarity(
    table: Any,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    targets: Targets | None = None,
    *,
    groups: Mapping[Any, Any] | None = None,
    within: Number | None = None,
) -> list[Conclusion]:
    """Find people of whom something is certain, because all rows that may be theirs mean the same.

    Source: Li, Li and Venkatasubramanian 2007, t-closeness, section 3.1.

    Args:
        table: The published table: columns by name, rows as dicts, or a data frame. Values may be coarse, as "40-50"
            or "0213*".
        quasi_identifiers: The columns that the attacker may know of a person.
        sensitive: The column that the attacker wants to know.
        targets: What the attacker knows of each person, as `{"Ann": {"zip": "13053"}}`. None means everybody: one
            conclusion for each class of rows that look alike.
        groups: The meaning of each value. A value that is not named means itself.
        within: For a column of numbers: values that differ by at most this count as alike. Pass it or `groups`.

    Returns:
        A conclusion for each person whose meaning or range follows. Nothing is said about the others.

    Raises:
        InvalidParameter: If both `groups` and `within` are given, or neither, or `within` and a value is not a number.

    >>> wards = {"age": ["20s", "20s", "30s"], "illness": ["ulcer", "gastritis", "flu"], "pay": [3_000, 4_000, 9_000]}
    >>> stomach = {"ulcer": "a stomach disease", "gastritis": "a stomach disease", "flu": "a lung disease"}
    >>> print(similarity(wards, ["age"], "illness", groups=stomach)[0])
    age 20s: a stomach disease (certainly). All 2 rows that may be theirs mean it.
    >>> print(similarity(wards, ["age"], "pay", within=1_000)[0])
    age 20s: 3000 to 4000 (certainly). All 2 rows that may be theirs lie there.
    """
    if (groups is None) == (within is None):
        raise InvalidParameter("groups", groups, "say either groups or within", "Write within=1000, for example.")
    published = Publication.of(table, quasi_identifiers, sensitive)
    conclusions = []
    for about, counts in published.suspects(targets):
        present = [kind for kind, count in zip(published.kinds, counts, strict=True) if count]
        meaning = _group(present, groups) if groups is not None else _range(present, within)
        if meaning is not None:
            said = "mean it" if groups is not None else "lie there"
            because = f"All {counts.sum()} rows that may be theirs {said}."
            conclusions.append(Conclusion(about=about, guess=meaning, sure=1.0, because=because))
    return conclusions


def _group(present: Sequence[Any], groups: Mapping[Any, Any]) -> Any:
    meanings = {groups.get(kind, kind) for kind in present}
    return meanings.pop() if len(meanings) == 1 else None


def _range(present: Sequence[Any], within: Number | None) -> str | None:
    if not all(isinstance(value, (int, float)) for value in present):
        why = "is for numbers, and some are not"
        raise InvalidParameter("within", within, why, "Say with groups what values mean, and leave out missing ones.")
    low, high = min(present), max(present)
    return f"{low:g} to {high:g}" if high - low <= checks.not_negative(within=within) else None


def _strategy(beliefs: ward.Beliefs, secrets: ward.Secrets, entropy: Entropy) -> bool:
    person, meaning = ward.surest(beliefs @ np.eye(2)[MEANING])
    return bool(MEANING[secrets[person]] == meaning)


def _table(criterion: Criterion) -> Callable[[int, Entropy], Rounds]:
    method = ward.demanding(5, len(MEANING), criterion)
    return lambda rounds, entropy: ward.play(rounds, entropy, WEIGHTS, method, _strategy)


def _private(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    return ward.play(rounds, entropy, WEIGHTS, ward.noisy(epsilon, WEIGHTS), _strategy)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """The 3-diverse table of Li, Li and Venkatasubramanian 2007 (their table 4), and three cancers."""
    clinic = {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "salary": [3_000, 4_000, 5_000, 6_000, 11_000, 8_000, 7_000, 9_000, 10_000],
        "disease": [
            *("gastric ulcer", "gastritis", "stomach cancer"),
            *("gastritis", "flu", "bronchitis"),
            *("bronchitis", "pneumonia", "stomach cancer"),
        ],
    }
    stomach = dict.fromkeys(("gastric ulcer", "gastritis", "stomach cancer"), "something with the stomach")
    cancers = {"zip": ["130**"] * 3, "illness": ["lung cancer", "breast cancer", "brain cancer"]}
    bob = {"Bob, 27, of 47678": {"zip": "47678", "age": 27}}
    return [
        *similarity(clinic, ["zip", "age"], "disease", bob, groups=stomach),
        *similarity(clinic, ["zip", "age"], "salary", bob, within=2_000),
        *similarity(cancers, ["zip"], "illness", groups=dict.fromkeys(cancers["illness"], "cancer")),
    ]


_ORGANS = {code: (f"organ {meaning}",) for code, meaning in enumerate(MEANING.tolist())}
SIMILARITY = Attack(
    name="similarity",
    title="Similarity: different values that mean the same",
    secret="whether a patient has a disease of the stomach or of the lungs; the attacker chooses the patient",
    source="Li, Li and Venkatasubramanian 2007",
    weak={
        "3-diverse table": _table(DistinctDiversity(sensitive=ward.SENSITIVE, least=3)),
        "0.4-close table": _table(Closeness(sensitive=ward.SENSITIVE, most=0.4, ground=Hierarchical(groups=_ORGANS))),
    },
    answer=ward.PRIVATE,
    promise=ward.PROMISE,
    private=_private,
    bound=best_guess,
    example=_example,
    lesson="A criterion that counts words does not know what they mean. A distance is only as good as its taxonomy.",
)
