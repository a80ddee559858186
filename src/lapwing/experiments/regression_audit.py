"""What is wrong with method 1 of the regression study, shown by the auditor.

Two pairs of neighbours: the table of the study and the same without record 368, which is in it; and the table with one
record more, within public bounds but far from all others. Whoever asks knows both tables and not which one answers, as
the definition of differential privacy has it. Mind the caution about Boston Housing in boston.py.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing import charts
from lapwing.adversary import audit
from lapwing.errors import NotPrivateWarning
from lapwing.experiments.boston import BOUNDS, CAUTION, PRICES, Floats, Houses, chosen
from lapwing.experiments.experiment import Experiment, Heard, Row, column, entropy, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.experiments.naive import NaiveOutputPerturbation

EPSILON = 1.0
QUESTIONS = (1, 2, 4, 8, 16, 32, 64)
LEFT_OUT, ADDED, OURS = "method 1, record 368 left out", "method 1, one record added", "ours, one record added"
COLOURS = {LEFT_OUT: charts.NOISE, ADDED: charts.ADVERSARY, OURS: charts.PRIVATE}
LABELS = {LEFT_OUT: (0.5, (9, -9)), ADDED: (0.17, (9, -4)), OURS: (0.0, (0, 10))}
"""How far along a line its name stands, and how far from it."""
AS_IT_IS = "as it is"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two tables that differ in one record, and the house whose price is asked for."""

    first: Houses
    second: Houses
    house: Floats


def neighbours() -> dict[str, Neighbours]:
    """A record of the table left out, and the record within public bounds that moves its own prediction most."""
    table = chosen()
    house, price = worst_record(table)
    out = Neighbours(table.without(368), table, table.X[368])
    more = Neighbours(table.with_record(house, price), table, house)
    return {LEFT_OUT: out, ADDED: more}


def worst_record(table: Houses) -> tuple[Floats, float]:
    """Among the corners of the public bounds."""
    corners = [(np.array(corner), price) for corner in itertools.product(*BOUNDS.values()) for price in PRICES]
    plain = _fitted(table)

    def moves(record: tuple[Floats, float]) -> float:
        return float(abs(_fitted(table.with_record(*record)).exact(record[0][None]) - plain.exact(record[0][None]))[0])

    return max(corners, key=moves)


def compute(
    questions: Sequence[int] = QUESTIONS, samples: int = 4_000, fits: int = 500, heard: Heard | None = None
) -> list[Row]:
    """The epsilon that an audit shows, over the number of predictions; the widths of the noise; two densities."""
    pairs = neighbours()
    rows = [*_widths(pairs), _moved(pairs[ADDED]), *_densities(pairs[ADDED])]
    total = len(questions) * len(pairs) + 1
    for place, (name, pair) in enumerate(pairs.items()):
        for number, predictions in enumerate(questions):
            rows.append(_audited(name, predictions, _method_1(pair, predictions, samples), samples))
            if heard is not None:
                heard(place * len(questions) + number + 1, total)
    row = _audited(OURS, 1, _ours(pairs[ADDED], fits), fits)  # one fit answers any number of questions
    return rows + [{**row, "questions": predictions} for predictions in questions]


def _audited(name: str, predictions: int, outputs: tuple[Floats, Floats], samples: int) -> Row:
    """A test of the claim that all answers together cost EPSILON; the outputs were drawn before, independently."""
    drawn = {side: iter(values.tolist()) for side, values in enumerate(outputs)}
    result = audit(lambda side: next(drawn[side]), (0, 1), samples=samples, claimed=EPSILON)
    return {
        "what": "audit",
        "name": name,
        "questions": predictions,
        "epsilon": result.epsilon_lower_bound,
        "claimed": EPSILON,
        "caught": result.caught,
        "ceiling": result.ceiling,
        "samples": samples,
    }


def _method_1(pair: Neighbours, predictions: int, samples: int) -> tuple[Floats, Floats]:
    """How much better the answers fit to the first table than to the second, if the first or the second answers."""
    models = [_fitted(table, side, predictions) for side, table in enumerate((pair.first, pair.second))]
    places = [float(model.exact(pair.house[None])[0]) for model in models]
    widths = [model.sensitivity_ / EPSILON for model in models]

    def evidence(model: NaiveOutputPerturbation) -> Floats:
        answers = model.predict(np.tile(pair.house, (samples * predictions, 1))).reshape(samples, predictions)
        fits = [-np.abs(answers - place) / width - np.log(width) for place, width in zip(places, widths, strict=True)]
        return np.asarray((fits[0] - fits[1]).sum(axis=1))

    return evidence(models[0]), evidence(models[1])


def _ours(pair: Neighbours, fits: int) -> tuple[Floats, Floats]:
    """The prediction for the same house by private fits, which no further question makes clearer."""
    from lapwing.models.linear import LinearRegression

    def predictions(side: int, table: Houses) -> Floats:
        source: Any = entropy("regression-audit", "ours", side)
        model = LinearRegression(
            epsilon=EPSILON, bounds=list(BOUNDS.values()), target_bounds=PRICES, random_state=source
        )
        return np.array([model.fit(table.X, table.y).predict(pair.house[None])[0] for _ in range(fits)])

    return predictions(0, pair.first), predictions(1, pair.second)


def _fitted(table: Houses, *seed: object) -> NaiveOutputPerturbation:
    from lapwing.experiments.naive import NaiveOutputPerturbation

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # this page is about just that
        source = entropy("regression-audit", *seed)
        return NaiveOutputPerturbation(epsilon=EPSILON, random_state=source).fit(table.X, table.y)


def _widths(pairs: dict[str, Neighbours]) -> list[Row]:
    tables = {
        "without record 368": pairs[LEFT_OUT].first,
        AS_IT_IS: pairs[LEFT_OUT].second,
        "with the record added": pairs[ADDED].first,
    }
    return [
        {"what": "width", "name": name, "value": _fitted(table).sensitivity_ / EPSILON}
        for name, table in tables.items()
    ]


def _moved(pair: Neighbours) -> Row:
    with_it, without = (float(_fitted(table).exact(pair.house[None])[0]) for table in (pair.first, pair.second))
    return {"what": "moved", "value": with_it - without}


def _densities(pair: Neighbours) -> list[Row]:
    """Of one answer, by the Laplace law."""
    rows: list[Row] = []
    for name, table in (("with", pair.first), ("without", pair.second)):
        model = _fitted(table)
        place, width = float(model.exact(pair.house[None])[0]), model.sensitivity_ / EPSILON
        rows += [
            {
                "what": "density",
                "name": name,
                "price": price,
                "value": float(np.exp(-abs(price - place) / width) / (2 * width)),
            }
            for price in np.linspace(-20, 40, 241).tolist()
        ]
    return rows


def draw(rows: Sequence[Row]) -> Figure:
    """One answer, the width of its noise, and what many answers tell."""
    figure, panels = charts.figure(3, size=(14, 4.8), width_ratios=[1.1, 0.8, 1.2])
    _draw_densities(panels[0], rows)
    _draw_widths(panels[1], rows)
    _draw_audit(panels[2], rows)
    samples, fits = (select(rows, what="audit", name=name)[0]["samples"] for name in (LEFT_OUT, OURS))
    charts.caption(
        figure,
        f"Method 1 claims ε = {EPSILON:g}. Left: the price it answers for one house, if a record with that house at "
        "50,000 $ is in the table and if not; shaded: where the claim, a ratio of at most e, is broken. Right: audits "
        f"of {samples:,} releases, ours of {fits:,} fits, at 99.9 % confidence; dotted, the most that so many "
        f"could show. {CAUTION}",
    )
    return figure


def _draw_densities(axes: Axes, rows: Sequence[Row]) -> None:
    with_it, without = (select(rows, what="density", name=name) for name in ("with", "without"))
    prices = column(with_it, "price")
    ours, theirs = np.array(column(with_it, "value")), np.array(column(without, "value"))
    for values, colour in ((ours, charts.ADVERSARY), (theirs, charts.BLUE)):
        axes.plot(prices, values, color=colour, lw=1.6)
    worst = np.exp(EPSILON)
    for density, other, colour in ((ours, theirs, charts.ADVERSARY), (theirs, ours, charts.BLUE)):
        axes.fill_between(
            prices, other, density, where=(density > worst * other).tolist(), color=colour, alpha=0.15, lw=0
        )
    for values, text, colour, shift in (
        (ours, "with the record", charts.ADVERSARY, (10, 4)),
        (theirs, "without it", charts.BLUE, (-10, 4)),
    ):
        top = int(np.argmax(values))
        charts.beside(axes, prices[top], float(values[top]), text, colour, shift=shift)
    charts.numbers(axes)
    axes.set_ylim(0)
    charts.name_axes(axes, "One answer tells of one record", "answer, thousand $", "density")


def _draw_widths(axes: Axes, rows: Sequence[Row]) -> None:
    bars = select(rows, what="width")
    values, places = column(bars, "value"), range(len(bars))
    axes.bar(
        list(places), values, 0.6, color=[charts.QUIET if row["name"] == AS_IT_IS else charts.NOISE for row in bars]
    )
    for place, value in zip(places, values, strict=True):
        axes.annotate(
            f"{value:.2f}",
            (place, value),
            (0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            color=charts.INK,
        )
    charts.numbers(axes)
    axes.set_xticks(list(places), [name.replace(" ", "\n", 1) for name in column(bars, "name")])
    charts.name_axes(axes, "So does the width of its noise", "the table", "scale, thousand $")


def _draw_audit(axes: Axes, rows: Sequence[Row]) -> None:
    names = list(dict.fromkeys(column(select(rows, what="audit"), "name")))
    for place, name in enumerate(names):
        audits = select(rows, what="audit", name=name)
        questions, shown = column(audits, "questions"), column(audits, "epsilon")
        axes.plot(questions, shown, marker=charts.MARKERS[place], color=COLOURS[name], lw=1.5, ms=5.5)
        along, shift = LABELS[name]
        at = round(along * (len(questions) - 1))
        charts.beside(axes, questions[at], shown[at], name, COLOURS[name], shift=shift)
    axes.axhline(EPSILON, color=charts.INK, lw=1, ls=(0, (4, 3)))
    charts.beside(axes, questions[-1], EPSILON, "claimed", charts.INK, shift=(-2, 7))
    axes.axhline(select(rows, what="audit")[0]["ceiling"], color=charts.QUIET, lw=1, ls=":")
    charts.numbers(axes, x="log")
    charts.only_ticks(axes.xaxis, column(select(rows, what="audit", name=names[0]), "questions"))
    axes.set_ylim(0)
    charts.name_axes(axes, "Every answer costs anew", "predictions asked for", "ε that an audit shows, at least")


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    widths = {row["name"]: row["value"] for row in select(rows, what="width")}
    moved = abs(select(rows, what="moved")[0]["value"])
    first = select(rows, what="audit", name=ADDED)[0]
    most = select(rows, what="audit", name=LEFT_OUT)[-1]
    ours = select(rows, what="audit", name=OURS)[-1]
    return (
        "Method 1 of the study adds Laplace noise to every prediction of an exact fit, as wide as the largest change "
        "that leaving out one record of the table makes to the training error. It is **not private**:\n\n"
        f"- The noise is made for another function. One more record, within public bounds, moves a prediction by "
        f"{moved:.1f} thousand dollars, but the noise is made for {widths[AS_IT_IS]:.2f}. With a claimed ε of "
        f"{EPSILON:g}, an audit of {first['samples']:,} releases of one prediction shows at least "
        f"{first['epsilon']:.2f}.\n"
        "- The noise is read from the data. Its scale is "
        f"{widths[AS_IT_IS]:.2f} thousand dollars as the table is, {widths['without record 368']:.2f} without record "
        f"368 and {widths['with the record added']:.2f} with the record added. Laplace laws of different scales have "
        "no bounded ratio at all: no ε is large enough.\n"
        f"- Every prediction spends ε anew, and the study pays once. After {most['questions']} predictions the "
        f"presence of record 368, which is in the table, is known almost for certain: the audit shows an ε of at least "
        f"{most['epsilon']:.2f}, and so many releases cannot show more than {most['ceiling']:.2f}.\n\n"
        "An estimator that is private spends ε once, on the fit; predictions only process its result further. An audit "
        f"of {ours['samples']:,} fits of `lapwing.models.LinearRegression` with ε = {EPSILON:g} on the same tables "
        f"shows {ours['epsilon']:.2f}, however many predictions are asked for. An audit can refute a claim but "
        f"not prove it; the proof is beside the code.\n\n{CAUTION}"
    )


REGRESSION_AUDIT = Experiment(
    name="regression-audit",
    title="What is wrong with noise on predictions",
    source="section 4.3.1 of a thesis on the practicability of DP, and an audit of our own",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"samples": 20_000, "fits": 4_000},
)
