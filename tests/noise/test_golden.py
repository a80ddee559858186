"""Golden vectors: a fixed entropy gives these numbers on every platform, or the change is deliberate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lapwing import noise
from lapwing.noise import Entropy, Reproducible

GOLDEN: dict[str, tuple[Callable[[Entropy], list[int]], list[int]]] = {
    "laplace 3": (lambda e: [noise.discrete_laplace(3, entropy=e) for _ in range(8)], [-9, 2, 1, 2, 4, -1, 1, 0]),
    "laplace 3, array": (lambda e: noise.discrete_laplace(3, 8, e).tolist(), [-8, -2, 2, -9, 4, 2, 0, 2]),
    "laplace 1000, array": (
        lambda e: noise.discrete_laplace(1000, 8, e).tolist(),
        [-1769, 1385, -1656, -496, 1464, -138, 291, 902],
    ),
    "laplace 2^58": (
        lambda e: [noise.discrete_laplace(2**58, entropy=e) for _ in range(2)],
        [-830734428715309574, 364664552183805847],
    ),
    "gaussian 10": (
        lambda e: [noise.discrete_gaussian(10, entropy=e) for _ in range(8)],
        [-19, 8, 5, 8, -11, -3, 5, 0],
    ),
    "gaussian 10, array": (lambda e: noise.discrete_gaussian(10, 8, e).tolist(), [-17, 6, 7, -19, -11, 8, 2, 8]),
    "gaussian 5000": (lambda e: [noise.discrete_gaussian(5000, entropy=e) for _ in range(4)], [4284, -2054, 394, 2583]),
    "geometric 10": (lambda e: [noise.geometric(10, entropy=e) for _ in range(8)], [28, 8, 4, 8, 13, 3, 4, 0]),
    "bernoulli 0.3, packed": (lambda e: noise.bernoulli_bits(0.3, 100, e).tolist(), [172825927861014569, 22653452648]),
    "bernoulli e^-1": (
        lambda e: [noise.bernoulli_exp(1, entropy=e) for _ in range(8)],
        [False, False, True, False, False, True, True, True],
    ),
    "uniform below 1000": (
        lambda e: [noise.uniform_below(1000, entropy=e) for _ in range(8)],
        [941, 452, 510, 966, 762, 582, 160, 572],
    ),
    "choice": (lambda e: [noise.choice([1, 2, 3], entropy=e) for _ in range(8)], [1, 0, 2, 2, 2, 2, 2, 2]),
    "permutation": (lambda e: noise.permutation(8, e).tolist(), [7, 5, 6, 2, 1, 3, 4, 0]),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_vectors_never_change(name: str) -> None:
    draw, expected = GOLDEN[name]
    assert draw(Reproducible(b"golden")) == expected
