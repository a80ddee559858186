"""What the lab says beside its numbers: true on the page it stands on, in the lab's own words."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

from clinic_bench import HELPLINE
from markupsafe import escape

import lapwing as lw
from lapwing.curator import NO_LEDGER
from lapwing.mechanisms import Gaussian
from lapwing.privacy import Ledger
from lapwing.web import lab
from lapwing.web.lab import figures, proposals, questions, releases, streams
from lapwing.web.lab.analyses import ANALYSES, anonymous, effects, filters, linear, logistic
from lapwing.web.lab.analyses.curated import THRESHOLD, CuratedAnalysis, blank
from lapwing.web.lab.analyses.quantiles import RANKS
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.bench import Answer
from lapwing.web.lab.bundled import EXAMPLES
from lapwing.web.lab.figures import to_csv, written
from lapwing.web.lab.forecasts import differences
from lapwing.web.lab.label import label
from lapwing.web.lab.notebooks import notebook
from lapwing.web.lab.result import EPSILONS, Band, Preview, Result, Series, Value, error_at, off_by
from lapwing.web.lab.scripts import script
from lapwing.web.lab.statement import StatedColumn
from lapwing.web.wording import ROWS_FIELD, sentence

CLINIC = EXAMPLES["clinic"]
STATED = CLINIC.statement
WEB = Path(lab.__file__).parent.parent
TEMPLATES = WEB / "templates" / "lab"


def test_notes_name_fields_of_the_lab_and_no_parameters_of_the_library(tmp_path: Path) -> None:
    question = ANALYSES["count"].of(STATED, {})
    shown = question.preview(STATED).notes
    CLINIC.write(tmp_path / "rows.parquet")
    released = question.release(
        Data(tmp_path / "rows.parquet", STATED, Ledger(tmp_path / "ledger.db")), 0.5, lambda _: None
    ).notes
    for notes in (shown, released):
        assert any("each patient counts once" in note for note in notes)
        assert any(ROWS_FIELD in note for note in notes)
        assert not any("max_" in note or "lw." in note or note == NO_LEDGER for note in notes)
    assert str(escape(ROWS_FIELD)) in (TEMPLATES / "describe.html").read_text(encoding="utf-8")


def test_the_notes_of_a_stream_say_nothing_of_ledgers_and_files() -> None:
    statement = HELPLINE.statement
    wish = streams.Wish.of(statement, {"time": "day", "every": "week", "start": "2025-01-01", "steps": "53"})
    notes = streams.notes(wish, statement)
    assert any("charged once" in note for note in notes)
    assert not any(NO_LEDGER in note or "bytes" in note or "max_" in note for note in notes)


def test_sql_says_what_the_error_of_a_mean_assumes_only_where_there_is_a_mean() -> None:
    def remarks(outputs: str) -> tuple[str, ...]:
        text = f"SELECT region, {outputs} FROM {STATED.name} GROUP BY region"
        return ANALYSES["sql"].of(STATED, {"sql": text}).preview(STATED).notes

    assert not any("equally large" in note for note in remarks("COUNT(*) AS n"))
    [note] = [note for note in remarks("COUNT(*) AS n, AVG(age) AS years") if "equally large" in note]
    assert note == "the error of years assumes that all groups are equally large: 500 rows each"


def test_each_quantile_has_a_line_of_its_own_and_what_they_share_is_said_once(tmp_path: Path) -> None:
    CLINIC.write(tmp_path / "rows.parquet")
    data = Data(tmp_path / "rows.parquet", STATED, None)
    question = ANALYSES["quantiles"].of(STATED, {"column": "age"})
    notes = question.release(data, 1.0, lambda _: None).notes
    for name in ("0.25 quantile", "median", "0.75 quantile"):
        [line] = [note for note in notes if note.startswith(f"{name}: ")]
        assert "ranks" in line
        assert "depends on the data" not in line
    assert notes.count(RANKS) == 1
    assert not any("costs budget" in note for note in notes)
    assert len([note for note in notes if "ask also for quantiles nearby" in note]) == 1
    assert len([note for note in notes if "nearest bound" in note]) == 1
    alone = (
        ANALYSES["quantiles"].of(STATED, {"column": "age", "shares": "0.5"}).release(data, 1.0, lambda _: None).notes
    )
    assert "ranks (of about 3,000 rows) from the exact median" in alone[0]
    assert alone[1] == RANKS
    at_8 = ANALYSES["quantiles"].of(STATED, {"column": "age", "shares": "0.5"})
    assert at_8.release(data, 8.0, lambda _: None).notes[0].startswith("at most 1 rank (of about 3,000")
    lines = {line.name: line.text for line in label(at_8, STATED, at_8.release(data, 8.0, lambda _: None)).lines}
    assert lines["error"] == "median: ± 1 rank among 3,000 rows"
    assert not any(note.startswith("median") for note in alone)


def test_quantiles_have_as_many_digits_as_say_something_and_ranks_a_denominator(clinic_rows: Path) -> None:
    """−26.3155 was said of minutes, and "1,504 ranks" of nobody knew how many."""
    data = Data(clinic_rows, STATED, None)
    for column, digits in (("cost", 0), ("age", 0)):
        question: Any = ANALYSES["quantiles"].of(STATED, {"column": column})
        assert question.digits == digits
        found = question.release(data, 1.0, lambda _: None)
        assert all(value.value == round(value.value or 0, digits) for value in found.series[0].values)
        assert found.notes[0].startswith("0.25 quantile: at most ")
        assert " ranks (of about 3,000 rows) from the exact 25 % quantile" in found.notes[0]
    narrow = StatedColumn("share", "number", (0, 1))
    assert ANALYSES["quantiles"].of(replace(STATED, columns=(narrow,)), {"column": "share"}).digits == 3  # type: ignore[attr-defined]
    for most, said in ((1, "among 3,000 rows"), (6, "among at most 18,000 rows")):
        bands = question.preview(replace(STATED, max_rows_per_unit=most), (1.0,)).bands
        assert {band.condition for band in bands if band.measured_in == "ranks"} == {said}


def test_a_look_for_keys_says_how_many_people_a_key_needs(tmp_path: Path) -> None:
    assert proposals.people_for_keys(STATED, 0.1) is None, "without delta there is no look for keys"
    stated = replace(STATED, delta=1e-6)
    needed = proposals.people_for_keys(stated, 0.1)
    assert needed is not None
    assert needed > 100
    assert proposals.people_for_keys(stated, 1.0) < needed  # type: ignore[operator]
    rows = tmp_path / "rows.csv"
    rows.write_text("patient,region,age,smoker,visits,cost\n1,North,30,true,2,5\n", encoding="utf-8")
    found = proposals.private_keys(Data(rows, stated, Ledger(tmp_path / "ledger.db")), "region", 0.1)
    assert f"(about {needed:,} people are needed at this price). Pay more" in found.why


def test_classes_that_are_left_out_of_a_list_are_counted_and_the_smallest_are_shown() -> None:
    values = [Value(str(place), float(400 - place)) for place in range(322)]
    largest, smallest = anonymous._listed(values)
    assert largest.name == "rows alike: the 50 largest of 322 classes"
    assert [value.label for value in (*largest.values[:1], *largest.values[-1:])] == ["0", "49"]
    assert (smallest.name, smallest.values[-1].value) == ("rows alike: the 5 smallest", 79.0)
    [every] = anonymous._listed(values[:55])
    assert len(every.values) == 55


def test_no_rank_is_further_off_than_there_are_rows() -> None:
    """The curve said 10,000 ranks for 300 rows, and the table beside it 300."""
    question = ANALYSES["quantiles"].of(STATED, {"column": "age"})
    curve = question.preview(STATED).bands[0]
    assert curve.measured_in == "ranks"
    assert max(error for error in curve.errors if error is not None) <= STATED.people * STATED.max_rows_per_unit
    for rows in (1, 2):
        stated = replace(STATED, max_rows_per_unit=rows)
        for people, preview in effects.of_people(question, stated):
            ranks = [band for band in preview.bands if band.measured_in == "ranks"]
            assert ranks
            assert all(error is None or error <= rows * people for band in ranks for error in band.errors)


def test_an_error_reaches_to_the_farther_end_of_an_interval() -> None:
    """An interval that ends at 0 is not even: half of its width would be too small an error."""
    assert Value("all", 47.0, 0.0, 122.0).error == 75.0
    assert Value("all", 49.0, -5.0, 103.0).error == 54.0
    assert Value("all", 49.0).error is None


def test_a_count_whose_interval_ends_at_0_is_no_surprise() -> None:
    """The curator cuts an interval at 0, where the exact count cannot lie beyond; the noise is as foretold."""
    preview = Preview((Band("count", (20.0,) * len(EPSILONS)),))
    spans = ((5.0, 0.0, 25.0), (-5.0, -5.0, 15.0), (-50.0, -50.0, 0.0), (100.0, 80.0, 120.0))
    values = tuple(Value(str(place), *span) for place, span in enumerate(spans))
    question = ANALYSES["count"].of(STATED, {})
    answer = Answer("count", "Count", {}, 1.0, Result("bars", (Series("count", values),)))
    assert not differences(question, preview, answer, replace(STATED, people=1000))


def test_a_forecast_counts_the_groups_that_were_stated_and_blames_no_small_group_for_small_errors() -> None:
    text = f"SELECT region, AVG(age) AS years FROM {STATED.name} GROUP BY region ORDER BY years DESC LIMIT 2"
    question = ANALYSES["sql"].of(STATED, {"sql": text})
    assert isinstance(question, CuratedAnalysis)
    regions = len(STATED.column("region").keys)
    assert (question.groups(STATED), regions > 2) == (regions, True)
    preview = Preview((Band("years", (1.0,)),))
    for errors, said in (
        ((0.4, 0.5), "These intervals are narrower"),
        ((0.4, 1.0), "Some of these intervals are narrower"),
        ((0.4, 1.5), "A small group has a larger error"),
        ((1.5, 1.6), "Every group here has fewer rows than that"),
    ):
        values = tuple(Value(str(error), 40.0, 40 - error, 40 + error) for error in errors)
        answer = Answer("sql", "SQL", {}, 1.0, Result("bars", (Series("years", values),)))
        [one] = differences(question, preview, answer, STATED)
        assert f"equally among {regions} groups" in one.why
        assert said in one.why
        assert ("A small group" in one.why) == ("A small group" in said)


def test_one_error_has_one_number_on_its_page_and_it_is_never_too_small() -> None:
    """The page said ± 71, the note ± 70.2 and the label ± 70 of an interval that reaches 70.1 upwards."""
    value = Value("mean of age", 4201.7, 4131.7, 4271.8)
    assert value.off_by == "71"
    assert [Value("", 7.0, 7 - e, 7 + e).off_by for e in (0.1234, 9.99, 1234.5, 0.0)] == ["0.13", "10", "1,235", "0"]
    question = ANALYSES["mean"].of(STATED, {"column": "age"})
    answer = Answer("mean", "Mean", {}, 1.0, Result("number", (Series("mean of age", (value,)),)))
    [one] = differences(question, Preview((Band("mean of age", (20.0,)),)), answer, STATED)
    assert one.came == "± 71"


def test_keys_that_nobody_stated_have_a_threshold_and_no_error() -> None:
    stated = replace(STATED, delta=1e-6)
    stated = replace(stated, columns=tuple(replace(column, keys=()) for column in stated.columns))
    text = f"SELECT region, COUNT(*) AS n FROM {stated.name} GROUP BY region"
    question = ANALYSES["sql"].of(stated, {"sql": text})
    shown = question.preview(stated, (1.0,))
    assert [(band.output, band.measured_in) for band in shown.bands] == [("a value of region", THRESHOLD), ("n", "")]
    found = Result("bars", (Series("n", (Value("North", 5.0),)),), loss=lw.ApproxDP(1, 1e-7))
    lines = {line.name: line.text for line in label(question, stated, found, preview=shown).lines}
    assert lines["shown"].startswith("a value of region that at least ")
    assert "people have among the rows that count" in lines["shown"]
    assert "region" not in lines["error"]


def test_a_key_is_shown_by_the_people_who_have_it_among_the_rows_that_count() -> None:
    """188 planes flew to CVG, 163 are needed, and CVG was shown in 14 of 30 runs: only six rows of each counted."""
    stated = replace(STATED, delta=1e-6, max_rows_per_unit=6)
    stated = replace(stated, columns=tuple(replace(column, keys=()) for column in stated.columns))
    question = ANALYSES["sql"].of(stated, {"sql": f"SELECT region, COUNT(*) AS n FROM {stated.name} GROUP BY region"})
    found = Result("bars", (Series("n", (Value("North", 5.0),)),), loss=lw.ApproxDP(1, 1e-7))
    for statement, among in (
        (stated, " among the rows that count (at most 6 rows of each patient), with"),
        (replace(stated, max_rows_per_unit=1), " among the rows that count (one row of each patient), with"),
        (replace(stated, unit="", max_rows_per_unit=1), "rows have, with"),
    ):
        lines = {line.name: line.text for line in label(question, statement, found).lines}
        assert among in lines["shown"]


def test_an_error_says_that_it_is_of_the_rows_that_count(tmp_path: Path) -> None:
    """Of 20,000 rows, "count is about 12,945, ± 60" was said where at most six of each plane counted."""
    stated = replace(STATED, max_rows_per_unit=6)
    CLINIC.write(tmp_path / "rows.parquet")
    over = "at most 6 rows of each patient"
    for slug, form in (("count", {}), ("mean", {"column": "age"}), ("histogram", {"column": "age"})):
        question = ANALYSES[slug].of(stated, form)
        assert question.preview(stated, (1.0,)).rows_used == over
        answer = question.release(Data(tmp_path / "rows.parquet", stated, None), 1.0, lambda _: None)
        assert answer.rows_used == over
        assert f"over {over}; low and high are for the noise only" in to_csv(answer)
        assert figures._caption(answer).endswith("orange: 95 % interval for noise only, not for rows that are left out")
        assert {line.title for line in label(question, stated, answer).lines} >= {
            "Error from noise, with 95 % confidence"
        }
    one = ANALYSES["count"].of(STATED, {}).preview(STATED, (1.0,))
    assert one.rows_used == "one row of each patient"
    people = ANALYSES["sql"].of(stated, {"sql": f"SELECT COUNT(DISTINCT patient) AS n FROM {stated.name}"})
    alone = replace(STATED, unit="")
    assert people.preview(stated, (1.0,)).rows_used == ""
    assert ANALYSES["count"].of(alone, {}).preview(alone, (1.0,)).rows_used == ""


def test_pictures_name_a_loss_in_words_for_readers() -> None:
    found = Result("number", (Series("count", (Value("count", 7.0, 5.0, 9.0),)),), loss=lw.PureDP(1, unit="patient"))
    assert figures._caption(found).startswith("private: ε = 1 for each patient · ")


def test_sql_is_refused_with_advice_that_the_lab_can_follow() -> None:
    for text, said in (
        ("SELECT COUNT(*) FROM clinik", "Did you mean clinic?"),
        ("SELECT COUNT(*) FROM other", "There are: clinic."),
        ("SELECT MAX(age) FROM clinic", "the greatest value is the value of one person"),
    ):
        complaint = questions.question(replace(STATED, name="clinic"), "sql", [("sql", text)]).complaint
        assert said in complaint
        assert not any(word in complaint for word in ("tables=", "command line", "unit"))
    alone = replace(STATED, name="clinic", unit="")
    joined = [("sql", "SELECT COUNT(*) FROM clinic AS a JOIN clinic AS b ON a.age = b.age")]
    assert "Ask without the join." in questions.question(alone, "sql", joined).complaint
    assert (
        "Write ON a.patient = b.patient" in questions.question(replace(STATED, name="clinic"), "sql", joined).complaint
    )


def test_a_label_rounds_epsilon_and_delta_up() -> None:
    question = ANALYSES["count"].of(STATED, {})
    found = Result("number", (Series("count", (Value("count", 5.0),)),), loss=lw.ApproxDP(1.0000004, 1.0000004e-7))
    lines = {line.name: line.text for line in label(question, STATED, found).lines}
    assert (lines["epsilon"], lines["delta"]) == ("1.00001", "1.00001e-07")


def test_a_note_becomes_a_sentence_that_begins_and_ends_once() -> None:
    assert sentence("the noise may hide the slope: its interval contains 0.") == (
        "The noise may hide the slope: its interval contains 0."
    )
    assert sentence(RANKS).startswith("Ranks are places among the sorted values. ")
    assert sentence("a bin includes its lower edge") == "A bin includes its lower edge."
    notes = ANALYSES["histogram"].of(STATED, {"column": "age"}).preview(STATED, (1.0,)).notes
    assert "rows without a value of age between the first edge and the last are left out" in notes


def test_what_noise_hides_is_said_on_the_page_and_not_in_the_log(tmp_path: Path) -> None:
    CLINIC.write(tmp_path / "rows.parquet")
    code = f"""
from pathlib import Path
from lapwing.web.lab.analyses import ANALYSES
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.bundled import EXAMPLES
stated = EXAMPLES["clinic"].statement
question = ANALYSES["linear"].of(stated, {{"target": "cost", "columns": "age"}})
found = question.release(Data(Path({str(tmp_path / "rows.parquet")!r}), stated, None), 0.02, lambda _: None)
assert "The noise" in found.series[0].note, found.series
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_regression_answers_with_its_coefficients_and_the_errors_that_are_known(
    tmp_path: Path, clinic_rows: Path
) -> None:
    """It answered with 21 points of a line, and its warning was about an interval that nobody saw."""
    data = Data(clinic_rows, STATED, None)
    for columns, points in ((["age"], 21), (["age", "visits"], 2)):
        question = ANALYSES["linear"].of(STATED, {"target": "cost", "columns": columns})
        found = question.release(data, 0.05, lambda _: None)
        [series], [line] = found.series, found.drawn
        assert [value.label for value in series.values] == ["intercept", *(f"slope of {name}" for name in columns)]
        assert len(line.values) == points
        assert series.note.startswith("cost = ")
        assert "The noise" in series.note
        text, caption = to_csv(found), figures._caption(found)
        assert text.count("\n") == 1 + len(series.values)
        assert series.note in text
        assert series.note in caption
        for value in series.values[1:]:
            assert value.error is None or f"{value.label}: {written(value)}, ± {value.off_by}" in caption
        assert figures.to_png(found, "Linear regression").startswith(b"\x89PNG")
    at_20 = ANALYSES["linear"].of(STATED, {"target": "cost", "columns": "age"}).release(data, 20.0, lambda _: None)
    assert at_20.series[0].values[1].error is not None
    exact = question.exact(data, lambda _: None).series[0]
    assert exact.values[0].label == "intercept"


def test_a_label_names_the_method_of_the_model_that_was_chosen(clinic_rows: Path) -> None:
    data = Data(clinic_rows, STATED, None)
    for slug, form, chosen, said in (
        ("linear", {"target": "cost", "columns": "age"}, linear.METHODS, "noise on sums of products"),
        ("logistic", {"target": "smoker", "columns": "age"}, logistic.METHODS, "noise on the objective"),
    ):
        for method in chosen:
            question = ANALYSES[slug].of(STATED, {**form, "method": method})
            found = question.release(data, 5.0, lambda _: None)
            [line] = [line for line in label(question, STATED, found).lines if line.name == "mechanism"]
            known = [words for name, words in chosen.items() if name == method or method == "auto"]
            assert line.text.partition(" (lapwing")[0] in known
        assert any(words.startswith(said) for words in chosen.values())


def test_a_model_begins_with_a_question_that_can_be_asked() -> None:
    """With month as the first column that can be predicted, it was to be predicted from itself."""
    month = StatedColumn("month", "integer", (1, 12), tuple(map(str, range(1, 13))))
    towns = StatedColumn("town", "text", None, tuple(f"t{i}" for i in range(30)))
    delay = StatedColumn("delay", "number", (0, 100))
    for columns, target, begins in (
        ((month, delay), "month", ["delay"]),
        ((towns, month, delay), "month", ["delay"]),
        ((StatedColumn("late", "boolean"), month), "late", ["month"]),
    ):
        stated = replace(STATED, columns=(STATED.columns[0], *columns))
        begun = questions.question(stated, "logistic", None)
        assert (begun.asked["target"], begun.asked["columns"], begun.complaint) == (target, begins, "")
        assert questions.question(stated, "linear", None).complaint == ""
    assert not questions.possible(replace(STATED, columns=(STATED.columns[0], month)))["logistic"]
    assert not questions.possible(replace(STATED, columns=(STATED.columns[0], delay)))["linear"]


def test_no_sentence_of_a_forecast_ends_twice() -> None:
    for slug, form in (("linear", {"target": "cost", "columns": "age"}), ("quantiles", {"column": "age"})):
        notes = ANALYSES[slug].of(STATED, form).preview(STATED, (1.0,)).notes
        assert not any(note.endswith(".") for note in notes)


def test_an_interval_as_wide_as_the_bounds_says_almost_nothing() -> None:
    [age] = [column for column in STATED.columns if column.name == "age"]
    assert age.bounds is not None
    low, high = age.bounds
    middle = (low + high) / 2
    question = ANALYSES["mean"].of(STATED, {"column": "age"})
    preview = Preview((Band("mean of age", (0.1,) * len(EPSILONS)),))
    for from_, to, empty in ((low, high, True), (middle - 5, middle + 5, False)):
        series = Series("mean of age", (Value("mean of age", middle, from_, to),))
        [one] = differences(question, preview, Answer("mean", "Mean", {}, 1.0, Result("number", (series,))), STATED)
        assert "or the cells are not written as numbers" in one.why
        assert ("as wide as the bounds, so the answer says almost nothing" in one.why) == empty


def test_a_filter_that_does_not_fit_is_refused_in_a_sentence() -> None:
    for form, said in (
        (
            {"where": "region", "equals": "Pirate"},
            "“Pirate” is not one of the keys that you stated for region. Choose one of: North, ",
        ),
        ({"where": "region"}, "No value of region is chosen. Write one of North, "),
        ({"where": "age"}, "No range of age is chosen. "),
        ({"where": "age", "equals": "7"}, "age is a number without keys. Leave “is” empty"),
    ):
        asked = questions.question(STATED, "mean", [("column", "age"), *form.items()])
        assert asked.complaint.startswith(said)
        assert asked.wrong in ("equals", "low")


def test_a_title_says_what_is_asked_of_which_rows() -> None:
    for slug, form, said in (
        ("count", {}, "Count"),
        ("count", {"where": "region", "equals": "North"}, "Count, only rows where region is North"),
        ("count", {"where": "smoker", "equals": "false"}, "Count, only rows where smoker is false"),
        ("mean", {"column": "cost", "where": "age", "low": "18"}, "Mean: cost, only rows where age is at least 18"),
        ("mean", {"column": "cost", "where": "age", "high": "4e1"}, "Mean: cost, only rows where age is at most 40"),
        ("count", {"where": "age", "low": "18", "high": "40.5"}, "Count, only rows where age is from 18 to 40.5"),
        ("groups", {"by": "region", "measures": "count"}, "Table by group: count for each region"),
        ("linear", {"target": "cost", "columns": "age"}, "Linear regression: cost from age"),
    ):
        assert questions.question(STATED, slug, [*form.items()]).title == said
    measures = [("measures", word) for word in ("count", "sum", "mean")]
    groups = questions.question(STATED, "groups", [("by", "region"), *measures, ("column", "cost")])
    assert groups.title == "Table by group: count, and sum and mean of cost for each region"


def test_files_and_scripts_say_which_rows_were_used() -> None:
    asked = questions.question(STATED, "count", [("where", "region"), ("equals", "North")])
    found = Result("number", (Series("count", (Value("count", 7.0),)),), loss=lw.PureDP(1))
    assert "only rows where region is North" in to_csv(found, asked.title)
    assert asked.analysis is not None
    assert "only rows where region is North" in script(asked.analysis, STATED, 1.0).splitlines()[0]
    assert "It uses only rows where region is North." in notebook(asked.analysis, STATED, 1.0)


def test_the_title_of_a_picture_always_says_which_rows_were_used() -> None:
    """With long names, "only rows where …" was what a title lost, and the picture seemed to be about all rows."""
    long, name = "Histogram: " + "a long name " * 20, "b" * 150
    shown = figures._lines(f"{long}, only rows where {name} is North")
    assert shown.splitlines()[-2].startswith("only rows where b")
    assert shown.endswith("b is North")
    assert len(shown.splitlines()) == 3
    short = figures._lines(f"{long}, only rows where region is North")
    assert short.splitlines()[-1] == "only rows where region is North"
    assert short.splitlines()[0].startswith("Histogram: a long name")
    assert figures._lines("Count, only rows where region is North") == "Count, only rows where region is North"
    assert len(figures._lines(long * 3).splitlines()) == 3


def test_what_a_form_lacks_is_said_in_a_sentence_without_names_of_parameters() -> None:
    for slug, form, said in (
        ("groups", [("by", "region"), ("column", "")], "Nothing is ticked under “Show”. Tick “how many”, for example."),
        ("groups", [("measures", "mean")], "Choose the column to average, or tick only “how many”."),
        ("groups", [("measures", "sum")], "Choose the column to add up, or tick only “how many”."),
        ("quantiles", [("shares", "0.5 1")], "Every share must be more than 0 and less than 1. Write 0.25 0.5 0.75, "),
    ):
        asked = questions.question(STATED, slug, form)
        assert asked.complaint.startswith(said)
        assert asked.wrong in ("column", "shares", "measures")


def test_a_mean_says_which_rows_its_error_assumes() -> None:
    stated = HELPLINE.statement
    notes = ANALYSES["mean"].of(stated, {"column": "minutes"}).preview(stated, (1.0,)).notes
    assert (
        notes[0]
        == "the error assumes that 4,000 rows have a value: one row of each of the 4,000 callers that you stated"
    )


def test_numbers_are_written_as_far_as_their_error_reaches() -> None:
    for value, text in (
        (Value("", 98765.4321, 90000.0, 107530.9), "98,765"),
        (Value("", 48.829345, 48.329345, 49.329345), "48.83"),
        (Value("", -1500.0, -1510.0, -1490.0), "−1,500"),
        (Value("", 0.1234567), "0.123457"),
        (Value("", 1234567.0), "1,234,567"),
        (Value("", None), "–"),
    ):
        assert written(value) == text


def test_the_label_of_an_answer_has_the_error_of_its_interval_at_any_epsilon(
    tmp_path: Path, helpline_rows: Path
) -> None:
    """Between two places of the slider, the label took the error of the rougher one: 86 beside an answer with 80."""
    statement = HELPLINE.statement
    data = Data(helpline_rows, statement, Ledger(tmp_path / "ledger.db"))
    for slug, form in (("count", {}), ("nested", {"first": "region", "second": "town"})):
        question = ANALYSES[slug].of(statement, form)
        released = question.release(data, 0.3, lambda _: None)
        total = released.series[0].values[0]
        [said] = [line.text for line in label(question, statement, released).lines if line.name == "error"]
        assert total.error is not None
        stated = float(said.split("; ")[0].rpartition("± ")[2])
        assert total.error <= stated <= total.error + 1, "up to the next whole number"


CENSUS = replace(EXAMPLES["adult"].statement, delta=1e-6)
BY_OCCUPATION = "SELECT occupation, COUNT(*) AS n, AVG(hours_per_week) AS hours FROM census GROUP BY occupation"


def test_a_forecast_for_groups_that_nobody_stated_is_that_of_the_smallest_one_that_is_likely_shown() -> None:
    """It took all rows for one group: ± 0.04 was foretold where the answer had up to ± 7."""
    question = ANALYSES["sql"].of(CENSUS, {"sql": BY_OCCUPATION})
    assert isinstance(question, CuratedAnalysis)
    needed, n, hours = question.preview(CENSUS, (1.0,)).bands
    quote = question.query(blank(CENSUS)).quote(
        epsilon=1, delta=question.delta(CENSUS), count=int(needed.errors[0] or 0)
    )
    assert needed.measured_in == THRESHOLD
    assert hours.errors == (quote.expected[2].error,)
    assert (n.condition, hours.condition) == ("", "in the smallest group that is likely shown")
    assert f"count={needed.errors[0]:.0f}" in question.script(CENSUS, 1.0)
    for people in (10, CENSUS.people):
        assert question.rows_per_group(replace(CENSUS, people=people), 1.0) <= people
    said = "The error of hours is for the smallest group that is likely shown. Larger groups have smaller errors"
    found = Result("bars", (Series("hours", (Value("Sales", 40.0, 39.8, 40.2),)),), loss=lw.ApproxDP(1, 1e-7))
    lines = {line.name: line.text for line in label(question, CENSUS, found).lines}
    assert said in lines["error"]
    assert lines["stated"].startswith("about 48,842 rows; ")
    assert "at least 51 rows have" in lines["shown"]
    notes = question.preview(CENSUS, (1.0,)).notes
    assert "the values of occupation are private, so rare ones are usually not shown" in notes
    assert "A rarer one may be shown, too" in lines["shown"]


def test_a_page_explains_the_errors_of_groups_that_nobody_stated_by_what_is_so() -> None:
    question = ANALYSES["sql"].of(CENSUS, {"sql": BY_OCCUPATION})
    preview = question.preview(CENSUS, (1.0,))
    for error, said in ((0.2, "The groups here are larger"), (95.0, "A group here has fewer rows with a value")):
        series = Series("hours", (Value("Sales", 48.0, 48 - error, 48 + error),))
        [one] = differences(question, preview, Answer("sql", "SQL", {}, 1.0, Result("bars", (series,))), CENSUS)
        assert "Which groups there are is private" in one.why
        assert said in one.why
        assert "a filter leaves some out" not in one.why


def test_a_forecast_of_sql_says_for_how_many_rows_it_holds() -> None:
    text = "SELECT AVG(age) AS years, COUNT(*) AS n FROM census WHERE sex = 'Female'"
    notes = ANALYSES["sql"].of(CENSUS, {"sql": text}).preview(CENSUS, (1.0,)).notes
    assert notes[0].startswith("the error of years is for 48,842 rows. If fewer rows have a value or match a condition")
    for slug, form, said in (
        ("mean", {"column": "cost", "where": "region", "equals": "North"}, ["among 3,000 rows"]),
        ("mean", {"column": "cost"}, [""]),
        ("groups", {"by": "region", "measures": ["count", "mean"], "column": "cost"}, ["", "in a group of 500 rows"]),
        ("sql", {"sql": f"SELECT AVG(cost) AS c, COUNT(*) AS n FROM {STATED.name}"}, ["among 3,000 rows", ""]),
    ):
        assert [band.condition for band in ANALYSES[slug].of(STATED, form).preview(STATED, (1.0,)).bands] == said
    mean = ANALYSES["mean"].of(STATED, {"column": "cost", "where": "region", "equals": "North"})
    found = Result("number", (Series("mean of cost", (Value("", 5.0, 4.0, 6.0),)),), loss=lw.PureDP(1))
    lines = {line.name: line.text for line in label(mean, STATED, found).lines}
    assert "The error is for 3,000 rows; fewer rows match the condition, so it will be larger" in lines["error"]


def test_the_forecast_of_a_filtered_mean_warns_in_its_sentence_or_knows_how_many_rows_match() -> None:
    """ "± 35.9 among 3,000 rows" was said of a question that 394 rows matched, which came with ± 203."""
    region = {"where": "region", "equals": "North"}
    sql = f"SELECT AVG(cost) AS c, COUNT(*) AS n FROM {STATED.name}"
    for slug, form in (("mean", {"column": "cost", **region}), ("sql", {"sql": f"{sql} WHERE smoker"})):
        [first, *_] = ANALYSES[slug].of(STATED, form).preview(STATED, (1.0,)).bands
        assert (first.condition, first.caveat) == ("among 3,000 rows", filters.FEWER)
        question: Any = ANALYSES[slug].of(STATED, {**form, "matching": "400"})
        [band, *rest] = question.preview(STATED, (1.0,)).bands
        assert (band.condition, band.caveat) == ("among 400 rows", "")
        assert band.errors[0] == question.query(blank(STATED)).quote(epsilon=1, count=400).expected[0].error
        assert not any(one.caveat for one in rest), "a count is no less accurate for fewer rows"
        assert "count=400" in question.script(STATED, 1.0)
        sizes = [shown.bands[0].condition for _, shown in effects.of_people(question, STATED)]
        assert sizes == ["among 40 rows", "among 400 rows", "among 4,000 rows"]
        value = Value("", 5.0, 4.0, 1e4)
        answer = Answer(slug, "", {}, 1.0, Result("number", (Series(band.output, (value,)),)))
        [one] = differences(question, question.preview(STATED, (1.0,)), answer, STATED)
        assert one.why.startswith("The forecast assumes 400 rows that match the condition, as you stated.")
    for slug, form in (("mean", {"column": "cost"}), ("sql", {"sql": sql})):
        question = ANALYSES[slug].of(STATED, {**form, "matching": "400"})
        assert not any(band.caveat for band in question.preview(STATED, (1.0,)).bands)
        assert question.matching == 0, "nothing is filtered"
    asked = questions.question(STATED, "mean", [("column", "cost"), *region.items(), ("matching", "-1")])
    assert asked.complaint.startswith("About how many rows match = '-1': must be a whole number from 1")


def test_a_truth_value_that_is_compared_with_a_word_is_refused_in_words_of_the_page() -> None:
    stated = replace(STATED, name="clinic")
    for condition, said in (
        ("smoker = 'yes'", "smoker is a yes-or-no column. Write smoker = true."),
        ("smoker = 'N'", "smoker is a yes-or-no column. Write smoker = false."),
        ("smoker = 1.5", "smoker is a yes-or-no column. Write smoker = true."),
    ):
        sql = f"SELECT COUNT(*) FROM clinic WHERE {condition}"
        assert questions.question(stated, "sql", [("sql", sql)]).complaint.endswith(said)


def test_an_error_is_forecast_at_the_epsilon_that_is_typed_and_rounded_as_it_is_released(clinic_rows: Path) -> None:
    """47.1 on the page was 49.7 on the label, and 59.7, 59.8 and 60 were the same error."""
    for low, high in pairwise(EPSILONS):
        errors = [100 / epsilon**0.7 for epsilon in EPSILONS]
        middle = (low + high) / 2
        assert abs(error_at(errors, middle) - 100 / middle**0.7) < 1e-9
    assert error_at([0.0] * len(EPSILONS), 0.3) == 0
    assert error_at([5.0] * len(EPSILONS), 20) == 5
    question = ANALYSES["linear"].of(STATED, {"target": "cost", "columns": "age"})
    [at, *_] = question.preview(STATED, (0.3,)).bands
    answer = question.release(Data(clinic_rows, STATED, None), 0.3, lambda _: None)
    [line] = [line.text for line in label(question, STATED, answer).lines if line.name == "guess"]
    assert f"about ± {off_by(at.errors[0] or 0)};" in line


def test_three_times_as_likely_is_75_percent_sure_before_and_after_a_release() -> None:
    """The slider said 75 % at ln 3, and the label 76 %: the double next to ln 3 is larger than it."""
    three = next(epsilon for epsilon in EPSILONS if 1.09 < epsilon < 1.1)
    assert lw.PureDP(three).explain().data["out_of_100_after"] == 75
    assert lw.PureDP(three).explain().data["odds_factor"] <= 3
    assert repr(three) in (WEB / "frontend" / "src" / "lib" / "epsilon.ts").read_text(encoding="utf-8")


def test_where_each_row_is_protected_every_text_counts_rows() -> None:
    alone = replace(CENSUS, unit="")
    question = ANALYSES["mean"].of(alone, {"column": "age"})
    preview = Preview((Band("mean of age", (1.0,)),))
    answer = Answer("mean", "Mean", {}, 1.0, Result("number", (Series("mean of age", (Value("", 40.0, 30.0, 50.0),)),)))
    [one] = differences(question, preview, answer, alone)
    assert "The forecast assumes 48,842 rows, as you stated." in one.why
    assert "people" not in one.why
    single = replace(STATED, people=1)
    assert (single.crowd_size, replace(single, unit="").crowd_size) == ("1 person", "1 row")


def test_advice_for_sql_is_advice_for_a_page_and_not_for_python() -> None:
    stated = replace(STATED, name="clinic", delta=1e-6)
    bare = replace(stated, columns=tuple(replace(column, keys=(), bounds=None) for column in stated.columns))
    for statement, text, said in (
        (
            stated,
            "SELECT SUM(patient) FROM clinic",
            "patient says whose row it is, so it is no number to compute with.",
        ),
        (
            bare,
            "SELECT SUM(cost) FROM clinic",
            "state bounds of cost where you state what is public about the table. If",
        ),
        (stated, "SELECT AVG(region) FROM clinic", "choose “number” as the type of region and state its bounds"),
        (stated, "SELECT cost, COUNT(*) FROM clinic GROUP BY cost", "or choose the question “Histogram”."),
        (stated, "SELECT GEOMEAN(age) FROM clinic", "State bounds above 0 where"),
        (bare, "SELECT region FROM clinic", "as the type of region and state its bounds"),
        (bare, "SELECT COUNT(*) FROM clinic WHERE region > 3", "Choose “whole number” as the type of region where"),
        (stated, "SELECT QUANTILE(age, 2) FROM clinic", "Write 0.5, for example."),
        (stated, "SELECT AVG(CAST(region AS integer)) FROM clinic", "and FLOOR(x) makes whole numbers."),
        (stated, "SELECT COUNT(*) FROM clinic TABLESAMPLE 10", "is up to the engine. Leave it out."),
        (
            stated,
            "SELECT patient, COUNT(*) FROM clinic GROUP BY patient",
            "Group by something that several people share.",
        ),
        (
            stated,
            "SELECT AVG(total) FROM (SELECT patient, SUM(cost) AS total FROM clinic GROUP BY patient)",
            "total is computed by the statement, and its bounds do not follow from those that you stated.",
        ),
        (replace(bare, delta=0), "SELECT region, COUNT(*) FROM clinic GROUP BY region", "State the keys of region, or"),
    ):
        complaint = questions.question(statement, "sql", [("sql", text)]).complaint
        assert said in complaint
        assert not re.search(r"lw\.|\w=[\s,{[(]|='|when you open|=0|\bunits?\b", complaint), complaint


def test_no_text_of_the_web_takes_delta_for_the_chance_that_a_belief_is_exceeded() -> None:
    """It is not: Gaussian noise passes the limit of its epsilon far more often than with probability delta."""
    noise = Gaussian.for_epsilon(1, 1e-6, sensitivity=1)
    sigma = float(noise.sigma)
    passed = NormalDist().cdf(0.5 / sigma - sigma)  # the loss at x is (1 + 2x)/2σ², of x from N(0, σ²)
    assert passed > 10 * 1e-6
    texts = [*TEMPLATES.parent.rglob("*.html"), *(WEB / "frontend" / "src").rglob("*.ts"), *WEB.glob("[!d]*/**/*.py")]
    assert len(texts) > 200
    for file in texts:
        if "node_modules" not in file.parts:
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"(except|fails?) with probability|guarantee (may )?fails?", text), file
    assert "δ is a small additional probability by which the promise of ε may be exceeded" in releases.WHAT_DELTA_IS
