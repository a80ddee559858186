"""`lapwing audit`: audit a function, or all mechanisms of Lapwing.

Controls that are broken on purpose must be caught, and real mechanisms must not.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from lapwing import checks
from lapwing.adversary import CONTROLS, Audit, Control, Witness, all_witnesses, audit
from lapwing.adversary.search import INEXACT, Search, find_violation
from lapwing.adversary.verdict import shortened
from lapwing.cli import theme
from lapwing.errors import InvalidParameter

_CONFIDENCE = 0.99999
_BAR = 30


def load(target: str) -> Any:
    """What `module:name` or `path/to/file.py:name` names, with the current folder on the path as python -m has it."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        hint = "Write the module and the function: lapwing audit exercise:noisy_sum, or folder/exercise.py:noisy_sum."
        raise InvalidParameter("target", target, "is not the name of a function", hint)
    path = Path(place)
    if path.suffix == ".py" and not path.is_file():
        raise InvalidParameter("target", target, f"there is no file {place}", "Check the spelling.")
    sys.path.insert(0, str(path.resolve().parent if path.suffix == ".py" else Path.cwd()))
    try:
        value: Any = _module(place, path)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{place}.".startswith(f"{missing}."):
            why, hint = f"there is no module {missing} here", "Run it in the module's folder, or write its path."
        else:
            why, hint = f"{place} cannot be imported: {type(error).__name__}: {error}", "Make it importable first."
        raise InvalidParameter("target", target, why, hint) from None
    finally:
        sys.path.pop(0)
    for part in name.split("."):
        if not hasattr(value, part):
            known = [word for word, thing in vars(value).items() if callable(thing) and not word.startswith("_")]
            hint = f"It has: {', '.join(known[:10]) or 'no functions'}."
            raise InvalidParameter("target", target, f"{place} has no {part}", hint)
        value = getattr(value, part)
    return value


def _module(place: str, path: Path) -> Any:
    if path.suffix != ".py":
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError("this is not a Python file")
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def search(target: str, screen: Console, *, domain: str, as_json: bool, **options: Any) -> bool:
    """Look for a counter-example to the claim of a function and print what was found; whether it was caught."""
    function = load(target)
    inputs = load(domain) if ":" in domain and " " not in domain else domain
    columns = (
        TextColumn("searching for a counter-example"),
        BarColumn(complete_style="private"),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    signs = theme.console(stderr=True)  # what the function prints to the screen is lost, this is not
    with Progress(*columns, console=signs, transient=True, redirect_stdout=False, disable=not signs.is_terminal) as bar:
        task = bar.add_task("")
        result = find_violation(
            function,
            domain=inputs,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            **options,
        )
    if as_json:
        typer.echo(json.dumps({**result.data, "function": target}, ensure_ascii=False))
    else:
        _report(result, target, screen)
    return result.caught


def _report(result: Search, target: str, screen: Console) -> None:
    """A counter-example that fits on a slide, or the closest to one."""
    seen, claim = result.audit, _epsilon(result.audit.claimed, result.audit.delta, "=")
    screen.print()
    if result.caught:
        screen.print(Text.assemble(("✗ ", "adversary"), (target, "bold"), f" is not private with {claim}."))
    else:
        screen.print(Text.assemble(("✓ ", "private"), f"No violation of {claim} found in ", (target, "bold"), "."))
    if seen.epsilon_lower_bound > 0:
        screen.print(_evidence(seen))
        bound = _epsilon(seen.epsilon_lower_bound, seen.delta, "≥", 2)
        words = f"{bound} with {100 * seen.confidence:.10g} % confidence"
        screen.print(Text(f"  {words}", style="adversary" if result.caught else "private"))
    screen.print()
    for sentence in _meaning(result):
        screen.print(Text(sentence), soft_wrap=False)
    effort = f"{len(result.tried)} pairs of neighbours, {result.releases:,} releases"
    effort += ", fewer than wanted because of the limit --seconds" if result.hurried else ""
    screen.print(Text(f"Inputs: {result.domain}, {seen.pair.relation}. Tried {effort}.", style="quiet"))


def _evidence(seen: Audit) -> Table:
    """Both inputs, the event, and how often it happened on each."""
    grid = Table.grid(padding=(0, 2), pad_edge=True)
    grid.add_column(style="quiet", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row()
    grid.add_row("input A", Text(shortened(seen.pair.first)))
    grid.add_row("input B", Text(shortened(seen.pair.second)))
    grid.add_row("event", Text(str(seen.event), style="bold"))
    grid.add_row()
    wide = len(f"{seen.trials:,}")
    for name, hits in zip("AB", seen.hits, strict=True):
        share = hits / seen.trials
        bar = "█" * round(_BAR * share) or ("▏" if hits else "")
        style = "adversary" if name == _likelier(seen) else "noise"
        words = f"{hits:>{wide},} of {seen.trials:,}  {100 * share:5.1f} %  "
        grid.add_row(f"happens on {name}", Text.assemble(words, (bar, style)))
    grid.add_row()
    return grid


def _meaning(result: Search) -> list[str]:
    """What the finding does and does not prove, in a few sentences."""
    seen, claimed = result.audit, result.audit.claimed or 0.0
    if not result.caught:
        text = "This is not a proof of privacy: another pair of inputs or another event may show more."
        if seen.ceiling <= 0:
            more = "Allow more with --seconds or --samples."
            return [f"{text} There were too few releases to show anything, however bad the function is. {more}"]
        text += (
            f" With this many releases, an audit can show at most ε = {seen.ceiling:.1f}, however bad the function is."
        )
        return [f"{text} So passing at ε = {claimed:g} says little." if claimed > seen.ceiling else text]
    factor = f"{math.exp(seen.epsilon_lower_bound):,.3g}"
    text = (
        f"If this event happens, the odds that the input is {_likelier(seen)} grow at least {factor} times. "
        f"ε = {claimed:g} allows {math.exp(min(claimed, 700)):,.3g} times."
    )
    return [text, f"{INEXACT}."] if result.bits else [text]


def _likelier(seen: Audit) -> str:
    return "A" if seen.direction == "first" else "B"


def _epsilon(epsilon: float | None, delta: float, sign: str, digits: int | None = None) -> str:
    value = f"{epsilon:g}" if digits is None else f"{epsilon:.{digits}f}"
    return f"ε {sign} {value}" + (f", δ = {delta:g}" if delta else "")


def show(console: Console, samples: int) -> bool:
    """Audit all of them with a progress bar, print one table each; whether every verdict is as it should be."""
    checks.whole(minimum=100, samples=samples)
    controls, witnesses = list(CONTROLS), list(all_witnesses())
    columns = (
        TextColumn("auditing"),
        BarColumn(complete_style="private"),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(controls) + len(witnesses))

        def run(subject: Control | Witness) -> Audit:
            progress.update(task, description=str(subject), advance=1)
            if isinstance(subject, Control):
                return audit(subject, subject.pair, samples=samples, confidence=_CONFIDENCE)
            return audit(
                subject.mechanism,
                subject.pair,
                samples=min(samples, subject.samples),
                confidence=_CONFIDENCE,
                claimed=subject.claim,
                delta=subject.delta,
            )

        broken, real = [run(control) for control in controls], [run(witness) for witness in witnesses]
    console.print(
        _table(
            "Broken on purpose (each claims ε = 1)",
            [c.name for c in controls],
            broken,
            should_catch=True,
        )
    )
    console.print(
        _table(
            "Real mechanisms on their worst pair of neighbours", [str(w) for w in witnesses], real, should_catch=False
        )
    )
    missed, accused = sum(not result.caught for result in broken), sum(result.caught for result in real)
    console.print(
        f"{len(broken) - missed} of {len(broken)} broken ones caught, {accused} of {len(real)} real ones accused."
    )
    if missed:
        console.print(
            "An audit cannot show an epsilon above ln(samples). More --samples may catch the rest.", style="quiet"
        )
    return missed == accused == 0


def _table(title: str, names: list[str], results: list[Audit], *, should_catch: bool) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism", overflow="fold")
    table.add_column("claims", justify="right", style="private")
    table.add_column("shown, at least", justify="right", style="noise")
    table.add_column("verdict")
    for name, result in zip(names, results, strict=True):
        style = "private" if result.caught is should_catch else "adversary"
        claim = "" if result.claimed is None else f"{result.claimed:.3g}"
        verdict = "caught" if result.caught else "missed" if should_catch else "not refuted"
        table.add_row(name, claim, f"{result.epsilon_lower_bound:.2f}", f"[{style}]{verdict}[/]")
    return table
