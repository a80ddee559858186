"""ARA guesses answers from how many bits of a RAPPOR report are on. It is a heuristic, to be compared with decoding.

"Aggregated RAPPOR and Analysis" (Paul and Mishra 2020, as surveys describe it) hands a trusted curator both strings of
every client, the permanent response and the report (prr and irr). Each gets a weighted sum: the number of its on-bits
times a constant for that number, 17 constants in all for 32 bits. Sums of labelled training reports are stored; a new
report is matched against them.

Use `Rappor.estimate`: see ara.md for why a count of on-bits cannot tell answers apart. The descriptions leave some
points open, which are filled by the least assumption: the two weighted sums are added; sums are matched within a
cohort, with the nearest one stored; where several answers have the same sum, the most frequent counts; more than 17
on-bits weigh like 17.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from lapwing import checks
from lapwing.crowd.items import Answers
from lapwing.crowd.rappor import OneTimeRappor, Rappor
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONSTANTS = (
    1.20201279,
    1.0927389,
    0.993399,
    0.90309,
    0.80618,
    0.727,
    0.660052,
    0.60206,
    0.550907,
    0.50515,
    0.4637573,
    0.425969,
    0.3912066,
    0.3590219,
    0.329059,
    0.30103,
    0.274701,
)
"""For 1 … 17 on-bits. From the fourth on they are log₁₀(32/on-bits); the first three rise by a tenth each instead."""

BITS = 32
"""The length that the constants are made for."""
SMALL = Rappor.from_symbols(k=BITS, f=0.5, p=0.5, q=0.75)
"""Reports of 32 bits, as ARA has them; the noise is that of RAPPOR's own experiments."""


@dataclass(frozen=True, slots=True, eq=False)
class BothSteps:
    """What ARA's curator holds of every client: the cohort, the permanent response, and a report made from it.

    Privacy: the report is made from the permanent response, so both together cost `protocol.lifetime_loss()`.
    """

    protocol: Rappor
    cohorts: NDArray[Any]
    permanent: NDArray[np.uint64]
    instantaneous: NDArray[np.uint64]

    @classmethod
    def of(cls, protocol: Rappor, values: Any, entropy: Entropy = SYSTEM) -> Self:
        """Simulated clients, one for each answer."""
        first = OneTimeRappor(
            permanent_noise=protocol.permanent_noise,
            bits=protocol.bits,
            hashes=protocol.hashes,
            cohorts=protocol.cohorts,
            salt=protocol.salt,
        )
        cohorts, permanent = first.randomize(values, entropy).columns
        return cls(protocol, cohorts, permanent, protocol.instantaneous(permanent, entropy))

    def reports(self) -> Reports:
        """The reports alone, as RAPPOR's decoding takes them."""
        return Reports(self.protocol, len(self.cohorts), (self.cohorts, self.instantaneous))

    def weighted_sums(self) -> NDArray[np.float64]:
        """One number for each client: on-bits times their constant, in the permanent response and in the report."""
        import numpy as np

        from lapwing.crowd.bits import unpack_rows

        _check_size(self.protocol)
        weights = np.zeros(BITS + 1)
        weights[1 : len(CONSTANTS) + 1] = CONSTANTS
        weights[len(CONSTANTS) + 1 :] = CONSTANTS[-1]
        weights *= np.arange(BITS + 1)
        on = [unpack_rows(rows, BITS).sum(axis=1) for rows in (self.permanent, self.instantaneous)]
        total: NDArray[np.float64] = weights[on[0]] + weights[on[1]]
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Ara:
    """Weighted sums of labelled reports, to match others with. **A heuristic: its guesses are biased by the training.**

    Privacy: the training needs true answers without noise, so they have to be public or made up; the clients whose
    answers are guessed lose `protocol.lifetime_loss()`, and a curator has to be trusted with their permanent responses.
    Accuracy: nothing is unbiased here, and there are no errors to state. See ara.md.
    """

    protocol: Rappor
    labels: Sequence[Any]
    sums: tuple[NDArray[np.float64], ...]
    """The sums seen in each cohort, rising."""
    guesses: tuple[NDArray[np.intp], ...]
    """The answer most often seen with each."""

    @classmethod
    def learn(cls, values: Any, *, protocol: Rappor = SMALL, entropy: Entropy = SYSTEM) -> Self:
        """From the reports of a training population whose answers are known."""
        import numpy as np

        _check_size(protocol)
        answers = Answers.of(values)
        both = BothSteps.of(protocol, answers, entropy)
        sums = both.weighted_sums()
        stored, guesses = [], []
        for cohort in range(protocol.cohorts):
            here = both.cohorts == cohort
            distinct, which = np.unique(sums[here], return_inverse=True)
            seen = np.zeros((len(distinct), len(answers.labels)), dtype=np.int64)
            np.add.at(seen, (which.ravel(), answers.places[here]), 1)
            stored.append(distinct)
            guesses.append(seen.argmax(axis=1) if len(distinct) else np.empty(0, dtype=np.intp))
        return cls(protocol, answers.labels, tuple(stored), tuple(guesses))

    def guess(self, clients: BothSteps) -> list[Any]:
        """An answer for each client: that of the nearest sum stored in its cohort; None if there is none."""
        import numpy as np

        self.protocol.check_own(clients.protocol)
        sums, places = clients.weighted_sums(), np.full(len(clients.cohorts), -1, dtype=np.intp)
        for cohort, (stored, guesses) in enumerate(zip(self.sums, self.guesses, strict=True)):
            here = np.flatnonzero(clients.cohorts == cohort)
            if len(stored):
                middles = (stored[1:] + stored[:-1]) / 2
                places[here] = guesses[np.searchsorted(middles, sums[here])]
        return [None if place < 0 else self.labels[place] for place in places.tolist()]

    def most_frequent(self, clients: BothSteps) -> Any:
        """The answer guessed most often; None if there are no clients."""
        return max(counted := Counter(self.guess(clients)), key=lambda guess: counted[guess], default=None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How often the most frequent answer was found, out of all trials."""

    trials: int
    ara: float
    decoding: float
    ara_single_answers: float
    """How often ARA guessed the answer of a single client."""
    most_frequent_share: float
    """How often one would, by always guessing the most frequent answer."""


def compare_with_decoding(
    population: Mapping[Any, int],
    *,
    training: Mapping[Any, int] | None = None,
    protocol: Rappor = SMALL,
    trials: int = 10,
    entropy: Entropy = SYSTEM,
) -> Comparison:
    """ARA and RAPPOR's own decoding on the same reports of a population: how many people give each answer.

    ARA is trained anew in each trial, with a population of its own (by default one just like it).
    """
    answers, trained = Answers.counted(population), Answers.counted(population if training is None else training)
    checks.whole(population=len(answers))
    candidates = list({**population, **(training or {})})
    truth, share = max(population, key=lambda label: population[label]), max(population.values()) / len(answers)
    ara = decoding = single = 0
    for _ in range(checks.whole(trials=trials)):
        clients = BothSteps.of(protocol, answers, entropy)
        learned = Ara.learn(trained, protocol=protocol, entropy=entropy)
        guesses = learned.guess(clients)
        ara += Counter(guesses).most_common(1)[0][0] == truth
        single += sum(guess == answers.labels[place] for guess, place in zip(guesses, answers.places, strict=True))
        decoded = protocol.estimate(protocol.absorb(None, clients.reports()), candidates)
        decoding += decoded.top(1).labels[0] == truth
    return Comparison(trials, ara / trials, decoding / trials, single / trials / len(answers), share)


def _check_size(protocol: Rappor) -> None:
    bits = getattr(protocol, "bits", None)
    if not isinstance(protocol, Rappor) or bits != BITS:
        why = f"has reports of {bits} bits, and the constants are made for {BITS}"
        raise InvalidParameter("protocol", "<Rappor>", why, f"Write Rappor(bits={BITS}, …), or decode with estimate.")
