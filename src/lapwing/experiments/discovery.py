"""Words that nobody listed: what the sequence fragment puzzle finds, and from how many people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.simulate import simulate
from lapwing.experiments import populations
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (50_000, 150_000, 450_000)
DIFFERENT = 3000
SHOWN = 45
PUZZLE = SequenceFragmentPuzzle(epsilon_fragments=4, epsilon_strings=4)
"""ε = 4 + 4, with k = m = 1024."""


def compute(sizes: Sequence[int] = SIZES, puzzle: SequenceFragmentPuzzle = PUZZLE) -> list[Row]:
    """For each number of people: every word that was found, and every word that was there."""
    rows: list[Row] = []
    for people in sizes:
        population = _typed(people, puzzle.length)
        run = simulate(puzzle, population, entropy=entropy("discovery", people))
        result = run.estimate()
        estimates = dict(zip(result.labels, result.counts.tolist(), strict=True))
        errors = dict(zip(result.labels, result.population_standard_error.tolist(), strict=True))
        ranked = sorted(population, key=lambda word: -population[word])
        for rank, word in enumerate([*ranked, *(word for word in estimates if word not in population)], 1):
            rows.append(
                {
                    "people": people,
                    "rank": rank if word in population else None,
                    "word": word,
                    "share": population.get(word, 0) / people,
                    "found": word in estimates,
                    "estimate": estimates[word] / people if word in estimates else None,
                    "standard_error": errors[word] / people if word in errors else None,
                }
            )
    return rows


def _typed(people: int, longest: int) -> dict[str, int]:
    """The most frequent English words that fit, each as often as it is used."""
    plain = {
        word: float(count)
        for word, count in populations.words(10**7, different=DIFFERENT).items()
        if word.isascii() and word.isalpha() and len(word) <= longest
    }
    return {word: count for word, count in populations.apportioned(plain, people).items() if count}


def limit(rows: Sequence[Row], people: int) -> float:
    """The largest share that was missed: everything more frequent was found."""
    missed = [row["share"] for row in select(rows, people=people) if not row["found"]]
    return max(missed, default=0.0)


def draw(rows: Sequence[Row]) -> Figure:
    """The most frequent words with what was found of them; and how many are found by how many people."""
    figure, (left, right) = charts.figure(2, size=(11, 4.8), width_ratios=(2.1, 1))
    sizes = list(dict.fromkeys(column(rows, "people")))
    there = [row for row in select(rows, people=sizes[-1]) if row["rank"] is not None][:SHOWN]
    hit = [row for row in there if row["found"]]
    left.vlines(column(there, "rank"), 0, column(there, "share"), color=charts.LINE, lw=3)
    left.plot(column(there, "rank"), column(there, "share"), "_", color=charts.INK, ms=8, mew=1.6)
    left.errorbar(
        column(hit, "rank"), column(hit, "estimate"), yerr=[2 * row["standard_error"] for row in hit],
        fmt="o", ms=4.5, color=charts.PRIVATE, ecolor=charts.NOISE, elinewidth=1.4,
    )  # fmt: skip
    charts.numbers(left, y="percent")
    left.set_xticks(column(there, "rank"), column(there, "word"), rotation=90, fontsize=8)
    left.set_xlim(0.2, len(there) + 0.8)
    charts.name_axes(left, f"{sizes[-1]:,} people: {len(hit)} of the {len(there)} most frequent", "", "share of people")
    left.plot([], [], "_", color=charts.INK, ms=8, mew=1.6, label="truth")
    left.plot([], [], "o", color=charts.PRIVATE, ms=4.5, label="found, ± two standard errors")
    charts.legend(left, loc="upper right")
    numbers = [sum(row["found"] for row in select(rows, people=people)) for people in sizes]
    limits = [limit(rows, people) for people in sizes]
    right.plot(sizes, limits, "o-", color=charts.PRIVATE, lw=1.3, ms=6)
    for people, share, number in zip(sizes, limits, numbers, strict=True):
        charts.beside(right, people, share, f"{number} words", charts.PRIVATE, shift=(4, 11))
    charts.numbers(right, x="log", y="log percent")
    right.set_ylim(min(limits) / 1.3, max(limits) * 1.3)
    charts.only_ticks(right.xaxis, sizes)
    right.set_xlim(sizes[0] / 1.5, sizes[-1] * 2.6)
    charts.name_axes(right, "More frequent words are all found", "people", "largest share that is missed")
    charts.caption(
        figure,
        f"English words of up to {PUZZLE.length} letters, typed as often as they are used; no dictionary is given. "
        "Everybody sends two letters with their piece of the puzzle, and the word in a sketch, at ε = 4 each.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    people = max(column(rows, "people"))
    chosen = select(rows, people=people)
    words = [row for row in chosen if row["found"]]
    false = [row for row in words if row["rank"] is None]
    return (
        f"From {people:,} people the puzzle finds {len(words)} words without being told any, {len(false)} of which "
        f"nobody typed; every word above {100 * limit(rows, people):.2g} % is among them. The limit falls about like "
        "1/√n. Each report costs ε = 8: finding unknown words is far more expensive than counting known ones."
    )


DISCOVERY = Experiment(
    name="discovery",
    title="Sequence fragment puzzle: words that nobody listed",
    source="Apple, Learning with Privacy at Scale (2017)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"sizes": (100_000, 1_000_000, 4_000_000)},
)
