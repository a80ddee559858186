"""The questions of the lab: priced without the data, charged before it is read, and each with a script that runs."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cases import together
from sweeps import few

from lapwing.datasets import ADULT_BOUNDS, adult, clinic, clinic_csv
from lapwing.errors import BudgetExceeded, InvalidParameter, UnsupportedQuery
from lapwing.privacy import ApproxDP, Ledger, PureDP
from lapwing.web.lab import figures
from lapwing.web.lab.analyses import ANALYSES, TEACHING_ONLY, effects
from lapwing.web.lab.analyses.curated import AFTER, blank
from lapwing.web.lab.analysis import Analysis, Data
from lapwing.web.lab.label import label
from lapwing.web.lab.notebooks import notebook
from lapwing.web.lab.result import EPSILONS, Result, Series, Value
from lapwing.web.lab.scripts import File, script
from lapwing.web.lab.statement import DATASET, StatedColumn, Statement

FALSE_ALARM = 1e-6
REGIONS = ("North", "South", "East", "West", "Coast", "Islands")
CLINIC = Statement(
    name="clinic",
    unit="patient",
    people=3000,
    epsilon=100.0,
    columns=(
        StatedColumn("patient", "integer"),
        StatedColumn("region", "text", None, REGIONS),
        StatedColumn("age", "integer", (0, 60)),
        StatedColumn("smoker", "boolean"),
        StatedColumn("visits", "integer", (0, 20), ("1", "2", "3")),
        StatedColumn("cost", "number", (0, 2000)),
    ),
)
ADULT = Statement(
    name="adult",
    people=3000,
    epsilon=100.0,
    columns=(
        StatedColumn("age", "integer", ADULT_BOUNDS["age"]),
        StatedColumn("education_num", "integer", ADULT_BOUNDS["education_num"]),
        StatedColumn("hours_per_week", "integer", ADULT_BOUNDS["hours_per_week"]),
        StatedColumn("sex", "text", None, ("Female", "Male")),
        StatedColumn("workclass", "text"),
        StatedColumn("income", "text", None, ("<=50K", ">50K")),
    ),
)
FORMS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "clinic": [
        ("count", {"where": "smoker", "equals": "yes"}),
        ("count", {"where": "age", "low": "18", "high": "40"}),
        ("mean", {"column": "age"}),
        ("mean", {"column": "cost", "where": "region", "equals": "North"}),
        ("histogram", {"column": "age", "edges": "0, 20; 40 60"}),
        ("histogram", {"column": "smoker"}),
        ("quantiles", {"column": "cost"}),
        ("groups", {"by": "region", "measures": ["count", "mean"], "column": "age"}),
        ("nested", {"first": "region", "second": "smoker"}),
        ("nested", {"first": "visits", "second": "region", "third": "smoker", "weights": "leaves"}),
        (
            "sql",
            {"sql": "SELECT region, COUNT(*) AS n FROM clinic WHERE smoker GROUP BY region ORDER BY n LIMIT 2"},
        ),
        ("linear", {"target": "cost", "columns": "visits"}),
        ("linear", {"target": "cost", "columns": ["visits", "age"], "method": "output"}),
        ("logistic", {"target": "smoker", "columns": "age"}),
        ("kmeans", {"columns": ["age", "cost"]}),
        ("local", {"column": "smoker"}),
        ("local", {"column": "region", "protocol": "sketch"}),
        ("k-anonymity", {"columns": ["age", "region"], "k": "4"}),
    ],
    "adult": [
        ("count", {"where": "income", "equals": ">50K"}),
        ("mean", {"column": "hours_per_week"}),
        ("histogram", {"column": "age"}),
        ("histogram", {"column": "sex"}),
        ("quantiles", {"column": "age", "shares": "0.5"}),
        ("groups", {"by": "sex", "measures": ["sum"], "column": "hours_per_week"}),
        ("nested", {"first": "sex", "second": "income", "tree": "Female: <=50K, >50K; Male: >50K"}),
        ("sql", {"sql": "SELECT AVG(age) AS mean_age, COUNT(*) AS n FROM adult"}),
        ("linear", {"target": "hours_per_week", "columns": ["age", "education_num"], "method": "functional"}),
        ("logistic", {"target": "income", "columns": ["age", "education_num"]}),
        ("kmeans", {"columns": ["age", "education_num", "hours_per_week"], "clusters": "2"}),
        ("local", {"column": "sex", "protocol": "rappor"}),
        ("k-anonymity", {"columns": ["age", "workclass"]}),
    ],
}
SWEEP = pytest.mark.sweep
STATED = {"clinic": CLINIC, "adult": ADULT}
CASES = [
    pytest.param(where, slug, form, id=f"{where}-{slug}-{i}")
    for where in FORMS
    for i, (slug, form) in enumerate(FORMS[where])
]
PRIVATE = [case for case in CASES if case.values[1] not in TEACHING_ONLY]
ONE_TABLE = [
    case if where == "clinic" or slug in ("linear", "local") else pytest.param(*case.values, id=case.id, marks=SWEEP)
    for case in PRIVATE
    for where, slug in [case.values[:2]]
]
"""Every question on one table, and on the other what is computed in another way there."""


def quiet(share: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True)
class World:
    """The files of both tables."""

    files: Mapping[str, Path]

    def data(self, where: str, folder: Path, *, statement: Statement | None = None) -> Data:
        """A table with a fresh ledger."""
        stated = statement or STATED[where]
        ledger = Ledger(folder / "ledger.db")
        ledger.open(DATASET, stated.allowance)
        return Data(self.files[where], stated, ledger)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    people = adult("train")
    file = tmp_path_factory.mktemp("adult") / "adult.csv"
    names = [one.name for one in ADULT.columns]
    with file.open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows(zip(*(people[name][:3000] for name in names), strict=True))
    return World({"clinic": clinic_csv(), "adult": file})


def asked(where: str, slug: str, form: Mapping[str, Any]) -> Analysis:
    return ANALYSES[slug].of(STATED[where], form)


def total(ledger: Ledger | None) -> PureDP:
    assert ledger is not None
    spent = ledger.spent(DATASET)
    assert isinstance(spent, PureDP)
    return spent


def test_every_question_is_on_the_page_and_tried_on_both_tables() -> None:
    for where in FORMS:
        assert {slug for slug, _ in FORMS[where]} == set(ANALYSES)
    for slug, kind in ANALYSES.items():
        assert kind.slug == slug
        assert kind.title
        assert kind.summary.endswith(".")
        fields = kind.fields(CLINIC)
        assert len({field.name for field in fields}) == len(fields)
        assert all(field.choices for field in fields if field.kind in ("choice", "many"))


def test_the_values_that_fields_begin_with_make_a_question() -> None:
    for slug, kind in ANALYSES.items():
        form: dict[str, Any] = {field.name: field.value for field in kind.fields(ADULT)}
        if slug == "kmeans":
            form["columns"] = ["age", "hours_per_week"]  # a plane needs two
        assert kind.of(ADULT, form).preview(ADULT).bands


@pytest.mark.parametrize(("where", "slug", "form"), CASES)
def test_a_preview_says_how_far_off_it_would_be_at_every_epsilon(where: str, slug: str, form: dict[str, Any]) -> None:
    shown = asked(where, slug, form).preview(STATED[where])  # there is no file in it that could be read
    assert shown.mechanism
    for band in shown.bands:
        assert len(band.errors) == len(EPSILONS)
        if slug in TEACHING_ONLY:
            assert set(band.errors) == {None}
            assert band.why
            continue
        found = [error for error in band.errors if error is not None]
        assert len(found) == len(EPSILONS)
        assert all(error >= 0 for error in found)
        assert all(later <= earlier for earlier, later in pairwise(found))
        assert found[0] > found[-1]


@pytest.mark.parametrize(("where", "slug", "form"), ONE_TABLE)
def test_a_release_costs_what_it_says_and_has_the_shape_of_the_exact_answer(
    where: str, slug: str, form: dict[str, Any], world: World, tmp_path: Path
) -> None:
    data, question = world.data(where, tmp_path), asked(where, slug, form)
    shares: list[float] = []
    first, second = (question.release(data, epsilon, shares.append) for epsilon in (0.5, 2.0))
    assert first.private
    assert first.loss is not None
    assert second.loss is not None
    assert first.loss.unit == STATED[where].unit_word
    assert total(data.ledger) == first.loss + second.loss
    assert max(shares) == 1.0
    assert min(shares) > 0
    exact = question.exact(data, quiet)
    assert not exact.private
    assert exact.shape == first.shape
    assert exact.x_label == first.x_label
    assert [series.name for series in exact.series][: len(first.series)] == [series.name for series in first.series]
    if slug != "sql":  # there noise may change the order of rows
        assert [[v.label for v in s.values] for s in exact.series[: len(first.series)]] == [
            [v.label for v in s.values] for s in first.series
        ] or slug == "kmeans"
    before = total(data.ledger)
    drawn = list(question.draws(data, 1.0, 2, quiet))
    assert len(drawn) == 2
    assert total(data.ledger) == before


def test_groups_within_groups_add_up_and_are_those_of_plain_sql(world: World, tmp_path: Path) -> None:
    form = {"first": "region", "second": "smoker", "tree": "North: true, false; Coast: false; West: true"}
    question, data = asked("clinic", "nested", form), world.data("clinic", tmp_path)
    release = question.release(data, 50.0, quiet)
    assert release.shape == "tree"
    [private], exact = release.series, question.exact(data, quiet).series[0]
    assert [value.label for value in private.values] == [
        *("total", "North", "North / true", "North / false", "Coast", "Coast / false", "West", "West / true")
    ]
    assert [value.x for value in private.values] == [0, 1, 2, 2, 1, 2, 1, 2]
    people = clinic()
    pairs = Counter(zip(people["region"], people["smoker"], strict=True))
    leaves = [pairs["North", True], pairs["North", False], pairs["Coast", False], pairs["West", True]]
    truth = [sum(leaves), sum(leaves[:2]), *leaves[:2], leaves[2], leaves[2], leaves[3], leaves[3]]
    assert [value.value for value in exact.values] == truth
    numbers = [value.value or 0 for value in private.values]
    assert numbers[0] == numbers[1] + numbers[4] + numbers[6]
    assert (numbers[1], numbers[4], numbers[6]) == (numbers[2] + numbers[3], numbers[5], numbers[7])
    assert all(abs(number - count) <= 20 for number, count in zip(numbers, truth, strict=True)), "at epsilon = 50"


@together(
    ("wrong", "said"),
    [
        ({"second": "region"}, "^“region” is chosen for two levels. Choose another column"),
        ({"third": "smoker"}, "^“smoker” is chosen for two levels. Choose another column"),
        ({"tree": "North: true, true"}, "^“true” is listed twice in North. Leave one of them out."),
        ({"tree": "Nowhere: true"}, "“Nowhere” is not a key of region"),
        ({"tree": "North: perhaps"}, "“perhaps” is not a key of smoker"),
        ({"tree": "North"}, "North has no key of smoker"),
        ({"tree": "North: true; North: false"}, "“North” is not a key of region, or stands there twice"),
        ({"first": "age"}, "is not one of the columns"),
        ({"weights": "mine"}, "is not one of the choices"),
    ],
)
def test_groups_that_do_not_fit_are_refused_in_words(wrong: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        asked("clinic", "nested", {"first": "region", "second": "smoker", **wrong})


@pytest.mark.parametrize(("where", "slug", "form"), PRIVATE)
def test_what_cannot_be_paid_is_refused_before_the_file_is_looked_for(
    where: str, slug: str, form: dict[str, Any], tmp_path: Path
) -> None:
    stated = replace(STATED[where], epsilon=1.0)
    nowhere = World({where: tmp_path / "no such file.parquet"}).data(where, tmp_path, statement=stated)
    with pytest.raises(BudgetExceeded):
        asked(where, slug, form).release(nowhere, 3.0, quiet)
    assert total(nowhere.ledger).epsilon == 0


@pytest.mark.parametrize(
    ("slug", "form"), [("linear", {"target": "cost", "columns": "age"}), ("local", {"column": "region"})]
)
def test_a_charge_comes_before_the_rows(slug: str, form: dict[str, Any], tmp_path: Path) -> None:
    nowhere = World({"clinic": tmp_path / "no such file.parquet"}).data("clinic", tmp_path)
    with pytest.raises(InvalidParameter):
        asked("clinic", slug, form).release(nowhere, 1.0, quiet)
    assert total(nowhere.ledger).epsilon > 0.9
    assert nowhere.ledger is not None
    assert nowhere.ledger.failures(DATASET) == []  # no row was read


@pytest.mark.parametrize(
    ("slug", "form", "epsilon"),
    few(
        [
            ("count", {}, 0.2),
            ("mean", {"column": "cost"}, 0.2),
            ("histogram", {"column": "region"}, 0.2),
            ("groups", {"by": "smoker", "measures": ["sum"], "column": "visits"}, 0.2),
            ("local", {"column": "smoker", "protocol": "rappor"}, 1.0),
        ],
        stays=2,
    ),
)
def test_the_error_that_was_announced_covers_the_real_one(
    slug: str, form: dict[str, Any], epsilon: float, world: World, tmp_path: Path
) -> None:
    data, question = world.data("clinic", tmp_path), asked("clinic", slug, form)
    place = min(range(len(EPSILONS)), key=lambda i: abs(EPSILONS[i] - epsilon))
    error = question.preview(CLINIC).bands[0].errors[place]
    [exact, *after] = [s for s in question.exact(data, quiet).series if AFTER not in s.name]
    assert error is not None
    assert not after
    truth, times = exact.values[0].value, 30
    found = [one.series[0].values[0].value for one in question.draws(data, EPSILONS[place], times, quiet)]
    assert truth is not None
    assert len(set(found)) > 1
    missed = sum(value is None or abs(value - truth) > error for value in found)
    assert missed <= _most(times, 0.05), (missed, error)
    assert max(abs((value or 0) - truth) for value in found) > error / 10  # and it is not much too wide


def _most(times: int, rate: float) -> int:
    """So many misses are exceeded by chance less often than the false alarm rate."""
    from scipy.stats import binom

    return int(binom.isf(FALSE_ALARM, times, rate))


@pytest.mark.sweep  # test_lab_exports.py runs one of each kind on a worse file
@pytest.mark.parametrize(("where", "slug", "form"), [case for case in CASES if case.values[0] == "clinic"])
def test_every_script_runs(where: str, slug: str, form: dict[str, Any], world: World, tmp_path: Path) -> None:
    said = _run([script(asked(where, slug, form), STATED[where], 0.5, File(str(world.files[where])))], tmp_path)
    assert said
    _charged(slug, tmp_path)


@pytest.mark.sweep  # the same lines in cells
@pytest.mark.parametrize(("where", "slug", "form"), [case for case in CASES if case.values[0] == "adult"])
def test_every_notebook_runs_cell_by_cell(
    where: str, slug: str, form: dict[str, Any], world: World, tmp_path: Path
) -> None:
    made = json.loads(notebook(asked(where, slug, form), STATED[where], 0.5, File(str(world.files[where]))))
    assert made["nbformat"] == 4
    ids = [cell["id"] for cell in made["cells"]]
    assert len(set(ids)) == len(ids)
    assert [cell["cell_type"] for cell in made["cells"]] == ["markdown", "code", "code"]
    assert _run(["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"], tmp_path)
    _charged(slug, tmp_path)


def _run(cells: list[str], folder: Path) -> str:
    """What the cells print, run one after the other in a folder of their own."""
    out, names = io.StringIO(), {"__name__": "__main__"}
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        for cell in cells:
            exec(compile(cell, "<cell>", "exec"), names)  # the very lines that somebody takes away
    return out.getvalue()


def _charged(slug: str, folder: Path) -> None:
    spent = float(total(Ledger(folder / "ledger.db", create=False)).epsilon)
    assert spent == 0 if slug in TEACHING_ONLY else spent == 0.5


def test_a_script_reads_a_file_with_semicolons(tmp_path: Path) -> None:
    source = tmp_path / "semicolons.csv"
    source.write_text(clinic_csv().read_text().replace(",", ";"))
    question = asked("clinic", "mean", {"column": "age"})
    assert _run([script(question, CLINIC, 0.5, File(str(source), ";"))], tmp_path)
    assert "delimiter=';'" in notebook(question, CLINIC, 0.5, File(delimiter=";"))


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
@pytest.mark.parametrize(
    ("slug", "form"), [("mean", {"column": "age"}), ("linear", {"target": "cost", "columns": "visits"})]
)
def test_a_script_reads_a_file_in_another_encoding(
    tmp_path: Path, encoding: str, slug: str, form: dict[str, str]
) -> None:
    source, clinic = tmp_path / "clinic.csv", clinic_csv().read_text()
    source.write_text("\n".join(f"{line},Zoë €" for line in clinic.splitlines()) + "\n", encoding=encoding)
    question = asked("clinic", slug, form)
    text = script(question, CLINIC, 0.5, File(str(source), ",", encoding))
    assert _run([text], tmp_path)
    cells = json.loads(notebook(question, CLINIC, 0.5, File(str(source), ",", encoding)))["cells"][1:]
    assert f"encoding='{encoding}'" in "".join(cells[0]["source"])
    (tmp_path / "ledger.db").unlink()
    assert _run(["".join(cell["source"]) for cell in cells], tmp_path)


def test_a_script_names_no_file_of_the_one_who_made_it() -> None:
    text = script(asked("clinic", "mean", {"column": "age"}), CLINIC, 0.5)
    assert "'your-table.csv'" in text
    assert str(clinic_csv().parent) not in text


@together(
    ("slug", "form", "words"),
    [
        ("mean", {"column": "region"}, "Choose age, visits or cost"),
        ("mean", {}, "Choose age, visits or cost"),
        ("mean", {"column": "age", "where": "region", "equals": "Mars"}, "North, South"),
        ("count", {"where": "age"}, "from where"),
        ("count", {"where": "age", "low": "50", "high": "20"}, "Swap"),
        ("count", {"where": "smoker", "equals": "perhaps"}, "true and false"),
        ("count", {"where": "age", "low": "nan"}, "not a number"),
        ("histogram", {"column": "age", "edges": "10 5"}, "must rise"),
        ("histogram", {"column": "region", "edges": "1 2"}, "not a number"),
        ("histogram", {"column": "age", "edges": " ".join(map(str, range(500)))}, "at most"),
        ("quantiles", {"column": "age", "shares": "50"}, "more than 0 and less than 1"),
        ("groups", {"by": "region", "measures": ["mean"]}, "Choose the column to average"),
        ("groups", {"by": "age"}, "Choose region"),
        ("groups", {"by": "region", "measures": ["variance"]}, "count"),
        ("sql", {"sql": ""}, "SELECT"),
        ("linear", {"target": "cost", "columns": ["cost"]}, "predicts itself"),
        ("linear", {"target": "cost", "columns": ["age"], "method": "magic"}, "sufficient_statistics"),
        ("linear", {"target": "cost"}, "Choose one or more"),
        ("logistic", {"target": "age", "columns": ["cost"]}, "Choose region"),
        ("kmeans", {"columns": ["age"]}, "two columns"),
        ("kmeans", {"columns": ["age", "cost"], "clusters": "1"}, "from 2 to"),
        ("local", {"column": "age"}, "Choose region"),
        ("k-anonymity", {"columns": ["age"], "k": "1"}, "from 2"),
    ],
)
def test_a_form_that_cannot_be_asked_says_what_to_write(slug: str, form: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        ANALYSES[slug].of(CLINIC, form)


def test_a_table_without_bounds_or_keys_says_so_instead_of_failing() -> None:
    bare = replace(CLINIC, columns=(StatedColumn("patient", "integer"), StatedColumn("note", "text")))
    for slug, kind in ANALYSES.items():
        fields = kind.fields(bare)
        if slug in ("count", "sql", "k-anonymity"):
            continue
        with pytest.raises(InvalidParameter, match=r"stated|state"):
            kind.of(bare, {field.name: field.value for field in fields})


@together(
    "text",
    [
        "SELECT * FROM clinic",
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
        "SELECT COUNT(*) FROM clinic; SELECT COUNT(*) FROM clinic",
        "DROP TABLE clinic",
        "COPY clinic TO '/tmp/out'",
        "SELECT COUNT(*) FROM (SELECT patient, CASE WHEN smoker THEN 'boom' ELSE 'true' END AS z FROM clinic) AS a "
        "JOIN clinic AS b ON a.patient = b.patient AND a.z",
    ],
)
def test_sql_that_is_not_a_private_question_is_refused(text: str) -> None:
    with pytest.raises((UnsupportedQuery, InvalidParameter)):
        ANALYSES["sql"].of(CLINIC, {"sql": text})


def test_secret_keys_need_a_delta_and_spend_a_part_of_it(world: World, tmp_path: Path) -> None:
    form = {"sql": "SELECT workclass, COUNT(*) AS n FROM adult GROUP BY workclass"}
    with pytest.raises(InvalidParameter, match="allow a δ"):
        ANALYSES["sql"].of(ADULT, form)
    stated = replace(ADULT, delta=1e-5)
    data = world.data("adult", tmp_path, statement=stated)
    question = ANALYSES["sql"].of(stated, form)
    assert question.preview(stated).delta == pytest.approx(1e-6)
    found = question.release(data, 1.0, quiet)
    assert "Private" in [value.label for value in found.series[0].values]
    assert data.ledger is not None
    spent = data.ledger.spent(DATASET)
    assert isinstance(spent, ApproxDP)
    assert isinstance(found.loss, ApproxDP)
    assert spent.epsilon == found.loss.epsilon
    assert float(spent.delta) == pytest.approx(float(found.loss.delta), rel=1e-9)  # the ledger rounds up


def test_bounds_and_noise_can_be_told_apart(world: World, tmp_path: Path) -> None:
    exact = asked("clinic", "mean", {"column": "age"}).exact(world.data("clinic", tmp_path), quiet)
    plain, after = (series.values[0].value for series in exact.series)
    assert exact.series[1].name.endswith(AFTER)
    assert plain == pytest.approx(48.8293, abs=1e-3)
    assert after == pytest.approx(45.444, abs=1e-3)  # ages above 60 count as 60


@pytest.fixture
def visits(tmp_path: Path) -> Data:
    """Fifty people with ten rows each, and names that SQL and Python have other uses for."""
    file = tmp_path / "visits.csv"
    lines = ['"order","a ""b"" c","keys",group-by']
    lines += [f"p{i % 50},{i % 10},{'yes' if i % 2 else 'no'},{i % 7}" for i in range(500)]
    file.write_text("\n".join(lines), encoding="utf-8")
    stated = Statement(
        name="select",
        unit="order",
        people=50,
        epsilon=100.0,
        columns=(
            StatedColumn("order", "text"),
            StatedColumn('a "b" c', "integer", (0, 10)),
            StatedColumn("keys", "text", None, ("yes", "no")),
            StatedColumn("group-by", "number", (0, 7)),
        ),
    )
    ledger = Ledger(tmp_path / "own.db")
    return Data(file, stated, ledger)


AWKWARD: list[tuple[str, dict[str, Any]]] = [
    ("count", {"where": "keys", "equals": "yes"}),
    ("mean", {"column": 'a "b" c', "where": "group-by", "low": "2"}),
    ("histogram", {"column": "keys"}),
    ("histogram", {"column": "group-by"}),
    ("quantiles", {"column": 'a "b" c'}),
    ("groups", {"by": "keys", "measures": ["count", "sum"], "column": 'a "b" c'}),
    ("linear", {"target": "group-by", "columns": 'a "b" c'}),
    ("logistic", {"target": "keys", "columns": ['a "b" c', "group-by"]}),
    ("kmeans", {"columns": ['a "b" c', "group-by"]}),
    ("local", {"column": "keys"}),
]


@pytest.mark.parametrize(("slug", "form"), AWKWARD)
def test_awkward_names_go_through_every_question_and_its_script(
    slug: str, form: dict[str, Any], visits: Data, tmp_path: Path
) -> None:
    question = ANALYSES[slug].of(visits.statement, form)
    assert question.release(visits, 1.0, quiet).series[0].values
    assert question.exact(visits, quiet).series[0].values
    assert _run([script(question, visits.statement, 0.5, File(str(visits.path)))], tmp_path)


def test_one_row_of_each_unit_counts_wherever_rows_are_many(visits: Data) -> None:
    count = ANALYSES["count"].of(visits.statement, {}).exact(visits, quiet)
    assert [series.values[0].value for series in count.series] == [500, 50]
    model = ANALYSES["linear"].of(visits.statement, {"target": "group-by", "columns": 'a "b" c'})
    assert len(model.read(visits, quiet).X) == 50  # type: ignore[attr-defined]
    assert len(model.read(visits, quiet, everything=True).X) == 500  # type: ignore[attr-defined]


@pytest.mark.parametrize("people", [20, 50, 400])
def test_the_number_of_reports_is_public_and_not_that_of_the_rows(people: int, visits: Data) -> None:
    stated = replace(visits.statement, people=people)
    question = ANALYSES["local"].of(stated, {"column": "keys"})
    answers = question._read(replace(visits, statement=stated), quiet)  # type: ignore[attr-defined]
    assert len(answers) == people
    assert answers.count(question.blank) == max(0, people - 50)  # type: ignore[attr-defined]


def test_k_anonymity_is_shown_and_never_released(world: World, tmp_path: Path) -> None:
    data, question = world.data("clinic", tmp_path), asked("clinic", "k-anonymity", {"columns": ["age", "region"]})
    shown = question.exact(data, quiet)
    sizes = [value.value or 0 for value in shown.series[0].values]
    assert min(sizes) >= 5
    assert sizes == sorted(sizes, reverse=True)
    assert any("certainty penalty" in note for note in shown.notes)
    assert "no guarantee" in question.preview(CLINIC).notes[0]
    for ask in (lambda: question.release(data, 1.0, quiet), lambda: list(question.draws(data, 1.0, 2, quiet))):
        with pytest.raises(InvalidParameter):
            ask()
    assert total(data.ledger).epsilon == 0


def test_ten_times_the_people_make_a_tenth_of_the_error() -> None:
    shown = effects.of_people(asked("clinic", "mean", {"column": "cost"}), CLINIC)
    assert [people for people, _ in shown] == [300, 3000, 30000]
    at = [preview.bands[0].errors[40] for _, preview in shown]
    assert at[0] is not None
    assert at[1] is not None
    assert at[2] is not None
    assert at[0] / at[1] == pytest.approx(10, rel=0.1)
    assert at[1] / at[2] == pytest.approx(10, rel=0.1)


def test_a_low_bound_biases_and_a_high_one_needs_noise(world: World, tmp_path: Path) -> None:
    data = world.data("clinic", tmp_path)
    found = effects.of_clipping(asked("clinic", "mean", {"column": "age"}), data, 0.1, quiet)
    bias, noise, both = ([value.value or 0.0 for value in series.values] for series in found.series)
    assert all(a >= b for a, b in pairwise(bias))
    assert all(a <= b for a, b in pairwise(noise))
    assert bias[0] > 40
    assert bias[-1] < 0.01
    assert 0 < both.index(min(both)) < len(both) - 1


def test_other_bounds_are_compared_for_one_mean_and_for_nothing_else(tmp_path: Path) -> None:
    """Quantiles and means of groups were shown the error of the mean of the whole table, with the whole epsilon."""
    for slug, form in (
        ("count", {}),
        ("quantiles", {"column": "cost"}),
        ("groups", {"by": "region", "measures": ["count", "mean"], "column": "cost"}),
        ("histogram", {"column": "age"}),
    ):
        question = asked("clinic", slug, form)
        assert effects.clippable(question, CLINIC) is None
        with pytest.raises(InvalidParameter, match="is not one mean of a column"):
            effects.of_clipping(question, Data(tmp_path / "no-file", CLINIC, None), 0.1, quiet)
    mean = asked("clinic", "mean", {"column": "cost", "where": "region", "equals": "North"})
    assert effects.clippable(mean, CLINIC) == CLINIC.column("cost")


def test_missing_values_and_rows_that_a_filter_leaves_out_are_not_clipped(tmp_path: Path) -> None:
    """Missing cells counted as the lower bound, and rows beside the filter were used: 12.8 where it must be 0."""
    file = tmp_path / "rows.csv"
    rows = [f"{i},{'North' if i % 2 else 'South'},{'' if i % 3 == 0 else 20 + i % 30},,," for i in range(300)]
    file.write_text("\n".join(["patient,region,age,smoker,visits,cost", *rows]), encoding="utf-8")
    data = Data(file, CLINIC, None)
    for form in ({}, {"where": "region", "equals": "North"}, {"where": "age", "low": "30"}):
        found = effects.of_clipping(asked("clinic", "mean", {"column": "age", **form}), data, 1.0, quiet)
        by_bound = {value.x: value.value for value in found.series[0].values}
        assert [by_bound[end] for end in (54, 60, 120)] == [0, 0, 0]
        assert by_bound[6] > 20
    older = effects.of_clipping(
        asked("clinic", "mean", {"column": "age", "where": "age", "low": "45"}), data, 1.0, quiet
    )
    assert older.series[0].values[4].value == pytest.approx(47 - 30, abs=1), "all that are used are cut to 30"
    assert "only rows where age is at least 45" in older.notes[0]


def test_the_noise_of_other_bounds_is_that_of_the_rows_that_are_used(world: World, tmp_path: Path) -> None:
    """It was forecast for all people: 10 was said where the answer, of the region North alone, had an error of 33."""
    data, quietest = world.data("clinic", tmp_path), []
    for form in ({}, {"where": "region", "equals": "North"}):
        question = asked("clinic", "mean", {"column": "cost", **form})
        found = effects.of_clipping(question, data, 0.5, quiet)
        [noise] = [value.value or 0.0 for value in found.series[1].values if value.x == 2000]
        [value] = question.release(data, 0.5, quiet).series[0].values
        assert noise == pytest.approx(value.error, rel=0.25)
        quietest.append(noise)
    assert quietest[1] > 3 * quietest[0]


def test_other_bounds_count_as_many_rows_of_a_person_as_the_answer_does(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = [f"{i % 10},North,{20 + i % 30},,," for i in range(100)]
    file.write_text("\n".join(["patient,region,age,smoker,visits,cost", *rows, ",North,30,,,"]), encoding="utf-8")
    question, noise = asked("clinic", "mean", {"column": "age"}), []
    for most in (1, 5):
        found = effects.of_clipping(question, Data(file, replace(CLINIC, max_rows_per_unit=most), None), 10.0, quiet)
        noise.append(found.series[1].values[4].value)
    one = ANALYSES["mean"].of(CLINIC, {"column": "age"}).query(blank(replace(CLINIC, columns=half_of_age())))
    assert noise[0] == one.quote(epsilon=10, count=10).expected[0].error


def half_of_age() -> tuple[StatedColumn, ...]:
    """The columns of the clinic, with the upper bound of age as the fifth of those that are tried has it."""
    return tuple(replace(one, bounds=(0, 30)) if one.name == "age" else one for one in CLINIC.columns)


def test_made_up_rows_are_the_same_every_time() -> None:
    from lapwing.web.lab.analyses import models

    question = asked("clinic", "linear", {"target": "cost", "columns": ["age"]})
    first = question.preview(CLINIC)
    models._simulated.cache_clear()
    assert question.preview(CLINIC) == first


def test_a_label_says_who_is_protected_how_and_what_is_not(world: World, tmp_path: Path) -> None:
    data, question = world.data("clinic", tmp_path), asked("clinic", "mean", {"column": "age"})
    made = label(question, CLINIC, question.release(data, 1.0, quiet), ledger=data.ledger)
    lines = {line.name: line.text for line in made.lines}
    assert lines["protected"] == "one patient"
    assert lines["relation"] == "the table with and without one patient"
    assert lines["epsilon"] == "1"
    assert "74 % sure" in lines["in words"]
    assert made.odds["out_of_100_after"] == 74
    assert "age from 0 to 60" in lines["stated"]
    assert "at most 1 row" in lines["contributions"]
    assert lines["left"].startswith("ε = 99 ")
    assert "±" in lines["error"]
    assert made.not_protected
    assert "exact" in label(question, CLINIC, question.exact(data, quiet)).lines[0].text


def test_every_answer_becomes_a_picture_and_a_table(world: World, tmp_path: Path) -> None:
    for slug, form in (("histogram", {"column": "age"}), ("linear", {"target": "cost", "columns": "age"})):
        found = asked("clinic", slug, form).release(world.data("clinic", tmp_path), 1.0, quiet)
        assert figures.to_png(found, slug).startswith(b"\x89PNG")
        rows = list(csv.DictReader(io.StringIO(figures.to_csv(found))))
        assert [float(row["value"]) for row in rows] == [value.value for value in found.series[0].values]


def test_a_spreadsheet_runs_nothing_and_numbers_stay_numbers() -> None:
    labels = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "plain", "$\\alpha$"]
    found = Result("bars", (Series("=series", tuple(Value(one, -1.5) for one in labels)),), loss=PureDP(1))
    rows = list(csv.reader(io.StringIO(figures.to_csv(found), newline="")))[1:]
    assert [row[1] for row in rows] == [f"'{one}" for one in labels[:6]] + labels[6:]
    assert all(row[0] == "'=series" and row[3] == "-1.5" for row in rows)
    assert figures.to_png(found).startswith(b"\x89PNG")


@pytest.mark.parametrize("lines", few([[], [",,,"] * 30]), ids=["no row", "nothing in the rows"])
@pytest.mark.parametrize(("slug", "form"), AWKWARD)
def test_a_table_with_next_to_nothing_in_it_is_answered_all_the_same(
    slug: str, form: dict[str, Any], lines: list[str], visits: Data
) -> None:
    head = visits.path.read_text(encoding="utf-8").splitlines()[0]
    visits.path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    question = ANALYSES[slug].of(visits.statement, form)
    assert question.release(visits, 1.0, quiet).series  # whatever the rows are, the release does not tell by failing
    if slug in ("linear", "logistic", "kmeans"):
        with pytest.raises(InvalidParameter, match="too few"):
            question.exact(visits, quiet)
    else:
        assert question.exact(visits, quiet).series


def test_tenths_add_up_to_the_whole_budget_and_no_further(world: World, tmp_path: Path) -> None:
    stated = replace(CLINIC, epsilon=1.0, delta=1e-6)  # a delta allows pure losses as well
    data, question = world.data("clinic", tmp_path, statement=stated), ANALYSES["count"].of(stated, {})
    for _ in range(10):
        question.release(data, 0.1, quiet)
    with pytest.raises(BudgetExceeded):
        question.release(data, 0.01, quiet)


def test_a_job_that_is_cancelled_reads_no_further(world: World, tmp_path: Path) -> None:
    from lapwing.web.lab.jobs import Cancelled, Progress

    progress = Progress()
    progress.cancel()
    data = world.data("clinic", tmp_path)
    with pytest.raises(Cancelled):
        asked("clinic", "linear", {"target": "cost", "columns": ["age"]}).exact(data, progress)


def test_the_forms_offer_every_method_that_the_models_have() -> None:
    from typing import get_args

    from lapwing.models.linear import METHODS
    from lapwing.models.logistic import Method
    from lapwing.web.lab.analyses import linear, logistic

    assert tuple(linear.METHODS) == METHODS
    assert linear.FIRST in METHODS
    assert tuple(logistic.METHODS) == get_args(Method)


def test_the_school_starts_without_what_only_models_need() -> None:
    code = (
        "import sys, lapwing.web.app; sys.exit(sum(name in sys.modules for name in ('sklearn', 'scipy', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_label_says_how_much_of_one_person_a_question_takes(world: World, tmp_path: Path) -> None:
    data, several = world.data("clinic", tmp_path), replace(CLINIC, max_rows_per_unit=3)
    taken = {}
    for slug, form in (("mean", {"column": "age"}), ("local", {"column": "region"})):
        question = asked("clinic", slug, form)
        made = label(question, several, question.release(data, 0.5, quiet))
        taken[slug] = next(line.text for line in made.lines if line.name == "contributions")
    assert "at most 3 rows" in taken["mean"]
    assert "at most 1 row " in taken["local"]
