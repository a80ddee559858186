"""Small things that a new user tries first, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.errors import InvalidCall, InvalidParameter, UnsupportedQuery


@pytest.fixture
def visits(tmp_path: Path) -> lw.PrivateTable:
    path = tmp_path / "visits.csv"
    path.write_text("who,age,<b>\n" + "".join(f"{i},{i % 90},secret{i}\n" for i in range(50)))
    return lw.open(path, unit="who", bounds={"age": (0, 120)})


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_a_file_with_another_delimiter_says_which_to_write(tmp_path: Path, sign: str) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(f"who{sign}age\n1{sign}34\n")
    with pytest.raises(InvalidParameter, match="delimiter="):
        lw.open(path, unit="who")
    assert set(lw.open(path, unit="who", delimiter=sign).columns) == {"who", "age"}


def test_one_column_may_have_a_strange_name_if_its_owner_says_so(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who;age\n1\n")
    assert set(lw.open(path, unit="who;age", delimiter=",").columns) == {"who;age"}


def test_a_table_that_was_not_opened_for_a_select_says_how_to_hand_it_over(visits: lw.PrivateTable) -> None:
    with pytest.raises(UnsupportedQuery, match=r"tables=\[doctors\]"):
        visits.sql("SELECT COUNT(*) FROM visits JOIN doctors ON visits.who = doctors.who")


def test_private_tables_are_joined_on_the_unit_by_its_name_too(visits: lw.PrivateTable, tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_text("who,days\n1,3\n")
    stays = lw.open(tmp_path / "stays.csv", unit="who", bounds={"days": (0, 30)})
    assert visits.join(stays, on={"who": "who"}).plan == visits.join(stays).plan
    assert visits.join(visits, on="who").plan == visits.join(visits).plan == visits.join(visits, on=["who"]).plan
    for other in ("age", ["who", "age"], {"who": "age"}, {}):
        with pytest.raises(UnsupportedQuery, match="on the unit"):
            visits.join(visits, on=other)


def test_an_answer_is_indexed_like_its_table(visits: lw.PrivateTable) -> None:
    answer = visits.agg(lw.count(name="count"), lw.mean("age", name="mean")).release(epsilon=1.0)
    assert answer["count"] == answer.table["count"]
    assert answer[0] == {"count": answer["count"][0], "mean": answer["mean"][0]}
    assert [dict(row) for row in answer] == [answer[0]]


def test_a_private_table_in_a_notebook_shows_what_is_public_and_nothing_else(visits: lw.PrivateTable) -> None:
    shown = visits._repr_html_()
    assert "secret" not in shown
    assert "0 to 120" in shown
    assert "the unit of protection" in shown
    assert "&lt;b&gt;" in shown


def test_an_output_is_named_by_a_keyword(visits: lw.PrivateTable) -> None:
    old = lw.mean("CASE WHEN age > 60 THEN 1 ELSE 0 END")
    answer = visits.agg(lw.count(), old=old).release(epsilon=1)
    assert [column.name for column in answer.columns] == ["count", "old"]
    with pytest.raises(InvalidParameter, match="is not an aggregate"):
        visits.agg(old="age")  # type: ignore[arg-type]


def test_the_mean_of_a_condition_says_how_to_ask_for_a_share(visits: lw.PrivateTable) -> None:
    with pytest.raises(UnsupportedQuery, match="CASE WHEN age > 60 THEN 1 ELSE 0 END"):
        visits.agg(lw.mean("age > 60")).release(epsilon=1)


HAVING = "To show only groups with a noisy count of 10 or more, write HAVING COUNT(*) >= 10 in SQL."


@pytest.mark.parametrize(
    "ask",
    [
        lambda visits: visits.agg(lw.count()).release(epsilon=1, min_count=10),
        lambda visits: visits.agg(lw.count()).quote(epsilon=1, minimum_count=10),
        lambda visits: visits.sql("SELECT COUNT(*) FROM visits", epsilon=1, min_count=10),
        lambda visits: visits.query("SELECT COUNT(*) FROM visits", threshold=10),
        lambda visits: visits.release_hierarchy(["age"], lw.count(), epsilon=1, min_group_size=10),
    ],
)
def test_whoever_wants_to_hide_small_groups_is_told_to_write_having(
    visits: lw.PrivateTable, ask: Callable[[lw.PrivateTable], object]
) -> None:
    with pytest.raises(InvalidCall, match="there is no argument '") as caught:
        ask(visits)
    assert caught.value.instead == HAVING


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 0.1}, {"epsilon": 1, "delta": 1e-6}])
def test_a_release_takes_no_count_that_it_would_not_use(visits: lw.PrivateTable, price: dict[str, float]) -> None:
    question = visits.agg(lw.mean("age"))
    with pytest.raises(InvalidParameter, match=r"count = 10: .*it hides no group\. Leave it out\.") as caught:
        question.release(**price, count=10)
    assert HAVING in caught.value.hint
    assert question.quote(**price, count=1000).expected[0].error is not None
    assert question.release(within=60, count=1000).loss <= lw.PureDP(1, unit="who")


def test_a_missing_delta_says_how_small_it_is(visits: lw.PrivateTable) -> None:
    for price in ({"epsilon": 1}, {"rho": 0.1}):
        with pytest.raises(InvalidParameter, match="needs a delta") as caught:
            visits.group_by('"<b>"').agg(lw.count()).quote(**price)
        assert "delta=1e-6 (far below 1 / number of people; for 10,000 people far below 0.0001)" in caught.value.hint


def test_a_public_table_is_shown_in_one_line_without_its_rows() -> None:
    rows = [{f"column{place}": "value" for place in range(12)}] * 1458
    shown = "column0, column1, column2, column3, column4, column5, column6, column7, …"
    assert str(lw.public(rows, name="airports")) == f"<PublicTable airports: {shown}; 1,458 rows>"
    assert repr(lw.public([{"zip": "1", "town": "A"}], name="towns")) == "<PublicTable towns: zip, town; 1 row>"


@pytest.mark.parametrize(
    ("column", "says"),
    [("agee", "Did you mean 'age'?"), ("when", "There are: who, age, <b>.")],
)
def test_a_stream_says_which_column_was_meant(visits: lw.PrivateTable, column: str, says: str) -> None:
    for name in ("time", "watermark"):
        asked: Any = {"every": "day", "steps": 3, "start": "2026-11-16", name: column}
        with pytest.raises(InvalidParameter, match=f"{name} = '{column}': is not a column of the table") as caught:
            visits.stream(lw.count(), **asked, active_steps=1)
        assert caught.value.hint == says
