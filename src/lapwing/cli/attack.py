"""`lapwing attack`: run an attack against the method it breaks and against the private answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lapwing.cli import theme
from lapwing.cli.progress import waiting

if TYPE_CHECKING:
    from lapwing.adversary.attacks import Conclusion, Contest, Score

app = typer.Typer(
    no_args_is_help=True,
    help="Run known attacks on weak methods, and see what stops them.",
    pretty_exceptions_enable=False,
)
_BAR = 24


@app.command("list")
def show() -> None:
    """List all attacks."""
    from lapwing.adversary.attacks import ATTACKS

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, style in (("name", "adversary"), ("what happens", ""), ("what the attacker guesses", "")):
        table.add_column(heading, style=style, overflow="fold")
    for attack in ATTACKS.values():
        table.add_row(attack.name, attack.title, attack.secret)
    theme.console().print(table)
    theme.console().print("Run one: lapwing attack run linkage", style="quiet")


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAMES", help="Which attacks, or 'all'.")],
    rounds: Annotated[int | None, typer.Option(help="How many times each method is attacked.")] = None,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="Epsilon of the private answer. Can be repeated: --epsilon 0.5 --epsilon 2."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed. The same seed gives the same result.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Also write a picture and its numbers (CSV) into this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON instead of text.")] = False,
) -> None:
    """Attack a weak method, then the private answer to the same question, and compare both with the bound."""
    from lapwing.adversary.attacks import ATTACKS, attack
    from lapwing.adversary.attacks.attack import repeatable

    screen, waits = theme.console(), theme.console(stderr=True)
    with theme.readable_errors():
        for chosen in list(map(attack, list(ATTACKS) if names == ["all"] else names)):
            with waiting(f"attacking: {chosen.name}", waits) as heard:
                contest = chosen.run(rounds=rounds, epsilons=epsilon or None, seed=seed, heard=heard)
                conclusions = chosen.tell(repeatable(chosen.name, "told", seed))
            if as_json:
                typer.echo("\n".join(json.dumps(row) for row in contest.rows()))
            else:
                screen.print(Padding(_story(contest, conclusions), (1, 0, 0, 0)))
            if out is not None:
                from lapwing.experiments.contests import write

                typer.echo("  ".join(str(file) for file in write(contest, out)), err=True)


def _story(contest: Contest, conclusions: Sequence[Conclusion]) -> RenderableType:
    attack = contest.attack
    return Group(
        Text(attack.title, style="bold"),
        Text(f"The secret: {attack.secret}."),
        *_paragraphs(conclusions),
        Padding(_table(contest), (1, 0, 0, 0)),
        *_chance(contest),
        Text(f"{attack.lesson}\n"),
        Text(f"The private answer: {attack.answer}. The guarantee: {attack.promise}.", style="quiet"),
        Text(f"Source: {attack.source}.", style="quiet"),
    )


def _paragraphs(conclusions: Sequence[Conclusion]) -> list[Padding]:
    """What was learned, and once for all that follow from it, why."""
    shown, last = [], ""
    for conclusion in conclusions:
        again = conclusion.because == last
        shown.append(Padding(_sentence(conclusion, "" if again else conclusion.because), (0 if again else 1, 0, 0, 2)))
        last = conclusion.because
    return shown


def _sentence(conclusion: Conclusion, because: str) -> Text:
    sure = "certain" if conclusion.sure == 1 else f"{conclusion.sure:.0%} sure"
    from lapwing.curator.show.digits import visible

    said = Text.assemble(f"{visible(conclusion.about)}: ", (_word(conclusion.guess), "adversary"), f", {sure}. ")
    if conclusion.truth is not None:
        said.append("Right. " if conclusion.truth == conclusion.guess else f"Wrong, it is {_word(conclusion.truth)}. ")
    return said.append(visible(because), style="quiet")


def _word(value: object) -> str:
    from lapwing.curator.show.digits import visible

    return ("no", "yes")[value] if isinstance(value, bool) else visible(str(value))


def _chance(contest: Contest) -> list[Text]:
    """How far shares may be off, if one of them is above its bound: people take that for a broken promise."""
    above = [score for score in contest.private if score.bound is not None and score.success > score.bound]
    if not above:
        return []
    most = max(above, key=lambda score: score.success - (score.bound or 0))
    why = f"With {most.rounds:,} rounds, at ε = {most.epsilon:g} the true share lies between {most.low:.1%} and "
    why += f"{most.high:.1%} (99.9% confidence). Use more --rounds for a narrower range."
    said = (
        "A share above “at most” is still within chance here."
        if contest.holds
        else "A share above “at most” is not chance: this is a bug in Lapwing."
    )
    return [Text(f"{said} {why}\n", style="quiet" if contest.holds else "adversary")]


def _table(contest: Contest) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", overflow="fold")
    table.add_column("ε", justify="right")
    table.add_column(contest.attack.measured, no_wrap=True)
    table.add_column("", justify="right")
    table.add_column("at most", justify="right", style="private")
    shown = ""
    for score in contest.scores:
        table.add_row(
            Text("" if score.method == shown else score.method, style="" if score.epsilon is None else "private"),
            "–" if score.epsilon is None else f"{score.epsilon:g}",
            _bar(score, contest.attack.chance),
            f"{score.success:.1%}",
            "no bound" if score.bound is None else f"{score.bound:.1%}",
        )
        shown = score.method
    return table


def _bar(score: Score, chance: float) -> Text:
    """Dim up to what blind guessing reaches, then what the attack adds; a mark where the bound lies."""
    filled, blind = round(score.success * _BAR), round(chance * _BAR)
    bar = Text.assemble(("█" * min(filled, blind), "quiet"), ("█" * max(0, filled - blind), "adversary"))
    if score.bound is not None:
        bar.append(" " * max(0, round(score.bound * _BAR) - filled))
        bar.append("│", style="private")
    return bar
