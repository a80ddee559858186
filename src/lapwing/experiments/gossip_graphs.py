"""Randomised gossip on small graphs: who talks to whom, how fast averages meet, and what an eavesdropper hears."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.noise import Entropy, discrete_gaussian, uniform_below

Floats = NDArray[np.float64]
Shape = Literal["ring", "grid", "complete"]
SHAPES: tuple[Shape, ...] = ("ring", "grid", "complete")
SIDE = 4
NODES = SIDE * SIDE
FINE = 1_000
"""Steps of a standard deviation, when normal noise is drawn on a grid."""
BLOCK = 256
"""Exchanges that are drawn at a time."""


def edges(shape: Shape) -> list[tuple[int, int]]:
    """Pairs of nodes that may talk, of sixteen."""
    if shape == "ring":
        return [(node, (node + 1) % NODES) for node in range(NODES)]
    if shape == "complete":
        return [(left, right) for left in range(NODES) for right in range(left + 1, NODES)]
    across = [(node, node + 1) for node in range(NODES) if (node + 1) % SIDE]
    return across + [(node, node + SIDE) for node in range(NODES - SIDE)]


def laplacian(shape: Shape) -> Floats:
    """Degrees on the diagonal, −1 for every edge."""
    matrix = np.zeros((NODES, NODES))
    for left, right in edges(shape):
        matrix[[left, right], [left, right]] += 1
        matrix[[left, right], [right, left]] -= 1
    return matrix


def connectivity(shape: Shape) -> float:
    """The second smallest eigenvalue of the Laplacian, α(G)."""
    return float(np.linalg.eigvalsh(laplacian(shape))[1])


def plain_rate(shape: Shape) -> float:
    """The exact factor of the expected squared error in one exchange, in the long run: at most 1 − α/(2m).

    The covariance X of the nodes becomes the mean of W·X·W over all edges, with W = 1 − (e_i − e_j)(e_i − e_j)ᵀ/2.
    """
    centred = np.eye(NODES) - 1 / NODES
    total = np.zeros((NODES**2, NODES**2))
    pairs = edges(shape)
    for left, right in pairs:
        difference = np.zeros(NODES)
        difference[left], difference[right] = 1, -1
        step = centred - np.outer(difference, difference) / 2
        total += np.kron(step, step)
    return float(np.linalg.eigvalsh(total / len(pairs))[-1])


def normals(count: int, deviation: float, source: Entropy) -> Floats:
    """Normal noise, on a grid of a thousandth of its standard deviation."""
    drawn: Floats = discrete_gaussian(FINE, count, source) * (deviation / FINE)
    return drawn


@dataclass(slots=True)
class Eavesdropper:
    """Hears what one node sends and receives, in many runs at once. It sees no state of a node.

    The first message is c + w₀. Later, what is sent minus the average that is known from the last exchange is w_k. The
    sums s_k of w₁ … w_k telescope to φ^k·v_k − v₀, so c = (first message) + s_k − φ^k·v_k.
    """

    runs: int
    phi: float
    longest: int
    exchanges: NDArray[np.int64] = field(init=False)
    telescoped: Floats = field(init=False)
    """Guesses of the node's value after each exchange: first message + s_k."""
    best: Floats = field(init=False)
    """All of them, weighted by how exact they are: least squares."""
    _first: Floats = field(init=False)
    _known: Floats = field(init=False)
    _sum: Floats = field(init=False)
    _weighted: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.exchanges = np.zeros(self.runs, dtype=np.int64)
        self.telescoped, self.best = (np.full((self.runs, self.longest), np.nan) for _ in range(2))
        self._first, self._known, self._sum, self._weighted = (np.zeros(self.runs) for _ in range(4))

    def hear(self, runs: NDArray[Any], sent: Floats, received: Floats) -> None:
        """One exchange in each of these runs."""
        some = self.exchanges[runs] < self.longest
        runs, sent, received = runs[some], sent[some], received[some]
        places = self.exchanges[runs]
        self._first[runs] = np.where(places == 0, sent, self._first[runs])
        self._sum[runs] += np.where(places == 0, 0.0, sent - self._known[runs])
        self._known[runs] = (sent + received) / 2
        self._weighted[runs] += self.phi ** (-2.0 * places) * self._sum[runs]
        self.telescoped[runs, places] = self._first[runs] + self._sum[runs]
        weights = np.cumsum(self.phi ** (-2.0 * np.arange(self.longest)))
        self.best[runs, places] = self._first[runs] + self._weighted[runs] / weights[places]
        self.exchanges[runs] += 1


def telescoped_error(phi: float, exchange: int, sigma: float) -> float:
    """The standard error of the guess by telescoping: φ^k·σ."""
    return phi**exchange * sigma


def best_error(phi: float, exchange: int, sigma: float) -> float:
    """That of the least squares: every v_k is φ^−k·(v₀ + s_k), so v₀ is known with the precision Σ φ^−2k/σ²."""
    return sigma / math.sqrt(math.fsum(phi ** (-2 * place) for place in range(exchange + 1)))


def talk(
    shape: Shape,
    starts: Floats,
    steps: int,
    source: Entropy,
    *,
    sigma: float = 0.0,
    phi: Floats | None = None,
    eavesdropper: Eavesdropper | None = None,
) -> Floats:
    """Many runs of gossip, one a row of `starts`: the mean squared distance from the average, after each step.

    In each step one random edge of each run averages. With `sigma`, a node adds w = φ^t·v − φ^(t−1)·v′ before, where v
    is new noise, v′ its last, and t counts its exchanges. The eavesdropper sits at node 0.
    """
    pairs, values = np.array(edges(shape)), starts.copy()
    runs, aim, rows = len(values), starts.mean(axis=1, keepdims=True), np.arange(len(values))
    hanging, faded = np.zeros_like(values), np.ones_like(values)
    errors = [float(((values - aim) ** 2).mean())]
    for step in range(steps):
        if step % BLOCK == 0:
            size = min(BLOCK, steps - step)
            drawn_pairs = pairs[uniform_below(len(pairs), size * runs, source)].reshape(size, runs, 2)
            drawn_noise = normals(2 * size * runs if sigma else 0, sigma, source).reshape(-1, 2, runs)
        chosen = drawn_pairs[step % BLOCK]
        sent = []
        for side, nodes in enumerate(chosen.T):
            message = values[rows, nodes]
            if sigma and phi is not None:
                fresh = faded[rows, nodes] * drawn_noise[step % BLOCK, side]
                message = message + fresh - hanging[rows, nodes]
                hanging[rows, nodes] = fresh
                faded[rows, nodes] *= phi[nodes]
            sent.append(message)
        for nodes in chosen.T:
            values[rows, nodes] = (sent[0] + sent[1]) / 2
        if eavesdropper is not None:
            for side in (0, 1):
                heard = np.flatnonzero(chosen[:, side] == 0)
                eavesdropper.hear(heard, sent[side][heard], sent[1 - side][heard])
        errors.append(float(((values - aim) ** 2).mean()))
    return np.array(errors)
