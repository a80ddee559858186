"""The lab attacked: by owners who change their minds, by files made to harm, and by crowds of visitors."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import together

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.web.lab import intake, statement_form
from lapwing.web.lab.analyses import ANALYSES, grouping, local, models, rows, synthetic
from lapwing.web.lab.analyses.curated import blank, stopping
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.arrivals import AT_ONCE_EACH, STRETCH, Arrival
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.benches import Lab
from lapwing.web.lab.budget import Promise
from lapwing.web.lab.engine import SPILLED, connected, engine
from lapwing.web.lab.intake import FileColumn, take
from lapwing.web.lab.jobs import TOO_LONG, Jobs, Progress
from lapwing.web.lab.label import label
from lapwing.web.lab.owners import new_owner
from lapwing.web.lab.plain import Unreadable
from lapwing.web.lab.proposals import Proposal
from lapwing.web.lab.result import Result
from lapwing.web.lab.statement import DATASET, LONGEST_KEY, StatedColumn, Statement
from lapwing.web.service.problems import Problem
from lapwing.web.service.settings import Settings

STATED = Statement(
    name="rows",
    columns=(
        StatedColumn("row"),
        StatedColumn("age", "number", (0, 100)),
        StatedColumn("town", "text", None, ("Kiel", "Bonn")),
    ),
    epsilon=1.0,
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(Settings(lab_folder=tmp_path / "lab"))
    yield made
    made.close()


def brought(lab: Lab, statement: Statement | None = STATED) -> Bench:
    bench = lab.bring(new_owner(), "rows.csv")
    with engine(bench.folder) as db:
        rows = (
            "SELECT CAST(i AS VARCHAR) AS \"row\", CAST(i % 90 AS VARCHAR) AS age, 'Kiel' AS town FROM range(500) t(i)"
        )
        db.execute(f"COPY ({rows}) TO '{bench.path}' (FORMAT parquet)")
    bench.columns = tuple(FileColumn(one.name) for one in STATED.columns)
    if statement is not None:
        bench.state(statement)
    return bench


def spend(bench: Bench, epsilon: float) -> None:
    bench.ledger.charge(DATASET, lw.PureDP(epsilon, unit=bench.stated.unit_word))


# What is stated, and what was spent


def test_a_column_called_row_is_not_every_row(lab: Lab) -> None:
    """Both units are called "row"; what was promised per row bounds nothing for whoever a column names."""
    bench = brought(lab)
    spend(bench, 0.25)
    with pytest.raises(Problem, match="Start over"):
        bench.state(replace(STATED, unit="row"))
    assert bench.stated.unit == ""


def test_what_was_spent_fixes_how_the_unit_is_read(lab: Lab) -> None:
    """As text, 1 and 01 are two people; as whole numbers they are one."""
    stated = replace(STATED, unit="row")
    numbers = replace(stated, columns=(StatedColumn("row", "integer"), *STATED.columns[1:]))
    bench = brought(lab, stated)
    bench.state(numbers)
    bench.state(stated)  # nothing is spent yet
    spend(bench, 0.25)
    with pytest.raises(Problem, match="Start over"):
        bench.state(numbers)
    assert bench.remaining == lw.PureDP(0.75, unit="“row”")


def test_a_charge_that_comes_while_the_unit_changes_counts_and_blocks_nobody(lab: Lab) -> None:
    bench = brought(lab)
    close, slow = bench._budget._close, iter([0.25])

    def meanwhile(promise: Promise) -> lw.PureDP:
        for epsilon in slow:
            spend(bench, epsilon)  # another tab, between the look at the ledger and its end
        return close(promise)  # type: ignore[return-value]

    bench._budget._close = meanwhile  # type: ignore[method-assign]
    with pytest.raises(Problem, match="Start over"):
        bench.state(replace(STATED, unit="row"))
    assert bench.remaining == lw.PureDP(0.75, unit="row")
    spend(bench, 0.5)


def test_starting_over_counts_a_charge_that_came_in_the_last_moment(lab: Lab) -> None:
    bench = brought(lab)
    close = bench._budget._close

    def meanwhile(promise: Promise) -> lw.PureDP:
        spend(bench, 0.25)
        return close(promise)  # type: ignore[return-value]

    bench._budget._close = meanwhile  # type: ignore[method-assign]
    bench.start_over()
    assert bench.earlier == ["ε = 0.25 (add_remove, per row)"]


def sent(**changes: str) -> dict[str, str]:
    form = {"name": "rows", "unit": "", "rows": "1", "people": "500", "epsilon": "1", "delta": "0"}
    for place, one in enumerate(STATED.columns):
        form |= {f"type-{place}": one.type}
    return form | changes


READ = Proposal(bounds=(0.1 + 0.2, 1 / 3), private=False)
"""The form says 0.3 and 0.333333333333333, which are other numbers."""


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        ([READ], True),
        ([READ, Proposal(keys=("1", "2"), private=False)], True),
        ([READ, Proposal(why="no range has enough rows")], True),
        ([READ, Proposal(keys=("1", "2"))], True),
        ([READ, Proposal(bounds=(0.3, 0.333333333333333))], False),
    ],
    ids=["read", "then its keys", "then nothing found", "then keys found privately", "then found privately"],
)
def test_bounds_read_from_the_data_do_not_outlast_teaching_mode(lab: Lab, found: list[Proposal], refused: bool) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    for one in found:
        bench.propose("age", one)
    made, shown = statement_form.read(bench, sent(**{"low-1": "0.3", "high-1": "0.333333333333333"}))
    assert (made is None) == refused
    assert ("column-1" in shown.complaints) == refused


@together(
    ("low", "high", "refused"),
    [
        ("12.25", "83412.58", True),
        ("12.25", "83412.56", True),
        ("0", "83412.57", True),
        ("0", "83400", True),
        ("0", "84000", True),
        ("12.25", "100000", True),
        ("12", "1000000", True),
        ("0", "90000", False),
        ("0", "100000", False),
        ("-5", "200000", False),
    ],
)
def test_a_bound_close_to_one_that_was_read_counts_as_read(lab: Lab, low: str, high: str, refused: bool) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    bench.propose("age", Proposal(bounds=(12.25, 83412.57), private=False))
    made, shown = statement_form.read(bench, sent(**{"low-1": low, "high-1": high}))
    assert (made is None) == refused
    assert ("column-1" in shown.complaints) == refused


def test_round_bounds_are_nobodys_unless_both_are_those_that_were_read(lab: Lab) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    bench.propose("age", Proposal(bounds=(0, 100), private=False))
    assert statement_form.read(bench, sent(**{"low-1": "0", "high-1": "100"}))[0] is None
    assert statement_form.read(bench, sent(**{"low-1": "0", "high-1": "120"}))[0] is not None
    bench.propose("age", Proposal(bounds=(0, 100), private=True))
    assert statement_form.read(bench, sent(**{"low-1": "0", "high-1": "100"}))[0] is not None


def test_finding_bounds_privately_does_not_wash_those_that_were_read(lab: Lab) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    bench.propose("age", Proposal(bounds=(17.5, 97.3), private=False))
    bench.propose("age", Proposal(bounds=(0, 100), private=True))
    assert statement_form.read(bench, sent(**{"low-1": "17.5", "high-1": "97.3"}))[0] is None
    assert statement_form.read(bench, sent(**{"low-1": "0", "high-1": "100"}))[0] is not None


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ("Kiel, Bonn", True),
        ("bonn, KIEL, Ulm", True),
        ("Bonn, Kiel, Ulm, Trier", True),
        ("Bonn, Kiel, Ulm, Trier, Mainz", False),
        ("Bonn, Trier", False),
    ],
)
def test_keys_that_were_read_are_known_again_in_any_order_and_with_one_more(lab: Lab, keys: str, refused: bool) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    bench.propose("town", Proposal(keys=("Kiel", "Bonn", "Ulm"), private=False))
    assert (statement_form.read(bench, sent(**{"keys-2": keys}))[0] is None) == refused


def test_keys_read_from_the_data_do_not_outlast_teaching_mode_however_they_are_written(lab: Lab) -> None:
    bench = brought(lab, replace(STATED, teaching=True))
    bench.propose("town", Proposal(keys=(" Kiel", 'Bonn, "am Rhein"', "Ulm\n"), private=False))
    form = sent(**{"keys-2": statement_form.filled(bench).lines[2].keys})
    assert "column-2" in statement_form.read(bench, form)[1].complaints


# What one person changes

CELLS = (
    "",
    None,
    "1",
    "01",
    "nan",
    "inf",
    "-1e308",
    "5e-324",
    "9223372036854775808",
    "a",
    "b",
    " a",
    "true",
    "2026-01-31",
)
NASTY = [tuple(CELLS[(i * step + i // 7) % len(CELLS)] for step in (1, 3, 5, 9)) for i in range(60)]
"""Units with many rows, without a name, and cells that look like anything."""


def written(path: Path, rows: list[tuple[str | None, ...]]) -> Path:
    with engine(path.parent) as db:
        db.execute("CREATE TABLE t (u VARCHAR, k VARCHAR, x VARCHAR, i VARCHAR)")
        if rows:
            db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        db.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return path


class Salted:
    """The same salt for both tables: what else differs is the work of one person."""

    def bits(self, count: int) -> int:
        """Always the same."""
        return 1 << (count - 1)


@pytest.mark.parametrize("people", [20, 2_000_000])
@pytest.mark.parametrize("slug", ["linear", "logistic", "kmeans", "local"])
def test_a_person_with_many_rows_changes_one_row_that_is_learnt_from_or_one_report(
    slug: str, people: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "SYSTEM", Salted())
    monkeypatch.setattr(local, "SYSTEM", Salted())
    monkeypatch.setattr(local, "MOST_REPORTS", 10)
    columns = (StatedColumn("u"), StatedColumn("k", "text", None, ("a", "b")))
    numbers = (StatedColumn("x", "number", (0, 10)), StatedColumn("i", "integer", (0, 10)))
    stated = Statement(name="t", unit="u", people=people, columns=(*columns, *numbers))
    form = {"target": "k" if slug == "logistic" else "x", "columns": ["i", "x"], "column": "k"}
    question: Any = ANALYSES[slug].of(stated, form | ({"columns": ["i"]} if slug == "linear" else {}))

    def read(rows: list[tuple[str | None, ...]]) -> Counter[str]:
        data = Data(written(tmp_path / "table.parquet", rows), stated, None)
        if slug == "local":
            return Counter(question._read(data, lambda _: None))
        found = question.read(data, lambda _: None)
        labels = [""] * len(found.X) if found.y is None else found.y
        return Counter(f"{row.tobytes()!r} {label}" for row, label in zip(found.X, labels, strict=True))

    everybody = read(NASTY)
    moved = 0
    for name in ("1", " a"):
        others = read([row for row in NASTY if row[0] != name])
        less, more = (everybody - others).total(), (others - everybody).total()
        assert max(less, more) <= 1 if slug == "local" else less + more <= 1
        assert slug != "local" or everybody.total() == others.total() == min(people, 10)
        moved += less + more
    assert moved or people > 20  # the test sees somebody


# Work without an end


def test_a_parquet_file_of_too_many_cells_is_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, into = tmp_path / "raw", tmp_path / "table.parquet"
    with engine(tmp_path) as db:
        rows = "SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d FROM range(250001)"
        db.execute(f"COPY ({rows}) TO '{raw}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)")
    assert raw.stat().st_size < 10_000  # a billion would be as small
    assert take(raw, into, Progress(), most=1 << 20).columns[0].name == "a"
    monkeypatch.setattr(intake, "MOST_CELLS", 1_000_000)  # writing a billion takes longer than refusing them
    with pytest.raises(Unreadable, match="cells, rows times columns"):
        take(raw, into, Progress(), most=1 << 20)


def test_work_that_takes_too_long_is_stopped_and_says_so() -> None:
    jobs = Jobs(longest=0.05)

    def work(progress: Progress) -> None:
        while True:
            progress(0.5)

    job = jobs.start("bench", work)
    assert job.ended.wait(20)
    assert (job.state, job.error) == ("cancelled", TOO_LONG)
    jobs.close()


def test_a_question_to_the_curator_is_interrupted_in_the_middle(lab: Lab) -> None:
    """Not at its next step: the query itself would take hours."""
    bench = brought(lab)
    table = STATED.open(bench.path, None)
    endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c WHERE a.range < b.range % 7"
    started = threading.Event()

    def work(progress: Progress) -> None:
        with stopping(table, progress):
            cursor = table.context.engine.given.cursor()  # type: ignore[attr-defined]
            started.set()
            cursor.execute(endless).fetchall()

    job = lab.jobs.start(bench.id, work)
    assert started.wait(20)
    job.cancel()
    while not job.ended.wait(0.1):
        job.cancel()  # the first word may come before the query began
    assert job.state == "cancelled"


def test_a_question_may_not_fill_the_disk_with_what_it_puts_aside(lab: Lab) -> None:
    bench = brought(lab)
    [[most]] = connected(bench.folder).execute("SELECT current_setting('max_temp_directory_size')").fetchall()
    assert float(most.split()[0]) * {"GiB": 1 << 30, "MiB": 1 << 20}[most.split()[1]] <= 1.01 * SPILLED


# Crowds


def test_models_are_tried_by_few_at_once_and_the_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "PATIENCE", 0.01)
    stated = replace(STATED, columns=(*STATED.columns, StatedColumn("cost", "number", (0, 7))))
    question = ANALYSES["linear"].of(stated, {"target": "age", "columns": ["cost"], "method": "output"})
    for _ in range(synthetic.AT_ONCE):
        synthetic._trying.acquire()
    try:
        with pytest.raises(LapwingError, match="try again in a moment"):
            question.preview(replace(STATED, people=101))
    finally:
        for _ in range(synthetic.AT_ONCE):
            synthetic._trying.release()
    assert question.preview(replace(STATED, people=101)).bands


@pytest.mark.parametrize("slug", ["local", "logistic"])
def test_cells_of_megabytes_are_cut_before_they_reach_the_memory(lab: Lab, slug: str) -> None:
    bench = brought(lab, None)
    long = (
        "SELECT CAST(i AS VARCHAR) AS \"row\", '1' AS age, 'Kiel' || repeat('x', i * 300) AS town FROM range(50) t(i)"
    )
    with engine(bench.folder) as db:
        db.execute(f"COPY ({long}) TO '{bench.path}' (FORMAT parquet)")
    question: Any = ANALYSES[slug].of(STATED, {"column": "town", "target": "town", "columns": ["age"]})
    found = question._read if slug == "local" else lambda *given: question.read(*given).y
    towns = [str(one) for one in found(Data(bench.path, replace(STATED, people=50), None), lambda _: None)]
    assert sorted(map(len, towns)) == [4, *[LONGEST_KEY + 1] * 49]
    assert towns.count("Kiel") == 1, "what is longer than every key is none of them"


def test_the_exact_side_reads_the_stated_keys_and_no_others(lab: Lab) -> None:
    bench = brought(lab, None)
    stated = replace(STATED, columns=(StatedColumn("row", "text", None, ("7", "x'); --")), *STATED.columns[1:]))
    with rows.opened(Data(bench.path, stated, None)) as found:
        assert grouping.by_value(found, stated.columns[0], "count(*)") == [(1,), ()]


def test_room_is_kept_for_what_has_come_and_one_address_has_half(tmp_path: Path) -> None:
    lab = Lab(Settings(lab_folder=tmp_path, lab_disk=6 * STRETCH))

    def came(arrival: Arrival, size: int) -> None:
        if arrival.needs(size):
            arrival.grant()

    with lab.arrivals.arrival("a") as first, lab.arrivals.arrival("b") as other:
        for size in (1, STRETCH, 1, STRETCH):
            came(first, size)
        assert first.granted == 2 + 2 * STRETCH, "a stretch beyond what came, however much was declared"
        with pytest.raises(Problem, match="your network") as refused:
            came(first, 1)
        assert refused.value.status_code == 429
        came(other, 2 * STRETCH)
        with lab.arrivals.arrival("c") as third, pytest.raises(Problem, match="no space") as refused:
            came(third, 1)
        assert refused.value.status_code == 503
    with lab.arrivals.arrival("a") as first:  # they came, or not: the room is free again
        came(first, 1)
    lab.close()


def test_one_address_has_a_few_files_on_their_way(lab: Lab) -> None:
    with ExitStack() as open_files:
        for _ in range(AT_ONCE_EACH):
            open_files.enter_context(lab.arrivals.arrival("a"))
        with pytest.raises(Problem) as refused, lab.arrivals.arrival("a"):
            pass
        assert refused.value.status_code == 429
        with lab.arrivals.arrival("b"):  # others are not kept waiting
            pass


# What is said about errors


@together(
    ("slug", "form"),
    [
        ("linear", {"target": "age", "columns": ["visits", "cost"]}),
        ("logistic", {"target": "town", "columns": ["age"]}),
        ("kmeans", {"columns": ["age", "visits"]}),
        ("quantiles", {"column": "age"}),
    ],
)
def test_what_rests_on_made_up_rows_is_called_a_guess(slug: str, form: dict[str, Any]) -> None:
    """On the clinic, half of the private lines were farther from the exact one than made-up rows let expect."""
    numbers = tuple(StatedColumn(name, "number", (0, 100)) for name in ("visits", "cost"))
    stated = replace(STATED, columns=(*STATED.columns, *numbers))
    question = ANALYSES[slug].of(stated, form)
    shown = question.preview(stated, (1.0,))
    guessed = [band for band in shown.bands if not band.measured_in]
    assert guessed
    assert all(band.why for band in guessed)
    lines = label(question, stated, Result("number", (), loss=lw.PureDP(1.0)), preview=shown).lines
    errors = {one.name: one.text for one in lines if one.name in ("error", "guess")}
    guess = errors.pop("guess")
    assert guess.count("about ±") == len(guessed)
    assert all(band.why in guess for band in guessed)
    assert not any("about" in text for text in errors.values())  # what holds with 95 % confidence is no guess


def test_slopes_that_are_shrunk_have_no_error_bars_that_promise_to_reach_the_exact_ones(lab: Lab) -> None:
    """On the clinic, bars of 95 in 100 reached the exact slope 13 times."""
    bench = brought(lab, None)
    columns = (
        StatedColumn("row", "number", (0, 500)),
        StatedColumn("age", "number", (0, 100)),
        StatedColumn("town", "number", (0, 1)),
    )
    stated = replace(STATED, columns=columns)
    question = ANALYSES["linear"].of(stated, {"target": "age", "columns": ["row", "town"]})
    made = question.release(Data(bench.path, stated, None), 1.0, lambda _: None)
    for series in (*made.series, *made.drawn):
        assert all(value.low is None for value in series.values)
    [effects] = made.drawn
    assert "towards 0" in effects.note


@together("epsilon", [0.001, 0.0149, 0.5, 0.69, 9.5])
def test_a_label_never_promises_more_accuracy_than_its_epsilon_has(lab: Lab, epsilon: float) -> None:
    question = ANALYSES["count"].of(STATED, {})
    [line] = [
        one.text
        for one in label(question, STATED, Result("number", (), loss=lw.PureDP(epsilon))).lines
        if one.name in ("error", "guess")
    ]
    said = float(line.split("±")[1].split()[0].replace(",", ""))
    [quoted] = blank(STATED).agg(lw.count()).quote(epsilon=epsilon).expected
    assert quoted.error is not None
    assert quoted.error * 0.995 <= said <= quoted.error * 1.4 + 1
