"""What the last nuggets of the course print is what the library says."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from browser import FRONTEND, Call, answers_of, close
from cases import together
from school_site import nuggets

from lapwing import ZCDP
from lapwing.adversary.attacks import best_advantage
from lapwing.crowd.apple import FEATURES
from lapwing.crowd.rappor import Rappor
from lapwing.experiments.boston import chosen
from lapwing.experiments.regression import EXACT, METHOD_1, METHOD_2, MIDDLE, OURS, compute, makers_of_estimators
from lapwing.experiments.regression_methods import estimator_errors
from lapwing.web.school.library import FOLDER
from lapwing.web.school.page import Page

SLUGS = ("tools", "real-world-applications", "machine-learning", "the-family")
LETTERS = "QNVBFRC"


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return nuggets().pages


def text_of(slug: str) -> str:
    [path] = FOLDER.glob(f"*-{slug}.md")
    return path.read_text(encoding="utf-8")


def data(name: str) -> Any:
    return json.loads((FRONTEND / "src" / "data" / name).read_text(encoding="utf-8"))


def cells(slug: str, first: str) -> list[str]:
    """The cells of the row of a table that begins with this word."""
    [line] = [line for line in text_of(slug).splitlines() if re.match(rf"\|\s*{re.escape(first)}\s*\|", line)]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("slug", SLUGS)
def test_it_takes_ten_minutes_at_most_and_asks_three_to_six_questions(slug: str, pages: dict[str, Page]) -> None:
    page = pages[slug]
    assert page.pace.short <= 10
    assert 3 <= len(page.questions) <= 6


@pytest.mark.parametrize("slug", SLUGS)
def test_every_objective_is_served_and_every_formula_can_be_read(slug: str, pages: dict[str, Page]) -> None:
    page = pages[slug]
    served = {number for screen in page.screens for number in screen.serves}
    assert served == set(range(1, len(page.nugget.objectives) + 1))
    assert not any("formula-wrong" in screen.html for screen in page.screens)


def test_the_snippet_of_this_library_runs_and_says_its_version() -> None:
    import lapwing

    blocks = re.findall(r"```python\n(.*?)```", text_of("tools"), re.DOTALL)
    [ours] = [block for block in blocks if "import lapwing" in block]
    assert ours.startswith(f"# Lapwing {lapwing.__version__}\n")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(ours, "snippet", "exec"), {})
    within, mean, *words = said.getvalue().splitlines()
    assert 0 < float(within) < 5
    assert 20 < float(mean) < 70
    assert words


def test_every_tool_of_both_tables_is_shown_in_lines_of_code() -> None:
    text = text_of("tools")
    names = re.findall(r"^\| \*\*([\w -]+)\*\*", text, re.MULTILINE)
    assert len(names) == 14
    for name in set(names):
        assert re.search(rf"^::: example {re.escape(name)} ", text, re.MULTILINE), name


@together(
    ("row", "f", "p", "q"),
    [
        ("Chrome, normal", 0.5, 0.25, 0.75),
        ("Chrome, sparse", 0.25, 0.25, 0.75),
        ("as the paper has it", 0.5, 0.5, 0.75),
    ],
)
def test_the_losses_of_rappor_are_those_of_the_library(row: str, f: float, p: float, q: float) -> None:
    protocol = Rappor(permanent_noise=f, one_if_unset=p, one_if_set=q)
    *_, one, lifetime = cells("real-world-applications", row)
    assert one == f"{float(protocol.privacy_loss().epsilon):.2f}"
    assert lifetime == f"{float(protocol.lifetime_loss().epsilon):.2f}"


def test_the_table_of_apples_features_is_the_librarys() -> None:
    names = {
        "Safari energy-draining domains": "Safari, energy-draining sites",
        "Safari auto-play intent": "Safari, auto-play",
    }
    names |= {"Safari crashing domains": "Safari, crashing sites", "health type usage": "health types"}
    for name, feature in FEATURES.items():
        values = (feature.epsilon, feature.donations_per_day, feature.width, feature.functions, feature.dictionary)
        shown = [feature.algorithm or "?", *("?" if value is None else f"{value:,}" for value in values)]
        if name == "new words":
            shown[-1] = "none"
        assert cells("real-world-applications", names.get(name, name))[1:] == shown


def test_the_budget_of_the_census_is_turned_into_epsilon_as_printed() -> None:
    text = text_of("real-world-applications")
    for rho, printed in (("2.56", "17.16"), ("2.63", "17.43")):
        assert f"{float(ZCDP(Fraction(rho)).to_approx(Fraction(1, 10**10)).epsilon):.2f}" == printed
        assert printed in text


def test_private_descent_costs_what_the_table_says() -> None:
    step = ZCDP(1 / (2 * Fraction(11, 10) ** 2))
    sampled = step.subsampled(Fraction(256, 60_000))
    for epochs in (1, 15, 60):
        steps = math.ceil(60_000 * epochs / 256)
        amplified, plain = (float((steps * loss).to_approx(Fraction(1, 10**5)).epsilon) for loss in (sampled, step))
        shown = f"{math.ceil(100 * amplified) / 100:.2f} | {math.ceil(plain):,}"  # at most, so rounded up
        assert f"\n| {epochs} | {steps:,} | {shown} |\n" in text_of("machine-learning")


def test_no_attacker_can_have_more_than_the_table_says() -> None:
    rows = re.findall(r"^\| (\d+) \|[^|]+\|[^|]+\| ([\d.]+) \|[^|]+% \|$", text_of("machine-learning"), re.MULTILINE)
    assert len(rows) == 5
    for epsilon, printed in rows:
        digits = len(printed.split(".")[1])
        assert f"{best_advantage(float(epsilon), 1e-5):.{digits}f}" == printed


def test_the_curves_of_the_regressions_are_computed_by_the_library() -> None:
    stored = data("regression.json")
    rows = compute([0.05], stored["repeats"], [])
    found = {(row["method"], row["epsilon"]): row["median"] for row in rows}
    one = "sufficient statistics"
    errors = estimator_errors(makers_of_estimators()[one], 1.0, chosen(), stored["private_repeats"])
    found[one, 1.0] = float(np.median(errors))
    assert round(found[EXACT, None], 6) == stored["exact"]
    assert round(found[MIDDLE, None], 6) == stored["middle"]
    lines = {name: dict(map(tuple, points)) for name, points in stored["lines"].items()}
    assert set(lines) == {METHOD_1, METHOD_2, *OURS}
    for method, epsilon in ((METHOD_1, 0.05), (METHOD_2, 0.05), (METHOD_1, 0.01), (one, 1.0)):
        assert math.isclose(lines[method][epsilon], found[method, epsilon], rel_tol=1e-4), (method, epsilon)


def test_what_is_said_of_the_regressions_is_in_their_curves() -> None:
    stored = data("regression.json")
    ratio = {
        name: {epsilon: error / stored["exact"] for epsilon, error in points}
        for name, points in stored["lines"].items()
    }
    assert round(ratio[METHOD_1][0.01]) == 72
    assert round(ratio[METHOD_2][0.01], 1) == 1.8
    assert {e for e, times in ratio[METHOD_2].items() if times < ratio[METHOD_1][e]} == {
        e for e in ratio[METHOD_1] if e <= math.log(2)
    }
    assert min(OURS, key=lambda name: ratio[name][1.0]) == "sufficient statistics"
    assert round(ratio["sufficient statistics"][1.0], 1) == 1.2
    assert all(
        ratio[name][e] > 0.95 * stored["middle"] / stored["exact"] for name in OURS for e in ratio[name] if e < 0.3
    )


def test_values_between_computed_ones_lie_on_lines_between_logarithms() -> None:
    points = [[0.01, 100.0], [1.0, 1.0], [10.0, 0.5]]
    calls: list[Call] = [
        ("curves", "between", [points, at], value)
        for at, value in ((0.1, 10.0), (0.01, 100.0), (0.001, 100.0), (1.0, 1.0), (99.0, 0.5))
    ]
    for found, (*_, expected) in zip(answers_of(calls), calls, strict=True):
        assert close(found, expected)


def test_no_word_that_is_shown_as_found_was_found_by_mistake() -> None:
    found = data("sketches.json")["found"]
    assert len(found) == 10
    assert not any(run["false"] for run in found.values())
    assert len(found["450000 8"]["estimates"]) == 26


def test_the_finder_knows_the_seven_dimensions_of_the_table() -> None:
    [summary] = answers_of([("family", "summary", [], None)])
    assert "".join(letter for letter, _ in summary) == LETTERS
    assert all(count >= 1 for _, count in summary)
    assert "".join(re.findall(r"^\| \*\*([A-Z])\*\* \|", text_of("the-family"), re.MULTILINE)) == LETTERS


def test_changes_of_different_letters_combine_and_a_mixture_promises_something_else() -> None:
    both = {"loss": 2, "neighbours": 1}
    calls: list[Call] = [
        ("family", "combined", [{}], "ε-differential privacy"),
        ("family", "combined", [both], "zero-concentrated event-level differential privacy"),
        ("family", "strength", [{}], "same"),
        ("family", "strength", [both], "weaker"),
        ("family", "strength", [{"loss": 1, "neighbours": 2}], "other"),
        ("family", "strength", [{"relative": 1}], "stronger"),
    ]
    assert answers_of(calls) == [expected for *_, expected in calls]


def test_a_thousand_counts_cost_what_is_said_of_advanced_composition() -> None:
    epsilon, count, delta = 0.01, 1000, 1e-6
    total = epsilon * math.sqrt(2 * count * math.log(1 / delta)) + count * epsilon * math.expm1(epsilon)
    assert f"and {total:.1f} with δ = 10⁻⁶" in text_of("the-family")
