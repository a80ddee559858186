"""The commands. Each calls the library and shows the result."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lapwing._version import __version__
from lapwing.cli import attack, collect, experiment, ledger, pair, query, school, serve, stream, theme

_RELATION = (
    "Tables that are compared: add_remove (with and without one person) or replace (one person's record replaced)."
)


class Overview(TyperGroup):
    """All commands, each in a line. Drawn without rich's panels, whose parsers take longer to load than all of ours."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write it as plain text; the commands below keep their panels."""
        formatter.width = min(120, shutil.get_terminal_size((100, 24)).columns)
        super(TyperGroup, self).format_help(ctx, formatter)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command whose help names no type beside a flag: "--json <bool>" reads as if a value had to follow."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _without_types_of_flags(command, ctx)
        return command


def _without_types_of_flags(command: Any, ctx: Any) -> None:
    for param in command.get_params(ctx):
        if getattr(param, "is_flag", False):
            param.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        _without_types_of_flags(inner, ctx)


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
    epsilon: Annotated[float, typer.Option(help="The privacy budget (epsilon) of all questions together.")] = 1.0,
    svg: Annotated[Path | None, typer.Option(help="Also save the output as a picture.")] = None,
) -> None:
    """Show private answers beside exact ones, for a bundled data set."""
    from lapwing.cli.demo import show

    screen = theme.console(record=svg is not None, width=80 if svg else None)
    with theme.readable_errors():
        show(screen, epsilon)
    if svg is not None:
        svg.write_text(theme.picture(screen, "lapwing demo"), encoding="utf-8")


@app.command()
def explain(
    epsilon: Annotated[float, typer.Argument(metavar="EPSILON", help="The epsilon to explain.")],
    delta: Annotated[float, typer.Option(help="Delta of the claim: a probability that is added to every bound.")] = 0.0,
    prior: Annotated[float, typer.Option(help="How sure the attacker was before, as a probability.")] = 0.5,
    relation: Annotated[str, typer.Option(help=_RELATION)] = "add_remove",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Explain in plain words what an epsilon means for one person."""
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
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="The function to audit: module:name or file.py:name. Default: all mechanisms of Lapwing.",
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The epsilon that the function claims.")] = None,
    delta: Annotated[float, typer.Option(help="Delta of the claim: a probability that is added to every bound.")] = 0.0,
    relation: Annotated[str | None, typer.Option(help=_RELATION)] = None,
    domain: Annotated[
        str,
        typer.Option(
            help="The inputs of the function, such as 'integers 0..120', or a module:function that yields pairs."
        ),
    ] = "numbers 0..1",
    length: Annotated[int, typer.Option(help="The largest number of people in an input.")] = 10,
    samples: Annotated[
        int,
        typer.Option(
            help="How many times the function runs on each of two inputs. The audit cannot show an epsilon above "
            "ln(samples)."
        ),
    ] = 20_000,
    seconds: Annotated[float, typer.Option(help="Time limit. Slow functions are audited with fewer releases.")] = 60.0,
    confidence: Annotated[float, typer.Option(help="How certain a counter-example must be.")] = 0.999,
    bits: Annotated[bool, typer.Option(help="Also look at the lowest bits of floats.")] = True,
    seed: Annotated[int | None, typer.Option(help="Seed of the search, to repeat it exactly.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Search for a counter-example to a privacy claim.

    The exit code is 1 if one is found.
    """
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
    servers: Annotated[int, typer.Option(help="How many servers add up the shares.")] = 2,
    threshold: Annotated[
        int | None, typer.Option(help="How many servers are enough to read the totals. Default: all of them.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Add noise, so that the totals protect every employee (differential privacy).")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for a party that does not answer.")] = 30,
    silent: Annotated[str | None, typer.Option(help="A party that sends nothing, for example 'company 2'.")] = None,
) -> None:
    """Add up salaries of companies; nobody sees a company's numbers.

    This is the method of the Boston wage study.
    """
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
