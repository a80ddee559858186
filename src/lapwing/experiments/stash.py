"""The stash shuffle: what it writes, how much waits in its stash, and how often it fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.collect.overflow import decay, stash_failure, window_failure
from lapwing.collect.stash import FAILURE, StashShuffle
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.noise import Entropy, uniform_below

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

RECORDS, BUCKETS = 40_000, 20
"""Small enough to see failures: a hundred records to a chunk on average, with a standard deviation of ten."""
CHUNKS = (105, 110, 120)
PLACES = (0, 5, 10, 20, 30, 40, 60, 80, 120, 160, 200, 240)
"""Of one bucket in the stash."""
WINDOWS = (100, 150, 200, 250, 300, 350, 400, 500, 600, 800)
SLACKS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
"""Standard deviations by which a chunk is larger than what it holds on average."""
SIZES = (1_000_000, 10_000_000, 50_000_000, 100_000_000, 200_000_000)
RECORD_BYTES = 64


def compute(runs: int = 400, sizes: Sequence[int] = SIZES) -> list[Row]:
    """Failures measured in so many draws beside what is stated; the cost of chunks; fitted parameters by size."""
    source = entropy("stash")
    draws = [_draw(source) for _ in range(runs)]
    return [*_stash_rows(draws), *_window_rows(draws), *_cost_rows(), *(_fitted_row(size) for size in sizes)]


def _draw(source: Entropy) -> NDArray[Any]:
    """How many records of each block go to each bucket."""
    import numpy as np

    drawn = uniform_below(BUCKETS, RECORDS, source) + np.repeat(np.arange(BUCKETS), RECORDS // BUCKETS) * BUCKETS
    return np.bincount(drawn, minlength=BUCKETS**2).reshape(BUCKETS, BUCKETS)


def _waiting(counts: NDArray[Any], chunk: int) -> tuple[int, int]:
    """The most records that ever wait, and the most of one bucket at the end."""
    import numpy as np

    queue, most = np.zeros(BUCKETS, dtype=np.int64), 0
    for row in counts:
        queue = np.maximum(0, queue + row - chunk)
        most = max(most, int(queue.sum()))
    return most, int(queue.max())


def _stash_rows(draws: Sequence[NDArray[Any]]) -> list[Row]:
    rows: list[Row] = []
    for chunk in CHUNKS:
        peaks = [_waiting(counts, chunk) for counts in draws]
        for places in PLACES:
            failures = sum(most > places * BUCKETS or last > places for most, last in peaks)
            rows.append(
                {
                    "part": "stash",
                    "records": RECORDS,
                    "buckets": BUCKETS,
                    "chunk": chunk,
                    "stash": places * BUCKETS,
                    "runs": len(draws),
                    "failures": failures,
                    "stated": stash_failure(RECORDS // BUCKETS, BUCKETS, chunk, places),
                    "most_waiting": max(most for most, _ in peaks),
                }
            )
    return rows


def _window_rows(draws: Sequence[NDArray[Any]]) -> list[Row]:
    import numpy as np

    expected = np.arange(1, BUCKETS + 1) * (RECORDS // BUCKETS)
    drifts = [int(abs(np.cumsum(counts.sum(axis=0)) - expected).max()) for counts in draws]
    return [
        {
            "part": "window",
            "records": RECORDS,
            "buckets": BUCKETS,
            "window": window,
            "runs": len(draws),
            "failures": sum(drift > window for drift in drifts),
            "stated": window_failure(RECORDS, BUCKETS, window),
        }
        for window in WINDOWS
    ]


def _cost_rows() -> list[Row]:
    """Ten million records: larger chunks write more, smaller ones need a larger stash for the same probability."""
    rows: list[Row] = []
    fitted = StashShuffle.fitted(10_000_000, RECORD_BYTES)
    bucket = -(-fitted.records // fitted.buckets)
    mean = bucket / fitted.buckets
    for slack in SLACKS:
        chunk = math.ceil(mean + slack * math.sqrt(mean))
        places = math.ceil(math.log(2 * fitted.buckets**2 / FAILURE) / decay(bucket, fitted.buckets, chunk))
        shuffle = replace(fitted, chunk=chunk, stash=places * fitted.buckets)
        rows.append({"part": "cost", "slack": slack, **_described(shuffle)})
    return rows


def _fitted_row(size: int) -> Row:
    return {"part": "fitted", **_described(StashShuffle.fitted(size, RECORD_BYTES))}


def _described(shuffle: StashShuffle) -> Row:
    return {
        "records": shuffle.records,
        "buckets": shuffle.buckets,
        "chunk": shuffle.chunk,
        "stash": shuffle.stash,
        "window": shuffle.window,
        "overhead": shuffle.overhead,
        "megabytes": shuffle.memory_records * shuffle.record_bytes / 1e6,
        "stated": shuffle.failure_probability(),
    }


def draw(rows: Sequence[Row]) -> Figure:
    """Failures over the stash, failures over the window, and what a smaller stash costs."""
    figure, (left, middle, right) = charts.figure(3, size=(13.2, 4.6))
    for place, chunk in enumerate(CHUNKS):
        _failures(left, select(rows, part="stash", chunk=chunk), "stash", place, f"chunks of {chunk}")
    _failures(middle, select(rows, part="window"), "window", 0, "")
    charts.legend(left, loc="upper right")
    for axes in (left, middle):
        charts.numbers(axes, y="log")
        axes.set_ylim(1e-20, 3)
    charts.name_axes(left, "A larger stash fails less", "records in the stash", "probability to fail")
    charts.name_axes(middle, "And so does a wider window", "records in the window", "probability to fail")
    cost = select(rows, part="cost")
    right.plot(column(cost, "overhead"), column(cost, "stash"), marker="o", color=charts.SERIES[0], lw=1.3, ms=5)
    for row in cost:
        if row["slack"] in (0.5, 2.0, 5.0):
            right.annotate(f"{row['slack']:g} sd", (row["overhead"], row["stash"]), (6, 4), textcoords="offset points")
    right.margins(x=0.12)
    charts.numbers(right, y="log")
    charts.name_axes(right, "Larger chunks need less stash", "places written for each record", "records in the stash")
    charts.caption(
        figure,
        f"Left and middle: {RECORDS:,} records, {BUCKETS} buckets, {RECORDS // BUCKETS**2} records to a chunk on "
        "average. Lines: the stated upper bound; dots: the share of draws that failed. Right: ten million records, "
        "failure below 2⁻⁶⁴; room in a chunk beyond the average, in standard deviations.",
    )
    return figure


def _failures(axes: Any, chosen: Sequence[Row], what: str, place: int, label: str) -> None:
    colour = charts.SERIES[place]
    axes.plot(column(chosen, what), column(chosen, "stated"), color=colour, lw=1.3, label=label or None)
    seen = [row for row in chosen if row["failures"]]
    measured = [row["failures"] / row["runs"] for row in seen]
    axes.plot(column(seen, what), measured, charts.MARKERS[place], color=colour, ms=6)


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    lines = [
        f"| {row['records']:,} | {row['buckets']} | {row['chunk']:,} | {row['stash']:,} | {row['window']:,} "
        f"| {row['overhead']:.2f} | {row['megabytes']:.0f} | 2^{math.log2(row['stated'] or FAILURE):.0f} |"
        for row in select(rows, part="fitted")
    ]
    head = "| records | buckets | chunk | stash | window | overhead | MB at once | fails with at most |"
    table = "\n".join((head, "|---|---|---|---|---|---|---|---|", *lines))
    tight, _, roomy = (select(rows, part="stash", chunk=chunk)[0]["most_waiting"] for chunk in CHUNKS)
    tightest, usual = select(rows, part="cost")[0], select(rows, part="cost", slack=2.0)[0]
    return (
        f"{table}\n\n"
        "A stash shuffle writes every record about twice: once in a padded chunk, once in the output. It holds some "
        f"tens of megabytes at once. With chunks of {CHUNKS[0]} for {RECORDS // BUCKETS**2} records on average, up to "
        f"{tight:,} records waited in the stash. With chunks of {CHUNKS[-1]} it was {roomy:,}. The probability to fail "
        "falls exponentially in the stash, and like a normal tail in the window. Measured shares stay below the stated "
        "bounds. For ten million records, chunks of half a standard deviation above the average need a stash of "
        f"{tightest['stash']:,} records. Two standard deviations need {usual['stash']:,}, and write "
        f"{usual['overhead']:.2f} places for each record. Whether an attempt fails depends on its draws alone, never "
        "on the records."
    )


STASH = Experiment(
    name="stash",
    title="The stash shuffle: overhead, stash and failure",
    source="Bittau and others, Prochlo (2017)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"runs": 4_000, "sizes": (*SIZES, 1_000_000_000)},
)
