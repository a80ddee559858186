"""What the selection mechanisms share: candidates fixed without the data, scores on a grid, and the factor 2 or 1.

A score becomes whole grid steps (`grid` says what happens to strange values). Only the distances below the best score
matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.grid import SMALL, element_steps, grid_for, saturated, steps_of_array
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import as_records, values_of
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable
from lapwing.privacy import ZCDP, PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Solvable, Mechanism):
    """The candidate with (nearly) the best score. `release` takes the scores, one per candidate, in their order.

    Args:
        sensitivity: How much one unit can change any score. A score that is not a finite number counts as 0.
        candidates: The labels to choose from, or how many there are. Never choose them by looking at the data.
        monotone: Promise that a new unit never lowers a score (or never raises one). Counts keep it under add_remove;
            nothing does under replace. It halves the noise.
        granularity: Scores are rounded to multiples of this. By default 1 for a whole sensitivity, else about a
            thousandth of it.
    """

    epsilon: Number
    sensitivity: Number
    candidates: int | Sequence[Any]
    monotone: bool = False
    granularity: Number | None = None
    _count: int = field(init=False, repr=False, compare=False)
    _granularity: Fraction = field(init=False, repr=False, compare=False)
    _steps: int = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, sensitivity = checks.positive(epsilon=self.epsilon), checks.positive(sensitivity=self.sensitivity)
        self._set_candidates()
        check_monotone(self.monotone, self.relation)
        grid = grid_for(self.granularity, sensitivity, None, on_grid=False)
        steps = math.ceil(sensitivity / grid)
        scale = drawable(self._factor() * steps / epsilon, granularity=self.granularity)
        self._set(_granularity=grid, _steps=steps, _scale=scale)

    def _set_candidates(self) -> None:
        given = self.candidates
        if isinstance(given, int | Integral):
            count = checks.whole(candidates=given)
            self._set(candidates=count, _count=count)
            return
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise InvalidParameter("candidates", given, "must be a list of labels or a number", "Write candidates=10.")
        labels = given if isinstance(given, range) else tuple(values_of(given))
        if not labels:
            raise InvalidParameter("candidates", given, "there is nothing to choose from", "Give at least one.")
        self._set(candidates=labels, _count=len(labels))

    def _factor(self) -> int:
        """How many times a score's sensitivity enters the loss."""
        return 1 if self.monotone else 2

    def privacy_loss(self) -> PureDP:
        """Pure ε, from the scale of the noise in grid steps.

        >>> from lapwing.mechanisms import PermuteAndFlip
        >>> print(PermuteAndFlip(epsilon=1, sensitivity=1, candidates=3).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        return PureDP(self._factor() * self._steps / self._scale, relation=self.relation, unit=self.unit)

    def zcdp_loss(self) -> ZCDP:
        """The same release in zero-concentrated terms: ε²/2, as for every pure guarantee.

        >>> from lapwing.mechanisms import PermuteAndFlip
        >>> print(PermuteAndFlip(epsilon=1, sensitivity=1, candidates=3).zcdp_loss())
        ρ = 0.5 (add_remove, per person)
        """
        return ZCDP(self.privacy_loss().epsilon ** 2 / 2, relation=self.relation, unit=self.unit)

    def _label(self, index: int) -> Any:
        return index if isinstance(self.candidates, int) else self.candidates[index]

    def _score_steps(self, scores: Any) -> list[int] | NDArray[np.int64]:
        """The scores in whole steps: Python integers for a list, int64 for an array."""
        listed = as_records(scores)
        if not isinstance(listed, list):
            if listed.shape != (self._count,):
                raise wrong_length(self._count)
            return steps_of_array(listed, self._granularity)
        if len(listed) != self._count:
            raise wrong_length(self._count)
        steps = [element_steps(score, self._granularity) for score in listed]
        return steps if self._count <= SMALL else saturated(steps)  # so that a long list is what its array would be

    def _gaps(self, scores: Any) -> list[int] | NDArray[np.uint64]:
        """How many steps each score lies below the best: Python integers for a list, uint64 for an array."""
        steps = self._score_steps(scores)
        if isinstance(steps, list):
            best = max(steps)
            return [best - step for step in steps]
        import numpy as np

        return np.asarray(steps.max().astype(np.uint64) - steps.view(np.uint64))


def check_monotone(monotone: object, relation: str) -> None:
    """Refuse what cannot be monotone."""
    if checks.true_or_false(monotone=monotone) and relation == "replace":
        raise InvalidParameter(
            "monotone",
            True,
            "monotone needs add_remove: replacing a unit may raise one score and lower another",
            "Write monotone=False, or relation='add_remove'.",
        )


def wrong_length(count: int) -> InvalidParameter:
    """The error for scores that are not one per candidate; it names the declared number only."""
    return InvalidParameter(
        "data", "<scores>", f"there must be exactly {count} scores in one dimension", "Pass one score per candidate."
    )
