"""Which words people use: how many different ones come through crowds, secret shares, a curator and nobody."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lapwing import charts
from lapwing.crowd.unary import UnaryEncoding
from lapwing.experiments.experiment import Experiment, Row, column, entropy, select
from lapwing.experiments.populations import word_shares
from lapwing.mechanisms import CrowdThreshold, DummyCrowds, KeySelection

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

SIZES = (10_000, 100_000, 1_000_000)
DELTA = 2e-6
CROWDS = CrowdThreshold(threshold=20, mean_drop=10, sigma=2, delta=DELTA)
EPSILON = float(CROWDS.privacy_loss().epsilon)
"""For one sample at DELTA; a local report has the same, and needs no δ."""
SHARES = 20
"""Messages that open a string."""
HIDDEN, DUMMY_EPSILON = 19, 1
"""Sizes of crowds that dummies hide from the second shuffler, and the ε of that."""
FALSE_WORDS = 0.05
"""Words that a local protocol may find on average although nobody sent them."""
NO_CROWD, CROWD, SECRET, BLINDED = "No-Crowd", "Crowd", "Secret-Crowd", "Blinded-Crowd"
CENTRAL, LOCAL = "a curator", "nobody is trusted"
METHODS = (NO_CROWD, CROWD, SECRET, BLINDED, CENTRAL, LOCAL)


def compute(sizes: Sequence[int] = SIZES, different: int | None = None) -> list[Row]:
    """For each way to collect and each number of samples: how many different words are recovered."""
    shares = list(word_shares().values())[:different]
    rows: list[Row] = []
    for samples in sizes:
        sent = sample(shares, samples)
        unique = int((sent > 0).sum())
        for method in METHODS:
            rows.append(
                {
                    "method": method,
                    "samples": samples,
                    "words": recovered(method, sent, samples),
                    "unique_words_sent": unique,
                    "epsilon": None if method == NO_CROWD else EPSILON,
                    "delta": None if method in (NO_CROWD, LOCAL) else DELTA,
                    "dummy_reports": _dummies().reports if method == BLINDED else 0,
                }
            )
    return rows


def sample(shares: Sequence[float], samples: int) -> NDArray[Any]:
    """How often each word is sent in so many independent draws."""
    import numpy as np

    weights = np.array(shares)
    counts: NDArray[Any] = _generator("sample", samples).multinomial(samples, weights / weights.sum())
    return counts


def recovered(method: str, sent: NDArray[Any], samples: int) -> int:
    """How many different words come out."""
    source = entropy("vocab", method, samples)
    sizes = sent[sent > 0]
    if method == NO_CROWD:  # no threshold of a shuffler: a string opens when enough devices sent it
        return int((sizes >= SHARES).sum())
    if method == CENTRAL:
        return sum(KeySelection(epsilon=EPSILON, delta=DELTA).release(sizes, source))
    if method == LOCAL:
        return _found_locally(sent, samples)
    forwarded = CROWDS.release(sizes.tolist(), source)
    needed = 1 if method == CROWD else SHARES  # dummies have crowds of their own and open nothing
    return sum(number >= needed for number in forwarded)


def _found_locally(sent: NDArray[Any], samples: int) -> int:
    """Unary encoding over the whole list of words, which everybody must know: those that stand out of the noise."""
    import numpy as np
    from scipy import stats

    protocol = UnaryEncoding.from_epsilon(EPSILON, domain=len(sent))
    true, other = float(protocol.one_if_true), float(protocol.one_if_other)
    draws = _generator("local", samples)
    ones = draws.binomial(sent, true) + draws.binomial(samples - sent, other)
    least = float(stats.binom.isf(FALSE_WORDS / len(sent), samples, other))
    return int(np.sum((ones > least) & (sent > 0)))


def _dummies() -> DummyCrowds:
    return DummyCrowds(epsilon=DUMMY_EPSILON, delta=DELTA, largest=HIDDEN)


def _generator(*seed: object) -> Any:
    import numpy as np

    return np.random.default_rng(list(hashlib.sha256(repr(("vocab", *seed)).encode()).digest()))


def draw(rows: Sequence[Row]) -> Figure:
    """Different words over the number of samples, both logarithmic."""
    figure, [axes] = charts.figure(size=(8.6, 5.0))
    sizes = sorted({row["samples"] for row in rows})
    everything = [select(rows, samples=size)[0]["unique_words_sent"] for size in sizes]
    axes.plot(sizes, everything, ":", color=charts.QUIET, lw=1.4)
    charts.beside(axes, sizes[-1], everything[-1], "all words sent", charts.QUIET, shift=(10, 0))
    lines = (
        (NO_CROWD, "secret shares alone (No-Crowd)", 4),
        (CENTRAL, CENTRAL, 2),
        (CROWD, "Crowd, Secret-Crowd, Blinded-Crowd", -6),
        (LOCAL, LOCAL, 0),
    )
    for place, (method, label, shift) in enumerate(lines):
        words = [max(value, 0.5) for value in column(select(rows, method=method), "words")]
        colour = charts.SERIES[place]
        axes.plot(sizes, words, marker=charts.MARKERS[place], color=colour, lw=1.4, ms=6)
        charts.beside(axes, sizes[-1], words[-1], label, colour, shift=(10, shift))
    charts.numbers(axes, x="log", y="log")
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 40)
    axes.spines["bottom"].set_bounds(sizes[0] / 1.4, sizes[-1])
    charts.only_ticks(axes.xaxis, [size for size in sizes if math.log10(size).is_integer()])
    charts.name_axes(axes, "Words that come through", "words sent, one each", "different words recovered")
    charts.caption(
        figure,
        f"English words as often as people use them (wordfreq). One sample is one unit: ε = {EPSILON:.2f}, "
        "δ = 2·10⁻⁶ (add_remove), T = 20, D = 10, σ = 2; strings open at 20 messages. Without a crowd there is no ε. "
        "The local line has the same ε, unary encoding, and is told the list of words. 0 is drawn at ½.",
    )
    return figure


def tell(rows: Sequence[Row]) -> str:
    """What one sees."""
    sizes = sorted({row["samples"] for row in rows})
    head = "| words sent | different ones | " + " | ".join(METHODS) + " |"
    lines = [head, "|" + "---|" * (len(METHODS) + 2)]
    for size in sizes:
        chosen = select(rows, samples=size)
        counts = " | ".join(f"{select(chosen, method=method)[0]['words']:,}" for method in METHODS)
        lines.append(f"| {size:,} | {chosen[0]['unique_words_sent']:,} | {counts} |")
    last = {method: select(rows, samples=sizes[-1], method=method)[0] for method in METHODS}
    return (
        "\n".join(lines) + "\n\n"
        f"Of {sizes[-1]:,} words sent, crowds with a randomised threshold recover {last[CROWD]['words']:,} different "
        f"ones. If nobody is trusted it is {last[LOCAL]['words']:,}, although that protocol was told the list of "
        f"words. A curator with the same (ε, δ) shows {last[CENTRAL]['words']:,}: with the best possible test, fewer "
        "people are enough to show a word. Secret shares alone open every word that 20 devices sent. They drop "
        "nothing, so they promise nothing about a single device, and a common word can be guessed. Secret-Crowd and "
        "Blinded-Crowd recover what Crowd does. They differ in who must be trusted: Secret-Crowd keeps rare, "
        "unguessable words from the analyzer even if the shuffler forwards too much. Blinded-Crowd keeps the names of "
        f"crowds from both shufflers, and {last[BLINDED]['dummy_reports']:,} dummy reports on average hide how many "
        f"crowds of up to {HIDDEN} there are (ε = {DUMMY_EPSILON}). The counts follow the law of each pipeline; bytes "
        "are not sent."
    )


VOCAB = Experiment(
    name="vocab",
    title="A vocabulary: different words recovered over words sent",
    source="Bittau and others, Prochlo (2017), Vocab. Words: wordfreq 3 (Speer 2022; data CC BY-SA 4.0)",
    compute=compute,
    draw=draw,
    tell=tell,
    full={"sizes": (*SIZES, 10_000_000)},
)
