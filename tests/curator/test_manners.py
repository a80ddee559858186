"""Small things that a new user tries first, and what they are told."""

from __future__ import annotations

from pathlib import Path

import pytest

import lapwing as lw
from lapwing.errors import InvalidParameter, UnsupportedQuery


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
