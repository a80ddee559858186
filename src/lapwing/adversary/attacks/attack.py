"""What an attack is: a secret, a method that reveals it, and a private answer to the same question.

Every attack is played in rounds. A round draws a secret, lets the method answer, lets the attacker guess, and gives the
share of the secret that was guessed: 0 or 1 for one value, anything between for many. Weak methods are broken; against
the private answer nobody can do better than a bound that is a theorem.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lapwing import checks
from lapwing.adversary.attacks.bounds import limits
from lapwing.checks import Number
from lapwing.errors import NoiseWarning, NotPrivateWarning
from lapwing.noise import SYSTEM, Entropy, Reproducible

Rounds = Sequence[float]
"""For every round the share of the secret that was guessed, between 0 and 1."""
Heard = Callable[[int, int], None]
"""Who is told how much is done, of how much."""
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
CONFIDENCE = 0.999
SUREST = 36.0
"""In log odds: noise never makes certain, and 1/(1 + e^−36) is less than 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What an attacker found out, and how sure it is."""

    about: str
    """Whom or what."""
    guess: Any
    sure: float
    """The chance that the guess is right, as the attacker computes it; 1 where it follows."""
    because: str
    """How it follows, in one sentence."""
    truth: Any = None
    """What is true, where the demonstration knows it."""

    def __str__(self) -> str:
        said = "certainly" if self.sure == 1 else f"{self.sure:.1%} sure"
        return f"{self.about}: {self.guess} ({said}). {self.because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well an attack did against one method."""

    method: str
    epsilon: float | None
    """What the method promises about the secret; None if it promises nothing."""
    rounds: int
    success: float
    """The share of secrets guessed."""
    low: float
    high: float
    """Where the true success lies, with `CONFIDENCE`."""
    bound: float | None
    """What no attacker can exceed; None if nothing bounds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """An attack played against the weak methods and against the private one over epsilon."""

    attack: Attack
    scores: tuple[Score, ...]

    @property
    def weak(self) -> list[Score]:
        """Against methods that promise nothing."""
        return [score for score in self.scores if score.epsilon is None]

    @property
    def private(self) -> list[Score]:
        """Against the private answer, by epsilon."""
        return [score for score in self.scores if score.epsilon is not None]

    @property
    def holds(self) -> bool:
        """Whether no success exceeds its bound beyond chance."""
        return all(score.bound is None or score.low <= score.bound for score in self.scores)

    def rows(self) -> list[dict[str, Any]]:
        """The scores as plain values."""
        names = ("method", "epsilon", "rounds", "success", "low", "high", "bound")
        return [
            {"attack": self.attack.name, **{name: getattr(score, name) for name in names}, "chance": self.attack.chance}
            for score in self.scores
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack, ready to be run."""

    name: str
    title: str
    secret: str
    """What is guessed, as in “whether Ada smokes”."""
    source: str
    weak: Mapping[str, Callable[[int, Entropy], Rounds]] = field(repr=False)
    """Methods that it breaks, by name: so many rounds, with this randomness."""
    answer: str
    """The private answer to the same question, in a few words."""
    promise: str
    """What its epsilon is about: the unit and the relation."""
    private: Callable[[float, int, Entropy], Rounds] = field(repr=False)
    """The same attack on the private answer at an epsilon."""
    bound: Callable[[float], float] = field(repr=False)
    """The most that any attacker reaches at this epsilon; a theorem."""
    chance: float = 0.5
    """What guessing without looking reaches."""
    blind: str = "guessing blindly"
    """What that is called in a picture."""
    example: Callable[[Entropy], Sequence[Conclusion]] = field(repr=False)
    """One attack told step by step: what was learned, and how surely."""
    lesson: str
    """What one should remember, in a sentence or two."""
    measured: str = "secrets guessed"
    """What success means, along an axis."""
    rounds: int = 400
    epsilons: tuple[float, ...] = EPSILONS

    def __str__(self) -> str:
        return self.name

    def run(
        self,
        *,
        rounds: int | None = None,
        epsilons: Sequence[Number] | None = None,
        seed: object = 0,
        heard: Heard | None = None,
    ) -> Contest:
        """Play all of it; the same seed gives the same contest. `heard` is told how far it is."""
        count = checks.whole(rounds=self.rounds if rounds is None else rounds, minimum=1)
        levels = [
            float(checks.positive(epsilon=epsilon)) for epsilon in (self.epsilons if epsilons is None else epsilons)
        ]
        games: list[tuple[str, float | None]] = [(name, None) for name in self.weak]
        games += [(self.answer, epsilon) for epsilon in levels]
        scores: list[Score] = []
        for done, (method, epsilon) in enumerate(games):
            source = repeatable(self.name, method, epsilon, seed)
            played = self.weak[method](count, source) if epsilon is None else self.private(epsilon, count, source)
            scores.append(_score(method, epsilon, played, None if epsilon is None else self.bound(epsilon)))
            if heard is not None:
                heard(done + 1, len(games))
        return Contest(attack=self, scores=tuple(scores))

    def tell(self, entropy: Entropy = SYSTEM) -> Sequence[Conclusion]:
        """One attack, told."""
        return self.example(entropy)


def sure_of(odds: float) -> float:
    """The chance of the likelier of two, from the logarithm of their odds.

    >>> sure_of(0), round(sure_of(-1), 3)
    (0.5, 0.731)
    """
    return 1 / (1 + math.exp(-min(abs(odds), SUREST)))


def repeatable(*seed: object) -> Reproducible:
    """The same randomness for the same seed. It protects nobody, and demonstrations have nobody to protect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        warnings.simplefilter("ignore", NoiseWarning)
        return Reproducible(hashlib.sha256(repr(seed).encode()).digest())


def _score(method: str, epsilon: float | None, played: Rounds, bound: float | None) -> Score:
    success = float(sum(played)) / len(played)
    low, high = limits(success, len(played), (1 - CONFIDENCE) / 2)
    return Score(method=method, epsilon=epsilon, rounds=len(played), success=success, low=low, high=high, bound=bound)
