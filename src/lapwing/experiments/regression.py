"""Two private linear regressions of a study, over epsilon, beside estimators whose stated guarantee holds.

Mind the caution about Boston Housing in boston.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing import charts
from lapwing.experiments.boston import BOUNDS, CAUTION, PRICES, Floats, Houses, chosen, houses, plain_error
from lapwing.experiments.experiment import Experiment, Heard, Row, column, entropy, select
from lapwing.experiments.regression_methods import Maker, Method1, Method2, estimator_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHOD_1, METHOD_2 = "method 1", "method 2"
EXACT, EXACT_ALL, MIDDLE = "no privacy", "no privacy, 13 features", "the middle of the bounds"
OURS = {
    "sufficient statistics": "sufficient_statistics",
    "functional": "functional",
    "output": "output",
}
"""What a line is called, and what `LinearRegression` calls the method."""
THEIRS = "diffprivlib"
MARKED = {0.01: "0.01", 0.1: "0.1", math.log(2): "ln 2", math.log(3): "ln 3"}
"""The epsilons that the study names."""
ALL_EPSILONS = tuple(step / 100 for step in range(1, 1001))
FEW_EPSILONS = (0.01, 0.03, 0.1, 0.3, math.log(2), math.log(3), 3.0, 10.0)
EPSILONS = tuple(sorted({*(float(round(e, 2)) for e in np.geomspace(0.01, 10, 60)), *MARKED}))
HIGHEST = 60.0
"""Of the last panel, which is about small errors."""
COLOURS = {
    METHOD_1: charts.ADVERSARY,
    METHOD_2: charts.NOISE,
    "sufficient statistics": charts.PRIVATE,
    "functional": charts.BLUE,
    "output": charts.SERIES[4],
    THEIRS: charts.QUIET,
}


def compute(
    epsilons: Sequence[float] = EPSILONS,
    repeats: int = 100,
    private_epsilons: Sequence[float] = FEW_EPSILONS,
    private_repeats: int = 3,
    heard: Heard | None = None,
) -> list[Row]:
    """For each method and epsilon: the error, in thousands of dollars, averaged over repetitions of ten folds."""
    table = chosen()
    makers = makers_of_estimators()
    epsilons = sorted({*epsilons, *MARKED})
    done, total = 0, len(epsilons) * repeats + len(makers) * len(private_epsilons) * private_repeats * 10
    rows: list[Row] = [
        _row(EXACT_ALL, None, np.array([plain_error(houses())])),
        _row(EXACT, None, np.array([plain_error(table)])),
        _row(MIDDLE, None, np.array([_middle_error(table)])),
    ]
    first, second, factor = Method1.of(table), Method2.of(table.scaled()), float(np.ptp(table.y)) / 2
    for epsilon in epsilons:
        source = partial(entropy, "regression", epsilon)
        rows.append(_row(METHOD_1, epsilon, first.errors(epsilon, repeats, source(1))))
        rows.append(_row(METHOD_2, epsilon, factor * second.errors(epsilon, repeats, source(2))))
        done += repeats
        if heard is not None:
            heard(done, total)
    for name, make in makers.items():
        for epsilon in private_epsilons:
            rows.append(_row(name, epsilon, estimator_errors(make, epsilon, table, private_repeats)))
            done += private_repeats * 10
            if heard is not None:
                heard(done, total)
    return rows


def _middle_error(table: Houses) -> float:
    """Of always answering the middle of the public bounds."""
    return float(np.mean([math.sqrt(np.mean((test.y - sum(PRICES) / 2) ** 2)) for _, test in table.folds()]))


def _row(method: str, epsilon: float | None, errors: Floats) -> Row:
    spread = float(errors.std(ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else None
    return {
        "method": method,
        "epsilon": epsilon,
        "error": float(errors.mean()),
        "median": float(np.median(errors)),
        "standard_error": spread,
        "private": method in OURS or method in (THEIRS, MIDDLE),
    }


def makers_of_estimators() -> dict[str, Maker]:
    """What keeps its promise: ours with public bounds, and diffprivlib's if it is installed."""
    from lapwing.models.linear import LinearRegression

    bounds = list(BOUNDS.values())

    def ours(method: str, epsilon: float, seed: int) -> Any:
        return LinearRegression(method=method, epsilon=epsilon, bounds=bounds, target_bounds=PRICES, random_state=seed)

    makers: dict[str, Maker] = {name: partial(ours, method) for name, method in OURS.items()}
    try:
        from diffprivlib.models import LinearRegression as Theirs
    except ImportError:
        return makers
    low, high = (list(ends) for ends in zip(*bounds, strict=True))
    makers[THEIRS] = lambda epsilon, seed: Theirs(
        epsilon=epsilon, bounds_X=(low, high), bounds_y=PRICES, random_state=seed
    )
    return makers


def draw(rows: Sequence[Row]) -> Figure:
    """The three figures of the study, and the same axes with private estimators."""
    figure, (first, second, both, private) = charts.figure(2, 2, size=(11, 8.6))
    exact = select(rows, method=EXACT)[0]["error"]
    _curve(first, rows, METHOD_1, marked=True)
    _plain(first, exact)
    unit = (PRICES[1] - 5) / 2
    _curve(second, rows, METHOD_2, marked=True, unit=unit)
    _plain(second, exact / unit)
    for axes in (both, private):
        _plain(axes, exact)
        for method in (METHOD_1, METHOD_2):
            _curve(axes, rows, method, marked=axes is both, label_marks=method == METHOD_1, faint=axes is private)
    for place, method in enumerate(name for name in (*OURS, THEIRS) if any(row["method"] == name for row in rows)):
        _points(private, rows, method, charts.MARKERS[place])
    middle = select(rows, method=MIDDLE)[0]["error"]
    private.axhline(middle, color=charts.QUIET, lw=1, ls=":", label=f"always {sum(PRICES) / 2:g}")
    _labels(both, rows)
    price = "error, thousand $"
    charts.name_axes(first, "Method 1: noise on predictions (not private)", "ε", price)
    charts.name_axes(second, "Method 2: functional mechanism (not private)", "ε", "error, target scaled to −1 … 1")
    charts.name_axes(both, "Both at one scale", "ε", price)
    charts.name_axes(private, "The same axes, with methods that are private", "ε", price)
    private.set_ylim(5, HIGHEST)
    for axes in (first, second, both, private):
        charts.numbers(axes, x="log", y="log")
        axes.set_xlim(0.008, 12.5)
        charts.only_ticks(axes.xaxis, [0.01, 0.1, 1, 10])
    charts.legend(private, loc="upper right")
    charts.caption(
        figure,
        "Root mean squared error over ten unshuffled folds of Boston Housing (chas, nox, rm). Thick lines: median of "
        "the repetitions; thin: mean, which rare fits that are nearly singular throw off. Dashed: least squares. Both "
        "methods of the study read bounds or a sensitivity from the data and are not private; the others are given "
        f"public bounds. {CAUTION}",
    )
    return figure


def _curve(
    axes: Axes,
    rows: Sequence[Row],
    method: str,
    *,
    marked: bool,
    label_marks: bool = True,
    unit: float = 1.0,
    faint: bool = False,
) -> None:
    chosen_rows = select(rows, method=method)
    epsilons = column(chosen_rows, "epsilon")
    errors = [error / unit for error in column(chosen_rows, "median")]
    colour = COLOURS[method]
    label = f"{method} (not private)" if faint else None
    axes.plot(epsilons, errors, color=colour, lw=1.0 if faint else 1.6, alpha=0.45 if faint else 1, label=label)
    if not marked:
        return
    axes.plot(epsilons, [error / unit for error in column(chosen_rows, "error")], color=colour, lw=0.8, alpha=0.5)
    for epsilon, error in zip(epsilons, errors, strict=True):
        if epsilon in MARKED:
            axes.plot([epsilon], [error], "o", color=colour, ms=6)
            if label_marks:
                charts.beside(axes, epsilon, error, MARKED[epsilon], charts.INK, shift=(7, 7))


def _points(axes: Axes, rows: Sequence[Row], method: str, marker: str) -> None:
    chosen_rows = select(rows, method=method)
    errors = column(chosen_rows, "median")
    axes.plot(
        column(chosen_rows, "epsilon"),
        errors,
        marker=marker,
        color=COLOURS[method],
        lw=1.5,
        ms=5.5,
        ls="--" if method == THEIRS else "-",
        label=f"{THEIRS} (up to {charts.tick(max(errors))})" if method == THEIRS else f"ours: {method}",
    )


def _plain(axes: Axes, error: float) -> None:
    axes.axhline(error, color=charts.INK, lw=1, ls=(0, (4, 3)))
    axes.annotate(EXACT, (0.01, error), (0, -10), textcoords="offset points", fontsize=8.5, color=charts.INK)


def _labels(axes: Axes, rows: Sequence[Row]) -> None:
    for method, shift in ((METHOD_1, (34, -2)), (METHOD_2, (4, 11))):
        at = select(rows, method=method, epsilon=0.01)[0]
        charts.beside(axes, 0.01, at["error"], method, COLOURS[method], shift=shift)


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    exact = select(rows, method=EXACT)[0]["error"]
    all_features, middle = (select(rows, method=name)[0]["error"] for name in (EXACT_ALL, MIDDLE))
    names = [name for name in (METHOD_1, METHOD_2, *OURS, THEIRS) if any(row["method"] == name for row in rows)]
    head = "| ε | " + " | ".join(names) + " |\n|---|" + "---|" * len(names)
    lines = [
        f"| {MARKED.get(epsilon, f'{epsilon:g}')} | " + " | ".join(_times(rows, name, epsilon, exact) for name in names)
        for epsilon in sorted({*MARKED, *(row["epsilon"] for row in rows if row["private"] and row["epsilon"])})
    ]
    table = "\n".join((head, *(f"{line} |" for line in lines)))
    least = [select(rows, method=name, epsilon=0.01)[0]["median"] / exact for name in (METHOD_1, METHOD_2)]
    better = [
        row["epsilon"]
        for row in select(rows, method=METHOD_2)
        if row["median"] < select(rows, method=METHOD_1, epsilon=row["epsilon"])[0]["median"]
    ]
    return (
        f"Without privacy the error is {all_features:.4f} with all 13 features and {exact:.4f} with the three that are "
        f"kept. At ε = 0.01 method 1 is off by {least[0]:.0f} times as much and method 2 by {least[1]:.1f} times; "
        f"method 2 is better up to ε = {max(better, default=math.nan):.2f} and never reaches the error "
        "without privacy.\n\n"
        f"Median errors as multiples of the one without privacy:\n\n{table}\n\n"
        "**Neither method of the study is private.** Method 1 reads the width of its noise from the table, for another "
        "function than the one it releases, and pays once for any number of predictions: "
        "`lapwing experiment run regression-audit` shows what that costs. Method 2 scales by the least and the largest "
        "value of each column, which one record can move; with public bounds it would keep its promise. Both work on "
        "features that were chosen by looking at all records. The other lines are estimators with public bounds (ours "
        "under add_remove, for one record), after the same choice of features; predictions cost nothing once they are "
        f"fitted. A constant guess of {sum(PRICES) / 2:g}, made without data, has {middle / exact:.2f} times the error "
        "without privacy: with so few records there is little to learn below ε = 0.3."
        f"\n\n{CAUTION}"
    )


def _times(rows: Sequence[Row], method: str, epsilon: float, exact: float) -> str:
    medians = [row["median"] for row in rows if row["method"] == method and row["epsilon"] == epsilon]
    return f"{medians[0] / exact:.2f}" if medians else ""


REGRESSION = Experiment(
    name="regression",
    title="Private linear regression: error over epsilon",
    source="Figs. 4.3 to 4.5 of a thesis on the practicability of DP; Zhang et al., Functional mechanism (2012)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"epsilons": ALL_EPSILONS, "repeats": 100, "private_repeats": 20},
)
