"""What the lab shows to whoever brought a table: first rows, a check, and why an error was not as foretold."""

from __future__ import annotations

from pathlib import Path

import pytest
from clinic_bench import brought, released
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, site_of, visitor

from lapwing.web.lab.analyses import ANALYSES
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.result import EPSILONS, error_at

PENGUINS = "name,sex,mass,year\n" + "".join(
    f"p{i},{'NA' if i % 10 == 0 else ('f', 'm')[i % 2]},{'heavy' if i % 5 == 0 else 3000 + i},2008\n"
    for i in range(200)
)
STATED = {
    **{"type-0": "text", "type-1": "text", "type-2": "number", "type-3": "integer"},
    **{"low-2": "0", "high-2": "3100", "low-3": "2000", "high-3": "2020", "keys-1": "f, m"},
    **{"unit": "name", "people": "5000", "epsilon": "3", "name": "penguins", "rows": "1", "delta": "0"},
}


def bring(lab_school: FastAPI) -> tuple[TestClient, Bench]:
    client = visitor(lab_school)
    answer = client.post("/lab/upload", files={"file": ("penguins.csv", PENGUINS.encode())}, headers=PERSON)
    id = answer.headers["location"].rpartition("/")[2]
    lab = site_of(lab_school).lab
    lab.jobs.of(id)[-1].ended.wait(60)
    [bench] = [one for one in lab.all() if one.id == id]
    return client, bench


def test_first_rows_are_shown_before_anything_is_stated_to_who_says_that_they_may_see_them(lab_school: FastAPI) -> None:
    client, bench = bring(lab_school)
    before = client.get(f"/lab/{bench.id}", headers=PERSON).text
    assert "p17" not in before
    assert "<td>p1</td>" not in before
    assert "I may see every row" in before
    looked = client.post(f"/lab/{bench.id}/rows", headers=PERSON)
    assert looked.status_code == 200
    assert "<td>p1</td>" in looked.text
    assert 'name="teaching" value="yes" checked' in looked.text
    assert "<td>p1</td>" not in client.get(f"/lab/{bench.id}", headers=PERSON).text, "shown once"
    assert client.post(f"/lab/{bench.id}", data=STATED, headers=PERSON).status_code == 303
    assert client.post(f"/lab/{bench.id}/rows").status_code == 403, "stated without teaching mode"
    assert visitor(lab_school).post(f"/lab/{bench.id}/rows").status_code == 404


def test_a_look_at_the_first_rows_loses_nothing_that_was_typed(lab_school: FastAPI) -> None:
    client, bench = bring(lab_school)
    page = client.get(f"/lab/{bench.id}", headers=PERSON).text
    assert f'form="describe" formaction="/lab/{bench.id}/rows"' in page
    assert page.index('form="describe" name="then" value="ask" hidden') < page.index("formaction="), "of the Enter key"
    typed = STATED | {"low-1": "not a number yet", "people": "777", "epsilon": "2.5", "unit": "mass"}
    looked = client.post(f"/lab/{bench.id}/rows", data=typed, headers=PERSON)
    assert "<td>p1</td>" in looked.text
    for value in ("not a number yet", "777", "2.5"):
        assert f'value="{value}"' in looked.text
    assert '<option value="mass" selected>' in looked.text
    assert 'role="alert"' not in looked.text, "nobody pressed Save"
    assert bench.statement is None


def test_a_check_is_for_the_owner_in_teaching_mode_shown_once_and_says_what_to_change(lab_school: FastAPI) -> None:
    client, bench = bring(lab_school)
    where = f"/lab/{bench.id}/check"
    client.post(f"/lab/{bench.id}", data=STATED, headers=PERSON)
    assert client.post(where).status_code == 403
    assert "switch on" in client.get(where, headers=PERSON).text
    client.post(f"/lab/{bench.id}", data={**STATED, "teaching": "yes"}, headers=PERSON)
    begun = client.post(where, headers=PERSON)
    assert begun.status_code == 303
    bench.jobs.of(bench.id)[-1].ended.wait(60)
    shown = client.get(f"{where}?shown={bench.jobs.of(bench.id)[-1].id}", headers=PERSON).text
    assert "Not private." in shown
    assert "20 % of the values in mass could not be read" in shown
    assert "<code>heavy (40)</code>" in shown
    assert "10 % of the values in sex are not among the keys" in shown
    assert "lie outside 0 to 3100" in shown
    assert "You stated about 5,000 people, and the table has 200" in shown
    again = client.get(f"{where}?shown={bench.jobs.of(bench.id)[-1].id}", headers=PERSON).text
    assert "heavy" not in again, "shown once"
    assert float(bench.spent.epsilon) == 0  # type: ignore[attr-defined]
    assert visitor(lab_school).get(where).status_code == 404


def test_a_page_says_why_an_error_came_out_other_than_foretold(lab_school: FastAPI) -> None:
    client, bench = bring(lab_school)
    client.post(f"/lab/{bench.id}", data=STATED, headers=PERSON)
    page = client.get(released(client, bench, 1.0, column="mass"), headers=PERSON).text
    assert "Different from the forecast." in page
    assert "The forecast assumes 5,000 people, as you stated. Fewer rows" in page
    assert "or the cells are not written as numbers" in page
    page = client.get(released(client, bench, 1.0, "count"), headers=PERSON).text
    assert "Different from the forecast." not in page, "the error of a count does not depend on the data"


def test_answers_by_group_and_of_sql_are_drawn(lab_school: FastAPI, clinic_rows: Path) -> None:
    _, bench = brought(lab_school, clinic_rows)
    for slug, form in (
        ("groups", {"by": "region", "measures": ["count", "mean"], "column": "age"}),
        ("sql", {"sql": f"SELECT region, COUNT(*) AS n, AVG(age) AS a FROM {bench.stated.name} GROUP BY region"}),
    ):
        made = ANALYSES[slug].of(bench.stated, form).release(bench.data(), 0.1, lambda _: None)
        assert made.shape == "bars"
        assert len(made.series) == 2
        assert all(len(one.values) == 6 for one in made.series)


def test_below_the_slider_an_error_is_foretold_to_grow() -> None:
    assert error_at([10 / one for one in EPSILONS], EPSILONS[0] / 2) == pytest.approx(20 / EPSILONS[0])


def test_each_field_that_does_not_fit_is_listed_and_has_its_message_beside_it(lab_school: FastAPI) -> None:
    client, bench = bring(lab_school)
    wrong = {**STATED, "rows": "0", "people": "-3", "name": "my calls"}
    page = client.post(f"/lab/{bench.id}", data=wrong, headers=PERSON).text
    listed = page[page.index('id="wrong"') : page.index("</ul>", page.index('id="wrong"'))]
    for name, words in (
        ("rows", "Rows of one person that count"),
        ("people", "How many people"),
        ("name", "Name of the table in SQL"),
    ):
        assert f'<a href="#{name}-complaint">{words}</a>: ' in listed
        field = page.index(f'name="{name}"')
        assert page.index(f'id="{name}-complaint"', field) < page.index("<label", field), "before the next field"
