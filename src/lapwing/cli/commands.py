"""The commands: thin, each hands over to the library and shows what comes back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lapwing._version import __version__
from lapwing.cli import attack, collect, experiment, ledger, pair, query, school, serve, stream, theme


class Overview(TyperGroup):
    """All commands, each in a line. Drawn without rich's panels, whose parsers take longer to load than all of ours."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write it as plain text; the commands below keep their panels."""
        formatter.width = min(120, shutil.get_terminal_size((100, 24)).columns)
        super(TyperGroup, self).format_help(ctx, formatter)


app = typer.Typer(
    name="lapwing",
    cls=Overview,
    help="Learn about populations without learning about any person.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Learn about populations without learning about any person."""
    if show:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(help="The whole budget, shared by all questions.")] = 1.0,
    svg: Annotated[Path | None, typer.Option(help="Also save what is shown as a picture.")] = None,
) -> None:
    """A private analysis of a bundled synthetic data set, private beside exact."""
    from lapwing.cli.demo import show

    screen = theme.console(record=svg is not None, width=80 if svg else None)
    with theme.readable_errors():
        show(screen, epsilon)
    if svg is not None:
        svg.write_text(theme.picture(screen, "lapwing demo"), encoding="utf-8")


@app.command()
def explain(
    epsilon: Annotated[float, typer.Argument(help="The epsilon to put into words.")],
    delta: Annotated[float, typer.Option(help="The delta beside it.")] = 0.0,
    prior: Annotated[float, typer.Option(help="The chance somebody gives a statement beforehand.")] = 0.5,
    relation: Annotated[str, typer.Option(help="add_remove or replace.")] = "add_remove",
    as_json: Annotated[bool, typer.Option("--json", help="Print the data instead of the text.")] = False,
) -> None:
    """Put a guarantee into words: odds, beliefs, and what the best test could find."""
    from lapwing.privacy import ApproxDP, PureDP
    from lapwing.privacy.neighbours import as_relation

    with theme.readable_errors():
        about = as_relation(relation)
        loss = ApproxDP(epsilon, delta, relation=about) if delta else PureDP(epsilon, relation=about)
        explanation = loss.explain(prior=prior)
    if as_json:
        typer.echo(json.dumps(explanation.data))
    else:
        from rich.text import Text

        theme.console().print(Text(explanation.text))


@app.command()
def audit(
    target: Annotated[
        str | None, typer.Argument(help="A function: module:name or file.py:name. Without it, all we have is audited.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="What the function claims.")] = None,
    delta: Annotated[float, typer.Option(help="The delta beside it.")] = 0.0,
    relation: Annotated[str | None, typer.Option(help="Neighbours: add_remove or replace.")] = None,
    domain: Annotated[
        str, typer.Option(help="What the function takes, such as 'integers 0..120', or module:function yielding pairs.")
    ] = "numbers 0..1",
    length: Annotated[int, typer.Option(help="The most people in a list.")] = 10,
    samples: Annotated[
        int, typer.Option(help="Releases on each of two neighbours; no audit shows more than ln of it.")
    ] = 20_000,
    seconds: Annotated[float, typer.Option(help="After this time there are fewer releases.")] = 60.0,
    confidence: Annotated[float, typer.Option(help="How sure a refutation is.")] = 0.999,
    bits: Annotated[bool, typer.Option(help="Look at the lowest bits of floats, too.")] = True,
    seed: Annotated[int | None, typer.Option(help="Repeat a search exactly.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the data instead of the text.")] = False,
) -> None:
    """Search for a counter-example to a function's claim (exit code 1 if there is one), or audit all we have."""
    from lapwing.cli import audit as auditing

    with theme.readable_errors():
        if target is None:
            caught = not auditing.show(theme.console(), samples)
        else:
            options = {"epsilon": epsilon, "delta": delta, "relation": relation, "length": length, "samples": samples}
            options |= {"seconds": seconds, "confidence": confidence, "bits": bits, "seed": seed}
            caught = auditing.search(target, theme.console(), domain=domain, as_json=as_json, **options)
    if caught:
        raise typer.Exit(1)


@app.command("secure-sum")
def secure_sum(
    companies: Annotated[int, typer.Option(help="How many companies take part, 3 to 100.")] = 5,
    servers: Annotated[int, typer.Option(help="How many servers add up.")] = 2,
    threshold: Annotated[int | None, typer.Option(help="How many servers suffice; all of them if not given.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Make the totals private, for every employee.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds until whoever is missing is given up.")] = 30,
    silent: Annotated[str | None, typer.Option(help="A party that sends nothing, 'company 2' say.")] = None,
) -> None:
    """The Boston wage study: totals over companies, although nobody sees any company's numbers."""
    from lapwing.cli.secure_sum import play

    with theme.readable_errors():
        play(companies, servers, threshold, epsilon, timeout, silent)


app.command()(serve.serve)
app.command()(query.query)
app.command()(query.quote)
app.command()(query.describe)
app.command()(query.check)
app.add_typer(stream.app, name="stream")
app.add_typer(collect.app, name="collect")
app.add_typer(pair.app, name="pair")
app.add_typer(school.app, name="school")
app.add_typer(ledger.app, name="ledger")
app.add_typer(experiment.app, name="experiment")
app.add_typer(attack.app, name="attack")
