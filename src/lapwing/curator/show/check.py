"""An owner's check on a terminal, in a notebook and as a picture. It is not private, and its first line says so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.curator.plan.expressions import with_article
from lapwing.curator.plan.limits import LONGEST_EXAMPLE, Limit, percent
from lapwing.curator.show import digits, notebook
from lapwing.curator.show import terminal as show

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from lapwing.curator.tables.check import Check, ColumnCheck, Example, PerUnit

WARNING = (
    "NOT PRIVATE. This check is for the owner of the data only: it shows single records. "
    "Do not pass it on to an analyst. Nothing was spent or written."
)
_COLUMNS = ("column", "declared as", "read", "absent", "not read", "clamped", "no key")
_MOST_MEANS = 4
_MEANS = (
    "The expected mean over the rows used. "
    "± is the effect of sampling rows, which the intervals of answers do not include."
)


def check(check: Check) -> RenderableType:
    """The report for a terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = [Text(WARNING, style=show.STYLES["adversary"]), Text(), *map(Text, _summary(check))]
    parts += [Text(f"→ {hint}", style="bold") for hint in check.hints]
    parts += [Text(), _table(_COLUMNS, [_line(column) for column in check.columns])]
    parts += [Text(), *map(Text, _examples(check))] if any(_examples(check)) else []
    for part in check.per_unit:
        parts += [Text(), Text(_about(check, part)), Text(), _table(_headings(part), _limits(part))]
        parts += [Text(_advice(check, part), style="bold")]
        if _means(part):
            parts += [Text(), Text(_MEANS), Text(), _table(*_means(part))]
    return Padding(Group(*parts), (0, 1))


def html(check: Check) -> str:
    """The report for a notebook: one piece of HTML that loads nothing and runs nothing."""
    body = f"<p><b>{escape(WARNING)}</b></p>" + _paragraphs(_summary(check))
    body += "".join(f"<p><b>→ {escape(hint)}</b></p>" for hint in check.hints)
    body += _html_table(_COLUMNS, [_line(column) for column in check.columns]) + _paragraphs(_examples(check))
    for part in check.per_unit:
        body += f"<p>{escape(_about(check, part))}</p>" + _html_table(_headings(part), _limits(part))
        body += f"<p><b>{escape(_advice(check, part))}</b></p>"
        body += f"<p>{_MEANS}</p>{_html_table(*_means(part))}" if _means(part) else ""
    return notebook.framed(body)


def draw(check: Check, path: str | PathLike[str] | None = None) -> Figure:
    """For each limit: the error of a count by lost rows, by noise, and by both."""
    parts = [part for part in check.per_unit if len(part.limits) > 1]
    figure, panels = charts.figure(1, max(1, len(parts)), size=(7.5, max(1, len(parts)) * 3.4))
    for axes in panels[len(parts) :]:
        axes.set_visible(False)
    for axes, part in zip(panels, parts, strict=False):
        limits = [limit.limit for limit in part.limits]
        lost = [limit.error - limit.noise for limit in part.limits]
        axes.plot(limits, lost, color=charts.PRIVATE, marker="o", label="lost because of the limit")
        axes.plot(limits, [limit.noise for limit in part.limits], color=charts.NOISE, marker="o", label="noise")
        axes.plot(limits, [limit.error for limit in part.limits], color=charts.INK, lw=1, ls="--", label="both")
        axes.axvline(part.recommended, color=charts.LINE, zorder=0)
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, 3 * max(limit.error for limit in part.limits))
        charts.only_ticks(axes.xaxis, [*(limit for limit in limits if 1.4 * limit < limits[-1]), limits[-1]])
        charts.written_ticks(axes.yaxis)
        heading = f"{digits.visible(check.table)}: {_what(part)} per {check.unit}"
        charts.name_axes(axes, heading, f"{part.keyword} (grey line: {part.recommended:,})", "error of a count")
    if parts:
        charts.legend(figure, *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle("Not private: for the owner of the data only", color=charts.ADVERSARY, fontsize=10)
    if path is not None:
        charts.save(figure, path, dpi=160)
    return figure


def _summary(check: Check) -> Iterator[str]:
    name = digits.visible(check.table)
    if check.unit is None:
        yield f"{name}: {check.rows:,} rows, each about a different person. Is that right? Nobody may have two rows."
    else:
        yield f"{name}: {check.rows:,} rows about {check.units or 0:,} different values of {check.unit}, the unit."
    if check.rows_without_unit:
        yield f"{check.rows_without_unit:,} rows have no unit. They never count."
    if check.duplicates:
        yield f"{check.duplicates:,} rows repeat another row exactly. Each repetition counts as a row."


def _line(column: ColumnCheck) -> tuple[str, ...]:
    bounded, keyed = column.bounds is not None, column.keys is not None
    return (
        digits.visible(column.name),
        _declared(column),
        percent(column.read, column.rows),
        _count(column.absent),
        _count(column.unread),
        _count(column.below + column.above) if bounded else "",
        _count(column.elsewhere) if keyed else "",
    )


def _declared(column: ColumnCheck) -> str:
    if column.is_unit:
        return f"the unit ({column.kind})"
    if column.bounds is not None:
        low, high = column.bounds
        return f"{column.kind} {low:g} to {high:g}"
    return column.kind if column.keys is None else f"{column.kind}, {column.keys} keys"


def _count(cells: int) -> str:
    return f"{cells:,}" if cells else "·"


def _examples(check: Check) -> Iterator[str]:
    for column in check.columns:
        name = digits.visible(column.name)
        if column.examples:
            yield f"{name}: not {with_article(column.kind)}, so it counts as missing: {_listed(column.examples)}"
        if column.others:
            yield f"{name}: not a declared key, so it counts only in everything_else: {_listed(column.others)}"


def _listed(examples: Sequence[Example]) -> str:
    return ", ".join(f"{_cut(example.text)} ({example.cells:,})" for example in examples)


def _cut(text: str) -> str:
    shown = digits.visible(text)
    return f"'{shown[:LONGEST_EXAMPLE]}…'" if len(text) > LONGEST_EXAMPLE else f"'{shown}'"


def _what(part: PerUnit) -> str:
    return "rows" if part.what == "rows" else f"different {digits.visible(part.what)}"


def _about(check: Check, part: PerUnit) -> str:
    frequencies = part.frequencies
    middle, many = frequencies.quantile(0.5), frequencies.quantile(0.9)
    return (
        f"{_what(part).capitalize()} per {check.unit}: half have at most {middle:,}, 90 % have at most {many:,}, "
        f"the largest number is {frequencies.largest:,}."
    )


def _headings(part: PerUnit) -> tuple[str, ...]:
    kept = "rows used" if part.what == "rows" else "pairs used"
    return (part.keyword, kept, "units kept whole", "noise of a count")


def _limits(part: PerUnit) -> list[tuple[str, ...]]:
    total, units = part.frequencies.total, part.frequencies.units
    return [
        (
            _marked(part, limit),
            percent(limit.kept, total),
            percent(limit.whole, units),
            f"± {digits.number(_short(limit.noise))}",
        )
        for limit in part.limits
    ]


def _means(part: PerUnit) -> tuple[Sequence[str], list[tuple[str, ...]]] | tuple[()]:
    """The means of some columns at each limit."""
    columns = list(part.limits[0].means)[:_MOST_MEANS] if part.limits else []
    if not columns:
        return ()
    rows = []
    for limit in part.limits:
        pairs = [limit.means[name] for name in columns]
        shown = [f"{_as_exact(mean, off)} ± {digits.number(_short(off, 2))}" for mean, off in pairs]
        rows.append((_marked(part, limit), *shown))
    return (part.keyword, *(f"mean of {digits.visible(name)}" for name in columns)), rows


def _marked(part: PerUnit, limit: Limit) -> str:
    return f"→ {limit.limit:,}" if limit.limit == part.recommended else f"{limit.limit:,}"


def _as_exact(mean: float, off: float) -> str:
    """A mean with as many decimals as its error has: 13.04 ± 0.85."""
    if not off:
        return digits.number(_short(mean, 6))
    return f"{mean:,.{min(6, max(0, 1 - math.floor(math.log10(off))))}f}".replace("-", "−")


def _short(value: float, figures: int = 3) -> float:
    return float(f"{value:.{figures}g}")


def _advice(check: Check, part: PerUnit) -> str:
    about = "a count" if part.what == "rows" else f"counts by {digits.visible(part.what)}"
    return (
        f"Recommended for {about} at epsilon {check.epsilon:g}: {part.keyword}={part.recommended}. "
        "A limit that follows the data reveals a little about it: choose a round number, and keep it."
    )


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(names):
        widest = max((len(row[number]) for row in rows), default=0)  # headings wrap, cells need not
        left = number < 2 and names is _COLUMNS
        table.add_column(Text(name), justify="left" if left else "right", min_width=min(widest, 24), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _paragraphs(lines: Iterator[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _html_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
