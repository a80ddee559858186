"""What the browser computes, and what the library (or scipy, or plain Python) says about the same arguments.

Each function of these modules that yields calls is a subject: one test, which names every line that differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from browser import Call

from comparisons import beliefs, choice, continual, lab, mechanisms, perspective, shares, sketches, surveys, tables

Subject = Callable[[], Iterator[Call]]

SUBJECTS: list[Subject] = [
    *(beliefs.odds, beliefs.extremes, beliefs.accusations, beliefs.games, beliefs.narrowing),
    *(mechanisms.laplace, mechanisms.randomized_response, mechanisms.exponential, mechanisms.gaussian),
    *(choice.clipping, choice.medians, choice.ages, choice.noise, choice.coins, choice.candidates, choice.models),
    *(choice.shuffling, choice.crowds, choice.rappor),
    *(perspective.errors, perspective.budgets, perspective.chances),
    *(sketches.hashes, sketches.puzzles, sketches.estimates, sketches.errors, sketches.coins, sketches.reports),
    *(lab.handles, lab.meters, lab.draws, lab.errors),
    *(tables.alike, tables.differences),
    *(surveys.numbers, surveys.reports),
    *(shares.shares, shares.seats, shares.noise),
    *(continual.widths, continual.nodes_of_days, continual.errors, continual.prices),
]
