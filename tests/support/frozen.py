"""What was made with Lapwing 0.1.0 and must open for ever, in the words of that version.

tests/upgrade/make.py wrote the files in tests/upgrade/0.1.0 from it, the tests beside them open them. Neither the files
nor the lines below are ever made anew: a new format gets a folder of its own beside this one.
"""

from __future__ import annotations

from pathlib import Path

FILES = Path(__file__).parents[1] / "upgrade" / "0.1.0"

TOWNS = "['Oslo', 'Bergen', 'Trondheim', 'Stavanger']"
WORDS = "['abc', 'bcd', 'abc', 'fed', 'abc', 'gh']"

PROTOCOLS: dict[str, tuple[str, str]] = {
    "yes or no, coins": ("BinaryResponse.from_coins(0.5, 0.5)", "[1, 0, 1, 1]"),
    "yes or no, gamma": ("BinaryResponse.from_gamma(0.75)", "[1, 0, 1, 1]"),
    "yes or no, epsilon": ("BinaryResponse.from_epsilon(1)", "[1, 0, 1, 1]"),
    "yes or no, plain": ("BinaryResponse(yes_if_yes=0.75, yes_if_no=0.25)", "[1, 0, 1, 1]"),
    "category, epsilon": ("CategoryResponse.from_epsilon(1, domain=['bus', 'bike', 'car'])", "['bus', 'car', 'bus']"),
    "category, plain": ("CategoryResponse(domain=4, keep=0.7)", "[0, 1, 2, 3, 0]"),
    "unary, optimised": (f"UnaryEncoding.optimized(2, domain={TOWNS})", TOWNS),
    "unary, symmetric": (f"UnaryEncoding.symmetric(epsilon=2, domain={TOWNS})", TOWNS),
    "unary, plain": ("UnaryEncoding(domain=3, one_if_true=0.5, one_if_other=0.125)", "[0, 1, 2]"),
    "rounding, epsilon": ("StochasticRounding.from_epsilon(1, bounds=(-10, 30))", "[0, 5.5, 30, -40]"),
    "rounding, plain": ("StochasticRounding(bounds=(0, 1), flip=0.25)", "[0, 1, 0.5]"),
    "piecewise, epsilon": ("Piecewise.from_epsilon(2, bounds=(-10, 30))", "[0, 5.5, 30, -40]"),
    "Hadamard response": (f"HadamardResponse(epsilon=1, domain={TOWNS}, rows=1)", TOWNS),
    "Hadamard response, two rows": (f"HadamardResponse(epsilon=2, domain={TOWNS}, rows=2)", TOWNS),
    "local hashing": ("LocalHashing(epsilon=2, salt='a', functions=64)", TOWNS),
    "count mean sketch": ("CountMeanSketch(epsilon=4, functions=16, width=32, salt='a')", TOWNS),
    "Hadamard sketch": ("HadamardCountMeanSketch(epsilon=2, functions=16, width=32, salt='a')", TOWNS),
    "RAPPOR": ("Rappor.from_symbols(k=32, h=2, m=4, f=0.5, p=0.5, q=0.75, salt=b'a')", TOWNS),
    "RAPPOR, in words": (
        "Rappor(bits=32, hashes=2, cohorts=4, permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75, salt=b'a')",
        TOWNS,
    ),
    "RAPPOR, one time": ("OneTimeRappor(bits=32, hashes=2, cohorts=4, permanent_noise=0.5, salt=b'a')", TOWNS),
    "RAPPOR, basic": (
        f"BasicRappor(domain={TOWNS}, permanent_noise=0.5, one_if_unset=0.25, one_if_set=0.75)",
        TOWNS,
    ),
    "RAPPOR, basic and one time": (f"BasicOneTimeRappor(domain={TOWNS}, permanent_noise=0.5)", TOWNS),
    "fragments": (
        "SequenceFragmentPuzzle(epsilon_fragments=3, epsilon_strings=4, functions=8, width=16, length=6,"
        " alphabet='abcdefgh', pieces=4, salt='a')",
        WORDS,
    ),
    "prefix extension": (
        "PrefixExtension(epsilon=3, alphabet='abcdefgh', length=6, start=3, step=3, functions=16, salt='a')",
        WORDS,
    ),
    "TreeHist": (
        "TreeHist(epsilon=3, alphabet='abcdefgh', length=6, start=3, step=3, functions=8, width=16, salt='a')",
        WORDS,
    ),
    "unknown dictionary": (
        "UnknownDictionary(whole=OneTimeRappor(bits=16, hashes=2, cohorts=2, permanent_noise=0.5, salt=b'a'),"
        " fragment=OneTimeRappor(bits=16, hashes=2, cohorts=2, permanent_noise=0.25, salt=b'b'),"
        " alphabet='abcdefgh', length=6)",
        WORDS,
    ),
    "monitoring": ("Monitoring(epsilon=2, steps=8, changes=2)", "[[0, 0, 1, 1, 1, 0, 0, 0], [1] * 8]"),
}
"""Every way to make a protocol, and what people answer."""

CSV = "\n".join(
    [
        "patient,age,cost,region,smoker,day",
        *(
            f"p{i % 40},{20 + i % 60},{100 * (i % 7)},{('North', 'South')[i % 3 == 0]},{('false', 'true')[i % 2]},"
            f"2026-01-{1 + i % 28:02}"
            for i in range(120)
        ),
        "",
    ]
)

OPENED = (
    "lw.open(folder / 'visits.csv', unit='patient', name='visits', dataset='visits',"
    " bounds={'age': (0, 120), 'cost': (0, 1000)},"
    " keys={'region': ['North', 'South'], 'smoker': [False, True]}, types={'day': 'date', 'smoker': 'boolean'},"
    " max_groups_per_unit=2, max_rows_per_group=3, **more)"
)
"""A private table over CSV; `folder` and `more` are variables."""

QUESTIONS: dict[str, str] = {
    "count": "table.agg(lw.count())",
    "count of a column": "table.agg(lw.count('age'))",
    "units": "table.agg(lw.units())",
    "count distinct": "table.agg(lw.count_distinct('day'))",
    "sum": "table.agg(lw.sum('cost'))",
    "sum with bounds": "table.agg(lw.sum('cost', bounds=(0, 500), name='total', weight=2))",
    "mean": "table.agg(lw.mean('age'))",
    "variance": "table.agg(lw.variance('age'))",
    "std": "table.agg(lw.std('age'))",
    "covariance": "table.agg(lw.covariance('age', 'cost'))",
    "correlation": "table.agg(lw.correlation('age', 'cost'))",
    "median": "table.agg(lw.median('age'))",
    "quantile": "table.agg(lw.quantile('cost', 0.9, bounds=(0, 800)))",
    "histogram": "table.agg(lw.histogram('age', edges=[0, 30, 60, 120]))",
    "top": "table.agg(lw.top_k('region', 1))",
    "by region": "table.group_by('region', 'smoker').agg(lw.count(), lw.mean('age'))",
    "where": "table.where('age >= 30 AND region = \\'North\\'').agg(lw.count(), lw.sum('cost'))",
    "sql": (
        "table.query('SELECT region, COUNT(*) AS n, AVG(cost) AS mean_cost FROM visits"
        " WHERE age BETWEEN 18 AND 65 GROUP BY region HAVING COUNT(*) > 3 ORDER BY n DESC LIMIT 5')"
    ),
    "sql of medians": "table.query('SELECT MEDIAN(age) AS middle, STDDEV(cost) AS spread FROM visits')",
    "sql per person": (
        "table.query('SELECT AVG(total) AS mean_total FROM"
        " (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient) AS people',"
        " bounds={'total': (0, 3000)})"
    ),
    "having rows": "table.having_rows_in(table.where('cost > 500')).agg(lw.units())",
    "union": (
        "table.query('SELECT COUNT(*) AS n FROM (SELECT patient, age FROM visits WHERE age < 30"
        " UNION ALL SELECT patient, age FROM visits WHERE age > 60) AS ends')"
    ),
    "join": (
        "table.query('SELECT z.area, COUNT(*) AS n FROM visits JOIN areas AS z ON visits.region = z.region"
        " GROUP BY z.area', tables={'areas': areas})"
    ),
    "join of a person": (
        "table.query('SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b ON a.patient = b.patient"
        " AND a.day = b.day')"
    ),
}
"""A question of every kind of aggregate, and some of every kind of step."""
AREAS = "lw.public(folder / 'areas.csv', name='areas')"
AREAS_CSV = "region,area\nNorth,coast\nSouth,hills\n"
"""A public table to join with."""

LOSSES: dict[str, tuple[str, str]] = {
    "pure": ("lw.PureDP(4, unit='patient')", "epsilon=0.5"),
    "approximate": ("lw.ApproxDP(4, 1e-5, unit='patient')", "epsilon=0.5, delta=1e-6"),
    "concentrated": ("lw.ZCDP(1, unit='patient')", "rho=0.125"),
}
"""What was allowed in a ledger of each kind, and what one question costs there."""

KEYED = "by region"
"""The question that was asked with a key in every ledger."""

DEVICE = (
    "Device(folder / 'device.db', {'emoji': Donation(protocol=CountMeanSketch(epsilon=4, functions=16, width=32),"
    " lifetime=12, per_day=1)})"
)
LIFETIME = (
    "Lifetime(LifetimePolicy(allowance=PureDP(8, relation='replace'), period=timedelta(days=7),"
    " groups=[QuestionGroup(name='travel', questions=['to work'], charge=2)]), folder / 'lifetime.db')"
)
POLL = "UnaryEncoding.optimized(epsilon=1, domain=['bus', 'bike', 'car'])"
MEMO = (
    "Memo.on_device(folder / 'memo.key', protocol=BasicRappor(domain=['bus', 'bike'], permanent_noise=0.5,"
    " one_if_unset=0.25, one_if_set=0.75), question='to work')"
)
