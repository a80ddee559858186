"""Tables of browsers: who sees them, what may be spent on them, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from loops import in_a_loop

import lapwing as lw
from lapwing.errors import BudgetExceeded, InvalidParameter
from lapwing.web.lab.bench import Answer, Bench
from lapwing.web.lab.benches import PREFIX, Lab
from lapwing.web.lab.engine import connected, engine
from lapwing.web.lab.jobs import MOST_OPEN_BROWSER, MOST_OPEN_EACH, PLAIN, Jobs, Progress
from lapwing.web.lab.owners import new_owner
from lapwing.web.lab.result import Result
from lapwing.web.lab.statement import DATASET, StatedColumn, Statement
from lapwing.web.lab.turns import Ending, Turns, Visitor
from lapwing.web.service.problems import Problem
from lapwing.web.service.settings import Settings

STATED = Statement(name="rows", columns=(StatedColumn("who"), StatedColumn("age", "integer", (0, 100))), epsilon=1.0)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(Settings(lab_folder=tmp_path / "lab"))
    yield made
    made.close()


def bench_with_rows(lab: Lab, owner: str = "") -> Bench:
    bench = lab.bring(owner or new_owner(), "rows.csv")
    with engine(bench.folder) as db:
        rows = "SELECT CAST(i AS VARCHAR) AS who, CAST(i % 90 AS VARCHAR) AS age FROM range(500) t(i)"
        db.execute(f"COPY ({rows}) TO '{bench.path}' (FORMAT parquet)")
    return bench


def spend(bench: Bench, epsilon: float, unit: str = "row") -> None:
    bench.ledger.charge(DATASET, lw.PureDP(epsilon, unit=unit))


def test_a_folder_is_for_its_owner_only(lab: Lab) -> None:
    bench = lab.bring(new_owner(), "rows.csv")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (lab.folder, bench.folder)] == [0o700, 0o700]


def test_only_the_browser_that_brought_a_table_finds_it(lab: Lab) -> None:
    mine, yours = new_owner(), new_owner()
    bench = lab.bring(mine, "rows.csv")
    assert lab.find(mine, bench.id) is bench
    assert lab.find(yours, bench.id) is None
    assert lab.find("", bench.id) is None
    assert lab.of(yours) == [] == lab.of("")


def test_deleting_removes_the_folder(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)
    lab.delete(bench)
    assert list(lab.folder.iterdir()) == [lab.folder / "lock"]
    assert lab.find("", bench.id) is None


def test_deleting_interrupts_what_is_under_way_and_what_it_spilled_goes_too(lab: Lab) -> None:
    bench, spilled = lab.bring(new_owner(), "rows.csv"), threading.Event()

    def work(progress: Progress) -> None:
        db = connected(bench.folder, "64MB")
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.01):
                if any(path.is_file() for path in bench.folder.rglob("spill-*/*")):
                    spilled.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            with progress.stops(db):
                db.execute(
                    "CREATE TABLE t AS SELECT hash(i) AS a, hash(i + 1) AS b FROM range(1000000000) r(i) ORDER BY a"
                )
        finally:
            done.set()
            watcher.join()
            db.close()

    job = lab.jobs.start(bench.id, work)
    assert spilled.wait(60), "nothing was spilled, so this proves nothing"
    lab.delete(bench)
    assert job.state == "cancelled"
    assert not bench.folder.exists()


def test_what_nobody_uses_is_swept_away_and_what_is_used_stays(lab: Lab) -> None:
    mine = new_owner()
    old, used = lab.bring(mine, "old.csv"), lab.bring(mine, "used.csv")
    old.used -= lab.settings.lab_lasts - 60
    later = time.time() + 120
    used.used += 120
    assert lab.sweep(lambda: later) == 1
    assert not old.folder.exists()
    assert used.folder.exists()


def test_an_expired_table_is_not_found_even_before_the_sweep(lab: Lab) -> None:
    mine = new_owner()
    bench = lab.bring(mine, "rows.csv")
    bench.used -= lab.settings.lab_lasts + 1
    assert lab.find(mine, bench.id) is None
    assert not bench.folder.exists()


def test_closing_removes_everything(tmp_path: Path) -> None:
    lab = Lab(Settings(lab_folder=tmp_path))
    bench_with_rows(lab)
    lab.close()
    assert list(tmp_path.iterdir()) == []


def test_a_lab_that_lives_is_no_leftover(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    another = Lab(lab.settings)
    another.start()
    another.bring(new_owner(), "rows.csv")
    assert bench.path.exists()
    another.close()
    assert bench.path.exists()


def test_what_a_lab_left_whose_lock_is_free_goes_when_the_next_one_starts(tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}dead" / "bench" / "spill-1"
    left.mkdir(parents=True)
    (left / "duckdb_temp_storage-0.tmp").write_bytes(b"rows")
    (tmp_path / "of somebody else").mkdir()
    Lab(Settings(lab_folder=tmp_path)).start()
    assert list(tmp_path.iterdir()) == [tmp_path / "of somebody else"]


def test_a_sixth_table_of_a_browser_is_refused_and_none_is_deleted_to_make_room(lab: Lab) -> None:
    mine = new_owner()
    first, *_ = tables = [lab.bring(mine, f"{number}.csv") for number in range(lab.settings.lab_benches_each)]
    with pytest.raises(Problem, match=r"You have 5 tables here.*Delete one of them") as refused:
        lab.bring(mine, "one more.csv")
    assert refused.value.status_code == 409
    assert [one.folder.exists() for one in tables] == [True] * 5
    lab.bring(new_owner(), "of another browser.csv")
    lab.delete(first)
    assert lab.bring(mine, "one more.csv").folder.exists()
    tables[1].used -= lab.settings.lab_lasts + 1
    assert lab.bring(mine, "in the place of one that nobody used for two hours.csv").folder.exists()


def test_a_full_lab_refuses(tmp_path: Path) -> None:
    lab = Lab(Settings(lab_folder=tmp_path, lab_benches=1))
    lab.bring(new_owner(), "rows.csv")
    with pytest.raises(Problem) as refused:
        lab.bring(new_owner(), "rows.csv")
    assert refused.value.status_code == 503
    lab.close()


# The budget


def test_nothing_is_spent_or_answered_before_it_is_stated(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    with pytest.raises(Problem) as refused:
        bench.data()
    assert refused.value.status_code == 409
    assert refused.value.instead == f"/lab/{bench.id}"


def test_before_anything_is_spent_everything_may_change(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    for stated in (STATED, replace(STATED, epsilon=2.0), replace(STATED, unit="who"), replace(STATED, delta=2.0**-20)):
        bench.state(stated)
        assert bench.remaining == stated.allowance


def test_a_changed_statement_gives_nothing_back(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)
    spend(bench, 0.25)
    bench.state(replace(STATED, columns=(StatedColumn("who"), StatedColumn("age", "integer", (0, 50), ("1", "2")))))
    assert bench.remaining == lw.PureDP(0.75, unit="row")
    bench.state(replace(STATED, epsilon=0.5))
    assert bench.remaining == lw.PureDP(0.25, unit="row")


@pytest.mark.parametrize(
    "change", [{"epsilon": 2.0}, {"delta": 1e-6}, {"unit": "who"}, {"epsilon": 0.1, "delta": 1e-6}]
)
def test_what_was_spent_fixes_the_unit_and_the_allowance(lab: Lab, change: dict[str, object]) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)
    spend(bench, 0.25)
    with pytest.raises(Problem) as refused:
        bench.state(replace(STATED, **change))  # type: ignore[arg-type]
    assert refused.value.status_code == 409
    assert bench.remaining == lw.PureDP(0.75, unit="row")
    assert bench.stated == STATED


def test_teaching_mode_may_raise_the_allowance_and_what_was_spent_stays_spent(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)
    spend(bench, 0.25)
    old = bench.ledger
    bench.state(replace(STATED, epsilon=3.0, delta=1e-6, teaching=True))
    assert bench.remaining == lw.ApproxDP(2.75, bench.remaining.delta, unit="row")  # type: ignore[attr-defined]
    assert bench.spent.epsilon == lw.PureDP(0.25).epsilon  # type: ignore[attr-defined]
    with pytest.raises(BudgetExceeded):
        old.charge(DATASET, lw.PureDP(0.1, unit="row"))  # whoever still holds the old ledger cannot spend twice
    with pytest.raises(Problem):
        bench.state(replace(STATED, epsilon=0.1))


def test_starting_over_says_what_was_spent_before(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)
    spend(bench, 0.25)
    bench.keep(Answer("count", "Count", {}, 0.25, Result("number", (), loss=lw.PureDP(0.25))))
    bench.start_over()
    assert bench.remaining == STATED.allowance
    assert bench.earlier == ["ε = 0.25 (add_remove, per row)"]
    assert bench.answers == []


def test_two_tabs_never_overspend(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)

    def ask(_: int) -> bool:
        try:
            spend(bench, 0.3)
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as tabs:
        assert sum(tabs.map(ask, range(12))) == 3


def test_exact_answers_and_free_draws_are_for_teaching_mode_only(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)
    for forbidden in (bench.teach, lambda: bench.data(charged=False)):
        with pytest.raises(Problem) as refused:
            forbidden()
        assert refused.value.status_code == 403
    bench.state(replace(STATED, teaching=True))
    bench.teach()
    assert bench.data(charged=False).ledger is None
    assert bench.data().ledger is not None


def test_an_exact_answer_is_never_kept(lab: Lab) -> None:
    bench = bench_with_rows(lab)
    with pytest.raises(ValueError, match="never kept"):
        bench.keep(Answer("count", "Count", {}, 1.0, Result("number", ())))


def test_a_question_reads_the_folder_of_its_table_and_nothing_else(lab: Lab, tmp_path: Path) -> None:
    bench = bench_with_rows(lab)
    bench.state(STATED)
    answer = STATED.open(bench.path, bench.ledger).agg(lw.count()).release(epsilon=0.5)
    assert 400 < answer.value < 600
    (tmp_path / "other.csv").write_text("a\n1\n")
    with engine(bench.folder) as db:
        for forbidden in (
            f"SELECT * FROM read_csv('{tmp_path / 'other.csv'}')",
            "INSTALL httpfs",
            "SET enable_external_access = true",
            f"ATTACH '{tmp_path / 'new.db'}'",
        ):
            with pytest.raises(Exception, match=r"(?i)disabled|cannot|configuration|lock|permission"):
                db.execute(forbidden)


def test_one_address_has_half_of_the_tables(tmp_path: Path) -> None:
    lab = Lab(Settings(lab_folder=tmp_path, lab_benches=4))
    for _ in range(2):
        lab.bring(new_owner(), "rows.csv", "a")
    with pytest.raises(Problem, match="your network") as refused:
        lab.bring(new_owner(), "rows.csv", "a")
    assert refused.value.status_code == 429
    lab.bring(new_owner(), "rows.csv", "b")
    lab.close()


# Jobs


def test_work_tells_how_far_it_is_and_what_came_out() -> None:
    jobs, may_end = Jobs(1), threading.Event()
    reached = threading.Event()

    def work(progress: Progress) -> int:
        progress(0.5)
        reached.set()
        may_end.wait(10)
        return 42

    job = jobs.start("bench", work, where="/lab/bench", title="Counting")
    assert reached.wait(10)
    assert job.told() | {"id": ""} == {
        "id": "", "state": "working", "share": 0.5, "title": "Counting", "error": "", "where": "/lab/bench",
        "place": 0,
    }  # fmt: skip
    may_end.set()
    assert job.ended.wait(10)
    assert (job.state, job.result, job.told()["share"]) == ("done", 42, 1.0)
    json.dumps(job.told())
    jobs.close()


def test_only_words_of_ours_are_shown_when_work_fails() -> None:
    jobs = Jobs(1)

    def helpful(progress: Progress) -> None:
        raise InvalidParameter("epsilon", 0, "must be greater than 0", "Write 1.")

    def careless(progress: Progress) -> None:
        raise RuntimeError("the row of Ada Lovelace")

    told = [jobs.start("bench", work) for work in (helpful, careless)]
    assert all(job.ended.wait(10) for job in told)
    assert [job.state for job in told] == ["failed", "failed"]
    assert "Write 1." in told[0].error
    assert told[1].error == PLAIN
    jobs.close()


def test_cancelled_work_stops_at_its_next_step_and_waiting_work_never_begins() -> None:
    jobs, begun = Jobs(1), threading.Event()

    def endless(progress: Progress) -> None:
        begun.set()
        while True:
            progress(0.1)

    first, second = jobs.start("bench", endless), jobs.start("bench", endless)
    assert begun.wait(10)
    second.cancel()
    first.cancel()
    assert first.ended.wait(10)
    assert second.ended.wait(10)
    assert [first.state, second.state] == ["cancelled", "cancelled"]
    jobs.close()


def test_one_table_cannot_have_more_work_than_its_share() -> None:
    jobs, may_end = Jobs(1), threading.Event()
    for _ in range(MOST_OPEN_EACH):
        jobs.start("bench", lambda progress: may_end.wait(10))
    with pytest.raises(Problem) as refused:
        jobs.start("bench", lambda progress: None)
    assert refused.value.status_code == 429
    may_end.set()
    jobs.close()


def test_somebody_with_one_piece_of_work_does_not_wait_for_all_forty_of_another() -> None:
    jobs, gate = Jobs(3), threading.Event()
    many = [jobs.start(f"a{n}", lambda _: gate.wait(30), visitor=Visitor("A", f"browser {n}")) for n in range(40)]
    while sum(job.state == "working" for job in many) < 2:
        time.sleep(0.01)
    other = jobs.start("b", lambda _: "done", visitor=Visitor("B", "browser"))
    assert other.ended.wait(30), "no address has all threads"
    assert [job.place for job in many] == [0, 0, *range(1, 39)]
    gate.set()
    assert all(job.ended.wait(30) for job in many)
    jobs.close()


def test_two_hundred_people_are_all_told_their_place_and_one_browser_has_its_share() -> None:
    jobs, gate = Jobs(2), threading.Event()
    hall = [jobs.start(f"{n}", lambda _: gate.wait(30), visitor=Visitor("hall", f"{n}")) for n in range(200)]
    while hall[0].state != "working":
        time.sleep(0.01)
    assert [job.told()["place"] for job in hall] == list(range(200))
    hall[100].cancel()
    assert (hall[100].state, hall[100].place, hall[150].place) == ("cancelled", 0, 149), "who leaves makes room at once"
    greedy = Visitor("hall", "greedy")
    for number in range(MOST_OPEN_BROWSER):
        jobs.start(f"greedy {number}", lambda _: None, visitor=greedy)
    with pytest.raises(Problem) as refused:
        jobs.start("one more", lambda _: None, visitor=greedy)
    assert refused.value.status_code == 429
    gate.set()
    jobs.close()


def test_addresses_take_turns_and_so_do_the_browsers_of_each() -> None:
    turns: Turns[str] = Turns()
    for item in ("a1-1", "a1-2", "a1-3", "a2-1", "b1-1", "b1-2", "a2-2", "c1-1"):
        turns.add(item, Visitor(item[0], item[:2]))
    order = ["a1-1", "b1-1", "c1-1", "a2-1", "b1-2", "a1-2", "a2-2", "a1-3"]
    assert [turns.place(item) for item in order] == list(range(1, 9))
    assert turns.remove("b1-2")
    assert not turns.remove("b1-2")
    assert turns.take(lambda address: address != "a") == "b1-1", "those who have enough threads are passed over"
    left = [turns.take(lambda _: True) for _ in range(7)]
    assert left == ["a1-1", "c1-1", "a2-1", "a1-2", "a2-2", "a1-3", None]
    assert len(turns) == 0


def test_a_request_waits_for_work_without_a_thread() -> None:
    ending = Ending()

    async def crowd() -> list[bool]:
        assert not await ending.waited(0.001)
        waiting = [asyncio.create_task(ending.waited(30)) for _ in range(100)]
        await asyncio.sleep(0)
        threading.Thread(target=ending.set).start()
        return [*await asyncio.gather(*waiting), await ending.waited(30)]

    assert in_a_loop(crowd()) == [True] * 101


def test_the_work_of_another_table_is_not_told() -> None:
    jobs = Jobs(1)
    job = jobs.start("mine", lambda progress: None)
    with pytest.raises(Problem) as refused:
        jobs.get("yours", job.id)
    assert refused.value.status_code == 404
    jobs.forget("mine")
    with pytest.raises(Problem):
        jobs.get("mine", job.id)
    jobs.close()
