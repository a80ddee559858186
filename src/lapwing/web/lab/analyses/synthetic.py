"""Errors that no formula gives, found by trying the library's own estimators on rows that nobody has.

Rows are drawn within the stated bounds, as many as were stated. Only few are drawn, with an epsilon that is larger in
proportion: the noise of these estimators depends on rows times epsilon. The real data is never touched.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import LapwingError, NotPrivateWarning
from lapwing.noise import Entropy, Reproducible
from lapwing.web.lab.result import EPSILONS

Floats = NDArray[np.float64]
Bounds = Sequence[tuple[float, float]]

FEWEST, ROWS = 100, 1500
"""So many made-up rows at least and at most."""
TRIED = (0.01, 0.1, 0.6, 2.5, 10.0)
"""Where on the slider it is tried; between them the error is a line, on two logarithmic scales."""
TIMES = 4
TINY = 1e-12
AT_ONCE, PATIENCE = 2, 5.0
"""So many try at the same time, and so many seconds the others wait: they hold threads that pages need."""
_trying = threading.BoundedSemaphore(AT_ONCE)
_quiet = threading.Lock()


def source(seed: int) -> Entropy:
    """Bits for made-up rows and their noise, the same every time: there is nobody to protect."""
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return Reproducible(seed)


def errors(people: int, off: Callable[[int, float, Entropy], Sequence[float]], confidence: float) -> tuple[float, ...]:
    """How far off at every place of the slider. `off(rows, epsilon, entropy)` tries once and says how far it was."""
    if not _trying.acquire(timeout=PATIENCE):
        raise Busy("The lab is fitting many models now. Please try again in a moment.")
    try:
        return _errors(people, off, confidence)
    finally:
        _trying.release()


class Busy(LapwingError):
    """Too many want to know at once."""


def _errors(people: int, off: Callable[[int, float, Entropy], Sequence[float]], confidence: float) -> tuple[float, ...]:
    rows = max(FEWEST, min(people, ROWS))
    factor = people / rows
    errors = []
    for epsilon in TRIED:
        tried = [error for seed in range(TIMES) for error in off(rows, epsilon * factor, source(seed))]
        errors.append(max(TINY, float(np.quantile(np.abs(tried), confidence))))
    falling = list(accumulate(errors, min))
    line = np.interp(np.log(EPSILONS), np.log(TRIED), np.log(falling))
    return tuple(float(f"{value:.3g}") for value in np.exp(line))


def uniform(shape: tuple[int, ...], entropy: Entropy) -> Floats:
    """Numbers from 0 to 1."""
    return entropy.words(int(np.prod(shape)), np.uint32).reshape(shape) / 2.0**32


def within(bounds: Bounds, rows: int, entropy: Entropy, share: float = 1.0) -> Floats:
    """Rows spread evenly over the lower `share` of the bounds."""
    low, width = _ends(bounds)
    return np.asarray(low + share * width * uniform((rows, len(bounds)), entropy))


def leaning(X: Floats, bounds: Bounds, entropy: Entropy, share: float = 1.0) -> Floats:
    """A number from 0 to `share` for each row, half of which follows from its columns, equally from each."""
    low, width = _ends(bounds)
    middle: Floats = ((X - low) / width).mean(axis=1)
    return (middle + share * uniform((len(X),), entropy)) / 2


def gathered(bounds: Bounds, rows: int, groups: int, entropy: Entropy, share: float = 1.0) -> Floats:
    """Rows in so many heaps, each a tenth as wide as where they lie."""
    low, width = _ends(bounds)
    centres = within(bounds, groups, entropy, share)[np.arange(rows) % groups]
    spread = share * width / 10 * (uniform((rows, len(bounds)), entropy) - 0.5)
    return np.asarray(np.clip(centres + spread, low, low + width))


def _ends(bounds: Bounds) -> tuple[Floats, Floats]:
    low, high = np.array(bounds, dtype=float).T
    return low, high - low
