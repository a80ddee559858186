"""Programs that do what the guide recommends: short, complete, and run by the tests.

Each stands on made-up people, so that it runs as it is; put your own data in their place.
"""

from __future__ import annotations

from fractions import Fraction
from string import Template

from lapwing.web.guide import running_totals, two_servers
from lapwing.web.guide.plan import Plan
from lapwing.web.guide.without_curator import LONG_LIST

MOST_MADE_UP = 3000
"""People that a program makes up, if there are so many."""
_DATA = {
    "count": "smokes = [True, False, False] * $times",
    "histogram": 'regions = ["North", "South", "East"] * $times',
    "nested": "towns = [900, 400, 700, 300, 500]  # people in two towns of the North and three of the South",
    "top": 'favourites = {"tea": 1200, "coffee": 1500, "water": 300}  # how many people prefer each',
    "mean": "ages = [34, 51, 29] * $times",
    "quantile": "incomes = [1800, 2400, 3900] * $times",
    "words": 'people_with = {"plover": 900, "dunlin": 400, "a very private word": 1}  # how many people use each',
}
_CENTRAL = {
    "count": """
smokers = lw.mechanisms.Count(epsilon=$epsilon$rows)
print("smokers:", smokers.release(smokes), "±", smokers.accuracy(0.95))""",
    "histogram": """
# Keys are public.
groups = lw.mechanisms.Histogram(epsilon=$epsilon, keys=["North", "South", "East", "West"]$rows)
print("by region:", groups.release(regions), "±", groups.accuracy(0.95))""",
    "nested": """
tree = lw.mechanisms.Tree([[2], [2, 3]])  # public: a country with two regions, of two and three towns
places = lw.mechanisms.Hierarchy(tree=tree, $spend, sensitivity=$bound)
country, regions, in_towns = places.release(towns).levels  # whole numbers that add up, none below zero
print("towns:", in_towns.tolist(), "regions:", regions.tolist(), "all:", country.tolist())
print("±", [round(float(max(widths)), 1) for widths in places.half_widths(0.95)], "from the country to the towns")""",
    "top": """
choice = lw.PermuteAndFlip(epsilon=$epsilon, sensitivity=$bound, candidates=list(favourites), monotone=True)
print("favourite:", choice.release(list(favourites.values())))""",
    "mean": """
# Bounds are public and never read from the data. So is count: there are at least so many people.
mean = lw.mechanisms.Mean(epsilon=$epsilon, bounds=(0, 100)$rows)
print("mean age:", round(mean.release(ages), 2), "±", round(mean.accuracy(0.95, count=$sure), 2))$yours""",
    "quantile": """
median = lw.mechanisms.Median(epsilon=$choosing, bounds=(0, 20_000), granularity=10$rows)$each
print("median income:", median.release(incomes), "±", median.accuracy(0.95), "ranks")""",
    "words": """
shown = lw.KeySelection(epsilon=$epsilon, delta=$delta$groups)
words = sorted(people_with)
print("frequent words:", [w for w, yes in zip(words, shown.release([people_with[w] for w in words])) if yes])""",
    "table": """
import numpy as np

people = lw.open(
    {
        "person": np.arange(3 * $times),
        "region": np.array(["North", "South", "East"] * $times),
        "age": np.array([34.0, 51.0, 29.0] * $times),
    },  # or the path of a CSV or Parquet file, a data frame, a database
    name="people",
    unit="person",
    bounds={"age": (0, 100)},
    keys={"region": ["North", "South", "East", "West"]},
    allowance=lw.$allowance,  # for all releases of this table
    ledger="people-ledger.db",  # remembers what is spent after the program has ended
)$bounded
query = people.group_by("region").agg(lw.count(), lw.mean("age"))
print(query.quote($spend))  # what it costs and how accurate it will be; nothing is read yet
print(query.release($spend))""",
    "model": """
import numpy as np
from lapwing.models import LinearRegression  # needs scikit-learn: pip install '.[models]' in a copy of Lapwing

rng = np.random.default_rng()
age = rng.uniform(18, 90, (3000, 1))
cost = 300 + 20 * age[:, 0]
model = LinearRegression(epsilon=$epsilon_each, bounds=(18, 90), target_bounds=(0, 3000))
print(model.quote(columns=1))
print("slope:", model.fit(age, cost).coef_)  # predictions cost nothing more""",
}
_YOURS = """
print("with {people:,} people: ±", round(mean.accuracy(0.95, count={people}), 4))"""
_CONCENTRATED = {
    "count": """
smokers = lw.Gaussian.for_rho($rho, sensitivity=$bound, on_grid=True)
print("smokers:", smokers.release(sum(smokes)), "±", smokers.accuracy(0.95))""",
    "histogram": """
keys = ["North", "South", "East", "West"]  # public
groups = lw.Gaussian.for_rho($rho, sensitivity=$bound, dimensions=len(keys), on_grid=True)
print("by region:", groups.release([regions.count(key) for key in keys]), "±", groups.accuracy(0.95))""",
    "top": """
choice = lw.Exponential(epsilon=$choosing, sensitivity=$bound, candidates=list(favourites), monotone=True)  # ε²/8-zCDP
print("favourite:", choice.release(list(favourites.values())))""",
}
_SECURE_START = """from lapwing.anonymity import SecureSum

companies = ["North clinic", "South clinic", "East clinic"]
# Here all parties are in one program. Each server adds noise of its own; companies clamp what one person adds."""
_SECURE = Template("""
# $title
study = SecureSum(
    cells=$cells,
    companies=companies,
    epsilon=$epsilon,
    # The most that all records of one person can change:
    sensitivity=$sensitivity,
    cells_per_person=$together,
)
tables = [
    $tables,
]
totals = study.run(dict(zip(companies, tables))).totals
print($shown)""")
_CELLS = {
    "count": (["smokers"], ["310", "190", "520"], [1], '"smokers:", totals["smokers"]'),
    "histogram": (["bus", "bike", "car"], ["610, 70, 520", "300, 90, 410", "900, 300, 900"], [1, 1, 1], "totals"),
    "top": (
        ["tea", "coffee"],
        ["500, 700", "300, 500", "900, 1200"],
        [1, 1],
        '"favourite:", max(totals, key=totals.get)',
    ),
    "mean": (
        ["people", "total age"],
        ["1200, 51_000", "800, 35_500", "2100, 90_200"],
        [1, 100],
        '"mean age:", totals["total age"] / max(1, totals["people"])',
    ),
    "table": (
        ["women", "age of women", "men", "age of men"],
        ["700, 29_000, 500, 22_000", "400, 17_500, 400, 18_000", "1100, 47_000, 1000, 43_200"],
        [1, 100, 1, 100],
        "totals",
    ),
}
"""For a secure sum: cells, what three companies have in each, what one record adds at most, and what to print."""
_LOCAL = {
    "count": (
        "BinaryResponse.from_epsilon($epsilon)",
        "[True] * 900 + [False] * 2100",
    ),
    "histogram": (
        '$categories.from_epsilon($epsilon, domain=["North", "South", "East", "West"])',
        '["North"] * 1200 + ["South"] * 1000 + ["East"] * 800',
    ),
    "top": (
        '$categories.from_epsilon($epsilon, domain=["tea", "coffee", "water"])',
        '["coffee"] * 1500 + ["tea"] * 1200 + ["water"] * 300',
    ),
    "table": (
        """$categories.from_epsilon(
    $epsilon,
    domain=["North, young", "North, old", "South, young", "South, old"],
)""",
        '["North, young"] * 1200 + ["South, old"] * 1800',
    ),
    "quantile": (
        """$categories.from_epsilon(
    $epsilon,
    domain=[f"{low} to {low + 10}" for low in range(0, 100, 10)],
)""",
        '["30 to 40"] * 2000 + ["70 to 80"] * 1000',
    ),
    "mean": (
        "Piecewise.from_epsilon($epsilon, bounds=(0, 100))",
        "[34, 51, 29] * 1000",
    ),
    "words": (
        """PrefixExtension(
    epsilon=$epsilon,
    alphabet="abcdefghijklmnopqrstuvwxyz",
    length=6,
    keep=16,
    functions=1024,
)""",
        '["dunlin"] * 20_000 + ["plover"] * 10_000',
    ),
}
_ROLES = Template("""
# $title
protocol = crowd.$protocol
# On each device: one person, one report.
reports = protocol.randomize($people)
counts = protocol.absorb(None, reports)  # the aggregator keeps whole numbers only
print(protocol.estimate(counts))  # unbiased, with intervals""")
_TITLES = {
    "count": "How many say yes",
    "histogram": "How many in each group",
    "nested": "Groups within groups",
    "top": "What is most common",
    "table": "A table: every cell is an answer",
    "quantile": "A quantile: read it from the counts of public bins",
    "mean": "A mean",
    "words": "Words that are on no list",
}


def number(value: Fraction, digits: int = 6) -> str:
    """As Python writes it, with the few digits it has.

    >>> number(Fraction(833, 10000)), number(Fraction(1))
    ('0.0833', '1')
    """
    return f"{float(value):.{digits}g}"


def program(plan: Plan) -> str:
    """What the plan says, as a program."""
    if plan.at_source:
        return _crowd(plan)
    if plan.model == "secure sum":
        return _secure(plan)
    if plan.model == "two servers":
        return two_servers.program(plan, _TITLES, _times(plan))
    if plan.steps > 1:
        return running_totals.program(plan, _TITLES, number(plan.epsilon), number(plan.part_epsilon), _times(plan))
    return _curated(plan)


def _secure(plan: Plan) -> str:
    """One sum for each question, with the part of the budget that it has."""
    lines = [_SECURE_START]
    for ask in plan.asks:
        cells, tables, each, shown = _CELLS[ask]
        values = {
            "title": _TITLES[ask],
            "cells": _listed(cells),
            "epsilon": number(plan.part_epsilon),
            "sensitivity": "{"
            + ", ".join(f'"{cell}": {plan.rows * share}' for cell, share in zip(cells, each, strict=True))
            + "}",
            "together": str(2 if 100 in each else 1),
            "tables": ",\n    ".join(
                "{" + ", ".join(f'"{cell}": {size}' for cell, size in zip(cells, table.split(", "), strict=True)) + "}"
                for table in tables
            ),
            "shown": shown,
        }
        lines.append(_SECURE.substitute(values))
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _allowance(plan: Plan) -> str:
    """What all releases of one question may cost, in the currency in which they are charged."""
    if plan.part_rho:
        return f"ZCDP({number(plan.releases * plan.part_rho, digits=9)})"
    return f"PureDP({number(plan.releases * plan.part_epsilon, digits=9)})"


def _times(plan: Plan) -> int:
    """How often three made-up people are repeated."""
    return max(1, min(MOST_MADE_UP, plan.people) // 3)


def _curated(plan: Plan) -> str:
    several = f", max_rows_per_unit={plan.rows}" if plan.rows > 1 else ""
    times = _times(plan)
    values = {
        "times": str(times),
        "sure": str(3 * times),
        "yours": _YOURS.format(people=plan.people) if plan.people >= MOST_MADE_UP + 3 else "",
        "epsilon": number(plan.part_epsilon),
        "epsilon_each": number(plan.part_epsilon / plan.rows),
        "choosing": number(plan.choosing_epsilon),
        "spend": f"rho={number(plan.part_rho)}" if plan.part_rho else f"epsilon={number(plan.part_epsilon)}",
        "allowance": _allowance(plan),
        "each": "  # for every group by itself; a person in one group only pays once" if plan.split else "",
        "rho": number(plan.part_rho or Fraction(0)),
        "delta": number(plan.part_delta),
        "bound": str(plan.rows),
        "rows": several,
        "groups": f", max_groups_per_unit={plan.rows}" if plan.rows > 1 else "",
        "bounded": f"\npeople = people.bounded(max_rows_per_unit={plan.rows})" if plan.rows > 1 else "",
    }
    stand_ins = [Template(_DATA[ask]).substitute(values) for ask in plan.asks if ask in _DATA]
    lines = ["import lapwing as lw"]
    if stand_ins:
        most = f"; at most {plan.rows} records of each person" if plan.rows > 1 else ""
        lines += ["", f"# Made-up people. Put your own data here{most}.", *stand_ins]
    for ask in plan.asks:
        text = _CONCENTRATED.get(ask) if plan.part_rho else None
        lines.append(Template(text or _CENTRAL[ask]).substitute(values))
    return "\n".join(lines)


def _crowd(plan: Plan) -> str:
    categories = "HadamardResponse" if plan.groups > LONG_LIST else "UnaryEncoding"
    lines = ["from lapwing import crowd"]
    for ask in plan.asks:
        protocol, people = _LOCAL[ask]
        call = Template(protocol).substitute(epsilon=number(plan.part_epsilon), categories=categories)
        lines.append(_ROLES.substitute(title=_TITLES[ask], protocol=call, people=people))
        if plan.model == "shuffled":
            lines += [
                f"batch = crowd.Shuffled(protocol, n={plan.reports}, delta={number(plan.part_delta)})",
                "print(batch.explain())  # the mixer opens a batch only when so many have reported",
            ]
    return "\n".join(lines)
