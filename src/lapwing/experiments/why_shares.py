"""Why shares, and not encryption: what three programs cost two servers either way."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, product
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.datasets import adult
from lapwing.errors import MissingExtra
from lapwing.experiments.experiment import Experiment, Heard, Row, column, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lapwing.pair.domains import Layout
    from lapwing.pair.labelled import LabelledPair
    from lapwing.pair.paillier import PaillierSecret

ADULT_ROWS = 32_561
SIZES, LARGER_SIZES = (2, 4, 8), (100, 3_000, ADULT_ROWS)
LONG, SHORT, SHARES = "encryption, long pads", "encryption, short pads", "shares"
WAYS = {LONG: None, SHORT: 64}
"""Labelled encryption, by the bits of a pad: those of the key, or few, which makes products cheaper."""
PROGRAMS = {
    "P1": "P1: how many people are up to each age",
    "P2": "P2: the most frequent ages",
    "P3": "P3: how many of each race and sex",
}
OWNER, SERVERS = "owner", ("as", "csp")
"""The analytics server, and the cryptographic service provider, which has the key where there is one."""
UPLOAD, INTAKE = "upload a row", "take rows in"
PRODUCTS = 16
"""That an owner supplies with a row of shares, as `lapwing pair new` has it; ciphertexts need none."""
_COLOURS = {LONG: charts.SERIES[1], SHORT: charts.SERIES[3], SHARES: charts.SERIES[0]}
_MARKS = dict(zip((LONG, SHORT, SHARES), charts.MARKERS, strict=False))
_UNITS = (("ms", 1e-3, 0.1), ("s", 1.0, 90.0), ("min", 60.0, 3600.0), ("hours", 3600.0, math.inf))
_LEFT_OUT = (
    "Labelled encryption is left out of this run: it needs gmpy2, which is not installed (pip install gmpy2, our "
    "extra 'labhe')."
)


def compute(
    sizes: Sequence[int] = SIZES,
    larger_sizes: Sequence[int] = LARGER_SIZES,
    repeats: int = 3,
    epsilon: int = 1,
    key_bits: int | None = None,
    heard: Heard | None = None,
) -> list[Row]:
    """Processor seconds of each party, the least of some runs, and the error of the noisy answers.

    Both ways answer on samples of the first rows; shares also on larger ones. Encryption would need hours there, so a
    straight line says what all rows cost. Shorter keys than `KEY_BITS` are for tests.
    """
    rows = by_shares({*sizes, *larger_sizes}, repeats, epsilon)
    try:
        from lapwing.pair.paillier import KEY_BITS, PaillierSecret

        bits = key_bits or KEY_BITS
        secret = PaillierSecret.generate(bits, unsafe=bits < KEY_BITS)
    except MissingExtra:
        return rows
    total, encrypted = len(WAYS) * max(sizes), list[Row]()
    for place, (way, label_bits) in enumerate(WAYS.items()):

        def uploaded(count: int, before: int = place * max(sizes)) -> None:
            if heard is not None:
                heard(before + count, total)

        encrypted += by_encryption(way, secret, label_bits, sizes, repeats, epsilon, uploaded)
    return rows + encrypted


@cache
def _adult() -> dict[str, list[Any]]:
    return adult("train")


@cache
def truth(people: int) -> dict[str, list[int]]:
    """The exact answers of the three programs on the first rows."""
    from lapwing.pair.labelled_programs import ADULT, AGES, RACES, SEXES, records

    sample = list(records(_adult(), people, ADULT))
    ages = Counter(person["age"] for person in sample)
    cells = Counter((person["race"], person["sex"]) for person in sample)
    histogram = [ages[age] for age in AGES]
    return {
        "P1": list(accumulate(histogram)),
        "P2": histogram,
        "P3": [cells[cell] for cell in product(RACES, SEXES)],
    }


def extrapolated(sizes: Sequence[int], seconds: Sequence[float], people: int) -> float:
    """On a straight line through the smallest and the largest sample; what was measured is the least it can be.

    >>> extrapolated([2, 4, 8], [3.0, 5.0, 9.0], 100)
    101.0
    """
    low, high = min(range(len(sizes)), key=sizes.__getitem__), max(range(len(sizes)), key=sizes.__getitem__)
    slope = (seconds[high] - seconds[low]) / max(1, sizes[high] - sizes[low])
    return max(seconds[high], seconds[high] + slope * (people - sizes[high]))


# ------------------------------------------------------------------------------------------------------------ shares


def by_shares(sizes: Collection[int], repeats: int = 1, epsilon: int = 1) -> list[Row]:
    """What both servers pay for shares. P1 is added up from the noisy histogram, which costs nothing more."""
    from lapwing.pair.programs import seven
    from lapwing.pair.rehearsal import rehearse

    layout, people, rows = _layout(), _adult(), list[Row]()
    programs = {name: seven(epsilon)[name].compiled(layout) for name in PROGRAMS}
    rows.append(_row(SHARES, UPLOAD, OWNER, 1, _owner_seconds(layout, repeats)))
    for size in sorted(sizes, reverse=True):  # the first run pays for memory, and is the largest
        sample = {name: people[name][:size] for name in layout.by_name}
        for name, program in programs.items():
            runs = [rehearse(layout, sample, [program.request().orders(layout)]) for _ in range(repeats)]
            numbers = runs[0].numbers[0][0]
            answer = list(accumulate(numbers)) if name == "P1" else numbers
            for place, party in enumerate(SERVERS):
                seconds = min(run.costs[place].answer_seconds for run in runs)
                rows.append(_row(SHARES, name, party, size, seconds, _error(answer, truth(size)[name])))
                if name == "P3":
                    taken = min(run.costs[place].intake_seconds for run in runs)
                    rows.append(_row(SHARES, INTAKE, party, size, taken))
    return rows


def _layout() -> Layout:
    """The columns that owners encrypt, as bits of shares."""
    from lapwing.pair.domains import Layout, Listed
    from lapwing.pair.labelled_programs import AGES, RACES, SEXES

    columns = (Listed("age", "integer", tuple(AGES)), Listed("race", "text", RACES), Listed("sex", "text", SEXES))
    return Layout(columns, products=PRODUCTS)


def _owner_seconds(layout: Layout, repeats: int) -> float:
    """Of one owner alone."""
    from lapwing.pair.domains import split

    people, times = _adult(), list[float]()
    for place in range(10 * repeats):
        row = {name: people[name][place : place + 1] for name in layout.by_name}
        start = time.thread_time()
        split(layout.with_products(layout.encoded(row)))
        times.append(time.thread_time() - start)
    return min(times)


# -------------------------------------------------------------------------------------------------------- encryption


@dataclass
class _Timed:
    """A server whose work is timed: whatever it is called for."""

    server: Any
    seconds: float = 0.0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.server, name)
        if not callable(value):
            return value

        def called(*args: Any) -> Any:
            start = time.thread_time()
            try:
                return value(*args)
            finally:
                self.seconds += time.thread_time() - start

        return called


def by_encryption(
    way: str,
    secret: PaillierSecret,
    label_bits: int | None,
    sizes: Collection[int],
    repeats: int = 1,
    epsilon: int = 1,
    uploaded: Callable[[int], None] = lambda count: None,
) -> list[Row]:
    """What both servers pay for labelled encryption, and what all rows would cost. P1 has noise on each of its answers.

    Owners encrypt once; smaller samples are the first of their rows. `uploaded` is told how many have done so.
    """
    from lapwing.pair.labelled import AnalyticsServer, KeyServer, LabelledPair, Labels, Upload
    from lapwing.pair.labelled_programs import ADULT, age_ranges, frequent_ages, race_by_sex, records

    labels, uploads, times = Labels(secret.key, label_bits), list[Upload](), list[float]()
    for record in records(_adult(), max(sizes), ADULT):
        start = time.thread_time()
        uploads.append(Upload.encrypt(ADULT.cells(record), labels))
        times.append(time.thread_time() - start)
        uploaded(len(uploads))
    rows = [_row(way, UPLOAD, OWNER, 1, min(times))]
    programs: dict[str, Callable[[LabelledPair], list[int]]] = {
        "P1": lambda pair: age_ranges(pair, epsilon).counts,
        "P2": lambda pair: frequent_ages(pair, epsilon)[1].counts,
        "P3": lambda pair: race_by_sex(pair, epsilon).counts,
    }
    for size in sorted(sizes):
        start = time.thread_time()
        keys = KeyServer.of(labels, secret, (upload.seed for upload in uploads[:size]))
        opening = time.thread_time() - start
        rows += [_row(way, INTAKE, party, size, cost) for party, cost in zip(SERVERS, (0.0, opening), strict=True)]
        pair = LabelledPair(ADULT, AnalyticsServer(labels, uploads[:size]), keys)
        for name, program in programs.items():
            answers, costs = zip(*(_run(program, pair) for _ in range(repeats)), strict=True)
            error = _error(answers[0], truth(size)[name])
            for party, seconds in zip(SERVERS, zip(*costs, strict=True), strict=True):
                rows.append(_row(way, name, party, size, min(seconds), error))
    return rows + _to_all_rows(way, rows)


def _run(program: Callable[[LabelledPair], list[int]], pair: LabelledPair) -> tuple[list[int], tuple[float, float]]:
    """The answer, and the seconds of both servers; noise is drawn beside them, half of it by each."""
    analytics, keys = _Timed(pair.analytics), _Timed(pair.keys)
    timed: Any = replace(pair, analytics=analytics, keys=keys)  # type: ignore[arg-type]
    start = time.thread_time()
    answer = program(timed)
    beside = (time.thread_time() - start - analytics.seconds - keys.seconds) / 2
    return answer, (analytics.seconds + beside, keys.seconds + beside)


def _to_all_rows(way: str, rows: Sequence[Row]) -> list[Row]:
    """What all rows would take."""
    more = []
    for step, party in product((INTAKE, *PROGRAMS), SERVERS):
        known = select(rows, step=step, party=party)
        seconds = extrapolated(column(known, "people"), column(known, "seconds"), ADULT_ROWS)
        more.append(_row(way, step, party, ADULT_ROWS, seconds) | {"measured": False})
    return more


def _row(way: str, step: str, party: str, people: int, seconds: float, error: float | None = None) -> Row:
    return {
        "way": way,
        "step": step,
        "party": party,
        "people": people,
        "seconds": seconds,
        "measured": True,
        "error": error,
    }


def _error(answer: Sequence[int], exact: Sequence[int]) -> float:
    """The root mean square over all numbers of an answer."""
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(answer, exact, strict=True)) / len(exact))


# ------------------------------------------------------------------------------------------------- picture and words


def _costs(rows: Sequence[Row], way: str, step: str) -> list[tuple[int, float, bool]]:
    """For each number of people, the seconds of the busier server, and whether they were measured."""
    chosen = select(rows, way=way, step=step)
    measured = {row["people"]: row["measured"] for row in chosen}
    return [
        (people, max(column(select(chosen, people=people), "seconds")), measured[people]) for people in sorted(measured)
    ]


def _ways(rows: Sequence[Row]) -> list[str]:
    """Those of this run."""
    known = set(column(rows, "way"))
    return [way for way in (LONG, SHORT, SHARES) if way in known]


def draw(rows: Sequence[Row]) -> Figure:
    """The three programs over the number of people; and what comes before a question."""
    figure, panels = charts.figure(2, 2, size=(10.4, 8.0))
    seconds = [row["seconds"] for row in rows if row["step"] in PROGRAMS]
    for axes, (name, heading) in zip(panels, PROGRAMS.items(), strict=False):
        _draw_program(axes, rows, name)
        axes.set_ylim(min(seconds) / 3, max(seconds) * 6)
        charts.numbers(axes, x="log", y="log")
        charts.only_ticks(axes.xaxis, [1, 10, 100, 1_000, 10_000])
        charts.name_axes(axes, heading, "people", "processor seconds of the busier server")
    _draw_before(panels[3], rows)
    whole = "" if len(_ways(rows)) > 1 else f" {_LEFT_OUT}"
    charts.caption(
        figure,
        "UCI Adult and three programs of Cryptε. Filled marks: measured; hollow marks: extrapolated from the samples, "
        f"along a straight line, to {ADULT_ROWS:,} people. Encryption: Paillier with labels and a key of 2,048 bits; "
        f"long pads have 2,048 bits, short ones 64. Shares: joint noise, {PRODUCTS} products with each row.{whole}",
    )
    return figure


def _draw_program(axes: Axes, rows: Sequence[Row], name: str) -> None:
    for way in _ways(rows):
        costs, colour, mark = _costs(rows, way, name), _COLOURS[way], _MARKS[way]
        known = [(people, seconds) for people, seconds, measured in costs if measured]
        axes.plot(*zip(*known, strict=True), f"{mark}-", color=colour, ms=6, lw=1.3)
        last, seconds, measured = costs[-1]
        if not measured:
            first, start = known[-1]
            places = [first * (last / first) ** (step / 40) for step in range(41)]
            line = [start + (seconds - start) * (place - first) / (last - first) for place in places]
            axes.plot(places, line, ":", color=colour, lw=1.3)
            axes.plot([last], [seconds], mark, color=colour, ms=7, mfc=charts.PAPER)
        shift = {LONG: 9, SHORT: -9, SHARES: 0}[way]  # sums cost nearly the same with both kinds of pads
        charts.beside(axes, last, seconds, f"{duration(seconds)}\n{way}", colour, shift=(10, shift), size=8.5)
    axes.set_xlim(1, ADULT_ROWS * 150)
    axes.spines["bottom"].set_bounds(1, ADULT_ROWS)


def _draw_before(axes: Axes, rows: Sequence[Row]) -> None:
    """Dots, one line for each thing to do."""
    names, shown = {UPLOAD: "an owner\nencodes\none row", INTAKE: "a server\ntakes in\nall rows"}, list[float]()
    for place, step in enumerate(names):
        for height, way in enumerate(_ways(rows)):
            _, seconds, measured = _costs(rows, way, step)[-1]
            colour, at = _COLOURS[way], place + 0.24 * (height - 1)
            axes.plot([seconds], [at], _MARKS[way], color=colour, ms=7, mfc=colour if measured else charts.PAPER)
            charts.beside(axes, seconds, at, f"{duration(seconds)}, {way}", colour, shift=(9, 0), size=8.5)
            shown.append(seconds)
    charts.numbers(axes, x="log")
    charts.rows(axes, list(names.values()))
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=charts.LINE, lw=0.6)
    low, high = min(shown), max(shown)
    axes.set_xlim(low / 3, high * 6000)
    charts.only_ticks(axes.xaxis, [10.0**power for power in range(-4, 6) if low / 3 <= 10.0**power <= 10 * high])
    charts.name_axes(axes, "Before a question, once", "processor seconds", "")


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    shares = {step: _costs(rows, SHARES, step)[-1] for step in (UPLOAD, INTAKE, *PROGRAMS)}
    most = shares["P3"][0]
    own = (
        f"By shares of {most:,} rows, the busier server needs {duration(shares['P1'][1])} of its processor for P1, "
        f"{duration(shares['P2'][1])} for P2 and {duration(shares['P3'][1])} for P3, all measured. Before that, an "
        f"owner needs {duration(shares[UPLOAD][1])} for a row, and a server {duration(shares[INTAKE][1])} to take all "
        "rows in."
    )
    if len(_ways(rows)) == 1:
        return f"{own}\n\n{_LEFT_OUT}"
    costs = {way: {step: _costs(rows, way, step)[-1][1] for step in shares} for way in WAYS}
    sample = max(row["people"] for row in rows if row["way"] == LONG and row["measured"])
    return (
        f"{own}\n\nBy labelled encryption the same programs were run on up to {sample} rows. On a straight line, "
        f"{ADULT_ROWS:,} rows take {duration(costs[LONG]['P1'])} for P1, {duration(costs[LONG]['P2'])} for P2 and "
        f"{duration(costs[LONG]['P3'])} for P3. With short pads, which hide a cell up to 2⁻⁶⁴ only, P3 takes "
        f"{duration(costs[SHORT]['P3'])}. An owner needs {duration(costs[LONG][UPLOAD])} for a row, and the server "
        f"with the key {duration(costs[LONG][INTAKE])} to open the seeds of all.\n\n"
        "The reason is what a product costs. An encrypted product is two powers modulo a number of 4,096 bits, for "
        "each row and each cell. A shared product is a few bits that both servers send, and the work behind them is "
        "done in bulk. P1 and P2 are sums of one column. There labelled encryption is itself a kind of sharing: pads "
        "are added up, and nothing is decrypted. On a few rows these sums cost less than shares, which pay for joint "
        "noise first. On many rows they cost more: our server with the key makes every pad again for every question, "
        "while servers with shares keep the totals of each column.\n\n"
        "The noise is not the same. By encryption each server adds noise of its own, so the error of P2 and P3 is √2 "
        "times as large. P1 has noise on each of its hundred answers there, and on the histogram below them here."
    )


def duration(seconds: float) -> str:
    """As people say it.

    >>> duration(0.0004), duration(0.012), duration(7.25), duration(172), duration(5053)
    ('0.4 ms', '12 ms', '7.2 s', '2.9 min', '1.4 hours')
    """
    unit, size = next((unit, size) for unit, size, most in _UNITS if seconds < most)
    return f"{float(f'{seconds / size:.2g}'):g} {unit}"


WHY_SHARES = Experiment(
    name="why-shares",
    title="Why shares: three programs of two servers, by encryption and by shares",
    source="Chowdhury, Wang, He, Machanavajjhala and Jha, Cryptε (2020); Barbosa, Catalano and Fiore (2017)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"sizes": (4, 16, 64)},
)
