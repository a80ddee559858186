"""Words that stand for no value, such as NA: what the owner says, and what a check says of those that nobody named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.plan.text_forms import Notation, meaning
from lapwing.curator.streams import state as states
from lapwing.curator.tables.descriptions import open_described
from lapwing.errors import InvalidParameter

ROWS = "tail,place,n\nN1,Brest,3\nNA,Brest,4\n NA,,5\n ,NA,x\nN2, -,NA\nN3,NANA,1\n"
EXACT = 10**9


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    path = tmp_path / "flights.csv"
    path.write_text(ROWS)
    return path


def numbers(table: Any) -> tuple[Any, ...]:
    asked = table.bounded(max_rows_per_unit=9).agg(lw.units(), lw.count(), lw.count("place"), lw.sum("n"))
    return tuple(round(column.values[0]) for column in asked.unprotected().columns)


def opened(source: Any, **more: Any) -> Any:
    return lw.open(source, unit="tail", name="flights", bounds={"n": (0, 9)}, **more)


def test_only_empty_cells_are_missing_unless_the_owner_says_more(flights: Path) -> None:
    assert numbers(opened(flights)) == (6, 6, 5, 13)
    assert numbers(opened(flights, missing="NA")) == (4, 4, 3, 4)  # with ' ' for one unit
    assert numbers(opened(flights, missing=["NA", "", "-"])) == (3, 3, 2, 4)
    assert numbers(opened(flights, missing=["1"])) == numbers(opened(flights))  # in a column of numbers it is a number


def test_frames_objects_descriptions_and_streams_say_the_same(flights: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(flights, keep_default_na=False)
    right = numbers(opened(flights, missing=["NA", ""]))
    assert right == (3, 3, 3, 4)
    for source in (frame, frame.astype(object), frame.astype("category"), frame.astype("string")):
        assert numbers(opened(source, missing=["NA", ""])) == right
    description = tmp_path / "flights.yaml"
    description.write_text("source: flights.csv\nunit: tail\nbounds: {n: [0, 9]}\nmissing: [NA, '']\n")
    assert numbers(open_described(description)) == right
    stream = opened(flights, missing=["NA", ""], max_rows_per_unit=9).stream(
        lw.units(), lw.count("place"), every="step", steps=3, active_steps=3
    )
    stream.open(tmp_path / "flights.stream", epsilon=EXACT)
    rows = frame.to_dict("records")
    for brought in (flights, rows[:3], frame):
        answer = lw.open_stream(tmp_path / "flights.stream").observe(brought)
    assert [round(answer[name][0]) for name in ("units", "count_place")] == [3, 3 + 1 + 3]


def test_a_public_table_has_the_same_option(flights: Path) -> None:
    table = lw.public(flights, missing=["NA", "-"])
    assert [row[1] for row in table.plan.rows] == ["Brest", "Brest", None, None, None, "NANA"]
    assert table.plan.fields[1].keys == ("Brest", None, "NANA")


@pytest.mark.parametrize("words", [5, [], ["NA "], ["x" * 101], ["a\nb"], [None]])
def test_what_is_no_word_is_refused(flights: Path, words: Any) -> None:
    with pytest.raises(InvalidParameter, match="missing"):
        opened(flights, missing=words)


def test_a_check_names_the_words_that_nobody_named(flights: Path) -> None:
    check = opened(flights, keys={"place": ["Brest", "-"]}).check()
    assert (check["tail"].absent, check["place"].absent, check["n"].unread) == (0, 1, 2)
    assert {one.text: one.cells for one in check["tail"].words} == {"NA": 2, "": 1}
    assert {one.text: one.cells for one in check["place"].words} == {"NA": 1}  # the other is a key
    assert check["n"].words == ()
    assert check.hints[-2:] == (
        "Cells that are 'NA' or spaces: 3 of tail. All rows with the same word belong to one unit. "
        "If no value is meant, open it with missing=['NA', ''].",
        "Cells that are 'NA': 1 of place. They count as text. If no value is meant, open it with missing=['NA'].",
    )
    told = opened(flights, missing=["NA"]).check()
    assert (told["tail"].absent, told["place"].absent, told["n"].absent, told["n"].unread) == (2, 2, 1, 1)
    assert told.rows_without_unit == 2
    assert any("missing=['NA', '']" in hint for hint in told.hints)
    assert opened(flights, missing=["1", "NA", "", "-"]).check()["n"].absent == 1  # 1 is read as a number
    assert not any("Cells that" in hint for hint in opened(flights, missing=["NA", "", "-"]).check().hints)


COUNTED = pd.DataFrame({"tail": [f"N{i}" for i in range(200)], "r": ["NA", "EU"] * 100, "n": ["1,5", "J"] * 100})


def test_a_key_belongs_to_the_words_for_no_value_with_which_it_was_asked(tmp_path: Path) -> None:
    def ask(**more: Any) -> lw.Answer:
        table = lw.open(
            COUNTED, unit="tail", name="flights", ledger=tmp_path / "l.db", allowance=lw.PureDP(100), **more
        )
        return table.agg(lw.count("r")).release(epsilon=20, key="k")

    assert (round(ask().value), ask().repeated) == (200, True)
    for other in ({"missing": "NA"}, {"decimal": ","}, {"thousands": ","}, {"true": "J"}, {"false": ["N"]}):
        with pytest.raises(InvalidParameter, match="was used for another question"):
            ask(**other)
    question = lw.open(COUNTED, unit="tail", name="flights").agg(lw.count("r"))
    spent = lw.PureDP(20, unit="tail")
    bound_as_always = {"question": question.digest(), "loss": str(spent), "confidence": 0.95}
    book = lw.Ledger(tmp_path / "l.db")
    assert book.charge("flights", spent, key="k", binding=bound_as_always).stored, "old keys keep working"


def test_a_key_does_not_depend_on_the_order_of_the_words(tmp_path: Path) -> None:
    answers = [
        lw.open(
            COUNTED, unit="tail", name="f", ledger=tmp_path / "l.db", allowance=lw.PureDP(100), missing=words
        ).agg(lw.count("r")).release(epsilon=20, key="k")
        for words in (["NA", "-"], ["-", "NA", "-"])
    ]  # fmt: skip
    assert [(round(answer.value), answer.repeated) for answer in answers] == [(100, False), (100, True)]


def test_a_stream_belongs_to_the_words_for_no_value_with_which_it_was_opened(tmp_path: Path) -> None:
    file = tmp_path / "flights.stream"

    def question(**more: Any) -> Any:
        table = lw.open(COUNTED, unit="tail", name="flights", max_rows_per_unit=9, **more)
        return table.stream(lw.count("r"), every="step", steps=9, active_steps=9)

    question(missing=["NA", "-"]).open(file, epsilon=EXACT).observe(COUNTED)
    for other in ({}, {"missing": "NA"}, {"missing": ["NA", "-"], "decimal": ","}):
        with pytest.raises(InvalidParameter, match=r"another notation of its cells \(decimal=.* or missing=\)"):
            question(**other).open(file, epsilon=EXACT)
    again = question(missing=["-", "NA"]).open(file, epsilon=EXACT)
    assert (again.notation.missing, lw.open_stream(file).notation.missing) == (("NA", "-"), ("NA", "-"))
    assert round(again.observe(COUNTED)["count_r"][0]) == 200


def test_a_stream_of_an_older_version_had_no_words_for_no_value(tmp_path: Path) -> None:
    file = tmp_path / "flights.stream"

    def question(**more: Any) -> Any:
        table = lw.open(COUNTED, unit="tail", name="flights", max_rows_per_unit=9, **more)
        return table.stream(lw.count("r"), every="step", steps=9, active_steps=9)

    stream = question().open(file, epsilon=EXACT)
    with stream.file.transaction() as database:
        definition = states.facts(database)["definition"]
        assert definition["notation"].pop() == []
        states.remember(database, "definition", definition)
    with pytest.raises(InvalidParameter, match="another notation"):
        question(missing="NA").open(file, epsilon=EXACT)
    assert question().open(file, epsilon=EXACT).notation.missing == ()


def test_a_public_list_has_the_words_for_no_value_and_no_options_of_files() -> None:
    table = lw.public([{"r": "NA", "n": " NA"}, {"r": "EU", "n": 3}], missing="NA")
    assert table.plan.rows == ((None, None), ("EU", 3))
    assert [(field.kind, field.keys) for field in table.plan.fields] == [("text", (None, "EU")), ("integer", (None, 3))]
    assert lw.public([{"r": "NA"}]).plan.rows == (("NA",),)
    files: list[dict[str, Any]] = [
        {"names": ["zz"]}, {"delimiter": ";"}, {"encoding": "latin-1"}, {"table": "visits"},
        {"decimal": ","}, {"thousands": ","}, {"true": "J"}, {"false": "N"},
    ]  # fmt: skip
    for option in files:
        with pytest.raises(InvalidParameter, match=f"{next(iter(option))} = .* this is a list of rows"):
            lw.public([{"r": "NA"}], missing="NA", **option)


WORDY: dict[str, Any] = {"keys": {"r": ["NA", "EU"]}}


@together(
    "ask",
    [
        lambda table: table.group_by("r", **WORDY).agg(lw.count()),
        lambda table: (
            table.where("n = 'J'").select("tail", q="r").group_by("q", keys={"q": ["EU", " NA"]}).agg(lw.count())
        ),
        lambda table: table.query("SELECT r, COUNT(*) FROM flights GROUP BY r", **WORDY),
        lambda table: table.hierarchy(["r"], lw.count(), **WORDY),
        lambda table: table.hierarchy(["r"], lw.count(), tree=["NA", "EU"]),
        lambda table: table.marginals([["r"]], **WORDY),
        lambda table: table.stream(lw.count(), by=WORDY["keys"], every="step", steps=3, active_steps=1),
        lambda table: table.join(lw.public([{"r": "EU", "z": "NA"}]), on="r").group_by("r", **WORDY).agg(lw.count()),
        lambda table: lw.open(COUNTED, unit="tail", missing="NA", **WORDY),
    ],
)
def test_a_word_for_no_value_is_no_public_key(ask: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"keys = ' ?NA': [rq] has no such value: missing= says"):
        ask(lw.open(COUNTED, unit="tail", name="flights", missing="NA"))


def test_a_word_for_no_value_is_a_key_where_a_question_writes_it_again() -> None:
    table = lw.open(COUNTED, unit="tail", name="flights", missing="NA")
    places = lw.public([{"tail": "N0", "z": "NA"}], name="places")
    for question in (
        table.group_by(q="COALESCE(r, 'NA')", keys={"q": ["NA", "EU"]}).agg(lw.count()),
        table.select("tail", r="COALESCE(r, 'NA')").group_by("r", **WORDY).agg(lw.count()),
        lw.open(COUNTED, unit="tail", name="flights").group_by("r", **WORDY).agg(lw.count()),
    ):
        assert [round(value) for value in question.release(epsilon=20)["count"]] == [100, 100]
    joined = table.join(places, on="tail").group_by("z", keys={"z": ["NA"]}).agg(lw.count())
    assert round(joined.release(epsilon=20)["count"][0]) == 1


def test_text_is_itself_where_no_word_stands_for_no_value() -> None:
    long = " NA" * 1000
    assert meaning(long, "text") is long
    assert meaning(" NA", "text", Notation(missing=("NA",))) is None
    assert meaning("\ud800", "text", Notation(missing=("NA",))) == "\ud800"
    assert meaning("\ud800", "integer") is None
