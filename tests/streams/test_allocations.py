"""The budget of consecutive steps is spread in one of two ways: a quote shows both, and a file keeps its own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streaming import opened, table
from typer.testing import CliRunner

import lapwing as lw
from lapwing.cli.commands import app
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import BudgetAbsorption, BudgetDistribution


def weekly(*aggregates: Any, **named: Any) -> Any:
    options = {"by": "region", "every": "step", "steps": 12, "consecutive_steps": 3, **named}
    return table("patient").stream(*(aggregates or (lw.count(),)), **options)


def crowd(people: int) -> list[dict[str, Any]]:
    return [{"patient": person, "region": "N"} for person in range(people)]


def test_a_quote_shows_the_errors_of_both_allocations() -> None:
    for taken, other in (("distribution", "absorption"), ("absorption", "distribution")):
        quote = weekly(lw.count(), lw.mean("cost"), allocation=taken).quote(epsilon=1)
        errors = {(one.output, one.allocation): one for one in quote.allocations}
        assert [one.taken for one in quote.allocations] == [one.allocation == taken for one in quote.allocations]
        absorbing, distributing = errors["count", "absorption"], errors["count", "distribution"]
        assert absorbing.quiet.error is not None
        assert distributing.quiet.error is not None
        assert distributing.next.error is not None
        assert absorbing.quiet.error < distributing.quiet.error < distributing.next.error
        assert absorbing.next.error is None
        assert quote.expected[:2] == (errors["count", taken].quiet, errors["count", taken].next)
        [note] = [note for note in quote.notes if "allocation=" in note]
        assert note.startswith(f"count: with allocation='{other}' the error is ± ")
        assert f"± {errors['count', other].quiet.error:g}" in note
        assert ("no error is known one step after the first new answer in 6 steps" in note) == (other == "absorption")
        span = {"distribution": 3, "absorption": 6}[taken]
        assert quote.expected[0].output == f"count, if the answer was only repeated in the {span} steps before"
        assert quote.expected[1].output == f"count, one step after the first new answer in {span} steps"
        assert any("on other steps the error depends on what was published before" in note for note in quote.notes)
        assert all(line.what.endswith(f"(budget {taken})") for line in quote.lines)
        assert quote.loss == lw.PureDP(1, unit="patient in any 3 consecutive steps")


def test_what_a_quote_calls_a_while_is_long_enough_for_either_allocation() -> None:
    """Whatever was spent before: after so many steps without a release, a step may spend as much as it ever may."""
    for kind, span in ((BudgetDistribution, 5), (BudgetAbsorption, 2 * 5)):
        mechanism = kind(epsilon=1000, window=5)
        state = mechanism.open()
        for count in (0, 10**6, 0, 10**6, *[10**6] * 20, 0):  # bursts, then the largest release there can be
            state = mechanism.observe(state, count)
        assert state.released
        for _ in range(span):
            state = mechanism.observe(state, mechanism.estimate(state)[0])
            assert not state.released
        following = mechanism.observe(state, mechanism.estimate(state)[0])
        assert mechanism.error_bound(following) <= mechanism.accuracy()


def test_the_usual_allocation_is_distribution() -> None:
    assert weekly().definition == weekly(allocation="distribution").definition
    assert weekly().definition.digest() == weekly(allocation="distribution").definition.digest()
    assert weekly().definition.digest() != weekly(allocation="absorption").definition.digest()
    assert weekly().quote(epsilon=1).lines[0].what == "rows (budget distribution)"


def test_steps_that_gave_up_their_share_repeat_the_answer_and_have_no_interval(tmp_path: Path) -> None:
    stream = opened(tmp_path, weekly(allocation="absorption"), epsilon=500)
    people = [10, 10, 10, 10, 400, 900, 900, 900]
    for count in people:
        stream.observe(crowd(count))
    history = stream.history()
    shown = list(zip(history["count"][::2], history.table.column("count").noise[::2], strict=True))
    assert [value for value, _ in shown] == [10, 10, 10, 10, 400, 400, 400, 900]
    known = [span is not None for _, span in shown]
    assert known == [True] * 5 + [False] * 2 + [True]
    assert all(span[0] <= count <= span[1] for (_, span), count in zip(shown, people, strict=True) if span)
    for answer in (stream.at(6), history):
        assert "1E+" not in str(answer)
        assert lw.Answer.from_json(answer.to_json()).columns == answer.columns
        assert any("have no interval" in note for note in answer.notes)
    history.plot(tmp_path / "lines.png")
    assert history.to_frame()["count_low"].isna().tolist()[::2] == [not sure for sure in known]


@pytest.mark.parametrize("bounds", [(0, 100), (0, 1e-40)])
def test_every_output_can_be_shown_where_nothing_is_known_about_its_error(
    tmp_path: Path, bounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {"patient": np.arange(1), "region": np.array(["N"]), "cost": np.zeros(1)}
    costs = lw.open(source, unit="patient", bounds={"cost": bounds}, keys={"region": ["N"]})
    outputs = (lw.count(), lw.sum("cost"), lw.mean("cost"), lw.variance("cost"))
    question = costs.stream(*outputs, every="step", steps=12, consecutive_steps=3, allocation="absorption")
    stream = opened(tmp_path, question, epsilon=5000)
    known = stream.observe([{**row, "cost": bounds[1]} for row in crowd(400)])
    monkeypatch.setattr(BudgetAbsorption, "error_bound", lambda *_: math.inf)
    unknown = stream.observe([{**row, "cost": bounds[1]} for row in crowd(900)])
    for name in ("count", "sum_cost", "mean_cost", "variance_cost"):
        assert known.table.column(name).noise != (None,)
        assert unknown.table.column(name).noise == (None,), name
        assert unknown.table.column(name).interval in (None, (None,))
    assert len(stream.history()["count"]) == 2


def test_a_file_goes_on_with_the_allocation_it_was_opened_with(tmp_path: Path) -> None:
    stream = opened(tmp_path, weekly(allocation="absorption"), epsilon=1)
    stream.observe(crowd(50))
    again = lw.open_stream(tmp_path / "state.db")
    assert again.definition.protection == stream.definition.protection
    assert isinstance(again.items[0].counter, BudgetAbsorption)
    again.observe(crowd(60))
    assert stream.closed == 2
    with pytest.raises(InvalidParameter, match="holds a stream with another question"):
        opened(tmp_path, weekly(), epsilon=1)


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"allocation": "absorbtion"}, "one of: distribution, absorption"),
        ({"consecutive_steps": None, "active_steps": 3, "allocation": "absorption"}, "consecutive_steps=7 as well"),
    ],
)
def test_an_allocation_that_means_nothing_is_refused(named: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        weekly(**named)


def test_the_command_line_offers_both(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("patient,region\n1,N\n", encoding="utf-8")
    sql = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
    given = [
        "stream",
        "open",
        str(tmp_path / "visits.csv"),
        sql,
        "--unit",
        "patient",
        "--keys",
        "region=N,S",
        "--every",
        "step",
    ]
    given += ["--steps", "9", "--consecutive-steps", "3", "--epsilon", "1", "--state", str(tmp_path / "s.stream")]
    run = CliRunner().invoke(app, [*given, "--allocation", "absorption"])
    assert run.exit_code == 0, run.output
    assert "budget absorption" in run.output
    assert lw.open_stream(tmp_path / "s.stream").items[0].family == "budget absorption"
    wrong = CliRunner().invoke(app, [*given, "--allocation", "both", "--quote"])
    assert wrong.exit_code != 0


def test_what_is_known_beforehand_is_what_a_stream_says_at_that_step() -> None:
    """`accuracy` follows a stream that is quiet for a window and then released again and again."""
    for mechanism in (
        BudgetDistribution(epsilon=5000, window=4, width=2),
        BudgetAbsorption(epsilon=5000, window=4, width=2),
    ):
        assert mechanism.accuracy(releases=0) == mechanism.accuracy()
        state, counts = mechanism.open(), [0, 0]
        for _ in range(mechanism.window + 1):
            state = mechanism.observe(state, counts)
        for releases in range(6):
            counts = [counts[0] + 100_000, counts[1]]
            state = mechanism.observe(state, counts)
            beforehand, found = mechanism.accuracy(releases=releases), mechanism.error_bound(state)
            assert found <= beforehand
            assert math.isinf(found) == math.isinf(beforehand)
            assert state.released == math.isfinite(found)
