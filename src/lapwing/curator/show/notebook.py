"""An answer in a notebook: one piece of HTML that loads nothing, runs nothing and suits light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from lapwing.charts import INKS, PRIVATE
from lapwing.curator.show import digits, words
from lapwing.curator.show.terminal import ROWS

if TYPE_CHECKING:
    from lapwing.curator.plan.expressions import Column as Described
    from lapwing.curator.show.answer import Answer, Column
    from lapwing.curator.tables.table import PrivateTable

_WIDTH, _HEIGHT = 96, 12
_LONGEST_KEY = 200
_LIGHT, _DARK = (" ".join(f"--{name}: {ink};" for name, ink in INKS[theme].items()) for theme in ("light", "dark"))
_STYLE = f"""
.lapwing {{ {_LIGHT} --bar: {PRIVATE};
  color: var(--ink); background: var(--paper); font: 13px/1.5 system-ui, sans-serif; padding: .7em 1em;
  border: 1px solid var(--line); border-radius: 8px; display: inline-block; max-width: 100%; box-sizing: border-box;
  overflow-x: auto; }}
@media (prefers-color-scheme: dark) {{ .lapwing {{ {_DARK} }} }}
.lapwing table {{ border-collapse: collapse; margin: 0 0 .6em; color: inherit; background: none; border: 0;
  font: inherit; font-variant-numeric: tabular-nums; }}
.lapwing tr, .lapwing tbody tr:nth-child(even) {{ background: none; }}
.lapwing th, .lapwing td {{ padding: .15em .5em; text-align: left; white-space: nowrap; border: 0; background: none; }}
.lapwing td.key, .lapwing th {{ max-width: 22em; overflow: hidden; text-overflow: ellipsis; }}
.lapwing thead th {{ border-bottom: 1px solid var(--line); font-weight: 600; }}
.lapwing th.number, .lapwing td.number {{ text-align: right; }}
.lapwing td.value {{ padding-left: 1.5em; padding-right: 0; color: var(--private); font-weight: 600; }}
.lapwing th.value {{ color: var(--private); padding-left: 1.5em; padding-right: 0; }}
.lapwing .noise {{ color: var(--noise); }}
.lapwing .quiet {{ color: var(--quiet); }}
.lapwing .budget {{ color: var(--budget); font-weight: 600; }}
.lapwing p {{ margin: .1em 0; max-width: 52em; }}
.lapwing ul {{ margin: .3em 0 0; padding: 0; list-style: none; color: var(--quiet); font-size: 12px; max-width: 56em; }}
.lapwing svg {{ vertical-align: middle; overflow: visible; margin: 0 .4em; }}
.lapwing svg .bar {{ fill: var(--bar); opacity: .55; }}
.lapwing svg .dot {{ fill: var(--bar); }}
.lapwing svg .noise {{ stroke: var(--noise); stroke-width: 1.5; fill: none; }}
.lapwing svg .zero {{ stroke: var(--line); }}
"""


def answer(answer: Answer) -> str:
    """The table, the cost, what remains and the notes."""
    notes = "".join(f"<li>{escape(mark)} {escape(note)}</li>" for mark, note in words.notes(answer))
    spent, risk = escape(words.spent(answer)), escape(words.risk(answer.loss))
    below = f'<p class="budget">{spent}</p><p>{risk}</p><ul>{notes}</ul>'
    first = words.counted(answer)
    return _page(answer.columns, below, f"<p>{escape(first)}</p>" if first else "")


def private_table(table: PrivateTable) -> str:
    """What is public about a private table. Nothing of it was read from the rows, and none is shown."""

    def statement(column: Described) -> str:
        if column.unit:
            return "the unit of protection"
        if column.keys is not None:
            return f"{len(column.keys):,} keys"
        return "" if column.bounds is None else "{:g} to {:g}".format(*map(float, column.bounds))

    rows = "".join(
        f'<tr><td class="key">{escape(digits.visible(column.name))}</td><td>{column.kind}</td>'
        f"<td>{statement(column)}</td></tr>"
        for column in table.plan.columns
    )
    head = "<tr><th>column</th><th>type</th><th>stated about it</th></tr>"
    what = escape(digits.visible(f"A private table: {table.plan.explain()}"))
    limits = escape(digits.visible(words.limits(table.plan, table.bounding, table.context.unit)))
    below = f'<p class="quiet">{limits}. Rows are never shown: ask with .agg(…) or .sql(…).</p>'
    return framed(f"<p>{what}</p><table><thead>{head}</thead><tbody>{rows}</tbody></table>{below}")


def table(columns: Sequence[Column]) -> str:
    """The table alone."""
    return _page(columns, "")


def _page(columns: Sequence[Column], below: str, above: str = "") -> str:
    rows = len(columns[0].values) if columns else 0
    header, *cells = zip(*(_column(column) for column in columns), strict=True)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    more = f'<p class="quiet">… and {rows - ROWS:,} more rows: answer.table has them all</p>' if rows > ROWS else ""
    drawn = f"<table><thead><tr>{''.join(header)}</tr></thead><tbody>{body}</tbody></table>"
    return framed(above + drawn + more + below)


def framed(inside: str) -> str:
    """HTML with the style it needs."""
    return f'<div class="lapwing"><style>{_STYLE}</style>{inside}</div>'


def _column(column: Column) -> Iterator[str]:
    """The cells of a column, the header first."""
    name = escape(digits.visible(column.name))
    if column.is_key:
        number = " number" if column.type in ("integer", "number") else ""
        yield f'<th class="key{number}" title="{name}">{name}</th>'
        yield from (_key(value, number) for value in column.values[:ROWS])
        return
    shown = digits.shown(column)[:ROWS]
    extra = [any(cell.noise for cell in shown), any(cell.interval for cell in shown)]
    bars = _bars(column) if len(shown) > 1 and column.is_number else []
    mark = f'<span class="noise">{words.CLIPPED}</span>' if column.clipped else ""
    span = sum(extra) + bool(bars)
    yield f'<th class="number value" title="{name}">{name}{mark}</th>' + (f'<th colspan="{span}"></th>' if span else "")
    values = [cell.value for cell in shown]
    values = _aligned(values) if column.is_number else [escape(value) for value in values]
    for place, cell in enumerate(shown):
        text = f'<td class="number value">{values[place]}</td>'
        if extra[0]:
            text += f'<td class="noise">{escape(cell.beside)}</td>'
        if extra[1]:
            text += f'<td class="quiet">{escape(f"({cell.interval})" if cell.interval else "")}</td>'
        yield text + (f"<td>{bars[place]}</td>" if bars else "")


def _key(value: Any, number: str) -> str:
    text = digits.key(value)
    shown = escape(text if len(text) <= _LONGEST_KEY else text[: _LONGEST_KEY - 1] + "…")
    quiet = " quiet" if value is None or value == "" else ""
    return f'<td class="key{number}{quiet}" title="{shown}">{shown}</td>'


def _aligned(numbers: list[str]) -> list[str]:
    """Points below points: what is missing behind them is written where nobody sees it."""
    behind = [number[number.index(".") :] if "." in number else "" for number in numbers]
    longest = max(map(len, behind), default=0)
    fill = "." + "0" * longest
    return [
        escape(number) + (f'<span style="visibility:hidden">{fill[len(end) : longest]}</span>' * (len(end) < longest))
        for number, end in zip(numbers, behind, strict=True)
    ]


def _bars(column: Column) -> list[str]:
    """For each value a bar from 0 (totals) or a dot (others), with an error bar, all on one scale."""
    total = column.adds_up
    values, spans = column.values[:ROWS], (column.noise or (None,) * len(column.values))[:ROWS]
    ends = [end for span in spans if span is not None for end in span] + [v for v in values if v is not None]
    finite = [float(end) for end in ends if math.isfinite(end)] + ([0.0] if total else [])
    if not (total or column.noise) or not finite or min(finite) == max(finite):
        return []
    low, high = min(finite), max(finite)

    def at(value: float) -> float:
        return round(_WIDTH * (min(max(value, low), high) - low) / (high - low), 1)

    drawn = []
    for value, span in zip(values, spans, strict=True):
        parts = []
        if total:
            parts.append(f'<path class="zero" d="M{at(0)} 0V{_HEIGHT}"/>')
        if value is not None and total:
            left, right = sorted((at(0), at(value)))
            parts.append(f'<rect class="bar" x="{left}" y="2" width="{right - left:.1f}" height="{_HEIGHT - 4}"/>')
        if value is not None and span is not None:
            left, right = at(span[0]), at(span[1])
            parts.append(f'<path class="noise" d="M{left} 6H{right}M{left} 3V9M{right} 3V9"/>')
        if value is not None and not total:
            parts.append(f'<circle class="dot" cx="{at(value)}" cy="6" r="3"/>')
        drawn.append(f'<svg width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>')
    return drawn
