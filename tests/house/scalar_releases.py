"""One scalar draw of every law and one release of every mechanism, with nothing but the standard library.

Runs on plain Python with all dependencies refused, and on Pyodide: no import here that those two lack.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from fractions import Fraction

from lapwing import mechanisms, noise

HEAVY = {"numpy", "scipy", "mpmath", "cryptography", "dp_accounting", "duckdb", "sqlglot", "typer", "rich"}
ARRAYS = {"Hierarchy"}
"""What releases arrays by the level: numpy is what it computes with."""
LIST = [3, 5.5, Fraction(9, 2)]

# What a required parameter of this name gets, and what a mechanism of this name is asked to release if not LIST.
PARAMETERS = {
    "epsilon": 0.7,
    "delta": 1e-6,
    "sensitivity": 1,
    "threshold": 4,
    "candidates": 3,
    "bounds": (0, 10),
    "bound": 1,
    "blocks": 2,
    "function": max,
    "sigma": 10,
    "mean_drop": 60,
    "largest": 3,
    "categories": 3,
    "keep": 0.75,
    "window": 2,
    "yes_if_yes": 0.75,
    "yes_if_no": 0.25,
    "distance": lambda data: 20,
    "steps": 3,
    "scale": 10,
}
OPTIONS = {"Histogram": {"keys": ["a", "b"]}}
DATA = {
    "Laplace": 5,
    "Gaussian": 5,
    "OneTimePad": True,
    "RandomizedResponse": True,
    "KaryResponse": 2,
    "Histogram": ["a", "a", "b"],
}


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


def release_with(name: str, kind: type) -> None:
    """Make the mechanism from its required parameters, release once, and ask what that cost."""
    required = [
        field.name
        for field in dataclasses.fields(kind)
        if field.init and field.default is field.default_factory is dataclasses.MISSING
    ]
    assert set(required) <= set(PARAMETERS), f"give examples for the parameters of {name}: {required}"
    mechanism = kind(**{parameter: PARAMETERS[parameter] for parameter in required}, **OPTIONS.get(name, {}))
    act = getattr(mechanism, "release", None) or mechanism.randomize
    act(DATA.get(name, LIST))
    mechanism.privacy_loss()


def release_from_every_mechanism() -> int:
    """One release of each exported mechanism; return how many there are."""
    exported = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    kinds = {
        name: kind
        for name, kind in exported.items()
        if inspect.isclass(kind)
        and hasattr(kind, "privacy_loss")
        and not inspect.isabstract(kind)
        and name not in ARRAYS
    }
    for name, kind in kinds.items():
        try:
            release_with(name, kind)
        except Exception as error:
            error.add_note(f"while releasing with {name} and only the standard library")
            raise
    assert kinds
    return len(kinds)


if __name__ == "__main__":
    count = draw_every_law() + release_from_every_mechanism()
    assert not HEAVY & {name.partition(".")[0] for name in sys.modules}
    print(f"{count} scalar releases without dependencies")
