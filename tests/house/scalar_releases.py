"""One scalar draw of every law and one release of every mechanism, with nothing but the standard library.

Runs on plain Python with all dependencies refused, and on Pyodide: no import here that those two lack.
"""

from __future__ import annotations

import sys
from fractions import Fraction

from lapwing import noise

HEAVY = {"numpy", "scipy", "mpmath", "cryptography", "dp_accounting", "duckdb", "sqlglot", "typer", "rich"}


def draw_every_law() -> int:
    """Draw from each law of `noise`, small and huge parameters; return how many draws were made."""
    scales = [1, Fraction(1, 7), 10.5, 1000, 1 << 40, 1 << 58]
    draws: list[int | bool] = [noise.discrete_laplace(scale) for scale in scales]
    draws += [noise.geometric(scale) for scale in scales]
    draws += [noise.discrete_gaussian(sigma) for sigma in scales]
    draws += [noise.uniform_below(n) for n in (1, 6, 1 << 70)]
    draws += [noise.bernoulli(0.25), noise.bernoulli_exp(Fraction(1, 3)), noise.choice([1, 0, Fraction(1, 2)])]
    assert all(isinstance(draw, int) for draw in draws)
    return len(draws)


if __name__ == "__main__":
    count = draw_every_law()
    assert not HEAVY & {name.partition(".")[0] for name in sys.modules}
    print(f"{count} scalar releases without dependencies")
