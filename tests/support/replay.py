"""The adaptive argument behind every fit, run: the same noisy answers for two neighbours, and their inputs compared.

A fit is private if, whatever was answered so far, the next mechanism gets inputs for neighbours that are no farther
apart than it was made for. So a fit is recorded: every mechanism, its exact input and its answer. The fit of the
neighbour gets the same answers. Then all public parameters must be the same, no two inputs may lie farther apart than
the mechanism's sensitivity, what they cost must add up to no more than the stated loss, and the models must be equal,
for they are made of nothing but answers. Coins that a row throws for itself stay with the row.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lapwing.mechanisms
from lapwing.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip, Quantile
from lapwing.mechanisms.gaussian import largest_rho
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.models import parity, scoring, search, training
from lapwing.models.cube import Cube
from lapwing.models.logistic_objective import GRID, Objective
from lapwing.noise import Reproducible
from lapwing.privacy import ApproxDP, PureDP

RELEASE = {kind: kind.release for kind in (Laplace, Gaussian, Cube, PermuteAndFlip, Exponential)}
COINS = (
    (training, "bernoulli", True),
    (search, "choice", False),
    (scoring, "uniform_below", False),
    (parity, "uniform_below", False),
    (parity, "bernoulli_exp", True),
)
"""Where rows throw coins, and whether they decide if a row takes part at all."""
LARGEST = 1 << 62


@dataclass(frozen=True)
class Pair:
    """A table X, y, and the same with one row more at `place`, which is at `kept` among the rows with a target."""

    smaller: tuple[Any, Any]
    larger: tuple[Any, Any]
    place: int
    kept: int


class Dice(Reproducible):
    """Reproducible bits that remember how many were drawn."""

    __slots__ = ("drawn",)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: list[int] = []

    def bits(self, count: int) -> int:
        self.drawn.append(count)
        return super().bits(count)

    def fill(self, target: memoryview) -> None:
        self.drawn.append(8 * len(target))
        super().fill(target)


@dataclass(frozen=True)
class Volume:
    """By how much the logarithm of a volume differs between neighbours: a loss of objective perturbation."""

    epsilon: float


@dataclass
class Tape:
    """What one fit releases, to be answered again; and what it costs that the inputs are others then."""

    pair: Pair
    seed: int
    wild: bool
    """Whether answers are arbitrary: a sensitivity has to hold after any of them."""
    taken: list[tuple[Any, Any, Any]] = field(default_factory=list)
    coins: list[Any] = field(default_factory=list)
    spent: list[tuple[Any, Fraction]] = field(default_factory=list)
    sampled: bool = False
    at: int | None = None
    """The next release to be answered again; None while recording."""

    def __post_init__(self) -> None:
        self.noise, self.rng, self.drawing = Reproducible(self.seed + 1), np.random.default_rng(self.seed), False

    def answer(self, public: Any, given: Any, draw: Callable[[], Any]) -> tuple[Any, Any]:
        """An answer, and what the recorded fit gave for it."""
        if self.at is None:
            self.taken.append((public, given, draw()))
            return self.taken[-1][2], given
        assert self.at < len(self.taken), f"a release more: {public}"
        recorded, before, drawn = self.taken[self.at]
        assert recorded == public, f"release {self.at} has other public parameters"
        self.at += 1
        return drawn, before

    def compared(self, mechanism: Any, public: Any, given: Any, draw: Callable[[], Any]) -> Any:
        drawn, before = self.answer(public, given, draw)
        if self.at is not None:
            self.spend(mechanism, share_of(mechanism, before, given))
        return drawn.copy() if isinstance(drawn, (np.ndarray, list)) else drawn

    def spend(self, mechanism: Any, share: Fraction) -> None:
        assert share <= 1, f"release {self.at}: {float(share):.9g} times the sensitivity of {mechanism}"
        self.spent.append((mechanism, share))

    def release(self, original: Any) -> Any:
        def replayed(mechanism: Any, data: Any, entropy: Any = None) -> Any:
            def draw() -> Any:
                self.drawing = True
                drawn = original(mechanism, data, self.noise)
                self.drawing = False
                return self.any_answer(mechanism, data, drawn) if self.wild else drawn

            return self.compared(mechanism, mechanism, inputs(mechanism, data), draw)

        return replayed

    def start(self, original: Any) -> Any:
        """A quantile, from counts."""

        def replayed(mechanism: Quantile, cells: Any, entropy: Any = None) -> Any:
            cells = list(cells)
            points, counts = [cell[:2] for cell in cells], np.array([int(count) for *_, count in cells], dtype=object)

            def draw() -> Any:
                return int(self.rng.choice(points)[0]) if self.wild else original(mechanism, cells, self.noise).value

            return SimpleNamespace(value=self.compared(mechanism, (mechanism, points), counts, draw))

        return replayed

    def any_answer(self, mechanism: Any, data: Any, drawn: Any) -> Any:
        """Any candidate; without noise, with the noise that was drawn, or with far more."""
        if isinstance(mechanism, (PermuteAndFlip, Exponential)):
            return mechanism._label(int(self.rng.integers(mechanism._count)))
        exact, factor = inputs(mechanism, data), int(self.rng.choice([0, 1, 5, 1000, 1 << 40]))
        noise = np.asarray(drawn, dtype=object) - exact
        loud = [min(max(int(a + factor * z), -LARGEST), LARGEST) for a, z in zip(exact.flat, noise.flat, strict=True)]
        return loud if isinstance(drawn, list) else np.array(loud).reshape(exact.shape).astype(drawn.dtype)

    def tilt(self, original: Any) -> Any:
        """Noise that is not added to anything."""

        def replayed(cube: Cube, entropy: Any) -> Any:
            if self.drawing:
                return original(cube, entropy)
            return self.answer(cube, None, lambda: original(cube, self.noise))[0]

        return replayed

    def minimum(self, original: Any) -> Any:
        """To each tilt belongs one of the neighbour's that has the same minimum.

        The two differ by the gradient of a row, and volumes around them by the determinants of the curvatures.
        """

        def replayed(objective: Objective, allowed: Fraction) -> Any:
            cube = self.taken[-1 if self.at is None else self.at - 1][0]
            public = (objective.classes, objective.ridge, allowed)
            found, before = self.answer(public, objective, lambda: original(objective, allowed))
            if self.at is None:
                return found
            here, there, theta = before.search, objective.search, found.astype(float)
            moved = np.rint((here.gradient(theta) - there.gradient(theta)) * GRID).astype(np.int64)
            self.spend(cube, Fraction(int(np.abs(moved).max(axis=0).sum()), cube.largest))
            volumes = [np.linalg.slogdet(one.curvature(theta))[1] for one in (here, there)]
            self.spend(Volume(abs(volumes[0] - volumes[1])), Fraction(1))
            return original(replace(objective, tilt=objective.tilt + moved), allowed)

        return replayed

    def coin(self, original: Any, *, sampling: bool) -> Any:
        """Coins of rows: common rows throw the same. One that decides about taking part always falls on one side."""

        def replayed(law: Any, size: int, entropy: Any) -> Any:
            self.sampled |= sampling
            if self.at is None:
                self.coins.append(original(law, size, self.noise))
                return self.coins[-1].copy()
            thrown = self.coins.pop(0)
            if size > len(thrown):
                place = self.pair.place if size == len(self.pair.larger[0]) else self.pair.kept
                extra = sampling or original(law, 1, self.noise)[0]
                thrown = np.insert(thrown, min(place, len(thrown)), extra)
            assert size == len(thrown)
            return thrown

        return replayed

    @contextmanager
    def running(self) -> Iterator[Dice]:
        with pytest.MonkeyPatch.context() as patch:
            for kind in vars(lapwing.mechanisms).values():
                if isinstance(kind, type) and issubclass(kind, Mechanism) and "release" in vars(kind):
                    patch.setattr(kind, "release", unknown)
            for kind, original in RELEASE.items():
                patch.setattr(kind, "release", self.release(original))
            patch.setattr(Quantile, "start", self.start(Quantile.start))
            patch.setattr(Cube, "noise", self.tilt(Cube.noise))
            patch.setattr(Objective, "minimum", self.minimum(Objective.minimum))
            for module, name, sampling in COINS:
                patch.setattr(module, name, self.coin(getattr(module, name), sampling=sampling))
            yield Dice(self.seed)


def unknown(mechanism: Any, *given: Any) -> Any:
    raise AssertionError(f"nobody knows how to replay {mechanism}")


def inputs(mechanism: Any, data: Any) -> Any:
    """The exact input, in whole steps."""
    if isinstance(mechanism, (PermuteAndFlip, Exponential)):
        return np.array([int(score) for score in mechanism._score_steps(data)], dtype=object)
    given = np.asarray(data)
    whole = np.array([int(value) for value in given.flat] + [None], dtype=object)[:-1]
    assert (whole == given.ravel()).all(), "an input is not on the grid"
    return whole.reshape(given.shape or (1,))


def share_of(mechanism: Any, before: Any, after: Any) -> Fraction:
    """How much of its loss a mechanism loses between these inputs: of epsilon, or of rho for Gaussian noise."""
    assert before.shape == after.shape
    apart = after - before
    sizes = [abs(step) for step in apart.flat]
    if isinstance(mechanism, Gaussian):
        return Fraction(sum(size * size for size in sizes), mechanism._squared_steps)
    if isinstance(mechanism, Laplace):
        return Fraction(sum(sizes), mechanism._steps)
    if isinstance(mechanism, Cube):
        return Fraction(int(np.abs(apart).max(axis=1).sum()), mechanism.largest)
    if isinstance(mechanism, Quantile):
        return Fraction(sum(sizes), mechanism.max_rows_per_unit)
    assert not mechanism.monotone or len({step > 0 for step in apart.flat if step}) < 2, "scores move both ways"
    return Fraction(max(sizes), mechanism._steps)


def total(spent: list[tuple[Any, Fraction]], *, concentrated: bool) -> float:
    """What the parts add up to, as epsilon or as rho. Pure parts in between are added before they are squared."""
    pure, rho = Fraction(0), Fraction(0)
    for mechanism, share in spent:
        if isinstance(mechanism, Volume):
            pure += Fraction(mechanism.epsilon)
        elif isinstance(mechanism, Gaussian):
            rho += share * mechanism.privacy_loss().rho
        elif concentrated and not isinstance(mechanism, Cube):
            rho += share * mechanism.zcdp_loss().rho
        else:
            pure += share * mechanism.privacy_loss().epsilon
    assert concentrated or not rho
    return float(rho + pure**2 / 2 if concentrated else pure)


def allowed(loss: Any) -> tuple[float, bool]:
    """The stated loss, and whether it is a rho."""
    if isinstance(loss, PureDP):
        return float(loss.epsilon), False
    return float(largest_rho(loss.epsilon, loss.delta) if isinstance(loss, ApproxDP) else loss.rho), True


def learnt(model: Any) -> bytes:
    """Everything that a fit leaves behind."""
    return pickle.dumps({name: value for name, value in sorted(vars(model).items()) if name.endswith("_")})


def assert_private(fit: Callable[[Any, Any, Any], Any], pair: Pair, *, seed: int, wild: bool = False) -> Tape:
    """Run `fit(X, y, entropy)` for both tables, the larger one with the answers for the smaller one, and compare."""
    tape = Tape(pair, seed, wild)
    with tape.running() as dice:
        first, drawn = fit(*pair.smaller, dice), dice.drawn
    tape.at = 0
    with tape.running() as dice:
        second = fit(*pair.larger, dice)
    assert tape.at == len(tape.taken), "a release less"
    assert not tape.coins, "fewer coins"
    assert dice.drawn == drawn, "another number of public draws"
    assert learnt(first) == learnt(second), "the model is made of more than answers"
    if not tape.sampled:  # for then it costs less than its parts
        most, concentrated = allowed(first.privacy_loss_)
        found = total(tape.spent, concentrated=concentrated)
        assert found <= most * (1 + 1e-9), f"{found} is lost, {most} is stated"
    return tape
