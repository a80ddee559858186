"""The table of the regression study: what goes with what, the prices, and the features that are kept.

Mind the caution about Boston Housing in boston.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lapwing import charts
from lapwing.experiments.boston import CAUTION, NAMES, chosen, houses, plain_error
from lapwing.experiments.experiment import Experiment, Row, column, select
from lapwing.experiments.regression_methods import training_error_changes, with_ones

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

PRICE = "price"
BINS = 45
"""One for each thousand dollars from 5 to 50."""
WORTH_WRITING = 0.5
"""Correlations of at least this size are written into the heat map."""


def compute(bins: int = BINS) -> list[Row]:
    """Correlations of all columns, a histogram of the prices, the weight of each feature, and single numbers."""
    table, kept = houses(), chosen()
    columns = (*NAMES, PRICE)
    related = np.asarray(np.corrcoef(np.column_stack([table.X, table.y]), rowvar=False))
    rows: list[Row] = [
        {"what": "correlation", "name": first, "other": second, "value": float(related.item(i, j))}
        for i, first in enumerate(columns)
        for j, second in enumerate(columns)
    ]
    counts, edges = np.histogram(table.y, bins, (float(table.y.min()), float(table.y.max())))
    rows += [
        {"what": "prices", "from": float(low), "to": float(high), "value": int(count)}
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    weights = np.linalg.lstsq(with_ones(table.X), table.y, rcond=None)[0]
    rows += [
        {"what": "weight", "name": name, "value": float(weight), "kept": name in kept.names}
        for name, weight in zip(NAMES, weights, strict=False)
    ]
    return rows + [{"what": "number", "name": name, "value": value} for name, value in _numbers().items()]


def _numbers() -> dict[str, float]:
    table, kept = houses(), chosen()
    design = with_ones(kept.X)
    residuals = kept.y - design @ np.linalg.lstsq(design, kept.y, rcond=None)[0]
    changes = training_error_changes(design, kept.y)
    return {
        "records": len(table.y),
        "error with all features": plain_error(table),
        "error with the features kept": plain_error(kept),
        "record with the largest residual": int(np.argmax(residuals**2)),
        "training error": float(np.mean(residuals**2)),
        "largest change of the training error": float(changes.max()),
        "record that makes it": int(np.argmax(changes)),
    }


def number(rows: Sequence[Row], name: str) -> float:
    """One of the single numbers."""
    return float(select(rows, what="number", name=name)[0]["value"])


def draw(rows: Sequence[Row]) -> Figure:
    """A heat map, a histogram, and bars."""
    figure, panels = charts.figure(3, size=(15, 5.6), width_ratios=[1.25, 1, 0.9])
    _heat(panels[0], rows)
    _prices(panels[1], rows)
    _weights(panels[2], rows)
    charts.caption(
        figure,
        "The 506 records of Boston Housing. Bars: weights of least squares on all 13 features in their own units; "
        "those above the mean size (dotted) are kept: scikit-learn's SelectFromModel, which reads every record and is "
        f"not private. {CAUTION}",
    )
    return figure


def _heat(axes: Axes, rows: Sequence[Row]) -> None:
    columns = (*NAMES, PRICE)
    values = np.array(column(select(rows, what="correlation"), "value")).reshape(len(columns), -1)
    axes.imshow(values, cmap=_diverging(), vmin=-1, vmax=1, aspect="auto")
    axes.grid(visible=False)
    for place, line in enumerate(values):
        for other, value in enumerate(line):
            if abs(value) >= WORTH_WRITING and place != other:
                text = f"{value:.2f}".replace("-", "−").replace("0.", ".")
                strong = abs(value) > 0.75
                axes.text(
                    other, place, text, ha="center", va="center", fontsize=7, color="white" if strong else charts.INK
                )
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(columns)), columns)
    for spine in axes.spines.values():
        spine.set_visible(False)
    charts.name_axes(axes, "What goes with what", "", "")


def _prices(axes: Axes, rows: Sequence[Row]) -> None:
    bars = select(rows, what="prices")
    counts, low = column(bars, "value"), column(bars, "from")
    width = bars[0]["to"] - bars[0]["from"]
    colours = [charts.PRIVATE] * (len(bars) - 1) + [charts.ADVERSARY]
    axes.bar(low, counts, width * 0.92, align="edge", color=colours)
    charts.numbers(axes)
    axes.annotate(
        "cut off at 50",
        (low[-1] + width / 2, counts[-1]),
        (-8, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=9,
        color=charts.ADVERSARY,
    )
    charts.name_axes(axes, "Prices", "thousand $", "records")


def _weights(axes: Axes, rows: Sequence[Row]) -> None:
    bars = select(rows, what="weight")
    sizes = [abs(row["value"]) for row in bars]
    places = range(len(bars) - 1, -1, -1)
    axes.barh(list(places), sizes, color=[charts.PRIVATE if row["kept"] else charts.LINE for row in bars], height=0.72)
    axes.axvline(float(np.mean(sizes)), color=charts.INK, lw=1, ls=":")
    for place, row, size in zip(places, bars, sizes, strict=True):
        if row["kept"]:
            charts.beside(axes, size, place, f"{row['value']:.1f}".replace("-", "−"), charts.PRIVATE, shift=(5, 0))
    charts.numbers(axes)
    axes.set_yticks(list(places), column(bars, "name"))
    axes.set_xlim(0, max(sizes) * 1.12)
    axes.grid(visible=False, axis="y")
    charts.name_axes(axes, "Weights, and the features kept", "size of the weight", "")


def _diverging() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("lapwing", [charts.ADVERSARY, "#f6f4ef", charts.PRIVATE])


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    related = {
        pair: select(rows, what="correlation", name=pair[0], other=pair[1])[0]["value"]
        for pair in (("lstat", PRICE), ("rm", PRICE), ("lstat", "rm"))
    }
    kept = [row["name"] for row in select(rows, what="weight", kept=True)]
    capped = select(rows, what="prices")[-1]["value"]
    return (
        f"Prices go most with lstat ({related['lstat', PRICE]:.2f}) and rm ({related['rm', PRICE]:.2f}), which go with "
        f"each other ({related['lstat', 'rm']:.2f}). The last bar, {capped} records, is where prices were cut off. The "
        f"features whose weight is above the mean are {', '.join(kept)}. Least squares, tested on ten unshuffled "
        f"folds, is off by {number(rows, 'error with all features'):.4f} thousand dollars with all features and by "
        f"{number(rows, 'error with the features kept'):.4f} with these.\n\n"
        f"Record {number(rows, 'record with the largest residual'):.0f} lies furthest from the plane. Leaving it out "
        f"lowers the training error by {number(rows, 'largest change of the training error'):.4f} of "
        f"{number(rows, 'training error'):.3f}, more than any other: the number that method 1 of the study (which "
        "found 3.01) takes for a sensitivity.\n\n"
        "Every number on this page was computed from the records without noise, so nothing here is private, the choice "
        f"of features included.\n\n{CAUTION}"
    )


REGRESSION_DATA = Experiment(
    name="regression-data",
    title="The table of the regression study",
    source="Figs. 4.1 and 4.2 of a thesis on the practicability of DP",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"bins": 2 * BINS},
)
