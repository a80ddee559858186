"""The auditor at work on everything we have: broken controls that must be caught, real mechanisms that must not be."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from lapwing import checks
from lapwing.adversary import CONTROLS, Audit, Control, Witness, all_witnesses, audit

_CONFIDENCE = 0.99999


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
    console.print(_table("Broken on purpose: each claims ε = 1", [c.name for c in controls], broken, should_catch=True))
    console.print(
        _table("Real mechanisms on their worst neighbours", [str(w) for w in witnesses], real, should_catch=False)
    )
    missed, accused = sum(not found.caught for found in broken), sum(found.caught for found in real)
    console.print(
        f"{len(broken) - missed} of {len(broken)} broken ones caught, {accused} of {len(real)} real ones accused."
    )
    if missed:
        console.print("An audit shows less than ln(samples): ask for more of them to catch the rest.", style="quiet")
    return missed == accused == 0


def _table(title: str, names: list[str], found: list[Audit], *, should_catch: bool) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism", overflow="fold")
    table.add_column("claims", justify="right", style="private")
    table.add_column("shown, at least", justify="right", style="noise")
    table.add_column("verdict")
    for name, result in zip(names, found, strict=True):
        style = "private" if result.caught is should_catch else "adversary"
        claim = "" if result.claimed is None else f"{result.claimed:.3g}"
        verdict = "caught" if result.caught else "missed" if should_catch else "not refuted"
        table.add_row(name, claim, f"{result.epsilon_lower_bound:.2f}", f"[{style}]{verdict}[/]")
    return table
