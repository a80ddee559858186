"""Adding noise to an answer on a public grid: one number, or a vector of a declared length."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from lapwing.errors import InvalidParameter
from lapwing.mechanisms.grid import (
    INT64_MAX,
    SMALL,
    add_saturating,
    array_from_steps,
    element_steps,
    from_steps,
    is_array,
    saturated,
    steps_of_array,
    to_steps,
)
from lapwing.mechanisms.records import as_records
from lapwing.noise import Entropy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


FEW = 64
"""Draws."""


class Sampler(Protocol):
    """A law to draw whole steps from."""

    def draw(self, entropy: Entropy) -> int:
        """One draw."""

    def draws(self, size: int, entropy: Entropy) -> NDArray[Any]:
        """Many draws."""


def add_noise(data: Any, granularity: Fraction, dimensions: int | None, sampler: Sampler, entropy: Entropy) -> Any:
    """The noisy answer: a number for a number, a list for a list, an array for an array."""
    if dimensions is None:
        if is_array(data):
            why, hint = "is a vector, and this mechanism releases one number", "Declare its public length: dimensions=…"
            raise InvalidParameter("data", "<vector>", why, hint)
        return from_steps(to_steps(data, granularity) + sampler.draw(entropy), granularity)
    is_list = isinstance(data, (list, tuple))
    if is_list and dimensions <= SMALL:
        if len(data) != dimensions:
            raise wrong_length(dimensions)
        return [from_steps(element_steps(value, granularity) + sampler.draw(entropy), granularity) for value in data]
    steps = vector_steps(data, granularity, dimensions)
    noisy = array_from_steps(add_saturating(steps, _draws(sampler, dimensions, entropy)), granularity)
    return noisy.tolist() if is_list else noisy


def _draws(sampler: Sampler, size: int, entropy: Entropy) -> NDArray[Any]:
    """Few are drawn one by one: the tables for many take longer to make than that."""
    if size > FEW:
        return sampler.draws(size, entropy)
    import numpy as np

    drawn = [sampler.draw(entropy) for _ in range(size)]
    return np.array(drawn, dtype=np.int64 if all(-INT64_MAX <= draw <= INT64_MAX for draw in drawn) else object)


_HINT = "Declare its public length as dimensions."
ONE_PER_LEAF = "Pass one number for each leaf of the tree, or of both trees."
ONE_PER_STEP = "Pass one number for each step that was declared."


def vector_steps(data: Any, granularity: Fraction, length: int, hint: str = _HINT) -> NDArray[np.int64]:
    """A vector of the declared length as int64 steps."""
    import numpy as np

    listed = as_records(data)
    if ((len(listed),) if isinstance(listed, list) else listed.shape) != (length,):
        raise wrong_length(length, hint)
    if isinstance(listed, list):
        return np.array(saturated(element_steps(value, granularity) for value in listed), dtype=np.int64)
    return steps_of_array(listed, granularity)


def wrong_length(length: int, hint: str = _HINT) -> InvalidParameter:
    """The error for a vector that is not as long as declared; it names the declared length only."""
    return InvalidParameter("data", "<vector>", f"must be a vector of the declared length {length}", hint)
