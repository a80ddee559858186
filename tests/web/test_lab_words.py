"""What the lab says beside its numbers: true on the page it stands on, in the lab's own words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clinic_bench import HELPLINE
from markupsafe import escape

from lapwing.curator import NO_LEDGER
from lapwing.privacy import Ledger
from lapwing.web import lab
from lapwing.web.lab import questions, streams
from lapwing.web.lab.analyses import ANALYSES, effects
from lapwing.web.lab.analyses.quantiles import RANKS
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.bench import Answer
from lapwing.web.lab.bundled import EXAMPLES
from lapwing.web.lab.figures import written
from lapwing.web.lab.forecasts import differences
from lapwing.web.lab.label import label
from lapwing.web.lab.result import EPSILONS, Band, Preview, Result, Series, Value
from lapwing.web.wording import ROWS_FIELD

CLINIC = EXAMPLES["clinic"]
STATED = CLINIC.statement
TEMPLATES = Path(lab.__file__).parent.parent / "templates" / "lab"


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
    assert len([note for note in notes if "ask also for quantiles nearby, at a cost" in note]) == 1
    assert len([note for note in notes if "nearest bound" in note]) == 1
    alone = (
        ANALYSES["quantiles"].of(STATED, {"column": "age", "shares": "0.5"}).release(data, 1.0, lambda _: None).notes
    )
    assert any("ranks" in note for note in alone)
    assert not any(note.startswith("median") for note in alone)


def test_no_rank_is_further_off_than_there_are_rows() -> None:
    question = ANALYSES["quantiles"].of(STATED, {"column": "age"})
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


def test_what_a_form_lacks_is_said_in_a_sentence_without_names_of_parameters() -> None:
    for slug, form, said in (
        ("groups", [("measures", "mean")], "Choose the column to average, or tick only “how many”."),
        ("groups", [("measures", "sum")], "Choose the column to add up, or tick only “how many”."),
        ("quantiles", [("shares", "0.5 1")], "Every share must be more than 0 and less than 1. Write 0.25 0.5 0.75, "),
    ):
        asked = questions.question(STATED, slug, form)
        assert asked.complaint.startswith(said)
        assert asked.wrong in ("column", "shares")


def test_a_mean_says_which_rows_its_error_assumes() -> None:
    stated = HELPLINE.statement
    notes = ANALYSES["mean"].of(stated, {"column": "minutes"}).preview(stated, (1.0,)).notes
    assert notes[0] == "the error assumes 4,000 rows with a value: one of each caller, as many as you stated"


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
