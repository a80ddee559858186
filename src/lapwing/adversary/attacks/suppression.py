"""Suppression: hidden cells of a printed table, recovered from its totals.

If only one cell of a row is hidden, it is the total less the printed cells. If more are hidden, linear programming
gives the interval of each. An attacker who knows one of them (their own village or family) can subtract again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.anonymity.suppression import Cell, CellSuppression, Printed, intervals
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli, uniform_below

VILLAGES = ("Ashby", "Birch", "Clay", "Dale", "Elm")
ILLNESSES = {"none": (40, 80), "flu": (15, 30), "asthma": (8, 20), "HIV": (6, 12)}
CELL = ("Ashby", "HIV")
OTHERS = 2
"""People in the small cell whom the attacker knows; Ada is the third, or in the column of the healthy."""


def recovered(printed: Printed, *, known: Mapping[Cell, int] | None = None) -> list[Conclusion]:
    """Find what the totals of a printed table say about its hidden cells.

    Args:
        printed: The table, as `lapwing.anonymity.CellSuppression.publish` prints it.
        known: Counts of hidden cells that the attacker knows, by (row, column). None means none.

    Returns:
        A conclusion for each hidden cell: its value where it follows, otherwise the interval that it lies in.

    >>> from lapwing.anonymity import CellSuppression
    >>> counts = {"North": {"flu": 40, "HIV": 2}, "South": {"flu": 31, "HIV": 9}}
    >>> for learned in recovered(CellSuppression(complementary=False).publish(counts)):
    ...     print(learned)
    North, HIV: 2 (certainly). The totals allow one value only.
    """
    conclusions = []
    for (row, column), (low, high) in intervals(printed, known=known).items():
        values = high - low + 1
        guess: int | str = low if values == 1 else f"{low} to {high}"
        because = "The totals allow one value only." if values == 1 else f"The totals allow {values} values."
        conclusions.append(Conclusion(about=f"{row}, {column}", guess=guess, sure=1, because=because))
    return conclusions


def _village_counts(entropy: Entropy) -> tuple[dict[str, dict[str, int]], int]:
    """Counts of five villages, and Ada's secret: she is counted among the ill or among the healthy."""
    counts = {
        village: {
            illness: low + uniform_below(high - low + 1, entropy=entropy) for illness, (low, high) in ILLNESSES.items()
        }
        for village in VILLAGES
    }
    secret = int(bernoulli(Fraction(1, 2), entropy=entropy))
    counts["Ashby"]["HIV"] = OTHERS + secret
    counts["Ashby"]["none"] += 1 - secret
    return counts, secret


def _guess(printed: Printed, known: Mapping[Cell, int]) -> int:
    """Whether Ada is the third in the cell; if both can be, the attacker says yes."""
    low, high = intervals(printed, known=known, only=[CELL])[CELL]
    return int(high > OTHERS) if low <= OTHERS else 1


def _play(rounds: int, entropy: Entropy, method: CellSuppression, *, knows_a_cell: bool = False) -> Rounds:
    won: list[float] = []
    for _ in range(rounds):
        counts, secret = _village_counts(entropy)
        printed = method.publish(counts)
        beside = next((cell for cell in printed.hidden if cell[0] == CELL[0] and cell != CELL), None)
        known = {beside: counts[beside[0]][beside[1]]} if beside and knows_a_cell else {}
        won.append(float(_guess(printed, known) == secret))
    return won


def _primary(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, CellSuppression(complementary=False))


def _complementary(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, CellSuppression())


def _complementary_known(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, CellSuppression(), knows_a_cell=True)


def between_two_cells(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """All cells of a table with Laplace noise, towards an attacker who knows everybody but Ada.

    Ada is in one of two cells (replace), so the l1 sensitivity is 2. Only these two say anything about her; the others
    are noise around what the attacker knows, and are left out. Each of the two points to the right cell with chance
    r = 1/(1 + e^(−ε/2)), and if they disagree there is nothing to choose: the best guess succeeds with chance
    r² + r·(1 − r) = r, which is less than the bound.
    """
    cells = Laplace(
        epsilon=Fraction(epsilon), sensitivity=2, dimensions=2, granularity=1, on_grid=True, relation="replace"
    )
    won: list[float] = []
    for secret in bernoulli(Fraction(1, 2), rounds, entropy).tolist():
        ill, healthy = cells.release([int(secret), 1 - int(secret)], entropy)
        if_ill, if_not = abs(ill - 1) + abs(healthy), abs(ill) + abs(healthy - 1)
        won.append(float((if_ill < if_not or (if_ill == if_not and ill > 0)) == secret))
    return won


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    counts, secret = _village_counts(entropy)
    conclusions = []
    for name, method in (("small cells hidden", False), ("others hidden too", True)):
        printed = CellSuppression(complementary=method).publish(counts)
        [learned] = [conclusion for conclusion in recovered(printed) if conclusion.about == ", ".join(CELL)]
        conclusions.append(replace(learned, about=f"people with HIV in Ashby, {name}", truth=OTHERS + secret))
    return conclusions


SUPPRESSION = Attack(
    name="suppression",
    title="Cell suppression: totals give hidden cells back",
    secret=f"whether Ada is counted in a hidden cell with {OTHERS} others whom the attacker knows",
    source="Cox 1980",
    weak={
        "small cells hidden": _primary,
        "complementary cells hidden too": _complementary,
        "the same, one hidden cell known": _complementary_known,
    },
    answer="all cells with Laplace noise, everybody else known",
    promise="epsilon for the whole table, whichever cell one person is in (replace)",
    private=between_two_cells,
    bound=best_guess,
    example=_example,
    lesson="Suppression fails once an attacker knows one more hidden number. Noise protects whatever they know.",
    rounds=300,
)
