"""A question of the lab that fails, or takes too long, after it began to read: on record first, then one fixed text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from clinic_bench import brought, released
from fastapi import FastAPI
from school_site import PERSON, site_of, visitor

from lapwing.privacy import Ledger
from lapwing.web.lab import questions, releases
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.jobs import FAILED, PLAIN, STOPPED, TOO_LONG, Job, Jobs, Progress


def test_a_question_that_fails_closes_the_table_until_its_owner_has_looked(
    lab_school: FastAPI, clinic_rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    form = {"column": "age", "epsilon": "0.5"}

    def asked() -> str:
        job = client.post(f"/lab/{bench.id}/ask/mean", data=form).json()["id"]
        found = site_of(lab_school).lab.jobs.get(bench.id, job)
        found.ended.wait(300)
        return found.error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lapwing.curator.ask.central.look", _fails)
        first = asked()
    assert "secret" not in first
    assert asked() == first  # one text, for what failed and for what is refused
    assert bench.spent.epsilon == 0.5
    described = client.get(f"/lab/{bench.id}", headers=PERSON).text
    assert f'href="/lab/{bench.id}/failures"' in described
    assert "secret" not in described
    assert f'href="/lab/{bench.id}/failures"' in client.get(f"/lab/{bench.id}/ask/mean", headers=PERSON).text
    assert "a &lt;secret&gt; record" in client.get(f"/lab/{bench.id}/failures", headers=PERSON).text
    assert visitor(lab_school).get(f"/lab/{bench.id}/failures", headers=PERSON).status_code == 404
    bench.state(replace(bench.stated, epsilon=bench.stated.epsilon / 2))
    bench.start_over()
    assert asked() == first  # neither a new promise nor a new budget reopens it
    assert client.post(f"/lab/{bench.id}/failures", headers=PERSON).status_code == 422
    client.post(f"/lab/{bench.id}/failures", data={"looked": "yes"}, headers=PERSON)
    assert not bench.failed
    released(client, bench, 0.25)


def _fails(*arguments: Any, **_: Any) -> None:
    arguments[3].begin()
    raise MemoryError("a <secret> record")


class Late:
    """The progress of a job that takes too long at a certain step, or is stopped by its owner."""

    def __init__(self, progress: Progress, step: float, late: str) -> None:
        self.progress, self.step, self.late = progress, step, late
        self.stops = progress.stops

    def __call__(self, share: float) -> None:
        if share == self.step:
            self.progress.cancel(self.late)
        self.progress(share)


QUESTIONS = {
    "mean": [("column", "age")],
    "linear": [("target", "visits"), ("columns", "age")],
    "local": [("column", "region")],
}


def started(lab_school: FastAPI, bench: Bench, slug: str, step: float, late: str) -> Job:
    """A release that ends at a step."""
    question = questions.question(bench.stated, slug, QUESTIONS[slug])
    release = releases.release(bench, question, 0.5, releases.moment())
    job = site_of(lab_school).lab.jobs.start(bench.id, lambda progress: release(Late(progress, step, late)))  # type: ignore[arg-type]
    job.ended.wait(300)
    return job


@pytest.mark.parametrize(("slug", "step"), [("mean", 1.0), ("linear", 0.6), ("linear", 1.0), ("local", 0.5)])
def test_a_question_that_takes_too_long_after_reading_is_a_failure_and_one_that_is_stopped_is_none(
    lab_school: FastAPI, clinic_rows: Path, slug: str, step: float
) -> None:
    _, bench = brought(lab_school, clinic_rows)
    job = started(lab_school, bench, slug, step, "")
    assert (job.state, job.error, bench.failed) == ("cancelled", STOPPED, False)
    job = started(lab_school, bench, slug, step, "It took 15 minutes.")
    assert (job.state, job.error) == ("failed", FAILED.format(bench=bench.id))
    [failure] = bench.ledger.failures("table")  # on record, once
    assert failure.said == "It took 15 minutes."
    assert bench.answers == []


def test_work_that_takes_too_long_before_it_reads_is_no_failure(lab_school: FastAPI, clinic_rows: Path) -> None:
    _, bench = brought(lab_school, clinic_rows)
    for slug in QUESTIONS:
        assert started(lab_school, bench, slug, 0.1, "It took 15 minutes.").error == TOO_LONG
    assert not bench.failed


ENDLESS = "SELECT count(*) AS c0, 1 AS c1 FROM range(1000000) a, range(1000000) b, range(1000000) c WHERE a.range < 7"


@pytest.mark.parametrize("slug", ["mean", "linear"])
def test_a_statement_without_an_end_is_interrupted_and_on_record_before_that_is_shown(
    lab_school: FastAPI, clinic_rows: Path, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    _, bench = brought(lab_school, clinic_rows)
    monkeypatch.setattr("lapwing.web.lab.analyses.models.one_each", lambda *_, **__: ENDLESS)
    endless = sqlglot.parse_one(ENDLESS, dialect="duckdb")
    monkeypatch.setattr("lapwing.curator.ask.central.look", lambda *arguments, **_: arguments[3].fetch(endless))
    seen = list[bool]()
    write = Ledger.trip

    def trip(ledger: Ledger, *arguments: Any, **options: Any) -> None:
        seen.append(job.ended.is_set())
        write(ledger, *arguments, **options)

    monkeypatch.setattr(Ledger, "trip", trip)
    question = questions.question(bench.stated, slug, QUESTIONS[slug])
    jobs = Jobs(longest=0.3)
    job = jobs.start(bench.id, releases.release(bench, question, 0.5, releases.moment()))
    assert job.ended.wait(300)
    jobs.close()
    assert seen == [False]
    assert (job.state, job.error) == ("failed", FAILED.format(bench=bench.id))
    assert bench.ledger.failures("table")[0].said == "This took longer than 0.3 seconds, so we stopped it."


def test_what_fails_in_teaching_mode_closes_nothing_and_does_not_say_so(
    lab_school: FastAPI, clinic_rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    released(client, bench)
    monkeypatch.setattr("lapwing.curator.ask.unprotected.look", _fails)
    job = site_of(lab_school).lab.jobs.start(bench.id, releases.exact(bench, bench.answers[-1]))
    job.ended.wait(300)
    assert (job.state, job.error, bench.failed) == ("failed", PLAIN, False)


@pytest.mark.parametrize("slug", ["linear", "local"])
def test_a_fit_that_fails_is_on_record_and_says_what_every_failure_says(
    lab_school: FastAPI, clinic_rows: Path, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("a <secret> record")

    _, bench = brought(lab_school, clinic_rows)
    monkeypatch.setattr("lapwing.web.lab.analyses.models.Model.fitted", fails)
    monkeypatch.setattr("lapwing.web.lab.analyses.local.Local._collected", fails)
    job = started(lab_school, bench, slug, 2.0, "")
    assert (job.state, job.error) == ("failed", FAILED.format(bench=bench.id))
    assert "secret" in str(bench.ledger.failures("table")[0].said)


def test_draws_that_take_too_long_are_a_failure_although_the_first_were_answered(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows, epsilon=1.0)
    released(client, bench, 0.05)
    work = releases.draws(bench, bench.answers[-1], 10, charged=True)

    def late(progress: Progress) -> Any:
        call = progress.__class__.__call__

        class Slow(Progress):
            def __call__(self, share: float) -> None:
                if share >= 0.5:
                    self.cancel("It took 15 minutes.")
                call(self, share)

        return work(Slow())

    job = site_of(lab_school).lab.jobs.start(bench.id, late)
    job.ended.wait(300)
    assert (job.state, job.error) == ("failed", FAILED.format(bench=bench.id))
    assert len(bench.ledger.failures("table")) == 1
    assert bench.spent.epsilon >= 0.3  # type: ignore[attr-defined]
