"""Nuggets: what an author writes becomes a page, and nothing else does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from cases import together
from judging import stand_still, wanted
from school_site import FRONT, nuggets

from lapwing.web.school.glossary import Glossary
from lapwing.web.school.judge import _judged
from lapwing.web.school.library import School
from lapwing.web.school.markdown import Markdown
from lapwing.web.school.nugget import InvalidNugget, read
from lapwing.web.school.pace import SHORT
from lapwing.web.school.page import page_of
from lapwing.web.school.quiz import read_quiz

SCHOOL = nuggets()
CODE = [(page, exercise) for page in SCHOOL for exercise in page.exercises if exercise.code]
every_page = pytest.mark.parametrize("page", list(SCHOOL), ids=lambda page: page.nugget.slug)
every_program = pytest.mark.parametrize(("page", "exercise"), CODE, ids=lambda one: getattr(one, "id", ""))


@every_page
def test_a_nugget_has_all_that_a_learner_needs(page) -> None:
    nugget = page.nugget
    assert page.pace.short <= SHORT
    assert all(screen.serves for screen in page.screens if screen.title and screen.title != "Where to go next")
    assert {number for screen in page.screens for number in screen.serves} == set(range(1, len(nugget.objectives) + 1))
    assert 3 <= len(page.questions) <= 6
    assert all(option.feedback for question in page.questions for option in question.options)
    assert "takeaways" in page.screens[-2].html + page.screens[-1].html
    assert "Sources" in page.words
    assert "formula-wrong" not in "".join(screen.html for screen in page.screens)


@every_page
def test_it_survives_being_written_and_read_again(page) -> None:
    assert read(page.nugget.written()) == page.nugget


@every_program
def test_the_solution_passes_its_own_checker_and_the_auditor(page, exercise, monkeypatch) -> None:
    stand_still(monkeypatch)
    lines, passed = _judged(wanted(exercise, exercise.solution), lambda text: None)
    assert passed, lines


@every_program
def test_the_starter_does_not(page, exercise, monkeypatch) -> None:
    stand_still(monkeypatch)
    lines, passed = _judged(wanted(exercise, exercise.starter), lambda text: None)
    assert not passed, lines


def test_code_that_is_wrong_is_told_where() -> None:
    for code, told in (("x = (", "Line 1"), ("x = 1\ny = x / 0", "Line 2: ZeroDivisionError"), ("print(7)", "7")):
        lines, passed = _judged({"what": "run", "code": code}, lambda text: None)
        assert told in " ".join(text for _, text in lines)
        assert not passed


@together(
    ("front", "why"),
    [
        (FRONT.replace("motivation", "entertainment"), "category"),
        (FRONT.replace("roles: [student]", "roles: [wizard]"), "wizard"),
        (FRONT.replace("slug: a-nugget", "slug: ../etc"), "slug"),
        (FRONT.replace("title: A nugget\n", ""), "title"),
        (FRONT.replace("title: A nugget", "titel: A nugget"), "titel"),
        (FRONT.replace("objectives: [Explain it.]", "objectives: []"), "objectives"),
        ("no front matter", "front matter"),
        ("---\n[\n---\n", "YAML"),
    ],
)
def test_a_front_matter_that_cannot_be_used_says_what_to_write(front: str, why: str) -> None:
    with pytest.raises(InvalidNugget, match=why):
        read(front)


def test_a_quiz_needs_a_right_and_a_wrong_answer_with_feedback() -> None:
    for text in ("- ask: x", "- ask: x\n  options: [{text: a, feedback: b, right: true}]", "[", "7"):
        with pytest.raises(InvalidNugget):
            read_quiz(text)


def test_needs_that_lead_nowhere_or_in_circles_are_refused() -> None:
    first = replace(read(FRONT + "## One"), needs=("nothing",))
    with pytest.raises(InvalidNugget, match="nothing"):
        School([first], Glossary([]))
    pair = [replace(first, needs=("b",)), replace(first, slug="b", needs=("a-nugget",))]
    with pytest.raises(InvalidNugget, match="round"):
        School(pair, Glossary([]))


def test_searching_finds_by_the_beginning_of_words_and_titles_first() -> None:
    best = SCHOOL.search("lapl mech")[0].page.nugget
    assert best.slug == "the-laplace-mechanism"
    assert SCHOOL.search("") == SCHOOL.search("xyzzyx") == []


def test_a_word_of_the_glossary_is_found_by_its_names_or_else_by_its_meaning() -> None:
    glossary = Glossary.read("""
epsilon: {also: [ε], short: The most by which odds may change.}
odds: {short: Chances for over chances against.}
sum of odds: {short: They add up.}
""")
    assert [term.name for term in glossary.search("odd")] == ["odds", "sum of odds"], "what is called so, and only that"
    assert [term.name for term in glossary.search("ε")] == ["epsilon"]
    assert [term.name for term in glossary.search("chances against")] == ["odds"]
    assert glossary.search("dds") == glossary.search("") == glossary.search("?") == []


def test_powers_of_an_explanation_are_shown_as_powers_and_nothing_else_is() -> None:
    assert Glossary.read("x: {short: a^n <b>}").terms[0].html == "a<sup>n</sup> &lt;b&gt;"


def test_a_word_is_explained_once_on_a_screen_and_never_inside_a_link() -> None:
    glossary = Glossary.read("epsilon: {also: [ε], short: Odds <b>.}")
    shown = page_of(read(FRONT + "## One {serves=1}\n\nEpsilon, ε and [epsilon](/x).\n"), glossary).screens[0].html
    assert shown.count('class="term"') == shown.count('popover="auto"') == 1
    assert "Odds &lt;b&gt;." in shown


DANGEROUS = re.compile(
    r"<script|<[^>]*\s(on\w+=|src=[\"']?(https?:)?//|href=[\"']?(javascript|data|vbscript|//))", re.IGNORECASE
)
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](//evil.example/x)",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "<a href=javascript:alert(1)>x</a>",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\includegraphics{https://evil.example/x.png}$",
    "$\\html{<script>alert(1)</script>}$",
    "```widget x onload=alert(1)\n<script>alert(1)</script>\n```",
    "| <script>alert(1)</script> |\n|---|\n| x |",
    '[x](/y "onmouseover=alert(1)")',
    "<lw-hole>",
    '<div class="lw-hole" id="lw-hole-0"></div>',
    "::: proof <script>alert(1)</script>\nx\n:::",
]


@together("text", ATTACKS)
def test_nothing_that_an_author_or_commenter_writes_becomes_a_script(text: str) -> None:
    for markdown in (Markdown(), Markdown(blocks=True)):
        shown = markdown.html(text)
        assert not DANGEROUS.search(shown)


@pytest.mark.parametrize("text", ["at most 99 % sure", "| 5 % | **7 %** |\n|---|---|\n| 99 % | x |", "[9 %](/y)"])
def test_no_line_breaks_between_a_number_and_its_percent_sign(text: str) -> None:
    for markdown in (Markdown(), Markdown(blocks=True, glossary=SCHOOL.glossary), Markdown(plain=True)):
        shown = markdown.html(text)
        assert " %" not in shown
        assert shown.count("&nbsp;%") == text.count(" %")
    assert "7 % 3" in Markdown().html("`7 % 3`"), "code stays as it is"
