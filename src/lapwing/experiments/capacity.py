"""Divergences that a limited adversary sees: how much smaller they are, and why no ledger charges them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lapwing import charts
from lapwing.experiments.experiment import Experiment, Row, column, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAPLACE, GAUSSIAN = "Laplace", "Gaussian"
EPSILONS = tuple(Fraction(step, 10) for step in (1, 2, 5, 10, 15, 20, 30, 40))
"""Of Laplace noise, and distances of Gaussian noise in standard deviations; the sensitivity is 1."""
SHOWN = (Fraction(1, 2), Fraction(1), Fraction(2))
DEGREES = tuple(range(1, 9))
_REACH, _POINTS = 60, 24_000
"""Of a grid for integrals: scales of the noise on either side, and its points."""
Floats = NDArray[np.float64]


def compute(epsilons: Sequence[Fraction] = EPSILONS, degrees: Sequence[int] = DEGREES) -> list[Row]:
    """Kullback–Leibler with linear adversaries, and Rényi of order 2 with polynomials: formulas beside integrals."""
    rows: list[Row] = []
    for epsilon in epsilons:
        rows += [_linear_row(LAPLACE, epsilon), _linear_row(GAUSSIAN, epsilon)]
    for mechanism in (LAPLACE, GAUSSIAN):
        for epsilon in SHOWN:
            for degree in degrees:
                full = laplace_renyi(float(epsilon)) if mechanism == LAPLACE else float(epsilon) ** 2
                rows.append(
                    {
                        "part": "degree",
                        "mechanism": mechanism,
                        "epsilon": float(epsilon),
                        "degree": degree,
                        "full": full,
                        "restricted": math.log(projected(mechanism, epsilon, degree)),
                        "integrated": math.log(projected_numerically(mechanism, float(epsilon), degree)),
                    }
                )
    return rows


def _linear_row(mechanism: str, epsilon: Fraction) -> Row:
    """What linear adversaries see of an answer, and of the same answer clipped to its range from 0 to 1."""
    value = float(epsilon)
    full = laplace_kl(value) if mechanism == LAPLACE else value**2 / 2
    linear = laplace_linear_kl(value) if mechanism == LAPLACE else value**2 / 2
    return {
        "part": "linear",
        "mechanism": mechanism,
        "epsilon": value,
        "full": full,
        "restricted": linear,
        "integrated": best_linear(mechanism, value, lambda x: x),
        "clipped": best_linear(mechanism, value, lambda x: np.clip(x, 0, 1)),
    }


def laplace_kl(epsilon: float) -> float:
    """KL(P‖Q) of Laplace noise of scale 1/ε around 1 and around 0: ε − 1 + e^−ε."""
    return epsilon + math.expm1(-epsilon)


def laplace_linear_kl(epsilon: float) -> float:
    """The most of E_P h − ln E_Q e^h over linear h = a·x: a + ln(1 − a²/ε²), where a = √(1 + ε²) − 1."""
    slope = epsilon**2 / (math.sqrt(1 + epsilon**2) + 1)
    return slope + math.log1p(-((slope / epsilon) ** 2))


def laplace_renyi(epsilon: float) -> float:
    """Of order 2: ln(2/3·e^ε + 1/3·e^−2ε)."""
    return math.log(2 / 3 * math.exp(epsilon) + math.exp(-2 * epsilon) / 3)


def moments(mechanism: str, epsilon: Fraction, count: int) -> list[Fraction]:
    """E x^k of the noise around 0, for k below `count`: (2k)!/ε^2k of Laplace noise, (2k − 1)!!/ε^2k of Gaussian."""
    half = 2 if mechanism == GAUSSIAN else 1
    return [
        Fraction(0) if k % 2 else Fraction(math.factorial(k), half ** (k // 2) * _halves(mechanism, k)) / epsilon**k
        for k in range(count)
    ]


def _halves(mechanism: str, k: int) -> int:
    return math.factorial(k // 2) if mechanism == GAUSSIAN else 1


def projected(mechanism: str, epsilon: Fraction, degree: int) -> Fraction:
    """The most of (E_P h)²/E_Q h² over polynomials h, exactly: b·A⁻¹·b with moments A of Q and b of P.

    For order 2 the conjugate of f is a square, so the best h solves a linear system: it is the projection of the ratio
    of the densities. The restricted Rényi divergence is the logarithm.
    """
    centred = moments(mechanism, epsilon, 2 * degree + 1)
    shifted = [sum((math.comb(k, i) * centred[i] for i in range(k + 1)), Fraction(0)) for k in range(degree + 1)]
    table = [[*(centred[i + j] for j in range(degree + 1)), shifted[i]] for i in range(degree + 1)]
    return sum((left * right for left, right in zip(_solved(table), shifted, strict=True)), Fraction(0))


def _solved(table: list[list[Fraction]]) -> list[Fraction]:
    """A linear system with its right side in the last column, by elimination in fractions."""
    size = len(table)
    for place in range(size):
        pivot = next(row for row in range(place, size) if table[row][place])
        table[place], table[pivot] = table[pivot], table[place]
        table[place] = [value / table[place][place] for value in table[place]]
        for other in range(size):
            if other != place and table[other][place]:
                factor = table[other][place]
                pairs = zip(table[other], table[place], strict=True)
                table[other] = [value - factor * base for value, base in pairs]
    return [row[-1] for row in table]


def grid(mechanism: str, epsilon: float) -> tuple[Floats, Floats, Floats]:
    """Points, and the densities of P and Q times the width of a cell. Kinks lie between cells, not in them."""
    width = max(1, math.ceil(_REACH / epsilon))
    edges = np.linspace(-width, width + 1, max(1, _POINTS // (2 * width + 1)) * (2 * width + 1) + 1)
    points = (edges[1:] + edges[:-1]) / 2
    if mechanism == LAPLACE:
        p, q = (np.exp(-epsilon * np.abs(points - centre)) for centre in (1, 0))
    else:
        p, q = (np.exp(-((epsilon * (points - centre)) ** 2) / 2) for centre in (1, 0))
    return points, p / p.sum(), q / q.sum()


def best_linear(mechanism: str, epsilon: float, seen: Callable[[Floats], Floats]) -> float:
    """The most of E_P h − ln E_Q e^h over h = a·seen(x), by integrals on a grid and a search."""
    from scipy.optimize import minimize_scalar

    points, p, q = grid(mechanism, epsilon)
    values = seen(points)

    def missed(slope: float) -> float:
        exponents = slope * values
        top = exponents.max()
        return -float(p @ exponents - top - np.log(q @ np.exp(exponents - top)))

    steepest = 0.9 * epsilon if mechanism == LAPLACE and values.max() > 2 else 4 * epsilon + epsilon**2
    return -float(minimize_scalar(missed, bounds=(0, steepest), method="bounded", options={"xatol": 1e-9}).fun)


def projected_numerically(mechanism: str, epsilon: float, degree: int) -> float:
    """The same as `projected`, by least squares on a grid: how much of the ratio of densities polynomials catch."""
    points, p, q = grid(mechanism, epsilon)
    inside = q > q.max() * 1e-280  # beyond, the ratio is 0/0
    points, p, q = points[inside], p[inside], q[inside]
    roots = np.sqrt(q)
    basis = np.polynomial.legendre.legvander(points / np.abs(points).max(), degree) * roots[:, None]
    orthonormal, _ = np.linalg.qr(basis)
    return float(((orthonormal.T @ (p / roots)) ** 2).sum())


def draw(rows: Sequence[Row]) -> Figure:
    """Linear adversaries on the left, polynomials in the middle and on the right."""
    figure, (left, middle, right) = charts.figure(3, size=(13.2, 4.7))
    linear = select(rows, part="linear", mechanism=LAPLACE)
    epsilons = column(linear, "epsilon")
    left.plot(epsilons, column(linear, "full"), color=charts.INK, lw=1.4, label="everybody")
    left.plot(epsilons, column(linear, "restricted"), color=charts.SERIES[0], lw=1.4, label="linear adversary")
    left.plot(epsilons, column(linear, "integrated"), "o", color=charts.SERIES[0], ms=5)
    left.plot(epsilons, column(linear, "clipped"), "s", color=charts.ADVERSARY, ms=5, label="linear, after clipping")
    charts.numbers(left)
    charts.legend(left, loc="upper left")
    charts.name_axes(left, "After clipping it sees everything", "ε of Laplace noise", "KL divergence")
    for axes, mechanism, symbol in ((middle, LAPLACE, "ε"), (right, GAUSSIAN, "µ")):
        for place, epsilon in enumerate(SHOWN):
            chosen = select(rows, part="degree", mechanism=mechanism, epsilon=float(epsilon))
            shares = [row["restricted"] / row["full"] for row in chosen]
            checked = [row["integrated"] / row["full"] for row in chosen]
            colour, label = charts.SERIES[place], f"{symbol} = {float(epsilon):g}"
            axes.plot(column(chosen, "degree"), shares, color=colour, lw=1.3)
            axes.plot(column(chosen, "degree"), checked, charts.MARKERS[place], color=colour, ms=5, label=label)
        axes.set_ylim(0, 1.05)
        charts.numbers(axes, y="percent")
        charts.legend(axes, loc="lower right")
    charts.name_axes(middle, "Laplace: polynomials catch up slowly", "degree", "share of the Rényi divergence")
    charts.name_axes(right, "Gaussian: they catch up fast", "degree", "")
    charts.caption(
        figure,
        "Noise around 0 and around 1. Lines: formulas; dots: integrals. Left: the Kullback–Leibler divergence that "
        "linear functions of the answer show, and of the answer clipped to [0, 1]. Middle and right: Rényi divergence "
        "of order 2 that polynomials show; µ is 1/σ.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""

    def linear(mechanism: str) -> Row:
        return min(select(rows, part="linear", mechanism=mechanism), key=lambda row: abs(row["epsilon"] - 1))

    laplace, gaussian = linear(LAPLACE), linear(GAUSSIAN)
    at_one = select(rows, part="degree", mechanism=LAPLACE, epsilon=1.0)
    lines = [f"| {row['degree']} | {row['restricted']:.4f} | {row['integrated']:.4f} |" for row in at_one]
    head = f"| degree | restricted, of {at_one[0]['full']:.4f} | by integration |"
    table = "\n".join((head, "|---|---|---|", *lines))
    return (
        "A capacity-bounded divergence measures how well adversaries of one class tell two databases apart. It is the "
        "maximum of E_P h − E_Q f*(h) over the functions h of the class, instead of over all functions. For Laplace "
        f"noise with ε = {laplace['epsilon']:g} the Kullback–Leibler divergence is {laplace['full']:.3f}; a linear "
        f"adversary sees {laplace['restricted']:.3f}. For Gaussian noise a linear adversary sees all of it "
        f"({gaussian['restricted']:.3f}), because the logarithm of the ratio of densities is linear. The Rényi "
        "divergence of order 2 of Laplace noise with ε = 1, for polynomials:\n\n"
        f"{table}\n\n"
        "**No ledger ever charges a capacity-bounded divergence.** It is a statement about an adversary's tools, and "
        "three things go wrong when it is read as a guarantee:\n\n"
        "1. *Post-processing raises it.* Clip the noisy answer to its public range from 0 to 1, which anybody may do. "
        f"The linear adversary then sees {laplace['clipped']:.3f}, which is everything. The logarithm of the ratio of "
        "Laplace densities is linear in the clipped answer.\n"
        "2. *Zero does not mean the same.* A mechanism that answers 0 for one database, and −1 or 1 with equal odds "
        "for another, has divergence 0 for linear adversaries. One look tells the two apart.\n"
        "3. *It does not become an ε.* A ledger promises something against everybody, for all later questions and all "
        "other knowledge. A bound for one class of functions says nothing about the next function.\n\n"
        "So the restricted numbers are a lesson about attackers. Both mechanisms still cost their full price."
    )


CAPACITY = Experiment(
    name="capacity",
    title="What limited adversaries see, and why it is not a price",
    source="Chaudhuri, Imola and Machanavajjhala, Capacity bounded differential privacy (2019)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"epsilons": tuple(Fraction(step, 10) for step in range(1, 41)), "degrees": tuple(range(1, 16))},
)
