"""The questions of the lab, one module each, without HTTP.

forms, filters   what was typed, as values
curated          questions that the curator prices and answers; rows reads the same file for the exact side
"""

from __future__ import annotations

from lapwing.web.lab.analyses.anonymous import Anonymous
from lapwing.web.lab.analyses.clusters import Clusters
from lapwing.web.lab.analyses.count import Count
from lapwing.web.lab.analyses.histogram import Histogram
from lapwing.web.lab.analyses.linear import Linear
from lapwing.web.lab.analyses.local import Local
from lapwing.web.lab.analyses.logistic import Logistic
from lapwing.web.lab.analyses.mean import Mean
from lapwing.web.lab.analyses.nested import Nested
from lapwing.web.lab.analyses.quantiles import Quantiles
from lapwing.web.lab.analyses.sql import Sql
from lapwing.web.lab.analyses.table import Groups
from lapwing.web.lab.analysis import Analysis

ANALYSES: dict[str, type[Analysis]] = {
    kind.slug: kind
    for kind in (Count, Mean, Histogram, Quantiles, Groups, Nested, Sql, Linear, Logistic, Clusters, Local, Anonymous)
}
"""By the word in an address, in the order of the page."""
TEACHING_ONLY = frozenset({Anonymous.slug})
"""Questions without a private answer: shown for contrast, in teaching mode alone."""
