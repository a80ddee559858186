"""Whether random answers follow the law that a task asks for. Runs in the browser, with the standard library only.

A check gets an object `laws` and says which law it wants, on which data and at which epsilon. Up to 4,000 answers are
drawn, in three stages, so that a gross mistake is seen early. A right program is refused with probability at most
`FALSE_ALARM` for all laws of an exercise together: each test below has a bound on its tail that holds for every number
of answers, and all tests share the false alarm equally (Bonferroni).

- Any continuous law: the largest distance D between the two distribution functions; P(D > t) ≤ 2·exp(−2nt²) (Massart,
  Annals of Probability 18, 1990).
- Laplace, for its scale besides: |answer − centre|/scale is exponential with mean 1, and the mean r of n of them has
  P(r as far off on this side) ≤ exp(−n(r − 1 − ln r)) (Chernoff).
- Shares of a few values: a share s where p is wanted has P(as far off on this side) ≤ exp(−n·KL(s‖p)) (Chernoff).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

FALSE_ALARM = 1e-6
"""The probability that a right program is refused, over all laws of one exercise."""
MOST_LAWS = 20
"""So many laws may be asked about in one exercise."""
STAGES = (250, 1000, 4000)
"""After so many answers they are looked at."""
_PARTS = 8
"""So many one-sided tests, at most, in one look at one law."""
LIMIT = math.log(MOST_LAWS * len(STAGES) * _PARTS / FALSE_ALARM)
"""A test refuses when its exponent exceeds this."""

Draw = Callable[[], Any]


class Undecided(Exception):
    """There was no time to decide. The program may be right or wrong."""


class Laws:
    """Asked by the checks of one exercise; `until` is the time at which it gives up."""

    def __init__(self, until: float = math.inf) -> None:
        self.until, self.asked, self.drawn = until, 0, 0

    def laplace(self, draw: Draw, centre: float, scale: float, at: str) -> None:
        """Whether `draw()` gives the centre plus Laplace noise of this scale; `at` says where, for the message."""

        def share_below(value: float) -> float:
            tail = math.exp(-abs(value - centre) / scale) / 2
            return tail if value < centre else 1 - tail

        def scale_is_right(answers: list[float]) -> None:
            distance = math.fsum(abs(answer - centre) for answer in answers) / len(answers)
            ratio = distance / scale
            exponent = math.inf if ratio == 0 else len(answers) * (ratio - 1 - math.log(ratio))
            assert exponent <= LIMIT, (
                f"For {at}: the answers should be {scale:.3g} away from {centre:g} on average. "
                f"Yours are {distance:.3g} away."
            )

        self._continuous(draw, share_below, at, scale_is_right)

    def continuous(self, draw: Draw, share_below: Callable[[float], float], at: str) -> None:
        """Whether `draw()` follows the continuous law with this distribution function."""
        self._continuous(draw, share_below, at, lambda answers: None)

    def shares(self, draw: Draw, wanted: Mapping[Hashable, float], at: str, *others: Mapping[Hashable, float]) -> None:
        """Whether `draw()` gives each value with its wanted probability, or with that of one of the `others`."""
        allowed = (wanted, *others)
        if len(wanted) * 2 > _PARTS:
            raise ValueError(f"A law of shares has at most {_PARTS // 2} values.")
        counts: Counter[Any] = Counter()
        for answers in self._stages(draw, at):
            counts.update(answers[counts.total() :])
            strange = [value for value in counts if value not in wanted]
            assert not strange, f"For {at}: {_shown(strange[0])} came out. It should be one of {_names(wanted)}."
            complaints = [_wrong_share(counts, law, at) for law in allowed]
            assert not all(complaints), complaints[0]

    def _continuous(
        self, draw: Draw, share_below: Callable[[float], float], at: str, more: Callable[[list[float]], None]
    ) -> None:
        for answers in self._stages(draw, at):
            for answer in answers:
                number = isinstance(answer, (int, float)) and math.isfinite(answer)
                assert number, f"For {at}: {_shown(answer)} came out. It should be a number."
            more(answers)
            _distribution_is_right(sorted(answers), share_below, at)

    def _stages(self, draw: Draw, at: str) -> Iterator[list[Any]]:
        self.asked += 1
        if self.asked > MOST_LAWS:
            raise ValueError(f"The checks ask about more than {MOST_LAWS} laws.")
        answers: list[Any] = []
        for size in STAGES:
            while len(answers) < size:
                if time.monotonic() >= self.until:
                    raise Undecided(f"there was no time for all {STAGES[-1]:,} answers that we wanted for {at}")
                answers.append(draw())
                self.drawn += 1
            yield answers


def _distribution_is_right(answers: list[float], share_below: Callable[[float], float], at: str) -> None:
    count, farthest, words = len(answers), 0.0, ""
    for place, answer in enumerate(answers):
        wanted = share_below(answer)
        for share, side in ((place / count, "below"), ((place + 1) / count, "at most")):
            if abs(share - wanted) > farthest:
                farthest = abs(share - wanted)
                words = (
                    f"For {at}: {100 * wanted:.0f} % of the answers should be {side} {answer:.4g}. Of yours, "
                    f"{100 * share:.0f} % are."
                )
    assert 2 * count * farthest**2 <= LIMIT, words


def _wrong_share(counts: Counter[Any], wanted: Mapping[Hashable, float], at: str) -> str:
    """What to say about the share that is farthest off; nothing if all may be right."""
    total, worst, words = counts.total(), LIMIT, ""
    for value, probability in wanted.items():
        share = counts[value] / total
        exponent = total * _divergence(share, probability)
        if exponent > worst:
            worst = exponent
            words = (
                f"For {at}: {_shown(value)} should come out {100 * probability:.1f} % of the time. "
                f"Yours gives it {100 * share:.1f} % of the time."
            )
    return words


def _divergence(share: float, probability: float) -> float:
    """The Kullback–Leibler divergence of two coins."""
    total = 0.0
    for seen, wanted in ((share, probability), (1 - share, 1 - probability)):
        if seen > 0:
            total += seen * math.log(seen / wanted) if wanted > 0 else math.inf
    return total


def _names(wanted: Mapping[Hashable, float]) -> str:
    return ", ".join(map(str, wanted))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
