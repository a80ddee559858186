"""A picture of an attack: its success over epsilon, beside the weak methods and the bound that holds for everybody."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing import charts
from lapwing.adversary.attacks import Contest
from lapwing.adversary.attacks.attack import CONFIDENCE
from lapwing.experiments.experiment import write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CURVE = 60
_LETTERS = 36
_DASHES = ("-", "--", "-.", ":", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))


def write(contest: Contest, folder: str | Path) -> list[Path]:
    """A picture and its numbers, named after the attack."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    picture, table = (folder / f"{contest.attack.name}.{ending}" for ending in ("png", "csv"))
    charts.save(draw(contest), picture, dpi=110, metadata={"Software": ""})
    write_csv(contest.rows(), table)
    return [picture, table]


def draw(contest: Contest) -> Figure:
    """Weak methods as lines across, the private answer as dots with intervals, the bound as a shaded roof."""
    import numpy as np

    attack, private = contest.attack, contest.private
    figure, [axes] = charts.figure(size=(9.2, 3.9))
    epsilons = [score.epsilon or 0.0 for score in private]
    curve = np.geomspace(epsilons[0], epsilons[-1], _CURVE)
    roof = [attack.bound(float(epsilon)) for epsilon in curve]
    top = 1.06 * max(*roof, *(score.high for score in contest.scores))
    axes.fill_between(curve, roof, top, color=charts.PRIVATE, alpha=0.09, lw=0)
    axes.plot(curve, roof, color=charts.PRIVATE, lw=1.4, label="no attacker gets above this")
    for place, score in enumerate(contest.weak):
        dashes = _DASHES[place % len(_DASHES)]
        axes.axhline(score.success, color=charts.ADVERSARY, lw=1.3, ls=dashes, label=_wrapped(score.method))
    low, high = ([abs(getattr(score, end) - score.success) for score in private] for end in ("low", "high"))
    success = [score.success for score in private]
    axes.errorbar(
        epsilons, success, (low, high), fmt="o", color=charts.PRIVATE, ms=5, lw=1, label=_wrapped(attack.answer)
    )
    axes.axhline(attack.chance, color=charts.QUIET, lw=0.9, ls=(0, (1, 3)), label=attack.blind)
    axes.set_ylim(0, top)
    axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
    charts.numbers(axes, x="log", y="percent")
    charts.only_ticks(axes.xaxis, epsilons)
    charts.name_axes(axes, "", "epsilon", attack.measured)
    figure.suptitle(attack.title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=charts.INK)
    charts.legend(figure, loc="outside right center")
    charts.caption(
        figure,
        f"The secret: {attack.secret}. Dots: {private[0].rounds} rounds each, with {CONFIDENCE:.1%} intervals. "
        f"Private: {attack.promise}.",
    )
    return figure


def _wrapped(label: str) -> str:
    return textwrap.fill(label, _LETTERS)
