"""What widgets compute in the browser is what the library computes: every exported function of src/math."""

from __future__ import annotations

import ast
import json
import subprocess
from functools import cache
from pathlib import Path

import pytest
from browser import FRONTEND, Call, differences, needs_node
from comparisons import SUBJECTS, Subject

TESTS = Path(__file__).parent
ELSEWHERE = {
    "test_math_attacks.py": {
        "test_the_browser_finds_all_blocks_that_the_library_finds": ("census.reconstruct", "census.tabulate"),
        "test_what_all_blocks_have_in_common_is_as_sure_as_in_the_library": ("census.known",),
        "test_means_are_rounded_as_the_library_rounds_them": ("census.tenths",),
        "test_the_same_patients_are_unique_and_get_the_same_names": ("classes.unique", "classes.linked"),
        "test_k_l_t_and_loss_are_the_librarys": ("classes.measured", "classes.loss"),
        "test_the_same_patients_fall_to_homogeneity_and_to_background_knowledge": ("classes.certain",),
        "test_the_same_patients_fall_to_two_hospitals": ("classes.inBoth",),
        "test_small_groups_are_refused_and_the_tracker_goes_round_as_in_the_library": ("differencing.answered",),
        "test_beliefs_after_noisy_differences_are_the_librarys": ("differencing.logOdds", "differencing.bestGuess"),
        "test_the_noise_of_the_browser_has_the_tails_of_discrete_laplace_noise": ("differencing.discreteLaplace",),
    },
    "test_math_mechanisms.py": {
        "test_laplace_noise_for_many_answers_is_as_wide_as_it_must_be": ("gaussian.laplace",),
        "test_gaussian_noise_is_smaller_exactly_from_the_number_of_answers_that_is_marked": ("gaussian.crossing",),
    },
    "test_math_perspective.py": {"test_at_the_crossing_both_errors_are_the_same": ("perspective.crossing",)},
    "test_math_lab.py": {
        "test_labels_beside_the_ends_of_lines_keep_their_order_and_never_touch": ("lab.spread",),
        "test_how_people_change_an_error_is_told_from_all_lines": ("lab.compared",),
    },
    "test_math_sketches.py": {
        "test_a_simulated_crowd_is_estimated_without_bias_and_as_far_off_as_theory_says": ("sketches.crowd",),
    },
    "test_expression.py": {
        "test_the_browser_reads_what_the_server_reads_and_computes_the_same": ("expression.tried",),
    },
    "test_nuggets_outlook.py": {
        "test_values_between_computed_ones_lie_on_lines_between_logarithms": ("curves.between",),
        "test_the_finder_knows_the_seven_dimensions_of_the_table": ("family.summary",),
        "test_changes_of_different_letters_combine_and_a_mixture_promises_something_else": (
            "family.combined",
            "family.strength",
        ),
    },
    "test_recommend.py": {"test_the_browser_recommends_what_python_recommends": ("recommend.recommend",)},
    "test_statistics.py": {
        "test_weeks_are_those_of_the_calendar": ("week.weekOf",),
        "test_a_browser_tells_each_thing_once_and_few_things_in_a_week": ("week.most", "week.admitted"),
    },
    "test_survey_coins.py": {
        "test_the_browser_gives_the_written_reports_and_uses_the_same_bytes": ("survey.fromBytes",),
        "test_levels_of_numbers_are_those_of_the_library_but_for_rounding": ("survey.level",),
        "test_over_all_random_words_the_browser_loses_exactly_what_is_stated": ("survey.law",),
        "test_with_the_generator_for_secrets_reports_fall_as_stated": ("survey.sample",),
        "test_the_error_is_told_before_as_it_is_found_afterwards": ("survey.expectedError",),
        "test_the_error_wished_for_gives_the_epsilon_it_needs": ("survey.epsilonFor",),
    },
    "test_votes.py": {
        "test_the_same_bytes_give_the_same_bits_in_the_browser_and_in_the_library": ("response.responses",),
        "test_the_browser_has_the_odds_and_the_end_that_the_school_states": ("response.stated",),
        "test_votes_of_the_browser_keep_their_epsilon_and_tell_the_truth_as_often_as_stated": ("response.sample",),
    },
}
"""Functions that a test of their own compares, by file and test."""

THROUGH = {
    "expression.formula": ("expression.tried", "gives back a function, which tried computes"),
    "expression.WrongExpression": ("expression.tried", "an error, whose place and words tried gives back"),
    "family.chosen": ("family.combined", "the lines of the table whose names are combined: words, not numbers"),
    "response.fresh": ("response.sample", "random words of the browser, from which samples are drawn"),
    "response.below": ("response.responses", "takes a function, which responses makes of bytes"),
    "response.respond": ("response.responses", "takes a function, which responses makes of bytes"),
    "survey.levelBetween": ("survey.level", "takes fractions, which level makes of texts"),
    "survey.uniform": ("survey.fromBytes", "takes a function, which fromBytes makes of bytes"),
    "survey.randomise": ("survey.fromBytes", "takes a function, which fromBytes makes of bytes"),
}
"""Functions that cannot be called from outside: the one that calls them and is compared, and why."""


@cache
def calls_of(subject: Subject) -> list[Call]:
    return list(subject())


@pytest.mark.parametrize(
    "subject", SUBJECTS, ids=lambda subject: f"{subject.__module__.rpartition('.')[2]}-{subject.__name__}"
)
def test_the_browser_agrees_with_the_library(subject: Subject) -> None:
    wrong = differences(calls_of(subject))
    assert not wrong, "\n".join(wrong)


def exported() -> set[str]:
    """The functions of all modules of src/math, as the browser sees them."""
    needs_node()
    done = subprocess.run(["node", str(FRONTEND / "test" / "exports.mjs")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {f"{module}.{name}" for module, name in json.loads(done.stdout)}


def test_every_function_of_the_browser_is_compared_with_the_library() -> None:
    called = {f"{module}.{name}" for subject in SUBJECTS for module, name, *_ in calls_of(subject)}
    elsewhere = {name for tests in ELSEWHERE.values() for names in tests.values() for name in names}
    functions = exported()
    assert len(functions) > 130
    missing = functions - called - elsewhere - set(THROUGH)
    assert not missing, f"compare them in tests/support/comparisons, or say here why not: {sorted(missing)}"
    assert not (called | elsewhere | set(THROUGH)) - functions, "there is no such function any more"
    assert not elsewhere & called, "what is compared among the calls needs no other test to be named"
    assert not set(THROUGH) & (called | elsewhere), "what is compared needs no excuse"
    assert {by for by, _ in THROUGH.values()} <= called | elsewhere


@pytest.mark.parametrize("file", ELSEWHERE)
def test_the_tests_that_are_said_to_compare_a_function_call_it(file: str) -> None:
    text = (TESTS / file).read_text(encoding="utf-8")
    bodies = {
        node.name: ast.get_source_segment(text, node)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    for test, functions in ELSEWHERE[file].items():
        body = bodies.get(test)
        assert body is not None, f"there is no {test} in {file}"
        for function in functions:
            module, _, name = function.partition(".")
            named = f'"{name}"' in body and (f'"{module}"' in body or "NAME" in body)
            assert named, f"{test} does not call {function}"
