"""What can be asked about a group: `lw.count()`, `lw.mean("age")`, `lw.quantile("cost", 0.5)`, …

Each aggregate is a class of its own (base.py says what a class owns). A new one is a new file, and a line in
`AGGREGATES` and in `__all__`: SQL, saved questions, quotes, answers and pictures ask the class.
"""

from collections.abc import Mapping

from lapwing.curator.aggregates.associations import Correlation, Covariance, correlation, covariance
from lapwing.curator.aggregates.base import Aggregate, Bound, QueryFacts, argument
from lapwing.curator.aggregates.counts import Count, CountDistinct, Units, count, count_distinct, units
from lapwing.curator.aggregates.extremes import Greatest, Least
from lapwing.curator.aggregates.geometric import GeometricMean, geometric_mean
from lapwing.curator.aggregates.own_rows import Alone, Cdf, Histogram, TopK, cdf, histogram, top_k
from lapwing.curator.aggregates.quantiles import Quantile, median, quantile
from lapwing.curator.aggregates.spreads import Std, Variance, std, variance
from lapwing.curator.aggregates.sums import Mean, Sum, mean, sum

AGGREGATES: tuple[type[Aggregate], ...] = (
    Count,
    Units,
    CountDistinct,
    Sum,
    Mean,
    GeometricMean,
    Variance,
    Std,
    Covariance,
    Correlation,
    Quantile,
    Histogram,
    TopK,
)
"""What can be asked of everybody."""
PER_UNIT: tuple[type[Aggregate], ...] = (Least, Greatest)
"""What can be asked of the rows of one unit only, in a sub-query."""


BY_KIND: Mapping[str, type[Aggregate]] = {aggregate.kind: aggregate for aggregate in AGGREGATES}
"""By what an answer or a saved question calls it."""


__all__ = [
    "AGGREGATES",
    "BY_KIND",
    "PER_UNIT",
    "Aggregate",
    "Alone",
    "Bound",
    "Cdf",
    "QueryFacts",
    "TopK",
    "argument",
    "cdf",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "geometric_mean",
    "histogram",
    "mean",
    "median",
    "quantile",
    "std",
    "sum",
    "top_k",
    "units",
    "variance",
]
