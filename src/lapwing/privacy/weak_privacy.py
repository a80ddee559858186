"""A warning if an epsilon is so large that it gives almost no protection."""

from __future__ import annotations

import warnings
from fractions import Fraction

from lapwing.errors import WeakPrivacyWarning
from lapwing.privacy.losses import ZCDP, Loss

LARGE = 20
"""An epsilon above which one is warned."""
_DELTA = Fraction(1, 10**6)


def warn_if_large(loss: Loss, what: str) -> None:
    """Say what an epsilon above 20 means. A rho is judged by the epsilon that it implies at a delta of a millionth."""
    size = getattr(loss, "epsilon", Fraction(0))
    if isinstance(loss, ZCDP):
        size = loss.to_approx(max(_DELTA, 2 * loss.delta)).epsilon
    if size > LARGE:
        text = (
            f"{what} has ε = {float(size):.3g}. Above {LARGE}, an attacker who gave a person a chance of 1 in "
            "a million to be in the data can become more than 99 % sure of it. This gives almost no protection. "
            "Usual values are between 0.1 and 10."
        )
        warnings.warn(text, WeakPrivacyWarning, stacklevel=4)
