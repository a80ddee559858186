"""Attacks that work, and what they do to the older methods and to differential privacy.

>>> from lapwing.adversary.attacks import ATTACKS
>>> contest = ATTACKS["differencing"].run(rounds=200, epsilons=[1])
>>> contest.weak[0].success, contest.holds
(1.0, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Contest, Learned, Score
from lapwing.adversary.attacks.bounds import best_advantage, best_guess
from lapwing.adversary.attacks.differencing import DIFFERENCING, differencing

ATTACKS: Mapping[str, Attack] = MappingProxyType({attack.name: attack for attack in (DIFFERENCING,)})
"""All of them, by name."""

__all__ = [
    "ATTACKS",
    "Attack",
    "Contest",
    "Learned",
    "Score",
    "attack",
    "best_advantage",
    "best_guess",
    "differencing",
]


def attack(name: str) -> Attack:
    """One attack by its name; another name is told from those there are."""
    return ATTACKS[checks.one_of(tuple(ATTACKS), name=name)]
