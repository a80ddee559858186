"""What k-anonymity costs and what it protects, over k, beside a private release of the same counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapwing import charts
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.anonymity.mondrian import Mondrian
from lapwing.anonymity.table import encoded
from lapwing.datasets.town import TODAY, town
from lapwing.experiments.experiment import Experiment, Heard, Row, column, entropy
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, permutation, uniform_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Integers = NDArray[np.intp]
Floats = NDArray[np.float64]
PEOPLE, QUERIES = 40_000, 200
KS = (1, 2, 3, 5, 10, 20, 50, 100)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
QUASI = ("birth_date", "sex", "postcode")
ACUTE = ("appendicitis", "infection", "injury", "kidney stones", "migraine")
YEAR = 365.25
BAND, BANDS = 5 * YEAR, 20
"""The private release counts by age in steps of five years up to a hundred, whoever is in the table."""
FEWEST = 20
"""Questions with fewer people in the answer are not asked: their relative errors say little."""


@dataclass(frozen=True, slots=True, eq=False)
class Patients:
    """The hospital of the town: what is known about people, and what they have."""

    known: dict[str, NDArray[Any]]
    """The quasi-identifiers; birth dates in days before the end of the year."""
    diagnosis: Integers
    kinds: list[str]

    @classmethod
    def of(cls, hospital: dict[str, list[Any]]) -> Patients:
        """As numbers."""
        days = np.array([(TODAY - day).days for day in hospital["birth_date"]], np.intp)
        others = {name: encoded(hospital[name])[0] for name in QUASI[1:]}
        return cls({"birth_date": days, **others}, *encoded(hospital["diagnosis"]))

    def some(self, rows: Integers) -> Patients:
        """A part of them."""
        return Patients({name: values[rows] for name, values in self.known.items()}, self.diagnosis[rows], self.kinds)


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Counts by diagnosis of people in boxes, within which an analyst takes them to be spread evenly."""

    counts: Floats
    low: Floats
    """Boxes × quasi-identifiers: where each begins."""
    high: Floats
    """Where it ends, included."""

    def answer(self, question: Question) -> float:
        """How many there are, as far as the boxes tell."""
        reach = np.minimum(self.high, question.high) - np.maximum(self.low, question.low) + 1
        inside = np.prod(np.clip(reach, 0, None) / (self.high - self.low + 1), axis=1)
        return float(inside @ self.counts[:, question.diagnosis])


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """How many people of a range of birth dates, a sex or both, and a postcode or all, have this?"""

    low: Floats
    high: Floats
    diagnosis: int
    truth: int


def compute(
    people: int = PEOPLE,
    ks: Sequence[int] = KS,
    epsilons: Sequence[float] = EPSILONS,
    queries: int = QUERIES,
    repeats: int = 5,
    heard: Heard | None = None,
) -> list[Row]:
    """For each k, and for each epsilon: what is lost, how far counts are off, and what attackers learn."""
    patients = Patients.of(town(people).hospital)
    workload = questions(patients, queries, entropy("k-anonymity", "questions"))
    rows: list[Row] = []
    for k in ks:
        rows.append(_anonymous(patients, k, workload))
        if heard is not None:
            heard(len(rows), len(ks) + len(epsilons))
    for epsilon in epsilons:
        rows.append(_private(patients, epsilon, workload, repeats))
        if heard is not None:
            heard(len(rows), len(ks) + len(epsilons))
    return rows


def questions(patients: Patients, count: int, source: Entropy) -> list[Question]:
    """Counts of people by age, sex, postcode and diagnosis, each about what some patient has."""
    table = np.column_stack([patients.known[name] for name in QUASI])
    first, last = table.min(axis=0), table.max(axis=0)
    workload: list[Question] = []
    while len(workload) < count:
        person = table[uniform_below(len(table), entropy=source)]
        width = uniform_below(int(30 * YEAR), entropy=source) + int(10 * YEAR)
        low, high = first.astype(float), last.astype(float)
        low[0], high[0] = person[0] - width // 2, person[0] + width // 2
        for place in (1, 2):
            if uniform_below(2, entropy=source):
                low[place] = high[place] = person[place]
        diagnosis = int(patients.diagnosis[uniform_below(len(table), entropy=source)])
        inside = ((table >= low) & (table <= high)).all(axis=1) & (patients.diagnosis == diagnosis)
        if inside.sum() >= FEWEST:
            workload.append(Question(low, high, diagnosis, int(inside.sum())))
    return workload


def _error(boxes: Boxes, workload: Sequence[Question]) -> float:
    return float(np.mean([abs(boxes.answer(question) - question.truth) / question.truth for question in workload]))


def _anonymous(patients: Patients, k: int, workload: Sequence[Question]) -> Row:
    """What a k-anonymous table costs, and what the diagnoses of people in it are worth to attackers."""
    release = Mondrian(k=k, quasi_identifiers=QUASI).anonymise(patients.known)
    classes, rows = release.classes, len(patients.diagnosis)
    counts = classes.counts(patients.diagnosis, len(patients.kinds))
    order, starts = np.argsort(classes.member, kind="stable"), np.cumsum(classes.sizes) - classes.sizes
    table = np.column_stack([patients.known[name] for name in QUASI]).astype(float)[order]
    boxes = Boxes(counts.astype(float), *(edge.reduceat(table, starts) for edge in (np.minimum, np.maximum)))
    return {
        "k": k,
        "epsilon": None,
        "certainty_lost": release.losses.certainty,
        "discernibility": release.losses.discernibility,
        "class_size": rows / len(classes),
        "error": _error(boxes, workload),
        "row_found": len(classes) / rows,
        **_attacks(patients, k),
        "guessed": float(np.mean(counts[classes.member].argmax(axis=1) == patients.diagnosis)),
        "bound": 1.0,
    }


def _attacks(patients: Patients, k: int) -> Row:
    """The share of people whose diagnosis is certain, among those who are in the tables of two hospitals.

    Two of three patients are in either table, one of three in both.
    """
    order = permutation(len(patients.diagnosis), entropy("k-anonymity", "hospitals"))
    third = len(order) // 3
    held = []
    for rows in (order[: 2 * third], order[third:]):
        some = patients.some(rows)
        classes = Mondrian(k=k, quasi_identifiers=QUASI).anonymise(some.known).classes
        held.append(classes.counts(some.diagnosis, len(some.kinds))[classes.member])
    first, second, both = held[0][third:], held[1][:third], patients.some(order[third : 2 * third])
    return {
        "homogeneity": _certain(first),
        "background": _certain(first * _alike(both)),
        "composition": _certain(first * second),
        "all_together": _certain(first * second * _alike(both)),
        "everybody_else": 1.0,  # exact counts less the diagnoses of all others leave one's own
    }


def _alike(patients: Patients) -> NDArray[np.bool_]:
    """Which diagnoses are left to somebody who knows whether a patient's is chronic."""
    acute = np.isin(patients.kinds, ACUTE)
    mask: NDArray[np.bool_] = acute[patients.diagnosis][:, None] == acute
    return mask


def _certain(possible: Integers) -> float:
    """The share of people for whom one diagnosis is left."""
    return float(np.mean(np.count_nonzero(possible, axis=1) == 1))


def _private(patients: Patients, epsilon: float, workload: Sequence[Question], repeats: int) -> Row:
    """Counts by age, sex, postcode and diagnosis with noise; another diagnosis of one patient changes two of them."""
    days, sex, postcode = (patients.known[name] for name in QUASI)
    cells = (np.minimum(days // BAND, BANDS - 1).astype(np.intp), sex, postcode)
    shape = (BANDS, int(sex.max()) + 1, int(postcode.max()) + 1, len(patients.kinds))  # as many as the town has
    exact = np.zeros(shape, np.int64)
    np.add.at(exact, (*cells, patients.diagnosis), 1)
    low = np.indices(shape[:3]).reshape(3, -1).T * np.array([BAND, 1, 1])
    high = low + np.array([BAND - 1, 0, 0])
    noise = Laplace(epsilon=epsilon, sensitivity=2, dimensions=exact.size, on_grid=True, relation="replace")
    errors, guessed = [], []
    for repeat in range(repeats):
        noisy = np.reshape(noise.release(exact.ravel(), entropy("k-anonymity", epsilon, repeat)), shape)
        errors.append(_error(Boxes(noisy.reshape(-1, shape[3]).astype(float), low, high), workload))
        guessed.append(np.mean(noisy[cells].argmax(axis=1) == patients.diagnosis))
    return {
        "k": None,
        "epsilon": epsilon,
        "error": float(np.mean(errors)),
        "guessed": float(np.mean(guessed)),
        "bound": best_guess(epsilon),
    }


def draw(rows: Sequence[Row]) -> Figure:
    """What attackers are certain of, what analysts lose, and the worst case over the error."""
    figure, (left, middle, right) = charts.figure(3, size=(13.4, 4.8))
    anonymous, private = _anonymous_rows(rows), _private_rows(rows)
    _draw_attacks(left, anonymous)
    _draw_price(middle, anonymous, private)
    _draw_worst(right, anonymous, private)
    charts.caption(
        figure,
        "Patients of an imaginary town, one row each; Mondrian generalises birth date, sex and postcode, the diagnosis "
        "is one of thirteen. Left: people who are in the tables of two hospitals. Counts are of patients in an age "
        "range with a diagnosis; half of these counts are limited to one sex or one postcode. Private: counts by five "
        "years of age, sex, postcode and diagnosis with Laplace noise, ε for what one patient has (replace).",
    )
    return figure


LINES = {
    "everybody_else": "the diagnoses of all others",
    "all_together": "both of the next two",
    "composition": "a second such table",
    "background": "whether it is chronic",
    "homogeneity": "nothing",
}
"""What an attacker has besides the table and somebody's quasi-identifiers, by the column that says how far it leads."""
COLOURS = (charts.INK, charts.ADVERSARY, *charts.SERIES[1:4])


def _draw_attacks(axes: Axes, rows: Sequence[Row]) -> None:
    ks = column(rows, "k")
    axes.plot(
        [ks[0], ks[-1]],
        [0, 0],
        color=charts.PRIVATE,
        lw=5,
        solid_capstyle="round",
        label="any of these, private release",
    )
    for marker, colour, (name, label) in zip(charts.MARKERS, COLOURS, LINES.items(), strict=True):
        axes.plot(ks, column(rows, name), marker=marker, ms=5, lw=1.6, color=colour, label=label)
    axes.set_ylim(-0.02, 1.04)
    charts.numbers(axes, x="log", y="percent")
    charts.only_ticks(axes.xaxis, ks)
    handles, labels = axes.get_legend_handles_labels()
    order = [*range(1, len(labels)), 0]  # as they lie, from above
    shown = {"handles": [handles[i] for i in order], "labels": [labels[i] for i in order]}
    charts.legend(
        axes,
        loc="upper right",
        bbox_to_anchor=(1.0, 0.94),
        title="the attacker knows besides",
        title_fontsize=8.5,
        **shown,
    )
    charts.name_axes(axes, "Whose diagnosis is certain", "k", "patients")


def _draw_price(axes: Axes, anonymous: Sequence[Row], private: Sequence[Row]) -> None:
    shown = [row for row in anonymous if row["error"] > 0]
    ks = column(shown, "k")
    for row in private:
        axes.axhline(row["error"], color=charts.PRIVATE, lw=1.2, ls=(0, (5, 3)))
        charts.beside(axes, ks[0], row["error"], f"private, ε = {row['epsilon']:g}", charts.PRIVATE, shift=(0, 6))
    axes.plot(ks, column(shown, "error"), marker="o", ms=5, lw=1.6, color=charts.ADVERSARY)
    axes.plot(ks, column(shown, "certainty_lost"), marker="s", ms=4, lw=1.3, color=charts.QUIET)
    middle = shown[len(shown) // 2]
    charts.beside(axes, middle["k"], middle["error"], "error of counts", charts.ADVERSARY, shift=(-6, 8))
    charts.beside(axes, middle["k"], middle["certainty_lost"], "certainty penalty", charts.QUIET, shift=(7, -7))
    charts.numbers(axes, x="log", y="log percent")
    charts.only_ticks(axes.xaxis, ks)
    charts.name_axes(axes, "What it costs", "k", "mean relative error of counts")


def _draw_worst(axes: Axes, anonymous: Sequence[Row], private: Sequence[Row]) -> None:
    shown = [row for row in anonymous if row["error"] > 0]
    axes.plot(column(shown, "error"), column(shown, "bound"), "o-", ms=5, lw=1.6, color=charts.ADVERSARY)
    for row, side in ((shown[0], 0), (shown[-1], -1)):
        charts.beside(axes, row["error"], 1, f"k = {row['k']}", charts.ADVERSARY, shift=(side, 10))
    axes.plot(column(private, "error"), column(private, "bound"), "D-", ms=6, lw=1.6, color=charts.PRIVATE)
    for row in private:
        charts.beside(axes, row["error"], row["bound"], f"ε = {row['epsilon']:g}", charts.PRIVATE, shift=(-9, -8))
    axes.axhline(0.5, color=charts.QUIET, lw=1, ls=(0, (1, 2)))
    charts.beside(axes, shown[0]["error"], 0.5, "without any table", charts.QUIET, shift=(0, 7))
    axes.set_ylim(0.48, 1.05)
    charts.numbers(axes, x="log percent", y="percent")
    charts.name_axes(
        axes,
        "Against an attacker who knows all others",
        "mean relative error of counts",
        "right between two diagnoses, at most",
    )


def _anonymous_rows(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["k"] is not None]


def _private_rows(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["epsilon"] is not None]


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    names = ("class_size", "certainty_lost", "error", "row_found", *reversed(LINES), "guessed", "bound")
    titles = ("class size", "certainty penalty", "error of counts", "row found", *reversed(LINES.values()))
    lines = [f"| | {' | '.join((*titles, 'commonest of the class', 'worst case'))} |", "|---" * (len(names) + 1) + "|"]
    for row in rows:
        name = f"k = {row['k']}" if row["k"] is not None else f"ε = {row['epsilon']:g}"
        lines.append(f"| {name} | " + " | ".join(_cell(row, key) for key in names) + " |")
    small = min(_anonymous_rows(rows), key=lambda row: abs(row["k"] - 5))
    return "\n".join(lines) + (
        f"\n\nAt k = {small['k']} an attacker finds the right row with probability {small['row_found']:.0%}. Diagnoses "
        f"are hidden less well: {small['homogeneity']:.1%} are certain from the table alone. A neighbour who also "
        f"knows whether the illness is chronic is certain of {small['background']:.0%}, and of "
        f"{small['all_together']:.0%} if a second hospital publishes its own anonymous table. With a larger k these "
        "attackers fail more often, and counts become less exact; both change slowly. A larger k does nothing against "
        "an attacker who knows all others of a class: they subtract what they know from the exact counts, at every k. "
        "So nobody can say what k is enough. The private release protects against this attacker, too: between two "
        "diagnoses that were equally likely before, nobody is right more often than the worst case e^ε/(1 + e^ε). A "
        "smaller ε lowers the worst case and increases the error. “Commonest of the class” is how often the best guess "
        "from the class (or the noisy cell) is right. What remains at large k and small ε is what age and sex say "
        "about anybody, in the table or not."
    )


def _cell(row: Row, name: str) -> str:
    if name not in row:
        return "0 %" if name in LINES else "–"
    return f"{row[name]:.1f}" if name == "class_size" else f"{100 * row[name]:.1f} %"


K_ANONYMITY = Experiment(
    name="k-anonymity",
    title="k-anonymity: what it costs and what it protects",
    source="LeFevre et al. 2006 (Mondrian); Ganta et al. 2008 (two tables)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"people": 100_000, "queries": 1_000, "repeats": 20},
)
