"""The trusted curator: private tables, queries and their answers."""

from lapwing import checks
from lapwing.curator.aggregates import (
    Aggregate,
    cdf,
    correlation,
    count,
    count_distinct,
    covariance,
    geometric_mean,
    histogram,
    mean,
    median,
    quantile,
    std,
    sum,
    top_k,
    units,
    variance,
)
from lapwing.curator.ask.marginal_tables import Marginals
from lapwing.curator.ask.marginals import MarginalsQuestion
from lapwing.curator.ask.query import Query
from lapwing.curator.ask.quote import NO_LEDGER, Expectation, Quote
from lapwing.curator.ask.unprotected import Unprotected
from lapwing.curator.plan.ladders import Ladder, bins, dates
from lapwing.curator.show.answer import Answer, Column, Table
from lapwing.curator.show.distribution import Distribution, Quantity
from lapwing.curator.show.statement import Statement
from lapwing.curator.streams.answers import History
from lapwing.curator.streams.numeric_stream import NumericStream, NumericTotal, open_numeric_stream
from lapwing.curator.streams.opening import StreamQuestion
from lapwing.curator.streams.quote import AllocationError, StreamQuote
from lapwing.curator.streams.stream import Stream
from lapwing.curator.tables.check import Check, ColumnCheck, PerUnit
from lapwing.curator.tables.descriptions import describe, open_described
from lapwing.curator.tables.opening import open, public
from lapwing.curator.tables.proposals import Proposal, bounds
from lapwing.curator.tables.streams import open_stream
from lapwing.curator.tables.table import EACH_ROW, Grouped, PrivateTable, PublicTable

checks.add_examples(
    column="'age'",
    levels="['region', 'town']",
    sets="[['sex', 'age_group'], ['age_group', 'region']]",
    source="'visits.csv'",
    sql="'SELECT COUNT(*) FROM visits'",
    unit="'patient_id'",
    **{"dates.column": "'day'", "dates.start": "'2025-01-01'", "dates.end": "'2025-12-31'"},
)

__all__ = [
    "EACH_ROW",
    "NO_LEDGER",
    "Aggregate",
    "AllocationError",
    "Answer",
    "Check",
    "Column",
    "ColumnCheck",
    "Distribution",
    "Expectation",
    "Grouped",
    "History",
    "Ladder",
    "Marginals",
    "MarginalsQuestion",
    "NumericStream",
    "NumericTotal",
    "PerUnit",
    "PrivateTable",
    "Proposal",
    "PublicTable",
    "Quantity",
    "Query",
    "Quote",
    "Statement",
    "Stream",
    "StreamQuestion",
    "StreamQuote",
    "Table",
    "Unprotected",
    "bins",
    "bounds",
    "cdf",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "dates",
    "describe",
    "geometric_mean",
    "histogram",
    "mean",
    "median",
    "open",
    "open_described",
    "open_numeric_stream",
    "open_stream",
    "public",
    "quantile",
    "std",
    "sum",
    "top_k",
    "units",
    "variance",
]
