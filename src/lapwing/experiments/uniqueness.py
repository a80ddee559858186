"""How few columns make a person unique: over what is released, how exact it is, and how many people live in an area."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.adversary.attacks.uniqueness import Coarser, coarsen, uniqueness
from lapwing.anonymity.table import encoded
from lapwing.datasets import town
from lapwing.experiments.experiment import Experiment, Row, column, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("sex", "postcode", "birth_date", "occupation")
EXACT = "sex, postcode, birth date"
RELEASES: Mapping[str, Mapping[str, Coarser]] = {
    "sex, district, year of birth": {"postcode": 3, "birth_date": "year"},
    "sex, district, month of birth": {"postcode": 3, "birth_date": "month"},
    "sex, postcode, year of birth": {"birth_date": "year"},
    "sex, postcode, month of birth": {"birth_date": "month"},
    "sex, postcode, year of birth, occupation": {"birth_date": "year"},
    "sex, district, birth date": {"postcode": 3},
    EXACT: {},
    "sex, postcode, birth date, occupation": {},
}
"""What is released, and how it is made coarser; a district is the first three digits of a postcode."""
OTHERS: Mapping[str, tuple[int, int]] = {
    "nobody": (0, 1),
    "1 to 3 people": (1, 4),
    "4 to 18": (4, 19),
    "19 or more": (19, 10**9),
}
"""How many others look like a person: classes of more than so many people, and of so many at most."""
PRECISIONS = {"birth date": ("day", 365.25), "month of birth": ("month", 12.0), "year of birth": ("year", 1.0)}
"""How exact a date is, and into how many parts of equal chances it divides the people of a year."""
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
FINE = 60
"""Points of the theory, along a smooth line."""
PUBLISHED = {"Sweeney 2000": 0.87, "Golle 2006": 0.63}
"""The share of the United States that is unique by birth date, sex and ZIP code of five digits."""


def compute(people: int = 200_000, sizes: Sequence[int] = SIZES, areas: int = 20) -> list[Row]:
    """For every release, how many others look like a person; for areas of some sizes, how many people are unique."""
    everybody = {name: values for name, values in town(people).people.items() if name in COLUMNS}
    return [*_releases(everybody), *_areas(everybody, sizes, areas)]


def _releases(everybody: Mapping[str, list[Any]]) -> list[Row]:
    rows = []
    exact = _coded(everybody)
    for release, how in RELEASES.items():
        names = COLUMNS if "occupation" in release else COLUMNS[:-1]
        changed = _coded(coarsen({name: everybody[name] for name in how}, **how))
        result = uniqueness({**exact, **changed}, names)
        for others, (above, most) in OTHERS.items():
            share = result.within(most) - (result.within(above) if above else 0.0)
            rows.append({"what": "release", "released": release, "others": others, "share": share})
    return rows


def _areas(everybody: Mapping[str, list[Any]], sizes: Sequence[int], areas: int) -> list[Row]:
    """People who live side by side are an area; the theory knows only how many of each sex were born in each year."""
    rows = []
    born = [day.year for day in everybody["birth_date"]]
    years = [count / len(born) for count in Counter(zip(everybody["sex"], born, strict=True)).values()]
    for released, (precision, cells) in PRECISIONS.items():
        table = _coded(coarsen({name: everybody[name] for name in ("sex", "birth_date")}, birth_date=precision))
        for size in sizes:
            starts = range(0, min(areas * size, len(born) - size + 1), size)
            parts = [{name: values[start : start + size] for name, values in table.items()} for start in starts]
            shares = [uniqueness(part, ["sex", "birth_date"]).unique for part in parts]
            mean = math.fsum(shares) / len(shares)
            rows.append({"what": "area", "released": released, "people": size, "share": mean})
        for step in range(FINE + 1):
            size = round(sizes[0] * (sizes[-1] / sizes[0]) ** (step / FINE))
            theory = math.fsum(share * (1 - share / cells) ** (size - 1) for share in years)
            rows.append({"what": "theory", "released": released, "people": size, "share": theory})
    return rows


def _coded(table: Mapping[str, Any]) -> dict[str, Any]:
    """Values as numbers, which are compared faster."""
    return {name: encoded(values)[0] for name, values in table.items()}


def draw(rows: Sequence[Row]) -> Figure:
    """What is released as bars of who looks alike, and uniqueness over the size of an area."""
    figure, [bars, lines] = charts.figure(2, size=(11.5, 4.7), width_ratios=(1.1, 1))
    _draw_releases(bars, select(rows, what="release"))
    _draw_areas(lines, rows)
    charts.caption(
        figure,
        "Left: an imaginary town with realistic households; a postcode has about 7,000 people, the district all of "
        "them. Right: dots are measured in areas of that town, lines are theory: Σ p·(1 − p/m)^(n − 1) over the shares "
        "p of a sex and year of birth, with m = 365.25, 12 or 1 dates in a year. Dotted: published shares of the "
        "people of the United States who are unique by birth date, sex and ZIP code of five digits.",
    )
    return figure


def _draw_releases(axes: Axes, rows: Sequence[Row]) -> None:
    names = list(RELEASES)[::-1]
    colours = (charts.ADVERSARY, "#e39a8e", "#b4dad5", charts.PRIVATE)
    left = [0.0] * len(names)
    for others, colour in zip(OTHERS, colours, strict=True):
        shares = column([select(rows, released=name, others=others)[0] for name in names], "share")
        axes.barh(names, shares, left=left, color=colour, height=0.66, label=others)
        left = [sum(both) for both in zip(left, shares, strict=True)]
    bold: dict[str, Any] = {
        "color": charts.ADVERSARY,
        "fontsize": 9,
        "fontweight": "bold",
        "ha": "right",
        "va": "center",
    }
    axes.text(1.155, len(names) - 0.4, "unique", **bold)
    for place, name in enumerate(names):
        unique = select(rows, released=name, others="nobody")[0]["share"]
        axes.text(
            1.155, place, f"{100 * unique:.{0 if unique > 0.005 else 1}f} %" if unique > 0.0005 else "< 0.1 %", **bold
        )
    axes.grid(visible=False)
    charts.numbers(axes, x="percent")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", labelcolor=charts.INK)
    axes.set_xlim(0, 1.17)
    axes.set_ylim(-0.55, len(names) - 0.15)
    axes.spines["bottom"].set_bounds(0, 1)
    axes.set_xticks((0, 0.25, 0.5, 0.75, 1))
    charts.name_axes(axes, "How many others look like you in what is released?", "share of the people", "")
    _higher(axes)
    charts.legend(axes, loc="lower left", bbox_to_anchor=(-0.02, 0.985), ncols=4, handlelength=1, columnspacing=1.4)


def _higher(axes: Axes) -> None:
    """Room for a legend below the title."""
    axes.set_title(axes.get_title("left"), loc="left", fontsize=11, fontweight="bold", color=charts.INK, pad=24)


def _draw_areas(axes: Axes, rows: Sequence[Row]) -> None:
    colours = (charts.ADVERSARY, charts.NOISE, charts.PRIVATE)
    for place, (released, colour) in enumerate(zip(PRECISIONS, colours, strict=True)):
        theory, areas = (select(rows, what=what, released=released) for what in ("theory", "area"))
        axes.plot(column(theory, "people"), column(theory, "share"), color=colour, lw=1.3)
        axes.plot(column(areas, "people"), column(areas, "share"), charts.MARKERS[place], color=colour, ms=6)
        low = next((row for row in areas if row["share"] < 0.4), areas[-1])
        charts.beside(axes, low["people"], low["share"], f"{released}\nand sex", colour, shift=(10, 4))
    charts.numbers(axes, x="log", y="percent")
    sizes = column(select(rows, what="area", released="birth date"), "people")
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 7)
    axes.spines["bottom"].set_bounds(sizes[0] / 1.3, sizes[-1])
    charts.only_ticks(axes.xaxis, [size for size in sizes if math.log10(size).is_integer()])
    axes.set_ylim(-0.015, 1.03)
    for name, share in PUBLISHED.items():
        axes.axhline(share, color=charts.QUIET, lw=0.9, ls=":", zorder=0)
        charts.beside(axes, sizes[-1] * 7, share, f"{name}: {100 * share:.0f} %", charts.QUIET, shift=(-2, 8))
    charts.name_axes(axes, "Unique among so many neighbours", "people in the area", "people who are unique")
    _higher(axes)


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    share = {row["released"]: row["share"] for row in select(rows, what="release", others="nobody")}
    month, job = (share[f"sex, postcode, {more}"] for more in ("month of birth", "year of birth, occupation"))
    few = select(rows, what="release", released=EXACT, others="1 to 3 people")[0]["share"]
    return (
        f"Sex, postcode and birth date leave {100 * share[EXACT]:.0f} % of the people alone with their values, and "
        f"another {100 * few:.0f} % with at most three others: a list with names and these three values identifies the "
        "person. In the United States 87 % were unique by Sweeney’s count and 63 % by Golle’s. With the month "
        f"instead of the day, {100 * month:.0f} % are unique, and with the year hardly anybody. With the year and the "
        f"occupation it is {100 * job:.0f} % again: no column is harmless by itself. The curves on the right say why: "
        "there are about 60,000 pairs of a sex and a birth date, many more than there are people in a postcode. In the "
        "smallest areas it is twins who are not unique. Being one of many does not protect: all of them may have the "
        "same illness."
    )


UNIQUENESS = Experiment(
    name="uniqueness",
    title="How few columns make a person unique",
    source="Sweeney, Simple demographics often identify people uniquely (2000); Golle, Revisiting the uniqueness of "
    "simple demographics in the US population (2006)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"people": 1_000_000, "sizes": (*SIZES, 300_000), "areas": 100},
)
