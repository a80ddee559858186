"""`lapwing demo`: a private analysis from end to end, with answers beside the truth and what everything cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, median
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from lapwing import checks
from lapwing.charts import PALETTE, PRIVATE
from lapwing.datasets import clinic
from lapwing.mechanisms import Count, Histogram, Mean, Median
from lapwing.privacy import PureDP
from lapwing.privacy.explanation import whose_belief
from lapwing.privacy.notation import at_most

REGIONS = ["North", "South", "East", "West", "Coast", "Islands"]
AT_LEAST = 2500
"""A public fact: the clinic says that it has two and a half thousand patients or more."""

_BAR = 34
_UNIT = "patient"


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of the table."""

    question: str
    exact: str
    private: str
    error: str
    loss: PureDP


def show(console: Console, epsilon: float) -> None:
    """Ask five questions, each with a fifth of the budget, and print everything."""
    share = checks.positive(epsilon=epsilon) / 5
    people = clinic()
    answers = _answers(people, share)
    histogram = Histogram(epsilon=share, keys=REGIONS, unit=_UNIT)
    counts = histogram.release(people["region"])
    loss = sum((answer.loss for answer in answers), start=histogram.privacy_loss())
    truth = {region: people["region"].count(region) for region in REGIONS}
    console.print(_title())
    console.print(Padding(_table(answers), (0, 2)))
    console.print(
        Padding(Text("ranks: how many patients lie between the exact and the private median", "quiet"), (0, 2))
    )
    console.print(Padding(_heading(), (1, 2, 0, 2)))
    console.print(Padding(_chart(truth, counts, histogram.accuracy(0.95, simultaneous=True)), (0, 2)))
    console.print(Padding(_budget(answers, histogram.privacy_loss(), loss), (1, 2, 0, 2)))
    console.print(Padding(_words(loss), (1, 2)))


def _answers(people: dict[str, list[Any]], share: Fraction) -> list[Answer]:
    everybody, smokers, ages, costs = (people[column] for column in ("patient", "smoker", "age", "cost"))
    count = Count(epsilon=share, unit=_UNIT)
    mean = Mean(epsilon=share, bounds=(0, 100), unit=_UNIT)
    middle = Median(epsilon=share, bounds=(0, 2000), unit=_UNIT)

    def answer(question: str, exact: float, private: float, error: str, loss: PureDP, digits: int = 0) -> Answer:
        return Answer(question, f"{exact:,.{digits}f}", f"{private:,.{digits}f}", f"± {error}", loss)

    counted, averaged = f"{count.accuracy():.0f}", f"{mean.accuracy(count=AT_LEAST):.1f}"
    ranked = f"{middle.accuracy():.0f} ranks"
    return [
        answer("patients", len(everybody), count.release(everybody), counted, count.privacy_loss()),
        answer("of them smokers", sum(smokers), count.release(smokers), counted, count.privacy_loss()),
        answer("mean age", fmean(ages), mean.release(ages), averaged, mean.privacy_loss(), digits=1),
        answer("median cost", median(costs), middle.release(costs), ranked, middle.privacy_loss()),
    ]


def _title() -> Panel:
    text = Text.assemble(
        "Five questions about 3,000 patients of an invented clinic.\n",
        ("exact", "exact"), (" stays in the clinic · ", "quiet"),
        ("private", "private"), (" may be published · ", "quiet"),
        ("±", "noise"), (" with 95 % confidence", "quiet"),
    )  # fmt: skip
    return Panel(
        text, title="[bold]lapwing demo[/]", title_align="left", box=box.ROUNDED, border_style=PRIVATE, padding=(0, 2)
    )


def _table(answers: Sequence[Answer]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("question")
    table.add_column("exact", justify="right", style="exact", header_style="exact")
    table.add_column("private", justify="right", style="private", header_style="private")
    table.add_column("off by at most", justify="right", style="noise", header_style="noise")
    table.add_column("costs", justify="right", style="budget", header_style="budget")
    for answer in answers:
        table.add_row(answer.question, answer.exact, answer.private, answer.error, _epsilon(answer.loss))
    return table


def _heading() -> Text:
    return Text.assemble(
        ("patients by region", "bold"), (": ", "quiet"), ("exact", "exact"), (" above, ", "quiet"),
        ("private", "private"), (" below (", "quiet"), ("±", "noise"), (" holds for all six at once)", "quiet"),
    )  # fmt: skip


def _chart(truth: dict[str, int], counts: dict[Any, int], error: float) -> Table:
    """Bars in pairs; the stretch within the error of the private bar is drawn in the colour of noise."""
    longest = max(*truth.values(), *counts.values(), 1) + error
    chart = Table.grid(padding=(0, 1))
    for region in truth:
        private = counts[region]
        low, high = (round(_BAR * max(0.0, private + side * error) / longest) for side in (-1, 1))
        bar = Text("█" * low, style="private") + Text("▒" * max(high - low, 1), style="noise")
        exact = Text("▄" * max(round(_BAR * truth[region] / longest), 1), style="exact")
        chart.add_row(region, exact, Text(f"{truth[region]:,}", style="exact"))
        chart.add_row("", bar, Text(f"{private:,}", style="private") + Text(f" ± {error:.0f}", style="noise"))
    return chart


def _budget(answers: Sequence[Answer], last: PureDP, total: PureDP) -> Text:
    colours = [PALETTE["budget"], "#b07d00"]
    bar = Text("budget spent, a part for each question\n")
    losses = [*(answer.loss for answer in answers), last]
    for number, loss in enumerate(losses):
        bar.append(
            "█▓"[number % 2] * max(round(40 * float(loss.epsilon / total.epsilon)), 1), style=colours[number % 2]
        )
    bar.append(f"  {_epsilon(total)} together", style="budget")
    return bar


def _words(loss: PureDP) -> Text:
    data = loss.explain().data
    return Text.assemble(
        ("What a patient risks by taking part. ", "bold"),
        f"An attacker who was 50 % sure that a given {_UNIT} is in the data can become "
        f"{at_most(data['out_of_100_after'])} sure after reading all answers. {whose_belief(_UNIT)} ",
        (f"Guarantee: {loss}.", "quiet"),
    )


def _epsilon(loss: PureDP) -> str:
    return f"ε = {float(loss.epsilon):.3g}"
