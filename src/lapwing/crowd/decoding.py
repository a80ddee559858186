"""Decoding RAPPOR reports: which of many candidate answers were given, and how often.

    1  c_ij of the N_i reports of cohort i have a one in bit j; (c_ij/N_i − p*)/(q* − p*) is an unbiased estimate of the
       share with that bit set, with a known error (Erlingsson, Pihur and Korolova 2014; p*, q*: `Rappor`)
    2  that share is Σ_s x_ijs·f_s + β·(1 − Σ_s f_s): x_ijs says whether candidate s sets the bit, f_s is its share, and
       everybody else sets any bit with probability β = 1 − (1 − 1/k)^h, because hashes are uniform
    3  a non-negative lasso selects candidates; its penalty is the error of a score times the normal quantile that one
       of all candidates passes by chance
    4  weighted least squares on the selected gives counts and errors
    5  every candidate, selected or not, is tested; the correction counts all of them

Without β the answers that are not selected would push up all the counts. The scaled lasso (Sun and Zhang 2012) raises
the penalty when the bits vary more than coins explain. Answers that are missing from the candidates have this effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from lapwing import checks
from lapwing.crowd.counts import Counts
from lapwing.crowd.domains import candidate_list
from lapwing.crowd.estimates import SHOWN, Estimates
from lapwing.crowd.hashing import text_of
from lapwing.crowd.regression import OUTLYING, Cells, Fit, fit_selected, least_squares
from lapwing.errors import InvalidParameter
from lapwing.privacy.notation import signed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.crowd.rappor import OneTimeRappor

    Floats = NDArray[np.float64]

Correction = Literal["bonferroni", "holm", "benjamini-hochberg", "none"]
Selection = Literal["lasso", "none"]
CORRECTIONS = ("bonferroni", "holm", "benjamini-hochberg", "none")
MISFIT = 0.05
"""Below this p-value of the fit other answers matter, and significance is judged by hashes as well."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class DecodedEstimates(Estimates):
    """Decoded counts of candidates, which of them are significant, and how much no candidate explains.

    Attributes:
        significant: Whether somebody gave the answer: the candidate was selected, and its test passes the correction.
        correction: Which correction for many tests was used.
        fit: How well the selected candidates explain the reports.
        unexplained_standard_error: Standard error of `unexplained_share`.

    Raises:
        InvalidParameter: If confidence is not above 0 and below 1.

    >>> from lapwing.crowd import OneTimeRappor, decode
    >>> protocol = OneTimeRappor(permanent_noise=0.25)
    >>> counts = protocol.absorb(None, protocol.randomize(["cat"] * 5000 + ["dog"] * 5000))
    >>> decoded = decode(protocol, counts, ["cat", "dog", "owl"])
    >>> {"cat", "dog"} <= set(decoded.discovered().labels)
    True
    """

    selected: NDArray[np.bool_]
    """The candidates with a fitted count; the others have count 0 and the error they would be seen with."""
    p_values: Floats
    """Of each candidate for having no people at all, before any correction; one-sided."""
    significant: NDArray[np.bool_]
    correction: str
    fit: Fit
    unexplained_share: float
    """Of people whose answer is none of the selected candidates. It may be negative."""
    unexplained_standard_error: float

    def __str__(self) -> str:
        names = [str(label) for label, there in zip(self.labels, self.significant.tolist(), strict=True) if there]
        some = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        share, error = 100 * self.unexplained_share, 100 * self.unexplained_standard_error
        rest = signed(f"{share:z.1f} % ± {error:.1f} % (one standard error)")
        fits = "fits" if self.fit.p_value >= MISFIT else "does not fit: other answers matter"
        return "\n".join(
            [
                Estimates.__str__(self),
                f"significant ({self.correction}): {len(names):,} of {len(self):,}{': ' if names else ''}{some}",
                f"people whose answer is not among the selected: {rest}; the model {fits} (p = {self.fit.p_value:.2g})",
            ]
        )

    def top(self, count: int) -> DecodedEstimates:
        """The candidates with the largest counts, largest first.

        Returns:
            The same estimates, of these candidates only.

        Raises:
            InvalidParameter: If count is not a whole number from 1 on.

        >>> from lapwing.crowd import OneTimeRappor, decode
        >>> protocol = OneTimeRappor(permanent_noise=0.25)
        >>> counts = protocol.absorb(None, protocol.randomize(["cat"] * 7000 + ["dog"] * 3000))
        >>> decode(protocol, counts, ["cat", "dog", "owl"]).top(1).labels
        ['cat']
        """
        import numpy as np

        return self._taken(np.argsort(-self.counts, kind="stable")[: checks.whole(count=count)])

    def discovered(self) -> DecodedEstimates:
        """The significant candidates, largest first.

        Returns:
            The same estimates, of these candidates only.
        """
        import numpy as np

        order = np.argsort(-self.counts, kind="stable")
        return self._taken(order[self.significant[order]])

    def _taken(self, order: NDArray[np.intp]) -> DecodedEstimates:
        return replace(
            self,
            labels=[self.labels[place] for place in order.tolist()],
            **{
                name: getattr(self, name)[order]
                for name in (
                    "counts",
                    "population_standard_error",
                    "sample_standard_error",
                    "selected",
                    "p_values",
                    "significant",
                )
            },
        )


def decode(
    protocol: OneTimeRappor,
    state: Counts,
    candidates: Sequence[Any],
    *,
    confidence: float = 0.95,
    correction: Correction = "bonferroni",
    selection: Selection = "lasso",
) -> DecodedEstimates:
    """How many people gave each of the candidate answers, decoded from RAPPOR reports.

    A candidate named twice (the number 5 and the text "5" are one) is fitted once and has its count in both places.

    Accuracy: a test that follows a selection on the same data is optimistic if it counts only the selected. Here the
    correction counts all candidates, as if each were tested beside the ones that were fitted. With hashes that are
    nearly orthogonal the declared level then holds (the tests simulate it). Counts just above the limit of selection
    are too large on average, and those below are 0. For small counts prefer the intervals of `selection="none"`. Errors
    are those of the coins and of drawing the people, widened by the dispersion of the fit; that other answers share
    bits with a candidate enters through it only.
    Privacy: computed from reports, so it costs nothing more.

    Args:
        protocol: The RAPPOR protocol of the reports: `Rappor` or `OneTimeRappor`.
        state: Its counts, from `absorb`.
        candidates: The answers to look for: texts or whole numbers.
        confidence: Of the intervals and tests: 1 − confidence is the level that `correction` keeps.
        correction: What is kept at 1 − confidence: the chance of any false discovery ("bonferroni", "holm"), the
            expected share of false ones ("benjamini-hochberg"), or the error of each test by itself ("none").
        selection: "lasso" fits only the candidates that a lasso selects. "none" fits all at once: unbiased, with larger
            errors, and only for no more candidates than there are bits in all cohorts.

    Returns:
        The count of every candidate, whether it is significant, and the share of people that no candidate explains.

    Raises:
        InvalidParameter: If there are too many candidates for `selection="none"`.

    >>> from lapwing.crowd import OneTimeRappor
    >>> protocol = OneTimeRappor(permanent_noise=0.25)
    >>> counts = protocol.absorb(None, protocol.randomize(["cat"] * 5000 + ["dog"] * 5000))
    >>> 3000 < decode(protocol, counts, ["cat", "dog"])["cat"] < 7000
    True
    """
    import numpy as np

    protocol.check_own(state.protocol)
    checks.one_of(CORRECTIONS, correction=correction)
    checks.one_of(("lasso", "none"), selection=selection)
    level = 1 - float(checks.probability(confidence=confidence))
    labels = candidate_list(candidates)
    texts = [text_of(label) for label in labels]
    once = {text: place for place, text in reversed(list(enumerate(texts)))}
    if len(once) < len(labels):  # the bits cannot tell them apart, so each would get a part of the count
        options: dict[str, Any] = {"confidence": confidence, "correction": correction, "selection": selection}
        decoded = decode(protocol, state, [labels[place] for place in once.values()], **options)
        order = {text: place for place, text in enumerate(once)}
        return replace(decoded._taken(np.array([order[text] for text in texts])), labels=labels)
    cells = whole = Cells.of(protocol, state, labels)
    if selection == "none":
        if len(labels) > cells.counted:
            why = f"are {len(labels):,}, which is too many to estimate from {cells.counted:,} bits"
            raise InvalidParameter("candidates", "<list>", why, "Write selection='lasso'.")
        cells, chosen, shares, spread = least_squares(cells, np.arange(len(labels)), keep_negative=True)
        fit = used = cells.fit(chosen, shares)
    else:
        cells, chosen, shares, spread, fit = fit_selected(cells)
        used = cells.fit(chosen, shares)
    scale = used.dispersion**0.5
    lengths = np.maximum(cells.lengths, 1e-100)
    z = cells.scores(cells.residual(chosen, shares)) / lengths / scale
    z[chosen] = shares / np.maximum(np.sqrt(np.diag(spread)) * scale, 1e-100)
    p_values = _tail(z, used)
    if fit.p_value < MISFIT:
        p_values[chosen] = np.maximum(p_values[chosen], _by_hashes(whole, chosen, shares, spread, protocol.hashes))
    counts, variances = np.zeros(len(labels)), (scale / lengths) ** 2
    counts[chosen], variances[chosen] = shares * state.n, np.diag(spread) * scale**2
    # Cells count as independent, though the h bits of one answer are set together: drawing adds the rest of f(1−f)/n.
    inside = np.clip(counts / max(state.n, 1), 0, 1)
    drawing = inside * (1 - inside) / max(state.n, 1)
    sample = variances + (1 - 1 / protocol.hashes) * drawing
    population = variances.copy()
    population[chosen] = np.diag(spread @ cells.coins(chosen, shares).gram(chosen) @ spread) * scale**2
    selected = np.zeros(len(labels), dtype=bool)
    selected[chosen] = True
    return DecodedEstimates(
        labels,
        state.n,
        counts,
        state.n * np.sqrt(population),
        state.n * np.sqrt(sample),
        cells.gain(chosen, spread),
        confidence,
        "unbiased" if selection == "none" else "selected by lasso: small counts are 0",
        selected=selected,
        p_values=p_values,
        significant=_rejected(p_values, level, correction) & selected,
        correction=correction,
        fit=fit,
        unexplained_share=float(1 - shares.sum()),
        unexplained_standard_error=float(scale * np.sqrt(max(spread.sum(), 0))),
    )


def _by_hashes(cells: Cells, chosen: NDArray[np.intp], shares: Floats, spread: Floats, hashes: int) -> Floats:
    """How likely cells drawn at random have residuals as large as those of a candidate, when it is left out of the fit.

    The hashes of an answer that nobody gave are independent of all reports, so this holds whatever other answers did
    to the bits; cells that stand out are cut, which takes away what other answers do more than what the candidate does.
    Tails of the sum over cohorts: saddlepoint approximation (Lugannani and Rice 1980).
    """
    import numpy as np

    cells = cells.weighted(cells.fitted(chosen, shares))
    error = 1 / np.sqrt(np.maximum(cells.weights, 1e-300))
    limit = OUTLYING * error
    p_values = np.ones(len(chosen))
    for i, place in enumerate(chosen.tolist()):
        without = shares - spread[:, i] * (shares[i] / spread[i, i])
        pull = cells.weights * np.clip(cells.residual(chosen, without), -limit, limit)
        p_values[i] = _saddlepoint(pull[:-1].reshape(cells.cohorts, -1), hashes, float(pull[cells.rows[place]].sum()))
    return p_values


def _saddlepoint(pulls: Floats, draws: int, observed: float) -> float:
    """The chance that `draws` values from every row, drawn uniformly, add up to what was observed or more."""
    import numpy as np
    from scipy.stats import norm

    scale = float(np.sqrt(draws * pulls.var(axis=1).sum()))
    z = (observed - draws * float(pulls.mean(axis=1).sum())) / scale if scale else 0.0
    if z <= 0.5:  # not significant, and the approximation is singular at 0
        return float(norm.sf(z))
    steps = (pulls - pulls.mean(axis=1, keepdims=True)) / scale
    tilt = z
    for _ in range(30):
        powers = np.exp(tilt * steps)
        sums = powers.sum(axis=1)
        first = (powers * steps).sum(axis=1) / sums
        second = (powers * steps**2).sum(axis=1) / sums
        slope, bend = draws * float(first.sum()), draws * float((second - first**2).sum())
        if abs(slope - z) < 1e-6 * z or bend <= 1e-9:
            break
        tilt = min(max(tilt + (z - slope) / bend, tilt / 2), tilt * 2, 300 / float(np.abs(steps).max()))
    height = draws * float(np.log(sums / pulls.shape[1]).sum())
    w, u = (2 * max(tilt * z - height, 1e-12)) ** 0.5, tilt * max(bend, 1e-12) ** 0.5
    return float(min(max(norm.sf(w) + norm.pdf(w) * (1 / u - 1 / w), 0.0), 1.0))


def _tail(z: Floats, fit: Fit) -> Floats:
    """One-sided p-values; a normal law when no spread was estimated."""
    import numpy as np
    from scipy.stats import norm, t

    estimated = fit.degrees_of_freedom and fit.dispersion > 1
    return np.asarray(t.sf(z, fit.degrees_of_freedom) if estimated else norm.sf(z), dtype=np.float64)


def _rejected(p_values: Floats, level: float, correction: str) -> NDArray[np.bool_]:
    """Which hypotheses fall (Bonferroni; Holm 1979; Benjamini and Hochberg 1995)."""
    import numpy as np

    count = len(p_values)
    if correction in ("bonferroni", "none"):
        return np.asarray(p_values <= level / (max(count, 1) if correction == "bonferroni" else 1))
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(1, count + 1)
    rejected = np.zeros(count, dtype=bool)
    if correction == "holm":
        passed = p_values[order] <= level / (count + 1 - ranks)
        rejected[order[: int(np.argmin(passed)) if not passed.all() else count]] = True
    else:
        below = np.flatnonzero(p_values[order] <= level * ranks / max(count, 1))
        rejected[order[: int(below[-1]) + 1 if len(below) else 0]] = True
    return rejected
