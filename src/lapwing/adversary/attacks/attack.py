"""What an attack is: a secret, a method that reveals it, and a private answer to the same question.

Every attack is played in rounds. A round draws a secret, lets the method answer, lets the attacker guess, and gives the
share of the secret that was guessed: 0 or 1 for one value, anything between for many. Weak methods are broken. Against
the private answer no attacker does better than a proven bound.
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
"""A function that is told how much is done, of how much."""
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
CONFIDENCE = 0.999
SUREST = 36.0
"""In log odds: noise never makes certain, and 1/(1 + e^−36) is less than 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What an attacker found out about a person or thing, and how sure the attacker is.

    >>> print(Conclusion(about="Ada smokes", guess="yes", sure=0.731, because="The noisy totals differ by 2."))
    Ada smokes: yes (73.1% sure). The noisy totals differ by 2.
    """

    about: str
    """Whom or what it is about."""
    guess: Any
    """The value that the attacker thinks most likely."""
    sure: float
    """The chance that the guess is right, as the attacker computes it; 1 where it follows."""
    because: str
    """How it follows, in one sentence."""
    truth: Any = None
    """The true value, where a demonstration knows it; None otherwise."""

    def __str__(self) -> str:
        said = "certainly" if self.sure == 1 else f"{self.sure:.1%} sure"
        return f"{self.about}: {self.guess} ({said}). {self.because}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well an attack did against one method.

    >>> from lapwing.adversary.attacks import ATTACKS
    >>> score = ATTACKS["differencing"].run(rounds=10, epsilons=[1]).weak[0]
    >>> score.method, score.success
    ('exact sums', 1.0)
    """

    method: str
    """The method that was attacked, in a few words."""
    epsilon: float | None
    """What the method promises about the secret; None if it promises nothing."""
    rounds: int
    """How often the attack was played."""
    success: float
    """The share of secrets that were guessed."""
    low: float
    """The lower end of a 99.9 % interval for the true success."""
    high: float
    """The upper end of that interval."""
    bound: float | None
    """The largest success that any attacker can have; None if nothing bounds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """The result of an attack: its scores against the weak methods, and against the private answer at each epsilon.

    >>> from lapwing.adversary.attacks import ATTACKS
    >>> contest = ATTACKS["differencing"].run(rounds=200, epsilons=[0.5, 1])
    >>> contest.weak[0].success, [score.epsilon for score in contest.private], contest.holds
    (1.0, [0.5, 1.0], True)
    """

    attack: Attack
    """The attack that was run."""
    scores: tuple[Score, ...]
    """One score for each weak method, then one for each epsilon."""

    @property
    def weak(self) -> list[Score]:
        """The scores against methods that promise nothing."""
        return [score for score in self.scores if score.epsilon is None]

    @property
    def private(self) -> list[Score]:
        """The scores against the private answer, one for each epsilon."""
        return [score for score in self.scores if score.epsilon is not None]

    @property
    def holds(self) -> bool:
        """Whether every success is within its bound, up to chance."""
        return all(score.bound is None or score.low <= score.bound for score in self.scores)

    def rows(self) -> list[dict[str, Any]]:
        """The scores as rows of plain values, for a table or a CSV.

        Returns:
            A dictionary for each method, with the columns `attack`, `method`, `epsilon`, `rounds`, `success`, `low`,
                `high`, `bound` and `chance`.

        >>> from lapwing.adversary.attacks import ATTACKS
        >>> rows = ATTACKS["differencing"].run(rounds=10, epsilons=[1]).rows()
        >>> rows[0]["method"], rows[0]["success"]
        ('exact sums', 1.0)
        """
        names = ("method", "epsilon", "rounds", "success", "low", "high", "bound")
        return [
            {"attack": self.attack.name, **{name: getattr(score, name) for name in names}, "chance": self.attack.chance}
            for score in self.scores
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A demonstration of one attack, ready to be run.

    >>> from lapwing.adversary.attacks import ATTACKS
    >>> averaging = ATTACKS["averaging"]
    >>> averaging.secret
    'whether Ada smokes, like 42 others'
    >>> averaging.run(rounds=20, epsilons=[1]).holds
    True
    >>> averaging.tell()[0].truth in (42, 43)
    True
    """

    name: str
    """Its name in `ATTACKS` and on the command line."""
    title: str
    """What the attack does, as a heading."""
    secret: str
    """What is guessed, as in “whether Ada smokes”."""
    source: str
    """The publication that describes the attack."""
    weak: Mapping[str, Callable[[int, Entropy], Rounds]] = field(repr=False)
    """The methods that it breaks, by name. Each plays a number of rounds with a source of randomness."""
    answer: str
    """The private answer to the same question, in a few words."""
    promise: str
    """What its epsilon is about: the unit and the relation."""
    private: Callable[[float, int, Entropy], Rounds] = field(repr=False)
    """The same attack on the private answer at an epsilon."""
    bound: Callable[[float], float] = field(repr=False)
    """The most that any attacker reaches at this epsilon; a theorem."""
    chance: float = 0.5
    """The success of guessing without looking at any answer."""
    blind: str = "guessing blindly"
    """What such guessing is called in a picture."""
    example: Callable[[Entropy], Sequence[Conclusion]] = field(repr=False)
    """Plays the attack once and gives what was learned, and how surely."""
    lesson: str
    """What to remember, in a sentence or two."""
    measured: str = "secrets guessed"
    """What success means, as the name of an axis."""
    rounds: int = 400
    """How many rounds `run` plays against each method if it is not told."""
    epsilons: tuple[float, ...] = EPSILONS
    """The epsilons of the private answer that `run` uses if it is not told."""

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
        """Play the attack against every weak method, and against the private answer at every epsilon.

        Args:
            rounds: How many rounds to play against each. None means the attack's own number.
            epsilons: The epsilons of the private answer. None means the attack's own list.
            seed: The same seed gives the same contest. Its randomness protects nobody.
            heard: A function of two numbers that is told how many methods are done, of how many. None means nobody is.

        Returns:
            The scores, with the bounds that hold for every attacker.

        Raises:
            InvalidParameter: If `rounds` is less than 1, or an epsilon is not positive.
        """
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
        """Play the attack once, and say what was learned at each step.

        Args:
            entropy: Where the randomness of secrets and noise comes from.

        Returns:
            The conclusions of the attacker, with the truth beside them where it is known.
        """
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
