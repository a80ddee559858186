"""What SQL is refused: each fragment by name, with what to write instead, and nothing but our own errors."""
# ruff: noqa: E501 – a question, its fragment and its alternative on a line

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.errors import LapwingError, MissingBounds, UnsupportedQuery


def _table(name: str, unit: Any = "patient_id") -> lw.PrivateTable:
    frame = pd.DataFrame(
        {
            "patient_id": ["a", "b", "b"],
            "friend_id": ["b", "a", "c"],
            "region": ["North", "South", None],
            "age": [10, 20, 30],
            "cost": [1.5, 2.5, None],
            "smoker": [True, False, True],
        }
    )
    bounds = {"age": (0, 100), "cost": (0, 500)}
    return lw.open(frame, unit=unit, bounds=bounds, keys={"region": ["North", "South"]}, name=name)


VISITS = _table("visits")
STAYS = _table("stays")
ROWS = _table("visits", lw.EACH_ROW)
PLACES = lw.public([{"region": "North", "people": 5}, {"region": "North", "people": 7}], name="places")
MORE = lw.public([{"region": "North", "people": 5}], name="more")
OTHERS = [STAYS, PLACES, MORE]

JOINED = "SELECT COUNT(*) FROM visits v JOIN stays s ON "
REFUSED: dict[str, tuple[str, str, str]] = {
    # the unit is known by where it comes from, not by its name
    "a friend called like the unit": (
        "SELECT COUNT(*) FROM (SELECT friend_id AS patient_id FROM visits) v JOIN stays s ON v.patient_id = s.patient_id",
        "JOIN stays AS s ON v.patient_id = s.patient_id",
        "s.patient_id",
    ),
    "a function of the unit": (JOINED + "lower(v.patient_id) = s.patient_id", "LOWER(v.patient_id)", "in a column of the source"),
    "the unit computed": (JOINED + "COALESCE(v.patient_id, 'x') = s.patient_id", "COALESCE", "ON v.patient_id"),
    "the unit by cases": (
        "SELECT COUNT(*) FROM (SELECT CASE WHEN age > 5 THEN patient_id ELSE friend_id END AS patient_id FROM visits) v "
        "JOIN stays s USING (patient_id)",
        "JOIN stays AS s USING (patient_id)",
        "s.patient_id",
    ),
    "the unit or something": (JOINED + "v.patient_id = s.patient_id OR v.age = s.age", "OR v.age = s.age", "after AND"),
    "not the unit": (JOINED + "NOT v.patient_id = s.patient_id", "NOT v.patient_id", "after AND"),
    "another than the unit": (JOINED + "v.patient_id <> s.patient_id", "<>", "ON v.patient_id = s.patient_id"),
    "a friend": (JOINED + "v.friend_id = s.patient_id", "v.friend_id = s.patient_id", "v.patient_id = s.patient_id"),
    "private tables on another column": (JOINED + "v.region = s.region", "v.region = s.region", "v.patient_id"),
    "the outer side of a left join as unit": (
        "SELECT COUNT(*) FROM (SELECT s.patient_id AS u FROM visits v LEFT JOIN stays s USING (patient_id)) x "
        "JOIN stays z ON x.u = z.patient_id",
        "x.u = z.patient_id",
        "z.patient_id",
    ),
    "a public column called like the unit": (
        "SELECT COUNT(*) FROM (SELECT p.region AS patient_id FROM visits v JOIN places p USING (region)) x "
        "JOIN stays s USING (patient_id)",
        "USING (patient_id)",
        "s.patient_id",
    ),
    "every unit a group": ("SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id", "patient_id", "several units"),
    # joins
    "right join": ("SELECT COUNT(*) FROM visits v RIGHT JOIN stays s USING (patient_id)", "RIGHT JOIN", "LEFT JOIN"),
    "full join": ("SELECT COUNT(*) FROM visits v FULL JOIN stays s USING (patient_id)", "FULL JOIN", "LEFT JOIN"),
    "outer join that keeps public rows": (
        "SELECT COUNT(*) FROM places p LEFT JOIN visits v ON p.region = v.region", "LEFT JOIN", "private table first",
    ),
    "outer join that keeps public rows, from the right": (
        "SELECT COUNT(*) FROM visits v RIGHT JOIN places p ON p.region = v.region", "RIGHT JOIN", "LEFT JOIN",
    ),
    "cross join": ("SELECT COUNT(*) FROM visits CROSS JOIN stays", "CROSS JOIN stays", "JOIN … ON"),
    "comma": ("SELECT COUNT(*) FROM visits v, stays s WHERE v.patient_id = s.patient_id", "stays", "JOIN … ON"),
    "join without condition": ("SELECT COUNT(*) FROM visits JOIN places", "places", "JOIN … ON"),
    "natural join": ("SELECT COUNT(*) FROM visits NATURAL JOIN stays", "NATURAL JOIN", "JOIN … ON"),
    "positional join": ("SELECT COUNT(*) FROM visits POSITIONAL JOIN stays", "POSITIONAL JOIN", "JOIN … ON"),
    "asof join": (
        "SELECT COUNT(*) FROM visits v ASOF JOIN stays s ON v.patient_id = s.patient_id AND v.age >= s.age",
        "ASOF", "JOIN … ON",
    ),
    "semi join": ("SELECT COUNT(*) FROM visits SEMI JOIN stays USING (patient_id)", "SEMI JOIN", "EXISTS"),
    "anti join": ("SELECT COUNT(*) FROM visits ANTI JOIN stays USING (patient_id)", "ANTI JOIN", "NOT EXISTS"),
    "lateral": (
        "SELECT COUNT(*) FROM visits v, LATERAL (SELECT age FROM stays s WHERE s.age > v.age) x", "LATERAL", "JOIN",
    ),
    "lateral with on": (
        "SELECT COUNT(*) FROM visits v JOIN LATERAL (SELECT age FROM stays s) x ON TRUE", "LATERAL", "There are",
    ),
    "nested join": (
        "SELECT COUNT(*) FROM visits v JOIN (stays s JOIN places p USING (region)) ON v.patient_id = s.patient_id",
        "JOIN places", "one join after the other",
    ),
    "public with unequal": (
        "SELECT COUNT(*) FROM visits v JOIN places p ON v.age > p.people", "v.age > p.people", "places.x",
    ),
    "public, outer, with more than equality": (
        "SELECT COUNT(*) FROM visits v LEFT JOIN places p ON v.region = p.region AND v.age > 3", "v.age > 3", "CASE",
    ),
    "two public tables": ("SELECT COUNT(*) FROM places JOIN more USING (region)", "more", "private table"),
    "nothing private": ("SELECT COUNT(*) FROM places", "places", "directly"),
    "nothing private inside": ("SELECT COUNT(*) FROM visits JOIN (SELECT * FROM places) p USING (region)", "places", "directly"),
    "one name for two tables": ("SELECT COUNT(*) FROM visits JOIN stays visits USING (patient_id)", "visits", "AS other"),
    "exists in on": (
        JOINED + "v.patient_id = s.patient_id AND EXISTS (SELECT 1 FROM stays z WHERE z.patient_id = v.patient_id)",
        "EXISTS", "WHERE",
    ),
    # sub-queries
    "a sub-query with groups of several people": (
        "SELECT AVG(n) FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) t", "GROUP BY region", "the unit",
    ),
    "a sub-query of everybody": ("SELECT COUNT(*) FROM (SELECT AVG(age) AS a FROM visits) t", "AVG(age)", "the unit"),
    "a scalar sub-query": (
        "SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)", "(SELECT AVG(age) FROM visits)", "join",
    ),
    "a scalar sub-query among the columns": ("SELECT COUNT(*), (SELECT 1) FROM visits", "(SELECT 1)", "EXISTS"),
    "a correlated sub-query": (
        "SELECT COUNT(*) FROM visits v WHERE age = (SELECT MAX(age) FROM stays s WHERE s.region = v.region)",
        "SELECT MAX(age)", "EXISTS",
    ),
    "a correlated sub-query in from": (
        "SELECT COUNT(*) FROM visits v JOIN (SELECT patient_id FROM stays WHERE age > v.age) s USING (patient_id)",
        "v.age", "no such column",
    ),
    "exists on another column": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.region = v.region)",
        "s.region = v.region", "join the two on the unit",
    ),
    "exists on the unit and another column": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS "
        "(SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id AND s.age > v.age)",
        "s.age > v.age", "join the two on the unit",
    ),
    "exists on a friend": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.friend_id)",
        "s.patient_id = v.friend_id", "join the two on the unit",
    ),
    "exists of a friend": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.friend_id = v.patient_id)",
        "s.friend_id = v.patient_id", "join the two on the unit",
    ),
    "exists about nobody": (
        "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM stays WHERE age > 90)", "EXISTS", "other.patient_id",
    ),
    "exists with a name that means the inner table": (
        "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM stays WHERE stays.patient_id = patient_id)",
        "EXISTS", "other.patient_id",
    ),
    "exists after or": (
        "SELECT COUNT(*) FROM visits v WHERE smoker OR EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id)",
        "EXISTS", "AND",
    ),
    "exists in an aggregate": (
        "SELECT SUM(CASE WHEN EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id) THEN 1 END) FROM visits v",
        "EXISTS", "AND",
    ),
    "exists of an aggregate": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT COUNT(*) FROM stays s WHERE s.patient_id = v.patient_id)",
        "COUNT(*)", "SELECT 1",
    ),
    "exists with groups": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS "
        "(SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id GROUP BY s.region)",
        "GROUP BY", "FROM (…)",
    ),
    "exists with limit": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays s WHERE s.patient_id = v.patient_id LIMIT 1)",
        "LIMIT 1", "leave it out",
    ),
    "exists of public rows": (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM places p WHERE p.region = v.region)", "places", "join",
    ),
    "in over another column": (
        "SELECT COUNT(*) FROM visits WHERE region IN (SELECT region FROM stays)", "region IN", "public table",
    ),
    "unit in another column": (
        "SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT friend_id FROM stays)", "patient_id IN", "SELECT unit",
    ),
    "friend in the unit": (
        "SELECT COUNT(*) FROM visits WHERE friend_id IN (SELECT patient_id FROM stays)", "friend_id IN", "SELECT unit",
    ),
    "in after or": (
        "SELECT COUNT(*) FROM visits WHERE smoker OR patient_id IN (SELECT patient_id FROM stays)", "IN (SELECT", "AND",
    ),
    "any": ("SELECT COUNT(*) FROM visits WHERE age = ANY (SELECT age FROM stays)", "ANY", "EXISTS"),
    "all": ("SELECT COUNT(*) FROM visits WHERE age > ALL (SELECT age FROM stays)", "ALL", "EXISTS"),
    "limit inside": ("SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 5) t", "LIMIT 5", "end of the whole query"),
    "offset inside": ("SELECT COUNT(*) FROM (SELECT age FROM visits OFFSET 5) t", "OFFSET 5", "end of the whole query"),
    "order inside": ("SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY age) t", "ORDER BY age", "end of the whole"),
    "limit in with": ("WITH t AS (SELECT age FROM visits LIMIT 5) SELECT COUNT(*) FROM t", "LIMIT 5", "end of the whole"),
    "limit of a union": (
        "SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION SELECT patient_id FROM stays LIMIT 3) t",
        "LIMIT 3", "end of the whole",
    ),
    "sample of a table": ("SELECT COUNT(*) FROM visits TABLESAMPLE 10%", "TABLESAMPLE", "max_rows_per_group"),
    "sample": ("SELECT COUNT(*) FROM visits USING SAMPLE 10", "SAMPLE", "max_rows_per_group"),
    "sample inside": ("SELECT COUNT(*) FROM (SELECT age FROM visits USING SAMPLE 1) t", "SAMPLE", "max_rows_per_group"),
    "qualify": ("SELECT COUNT(*) FROM (SELECT age FROM visits QUALIFY age > 3) t", "QUALIFY", "Group by the unit"),
    "recursion": ("WITH RECURSIVE t AS (SELECT age FROM visits) SELECT COUNT(*) FROM t", "RECURSIVE", "without RECURSIVE"),
    "with and names of columns": ("WITH t(a) AS (SELECT age FROM visits) SELECT COUNT(a) FROM t", "a", "SELECT x AS y"),
    "names of columns": ("SELECT COUNT(a) FROM visits AS v(a)", "a", "SELECT x AS y"),
    "distinct without the unit": ("SELECT COUNT(*) FROM (SELECT DISTINCT region FROM visits) t", "UNION", "the unit column"),
    "distinct on": (
        "SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) patient_id, age FROM visits) t", "patient_id", "MIN or MAX",
    ),
    "union without the unit": (
        "SELECT COUNT(*) FROM (SELECT region FROM visits UNION SELECT region FROM stays) t", "UNION", "the unit column",
    ),
    "union with the unit in another place": (
        "SELECT COUNT(*) FROM (SELECT patient_id, friend_id FROM visits UNION SELECT friend_id, patient_id FROM stays) t",
        "UNION", "same columns",
    ),
    "union of other kinds": (
        "SELECT COUNT(*) FROM (SELECT patient_id, age FROM visits UNION SELECT patient_id, region FROM stays) t",
        "UNION", "same columns",
    ),
    "union by name": (
        "SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION BY NAME SELECT patient_id FROM stays) t",
        "BY_NAME", "same order",
    ),
    "except all": (
        "SELECT COUNT(*) FROM (SELECT patient_id FROM visits EXCEPT ALL SELECT patient_id FROM stays) t",
        "EXCEPT ALL", "Write EXCEPT",
    ),
    "a quantile per unit": (
        "SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(age) AS m FROM visits GROUP BY patient_id) t", "per unit", "MIN or MAX",
    ),
    "any value per unit": (
        "SELECT AVG(m) FROM (SELECT patient_id, ANY_VALUE(age) AS m FROM visits GROUP BY patient_id) t",
        "ANY_VALUE", "AVG",
    ),
    "neither key nor total": (
        "SELECT AVG(age) FROM (SELECT patient_id, age FROM visits GROUP BY patient_id) t", "age", "GROUP BY",
    ),
    "values": ("SELECT COUNT(*) FROM (VALUES (1)) v", "VALUES", "There are"),
    # aggregates
    "min": ("SELECT MIN(age) FROM visits", "MIN(age)", "QUANTILE(age, 0.01)"),
    "max": ("SELECT MAX(age) FROM visits", "MAX(age)", "QUANTILE(age, 0.99)"),
    "max in having": ("SELECT COUNT(*) FROM visits HAVING MAX(age) > 3", "MAX(age)", "QUANTILE(age, 0.99)"),
    **{
        name: (f"SELECT {name} FROM visits", name.partition("(")[0], "AVG")
        for name in (
            "ANY_VALUE(age)", "FIRST(age)", "LAST(age)", "ARG_MAX(age, cost)", "MODE(age)", "BIT_AND(age)",
            "KURTOSIS(age)", "REGR_SLOPE(age, cost)",
        )
    },
    "array_agg": ("SELECT ARRAY_AGG(age) FROM visits", "(age)", "AVG"),
    "list": ("SELECT LIST(age) FROM visits", "(age)", "AVG"),
    "string_agg": ("SELECT STRING_AGG(region, ',') FROM visits", "region", "AVG"),
    "bool_or": ("SELECT BOOL_OR(smoker) FROM visits", "smoker", "AVG"),
    "product": ("SELECT PRODUCT(age) FROM visits", "PRODUCT(age)", "Use +"),
    "histogram": ("SELECT HISTOGRAM(age) FROM visits", "HISTOGRAM(age)", "Use +"),
    "approx_count_distinct": ("SELECT APPROX_COUNT_DISTINCT(age) FROM visits", "(age)", "COUNT(DISTINCT x)"),
    "stddev_samp": ("SELECT STDDEV_SAMP(age) FROM visits", "STDDEV_SAMP(age)", "STDDEV_POP"),
    "covar_samp": ("SELECT COVAR_SAMP(age, cost) FROM visits", "COVAR_SAMP", "COVAR_POP"),
    "sum of distinct": ("SELECT SUM(DISTINCT age) FROM visits", "SUM(DISTINCT age)", "SUM(x)"),
    "count of two": ("SELECT COUNT(DISTINCT age, cost) FROM visits", "COUNT(DISTINCT", "COUNT(DISTINCT x)"),
    "ordered sum": ("SELECT SUM(age ORDER BY cost) FROM visits", "ORDER BY", "SUM(x)"),
    "ignore nulls": ("SELECT SUM(age) IGNORE NULLS FROM visits", "SUM(age)", "AVG"),
    "aggregate of aggregate": ("SELECT AVG(SUM(age)) FROM visits", "AVG(SUM(age))", "sub-query"),
    "sum of nothing": ("SELECT SUM(NULL) FROM visits", "SUM(NULL)", "Name a column"),
    "sum of text": ("SELECT SUM(region) FROM visits", "sum(region)", "number"),
    "a quantile without share": ("SELECT QUANTILE(age) FROM visits", "QUANTILE(age)", "0.5"),
    "several quantiles": ("SELECT QUANTILE(age, [0.1, 0.9]) FROM visits", "0.1, 0.9", "Use +"),
    "a quantile of each row": ("SELECT QUANTILE(age, cost / 500) FROM visits", "QUANTILE", "0.5"),
    "within group of two": (
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, cost) FROM visits", "QUANTILE_CONT", "AVG",
    ),
    "a window": ("SELECT SUM(age) OVER (PARTITION BY patient_id) FROM visits", "OVER", "Group by the unit"),
    "a window inside": (
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY age) AS r FROM visits) t WHERE r < 5",
        "ROW_NUMBER()", "Group by the unit",
    ),
    "a sum over a window inside": (
        "SELECT AVG(s) FROM (SELECT SUM(age) OVER (PARTITION BY patient_id) AS s FROM visits) t", "SUM(age) OVER", "a sub-query",
    ),
    "a named window": ("SELECT COUNT(*) OVER w FROM visits WINDOW w AS (ORDER BY age)", "w", "Group by the unit"),
    # rows, groups, columns
    "all columns": ("SELECT * FROM visits", "*", "COUNT(*)"),
    "all columns of a table": ("SELECT visits.* FROM visits", "visits.*", "COUNT(*)"),
    "all columns but one": ("SELECT * EXCLUDE (age) FROM visits", "EXCLUDE", "COUNT(*)"),
    "from without select": ("FROM visits", "*", "COUNT(*)"),
    "star with exceptions inside": ("SELECT COUNT(*) FROM (SELECT * EXCLUDE (age) FROM visits) t", "EXCLUDE", "Name"),
    "a single column": ("SELECT age FROM visits", "age", "AVG(age)"),
    "a column beside an aggregate": ("SELECT region, COUNT(*) FROM visits", "region", "GROUP BY"),
    "a column that is no key": ("SELECT age, COUNT(*) FROM visits GROUP BY region", "age", "GROUP BY"),
    "part of a key": ("SELECT age, COUNT(*) FROM visits GROUP BY age > 3", "age", "GROUP BY"),
    "having about no key": ("SELECT COUNT(*) FROM visits GROUP BY region HAVING age > 3", "age", "GROUP BY"),
    "order by no key": ("SELECT COUNT(*) FROM visits GROUP BY region ORDER BY age", "age", "GROUP BY"),
    "groups without aggregate": ("SELECT region FROM visits GROUP BY region", "SELECT region", "COUNT(*)"),
    "a constant": ("SELECT 1 FROM visits", "SELECT 1", "COUNT(*)"),
    "nothing": ("SELECT 1", "SELECT 1", "FROM"),
    "distinct": ("SELECT DISTINCT region FROM visits", "DISTINCT", "GROUP BY"),
    "distinct with aggregate": ("SELECT DISTINCT COUNT(*) FROM visits GROUP BY region", "DISTINCT", "GROUP BY"),
    "cube": ("SELECT region, COUNT(*) FROM visits GROUP BY CUBE (region, smoker)", "CUBE", "add up"),
    "two rollups": ("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (region), ROLLUP (smoker)", "ROLLUP", "ROLLUP (a, b)"),
    "a rollup twice": ("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (region, region)", "ROLLUP", "once"),
    "a rollup of pairs": ("SELECT COUNT(*) FROM visits GROUP BY ROLLUP ((region, smoker))", "smoker", "ROLLUP (a, b)"),
    "a rollup of medians": (
        "SELECT region, MEDIAN(age) FROM visits GROUP BY ROLLUP (region)", "quantile", "separately"
    ),
    "a rollup of different values": (
        "SELECT region, COUNT(DISTINCT age) FROM visits GROUP BY ROLLUP (region)", "count distinct", "separately"
    ),
    "grouping sets": ("SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((region), ())", "GROUPING SETS", "add up"),
    "group by all": ("SELECT region, COUNT(*) FROM visits GROUP BY ALL", "ALL", "names of the keys"),
    "order by all": ("SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY ALL", "ORDER BY ALL", "Name"),
    "group by an aggregate": ("SELECT COUNT(*) AS n FROM visits GROUP BY n", "COUNT(*)", "HAVING"),
    "group by a number": ("SELECT cost, COUNT(*) FROM visits GROUP BY cost", "cost", "keys="),
    "group by nothing": ("SELECT COUNT(*) FROM visits GROUP BY NULL", "NULL", "column"),
    "a place that does not exist": ("SELECT region, COUNT(*) FROM visits GROUP BY 7", "GROUP BY 7", "name"),
    "a place in order that does not exist": ("SELECT COUNT(*) FROM visits ORDER BY 0", "ORDER BY 0", "name"),
    "having no truth": ("SELECT COUNT(*) FROM visits HAVING COUNT(*)", "COUNT(*)", "comparison"),
    "where no truth": ("SELECT COUNT(*) FROM visits WHERE age", "age", "comparison"),
    "an aggregate in where": ("SELECT COUNT(*) FROM visits WHERE COUNT(*) > 3", "COUNT(*)", "Write HAVING COUNT(*) > 3 after GROUP BY."),
    "an aggregate among conditions": ("SELECT COUNT(*) FROM visits WHERE smoker AND (SUM(cost) > 3)", "SUM(cost)", "Write HAVING SUM(cost) > 3 after"),
    "a row compared with an aggregate": ("SELECT COUNT(*) FROM visits WHERE age > AVG(age)", "AVG(age)", "conditions on groups after HAVING."),
    "an aggregate in a filter": ("SELECT COUNT(*) FILTER (WHERE COUNT(*) > 3) FROM visits", "COUNT(*)", "HAVING COUNT(*) > 3."),
    "an aggregate in a join": ("SELECT COUNT(*) FROM visits JOIN more ON COUNT(*) > visits.age", "COUNT(*)", ""),
    "two names": ("SELECT COUNT(*) AS n, SUM(age) AS n FROM visits", "n", "AS other_n"),
    "limit by an expression": ("SELECT COUNT(*) FROM visits LIMIT 1 + 1", "LIMIT 1 + 1", "LIMIT 10"),
    "limit by a share": ("SELECT COUNT(*) FROM visits LIMIT 10%", "LIMIT 10", "LIMIT 10"),
    "negative limit": ("SELECT COUNT(*) FROM visits LIMIT -1", "LIMIT", "LIMIT 10"),
    "fetch": ("SELECT COUNT(*) FROM visits FETCH FIRST 5 ROWS ONLY", "FETCH", "LIMIT 10"),
    "no such column": ("SELECT SUM(agee) FROM visits", "agee", "age"),
    "no such table for a column": ("SELECT SUM(x.age) FROM visits", "x.age", "age"),
    "a column of two tables": ("SELECT SUM(age) FROM visits JOIN stays USING (patient_id)", "age", "visits.age or stays.age"),
    "a column of another schema": ("SELECT SUM(main.visits.age) FROM visits", "main.visits.age", "Check"),
    "rowid": ("SELECT COUNT(*) FROM visits WHERE rowid < 3", "rowid", "Name a column"),
    "ctid": ("SELECT COUNT(DISTINCT ctid) FROM visits", "ctid", "Name a column"),
    "a part of a column": ("SELECT COUNT(*) FROM visits WHERE region[1] = 'N'", "region[", "Use +"),
    "names by a pattern": ("SELECT SUM(COLUMNS('a.*')) FROM visits", "COLUMNS", "Use +"),
    # functions
    "now": ("SELECT COUNT(*) FROM visits WHERE now() > DATE '2025-01-01'", "NOW()", "constant"),
    "current_date": ("SELECT COUNT(*) FROM visits WHERE current_date > DATE '2025-01-01'", "CURRENT_DATE", "constant"),
    "current_timestamp": ("SELECT COUNT(current_timestamp) FROM visits", "CURRENT_TIMESTAMP", "constant"),
    "random": ("SELECT COUNT(*) FROM visits WHERE random() < 0.5", "RANDOM()", "Noise"),
    "random order": ("SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY random()", "RANDOM()", "Noise"),
    "uuid": ("SELECT COUNT(uuid()) FROM visits", "UUID()", "Noise"),
    "functions of users": ("SELECT COUNT(*) FROM visits WHERE my_function(age) > 3", "MY_FUNCTION(age)", "same result on every engine"),
    "getenv": ("SELECT COUNT(*) FROM visits WHERE getenv('HOME') = 'x'", "GETENV", "same result on every engine"),
    "regular expressions": ("SELECT COUNT(*) FROM visits WHERE regexp_matches(region, '(a+)+$')", "REGEXP", "same result on every engine"),
    "upper": ("SELECT COUNT(*) FROM visits WHERE upper(region) = 'X'", "UPPER(region)", "same result on every engine"),
    "floor with digits": ("SELECT SUM(FLOOR(cost, 2)) FROM visits", "FLOOR(cost", "same result on every engine"),
    "like with escape": ("SELECT COUNT(*) FROM visits WHERE region LIKE 'a!%' ESCAPE '!'", "ESCAPE", "same result on every engine"),
    "order of text": ("SELECT COUNT(*) FROM visits WHERE region < 'M'", "<", "= or IN"),
    "text as a date": ("SELECT COUNT(*) FROM visits WHERE region = DATE '2025-01-01'", "region", "types="),
    "a place for a value": ("SELECT COUNT(*) FROM visits WHERE age > ?", "?", "value itself"),
    "a parameter": ("SELECT COUNT(*) FROM visits WHERE age > $1", "$1", "value itself"),
    "division of whole numbers": ("SELECT SUM(age // 7) FROM visits", "age", "same result on every engine"),
    "too large": ("SELECT COUNT(*) FROM visits WHERE age > 1e999", "1e999", "scale"),
    "half a number": ("SELECT COUNT(*) FROM visits WHERE age > 1e", "1e", "0.5"),
    "half a character": ("SELECT COUNT(*) FROM visits WHERE region = '\ud800'", "ud800", "Unicode"),
    "nul": ("SELECT COUNT(*) FROM visits WHERE region = 'a\0b'", "x00", "Unicode"),
    # other tables, other statements
    "a file": ("SELECT COUNT(*) FROM read_csv('/etc/passwd')", "/etc/passwd", "There are: visits"),
    "a file by its name": ("SELECT COUNT(*) FROM '/etc/passwd'", "/etc/passwd", "There are: visits"),
    "a parquet file": ("SELECT COUNT(*) FROM visits JOIN read_parquet('x') p USING (region)", "x", "There are: visits"),
    "another schema": ("SELECT COUNT(*) FROM information_schema.tables", "information_schema.tables", "There are"),
    "another catalogue": ("SELECT COUNT(*) FROM other.main.visits", "other.main.visits", "There are"),
    "the catalogue": ("SELECT COUNT(*) FROM duckdb_settings()", "DUCKDB_SETTINGS()", "There are"),
    "a table nobody opened": ("SELECT COUNT(*) FROM vists", "vists", "visits"),
    "generated rows": ("SELECT COUNT(*) FROM range(10)", "RANGE", "There are"),
    "unnest": ("SELECT COUNT(*) FROM unnest([1, 2])", "UNNEST", "There are"),
    "pivot": ("SELECT COUNT(*) FROM visits PIVOT (SUM(age) FOR region IN ('North'))", "PIVOT", "GROUP BY"),
    "union at the top": ("SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM stays", "UNION", "one after the other"),
    "into": ("SELECT COUNT(*) INTO x FROM visits", "INTO x", "Leave it out"),
    "for update": ("SELECT COUNT(*) FROM visits FOR UPDATE", "LOCK", "Leave it out"),
    **{
        text: (text, text[:6], "SELECT")
        for text in (
            "INSERT INTO visits VALUES (1)", "UPDATE visits SET age = 1", "DELETE FROM visits", "DROP TABLE visits",
            "CREATE TABLE x AS SELECT * FROM visits", "ALTER TABLE visits DROP COLUMN age", "TRUNCATE TABLE visits",
            "ATTACH 'x.db'", "COPY visits TO 'x.csv'", "PRAGMA database_list", "SET threads = 1",
            "EXPLAIN SELECT 1", "DESCRIBE visits", "SUMMARIZE visits", "VALUES (1)",
            "INSTALL httpfs", "LOAD httpfs", "CALL pragma_version()", "EXPORT DATABASE 'x'",
        )
    },
    "two statements": ("SELECT COUNT(*) FROM visits; DROP TABLE visits", "SELECT COUNT(*)", "for example"),
    "no statement": ("-- nothing", "-- nothing", "for example"),
    "no SQL": ("how many?", "how many?", ""),
    "half a statement": ("SELECT COUNT( FROM visits", "SELECT COUNT(", "for example"),
    "an open quote": ("SELECT COUNT(*) FROM visits WHERE region = 'x", "SELECT", "for example"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_name_with_an_alternative(name: str) -> None:
    text, fragment, instead = REFUSED[name]
    with pytest.raises(UnsupportedQuery) as caught:
        VISITS.query(text, tables=OTHERS)
    error = caught.value
    assert fragment.lower() in error.sql_fragment.lower()
    assert instead.lower() in (error.instead + str(error)).lower()
    assert error.instead.rstrip().endswith((".", "?"))


EACH_ROW = {
    "join": "SELECT COUNT(*) FROM visits v JOIN visits w ON v.patient_id = w.patient_id",
    "several public rows": "SELECT COUNT(*) FROM visits JOIN places USING (region)",
    "exists": "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id)",
    "in": "SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM visits)",
    "distinct": "SELECT COUNT(*) FROM (SELECT DISTINCT patient_id FROM visits) t",
    "union": "SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM visits) t",
    "groups": "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t",
}


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("age = '1'", "an integer is compared with a text"),
        ("region > 1 AND smoker", "an integer is compared with a text"),
        ("smoker = 1.5", "a boolean is compared with a number"),
        ("CAST(DATE '2026-11-15' AS number) > 1", "a date is not a number"),
    ],
)
def test_kinds_have_their_articles(condition: str, why: str) -> None:
    with pytest.raises(UnsupportedQuery, match=why):
        VISITS.where(condition)


DECLARE = "{column} is text (in a CSV, everything is until it is declared). Write types={{{column!r}: {kind!r}}} when you open"


@pytest.mark.parametrize(
    ("condition", "fragment", "instead"),
    [
        ("friend_id = 2007", "friend_id = 2007", DECLARE.format(column="friend_id", kind="integer")),
        ("friend_id >= 20.5 AND smoker", "friend_id >= 20.5", DECLARE.format(column="friend_id", kind="number")),
        ("friend_id IN (1, 2.5)", "friend_id IN (1, 2.5)", DECLARE.format(column="friend_id", kind="number")),
        ("friend_id = age", "friend_id = age", DECLARE.format(column="friend_id", kind="integer")),
        ("friend_id = TRUE", "friend_id = TRUE", DECLARE.format(column="friend_id", kind="boolean")),
        ("region IN ('North', 2)", "region IN ('North', 2)", "region is text. Write text in quotes: '2'."),
        ("age = '30'", "age = '30'", "Write numbers without quotes: 30."),
        ("age = 'old'", "age = 'old'", "Compare values of one kind"),
        ("smoker = 'Yes'", "smoker = 'Yes'", "Write smoker = true, or only smoker, or NOT smoker."),
        ("smoker IN ('n')", "smoker IN ('n')", "Write smoker = false, or only smoker, or NOT smoker."),
        ("NOT age", "NOT age", "Write a comparison"),
        ("smoker AND age", "smoker AND age", "Write a comparison"),
        ("age + region > 3", "age + region", "CAST(x AS number)"),
        ("age LIKE '3%'", "age LIKE '3%'", "x LIKE 'A%'"),
    ],
)
def test_what_does_not_fit_is_shown_as_it_was_written(condition: str, fragment: str, instead: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        VISITS.where(condition)
    assert str(caught.value).startswith(f"{fragment}: ")
    assert instead in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "instead"),
    [
        (lambda: VISITS.where("COUNT(*) > 5"), "Write it in SQL: SELECT … GROUP BY … HAVING COUNT(*) > 5."),
        (
            lambda: VISITS.where("age > AVG(age)"),
            "Write conditions on rows after WHERE, and conditions on groups after HAVING.",
        ),
        (lambda: VISITS.select(total="SUM(cost)"), "Ask for it with agg(), as in .agg(lw.count())."),
        (lambda: VISITS.group_by(total="SUM(cost)"), "Ask for it with agg(), as in .agg(lw.count())."),
    ],
)
def test_an_aggregate_in_an_expression_is_told_where_it_belongs(ask: Callable[[], object], instead: str) -> None:
    with pytest.raises(UnsupportedQuery, match="an expression is about single rows") as caught:
        ask()
    assert caught.value.instead == instead


@pytest.mark.parametrize(
    ("column", "instead"),
    [
        ("age", "Write AVG(age), or add it to GROUP BY."),
        ("region", "Add it to GROUP BY."),
        ("smoker", "Add it to GROUP BY."),
        (
            "friend_id",
            "Add it to GROUP BY. If it holds numbers, declare bounds={'friend_id': (low, high)} when you open the table, "
            "and write AVG(friend_id).",
        ),
    ],
)
def test_an_average_is_only_suggested_of_numbers(column: str, instead: str) -> None:
    with pytest.raises(UnsupportedQuery, match="neither in GROUP BY nor in an aggregate") as caught:
        VISITS.query(f"SELECT {column}, COUNT(*) FROM visits")
    assert caught.value.instead == instead


QUOTES = "A name with spaces, brackets or other signs has double quotes."


@pytest.mark.parametrize(
    ("ask", "written"),
    [
        (lambda table: table.where("Body Mass (g) > 3"), '"Body Mass (g)" > 3'),
        (lambda table: table.where("Body Mass = 'x'"), "\"Body Mass\" = 'x'"),
        (lambda table: table.where("bill-length > 3"), '"bill-length" > 3'),
        (lambda table: table.where("Body Mass (g) > 3" + " OR smoker" * 20), '"Body Mass (g)"'),
        (lambda table: table.select("Body Mass"), '"Body Mass"'),
        (lambda table: table.group_by("Body Mass (g)"), '"Body Mass (g)"'),
        (lambda table: table.where('a "b" = 1'), '"a ""b""" = 1'),
        (lambda table: table.query("SELECT AVG(Body Mass (g)) FROM t"), 'SELECT AVG("Body Mass (g)") FROM t'),
    ],
)
def test_a_name_that_needs_quotes_is_written_with_them(ask: Callable[[lw.PrivateTable], object], written: str) -> None:
    names = ["who", "Body Mass (g)", "Body Mass", "bill-length", 'a "b"', "bill.length", "smoker"]
    table = lw.open(pd.DataFrame({name: [1] for name in names}), unit="who", name="t")
    with pytest.raises(UnsupportedQuery) as caught:
        ask(table)
    assert caught.value.instead == f"Write {written}. {QUOTES}"


@pytest.mark.parametrize("condition", ['"Body Mass" = (', "smoker = (", "smokr = 1 OR bill.length = 1"])
def test_quotes_are_not_suggested_where_they_are_not_missing(condition: str) -> None:
    names = ["who", "Body Mass", "bill.length", "smoker"]
    table = lw.open(pd.DataFrame({name: [1] for name in names}), unit="who", bounds={"bill.length": (0, 1)})
    with pytest.raises(UnsupportedQuery) as caught:
        table.where(condition)
    assert QUOTES not in caught.value.instead


def test_a_record_in_place_of_names_is_not_repeated_with_quotes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ada,Lovelace (Byron),1815\nbob,B,1\n")
    table = lw.open(tmp_path / "t.csv", unit="ada")
    with pytest.raises(UnsupportedQuery) as caught:
        table.where("Lovelace (Byron) = 1 (")
    assert QUOTES not in caught.value.instead


@pytest.mark.parametrize("name", EACH_ROW)
def test_where_every_row_is_a_unit_nothing_makes_one_of_many_or_many_of_one(name: str) -> None:
    with pytest.raises(UnsupportedQuery):
        ROWS.query(EACH_ROW[name], tables=OTHERS[1:])


def test_where_every_row_is_a_unit_rows_are_filtered_and_joined_with_unique_public_rows() -> None:
    text = "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 3) v JOIN more USING (region)"
    assert ROWS.query(text, tables=[MORE]).plan is not None


@pytest.mark.parametrize("text", ["", " ", "\n", None, 5, b"SELECT 1", ["SELECT 1"]])
def test_what_is_no_text_is_told(text: Any) -> None:
    with pytest.raises(LapwingError):
        VISITS.query(text)


DEEP = {
    "parentheses": f"SELECT COUNT(*) FROM visits WHERE {'(' * 3000}age > 1{')' * 3000}",
    "sub-queries": f"SELECT COUNT(*) FROM {'(SELECT age FROM ' * 200}visits{')' * 200}",
    "sums": f"SELECT COUNT(*) FROM visits WHERE {'+'.join(['age'] * 5000)} > 1",
    "sums of aggregates": f"SELECT {'+'.join(['COUNT(*)'] * 3000)} FROM visits",
    "not": f"SELECT COUNT(*) FROM visits WHERE {'NOT ' * 3000} smoker",
    "minus": f"SELECT {'- ' * 3000} COUNT(*) FROM visits",
    "case": f"SELECT SUM({'CASE WHEN smoker THEN ' * 300}1{' END' * 300}) FROM visits",
    "unions": f"SELECT COUNT(*) FROM ({' UNION ALL '.join(['SELECT patient_id FROM visits'] * 3000)}) t",
    "doubling": "WITH t0 AS (SELECT patient_id FROM visits), "
    + ", ".join(f"t{i + 1} AS (SELECT a.patient_id FROM t{i} a JOIN t{i} b USING (patient_id))" for i in range(60))
    + " SELECT COUNT(*) FROM t60",
    "doubling by exists": "WITH t0 AS (SELECT patient_id FROM visits), "
    + ", ".join(f"t{i + 1} AS (SELECT * FROM t{i} WHERE patient_id IN (SELECT * FROM t{i}))" for i in range(60))
    + " SELECT COUNT(*) FROM t60",
    "doubling by unions": "WITH t0 AS (SELECT patient_id FROM visits), "
    + ", ".join(f"t{i + 1} AS (SELECT * FROM t{i} UNION ALL SELECT * FROM t{i})" for i in range(60))
    + " SELECT COUNT(*) FROM t60",
    "powers": "SELECT SUM(" + " * ".join(["age"] * 99) + " * " + " * ".join(["cost"] * 99) + ") FROM visits",
    "digits": f"SELECT COUNT(*) FROM visits WHERE age > {'9' * 5000}",
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_endless_is_refused_before_it_is_tried(name: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        VISITS.query(DEEP[name])
    assert len(str(caught.value)) < 1000


def test_names_that_are_strange_are_only_names() -> None:
    frame = pd.DataFrame(
        {'u"; DROP TABLE x; --': [1, 1, 2], "größe ' \\ \n": [1, 2, 3], "a.b": [4, 5, 6], "SELECT": [1, 1, 1]}
    )
    table = lw.open(frame, unit='u"; DROP TABLE x; --', bounds={"größe ' \\ \n": (0, 4)}, name='t"; --')
    text = """SELECT SUM("größe ' \\ \n") AS "x""; --", COUNT(DISTINCT "u""; DROP TABLE x; --"), COUNT("a.b")
              FROM "t""; --" AS "ü.ü" WHERE "select" = 1 AND "ü.ü"."a.b" > 4"""
    answer = table.sql(text, epsilon=10**20, max_rows_per_group=5)
    assert [(column.name, column.values) for column in answer.columns] == [
        ('x"; --', (5.0,)), ("units", (2,)), ("count_a.b", (2,)),
    ]  # fmt: skip


WORDS = [
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "ON", "USING", "AS", "WITH",
    "UNION", "UNION ALL", "EXCEPT", "EXISTS", "IN", "NOT", "AND", "OR", "IS NULL", "BETWEEN", "LIKE", "CASE WHEN", "THEN",
    "ELSE", "END", "DISTINCT", "OVER", "FILTER", "(", ")", "(", ")", ",", ",", "*", "+", "-", "/", "%", "=", "<", ".", ";",
    "visits", "stays", "places", "v", "patient_id", "friend_id", "region", "age", "cost", "smoker", "v.age", "n",
    "COUNT(*)", "SUM(age)", "AVG(cost)", "MEDIAN(age)", "COUNT(DISTINCT patient_id)", "MAX(age)", "1", "0", "2.5", "'x'",
    "NULL", "TRUE", "DATE '2025-01-01'", "INTERVAL", "CAST(", "ASC", "DESC", "NULLS FIRST", "[", "]", "{", "}", "::", "\\",
    "$$", "@", "?", "'", '"', "--", "/*", "*/", "\0", "é", "²", "٣", "😀", "\u202e",
]  # fmt: skip
TOKENS = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=25).map(" ".join)


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tokens=TOKENS)
def test_words_in_any_order_raise_nothing_but_our_errors(tokens: str) -> None:
    for text in (tokens, f"SELECT COUNT(*) FROM visits {tokens}", f"SELECT {tokens} FROM visits v"):
        with contextlib.suppress(LapwingError):
            VISITS.query(text, tables=OTHERS)


VALUES = st.deferred(
    lambda: (
        st.sampled_from(["age", "cost", "region", "smoker", "patient_id", "1", "0.5", "'x'", "NULL", "TRUE", "-7"])
        | st.tuples(VALUES, st.sampled_from(["+", "*", "-", "/", "%", "=", "<", "AND", "OR", "<>"]), VALUES).map(
            lambda parts: f"({' '.join(parts)})"
        )
        | st.tuples(st.sampled_from(["ABS", "FLOOR", "COALESCE", "NOT", "LENGTH", "CAST"]), VALUES).map(
            lambda parts: f"CAST({parts[1]} AS number)" if parts[0] == "CAST" else f"{parts[0]}({parts[1]})"
        )
        | st.tuples(VALUES, VALUES, VALUES).map(lambda parts: "CASE WHEN {} THEN {} ELSE {} END".format(*parts))
        | VALUES.map(lambda value: f"{value} IN (1, 2, NULL)")
        | VALUES.map(lambda value: f"({value} IS NULL)")
    )
)
AGGREGATES = st.one_of(
    st.just("COUNT(*)"),
    st.tuples(st.sampled_from(["COUNT", "SUM", "AVG", "VAR_POP", "COUNT(DISTINCT"]), VALUES).map(
        lambda parts: f"{parts[0]}({parts[1]})" + (")" if "(" in parts[0] else "")
    ),
)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(aggregate=AGGREGATES, condition=VALUES, inner=VALUES, key=VALUES, shape=st.integers(0, 3))
def test_what_is_read_is_answered(aggregate: str, condition: str, inner: str, key: str, shape: int) -> None:
    """No question that is accepted fails in the engine: it would be paid for without an answer."""
    text = [
        f"SELECT {aggregate} AS x FROM visits WHERE {condition}",
        f"SELECT {aggregate} AS x, {key} AS k FROM visits GROUP BY k",
        f"SELECT {aggregate.replace('age', 'z')} AS x FROM (SELECT *, {inner} AS z FROM visits) t WHERE {condition}",
        f"SELECT COUNT(*) AS x FROM (SELECT patient_id, {key} AS k, MIN({inner}) AS z, COUNT({inner}) FROM visits "
        f"GROUP BY patient_id, k HAVING {condition.replace('age', 'COUNT(*)')}) t",
    ][shape]
    try:
        query = VISITS.query(text)
    except (UnsupportedQuery, MissingBounds, lw.errors.InvalidParameter):
        return
    query.release(epsilon=1, delta=1e-9 if query.grouping.secret else None)
