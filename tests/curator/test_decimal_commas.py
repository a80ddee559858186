"""Text with decimal commas and German dates: read by one rule for each cell, whatever stands in the other rows."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from nearly import strange
from oracle import from_text

import lapwing as lw
from lapwing.curator.plan.text_forms import Notation, meaning, notation
from lapwing.curator.tables.descriptions import describe, open_described
from lapwing.curator.tables.sources import find_source, rows_of
from lapwing.errors import InvalidParameter

ANA = """Patient;Umsatz;Kinder;Datum;Ort
p1;1.234,50;2;31.12.2026;Köln
p2;1234,5;1.000;01.02.2026;Köln
p3;-3,0;0;2026-02-01;Bonn
p4;12.5;1,5;31.02.2026;Bonn
"""
TYPES: dict[str, Any] = {"Umsatz": "number", "Kinder": "integer", "Datum": "date", "Ort": "text"}
BOUNDS = {"Umsatz": (-10, 2000), "Kinder": (0, 2000)}
EXACT = 10**9


@pytest.fixture
def ana(tmp_path: Path) -> Path:
    path = tmp_path / "ana.csv"
    path.write_text(ANA, encoding="utf-8")
    return path


def opened(path: Path, **more: Any) -> lw.curator.PrivateTable:
    return lw.open(path, unit="Patient", types=TYPES, bounds=BOUNDS, delimiter=";", **more)


def answer(table: lw.curator.PrivateTable, sql: str) -> list[tuple[Any, ...]]:
    """What a SELECT says, next to without noise."""
    return [tuple(row.values()) for row in table.sql(sql, epsilon=EXACT).table]


def test_filters_groups_and_aggregates_read_the_same_numbers_and_dates(ana: Path) -> None:
    table = opened(ana, decimal=",", keys={"Ort": ["Köln", "Bonn"]})
    [(total, kids, known)] = answer(table, "SELECT SUM(Umsatz), SUM(Kinder), COUNT(Umsatz) FROM ana")
    assert (total, kids, known) == (pytest.approx(2466, abs=1e-3), 1002, 3)
    assert answer(table, "SELECT COUNT(*) FROM ana WHERE Umsatz = 1234.5") == [(2,)]
    assert answer(table, "SELECT COUNT(*) FROM ana WHERE Datum = DATE '2026-02-01'") == [(2,)]
    assert answer(table, "SELECT COUNT(*) FROM ana WHERE Datum IS NULL") == [(1,)]
    assert answer(table, "SELECT Ort, COUNT(Kinder) FROM ana GROUP BY Ort") == [("Köln", 2), ("Bonn", 1)]
    days = [dt.date(2026, 2, 1), dt.date(2026, 12, 31)]
    grouped = table.group_by("Datum", keys={"Datum": days}).agg(lw.count()).release(epsilon=EXACT)
    assert [tuple(row.values()) for row in grouped.table] == [(days[0], 2), (days[1], 1)]


def test_with_a_decimal_point_nothing_is_read_otherwise_than_before(ana: Path) -> None:
    for table in (opened(ana), opened(ana, decimal=".")):
        assert answer(table, "SELECT COUNT(Umsatz), COUNT(Kinder), COUNT(Datum) FROM ana") == [(1, 2, 1)]
    assert find_source(ana, delimiter=";") == find_source(ana, delimiter=";", notation=notation("."))


def test_a_public_table_is_read_by_the_same_rule(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text('plz,preis,ab\n50667,"1.234,50",31.12.2026\n', encoding="utf-8")
    kinds: dict[str, Any] = {"preis": "number", "ab": "date"}
    assert lw.public(path, types=kinds, decimal=",").plan.rows == (("50667", 1234.5, dt.date(2026, 12, 31)),)
    assert lw.public(path, types=kinds).plan.rows == (("50667", None, None),)
    path.write_text("plz;;ab\n50667;1.234,50;31.12.2026\n", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="delimiter=';'"):
        lw.public(path)
    said: dict[str, Any] = {"delimiter": ";", "names": ["plz", "preis", "ab"], "decimal": ","}
    assert lw.public(path, types=kinds, **said).plan.rows == (("50667", 1234.5, dt.date(2026, 12, 31)),)


def test_a_description_says_it_too(ana: Path) -> None:
    place = ana.with_suffix(".yaml")
    said = "source: ana.csv\ndelimiter: ';'\ndecimal: ','\nunit: Patient\nbounds: {Umsatz: [-10, 2000]}\n"
    place.write_text(said, encoding="utf-8")
    assert answer(open_described(place), "SELECT COUNT(Umsatz) FROM ana") == [(3,)]
    assert "decimal: ','" in describe(ana, delimiter=";")


@pytest.mark.parametrize("wrong", ["", ";", ",,", None, 1])
def test_another_decimal_sign_is_refused(ana: Path, wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="a point or a comma"):
        opened(ana, decimal=wrong)


@pytest.mark.parametrize("source", ["postgresql://nobody@nowhere.invalid/db", "spark://nowhere.invalid"])
def test_other_engines_refuse_it_before_they_are_asked(source: str) -> None:
    with pytest.raises(InvalidParameter, match="files, frames and DuckDB only"):
        lw.open(source, unit=lw.EACH_ROW, table="t", decimal=",")


def slow_number(text: str, most: int = 40) -> float | None:
    """The rule in plain Python, sign by sign."""
    text = text.strip(" ")
    body = text[1:] if text[:1] in ("+", "-") else text
    if "e" in body.lower():  # then there are no signs between thousands
        return (
            from_text(text.replace(",", "."), "number")
            if re.fullmatch("[0-9]+(,[0-9]+)?[eE][+-]?[0-9]+", body)
            else None
        )
    front, comma, back = body.partition(",")
    if comma and not (1 <= len(back) <= 60 and set(back) <= set("0123456789")):
        return None
    separators = {"." if one == "." else "'" if one in "'’" else " " for one in front if one not in "0123456789"}
    if separators and (len(separators) > 1 or not set(front) <= set("0123456789.'’ \u00a0\u202f")):
        return None
    groups = re.split("[^0-9]", front)
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])):
        return None
    digits = "".join(groups)
    if not 1 <= len(digits) <= most:
        return None
    return float(f"{text[0] if body != text else ''}{digits}.{back or '0'}")


def slow_whole(text: str) -> int | None:
    text = text.strip(" ")
    text = text.removesuffix(",0")  # as programs write it where a cell of the column is missing
    found = None if "," in text or "e" in text.lower() else slow_number(text, 18)
    return None if found is None else int(re.sub("[^0-9+-]", "", text))


def slow_date(text: str) -> dt.date | None:
    text = text.strip(" ")
    try:
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return dt.date.fromisoformat(text)
        if re.fullmatch("[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}", text):
            day, month, year = map(int, text.split("."))
            return dt.date(year, month, day)
    except ValueError:
        pass
    return None


def test_no_strange_text_fails_and_each_means_what_a_slow_reader_says() -> None:
    texts = strange()
    column = pa.array(texts)  # which the engine reads: objects would be read in Python
    kinds: dict[str, Any] = {"n": "number", "i": "integer", "d": "date"}
    _, _, rows = rows_of(
        pa.table({"n": column, "i": column, "d": column}), table=None, types=kinds, most=10_000, notation=Notation(",")
    )
    assert sorted(map(repr, rows)) == sorted(repr((slow_number(one), slow_whole(one), slow_date(one))) for one in texts)
    assert sum(row != (None, None, None) for row in rows) > 100


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_missing_cell_does_not_remove_everybody_elses_whole_numbers(tmp_path: Path, decimal: str) -> None:
    whole = pd.DataFrame({"p": range(100), "visits": [3] * 100})
    beside = pd.concat([whole, pd.DataFrame({"p": [100], "visits": [None]})]).astype({"visits": "float64"})
    totals = []
    for name, frame in (("whole", whole), ("beside", beside)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False, decimal=decimal, sep=";")
        table = lw.open(
            tmp_path / f"{name}.csv", unit="p", types={"visits": "integer"}, bounds={"visits": (0, 10)},
            delimiter=";", decimal=decimal,
        )  # fmt: skip
        totals.append(table.agg(lw.sum("visits", name="n")).unprotected()["n"])
    assert f"3{decimal}0" in (tmp_path / "beside.csv").read_text()
    assert totals == [(300,), (300,)]


def test_a_whole_number_may_end_in_a_comma_and_one_zero() -> None:
    largest, commas = 10**18 - 1, Notation(",")
    for text, number in {
        "12,0": 12, "-12,0": -12, " 1.000,0 ": 1000, f"{largest},0": largest, "0,0": 0,
        "12,00": None, "12,": None, "12,5": None, ",0": None, "12.0": None, "1,0e1": None, "12,0,0": None,
    }.items():  # fmt: skip
        frame = pa.table({"i": pa.array([text])})
        assert rows_of(frame, table=None, types={"i": "integer"}, most=1, notation=commas)[2] == ((number,),), text
        assert meaning(text, "integer", commas) == number, text


def test_a_cell_is_read_the_same_alone_and_among_others() -> None:
    texts = strange()[::9]
    for one in texts:
        [[alone]] = rows_of(pa.table({"n": [one]}), table=None, types={"n": "number"}, most=1, notation=Notation(","))[
            2
        ]
        assert alone == slow_number(one)
