"""Nobody publishes what a template or a button put there: it is found, line by line, and nothing else is."""

from __future__ import annotations

import pytest
from cases import together
from school_site import nuggets as built_in_nuggets

from lapwing.web.authoring.desk import beginning
from lapwing.web.authoring.placeholders import BODY, placeholders
from lapwing.web.authoring.snippets import SAMPLES, SNIPPETS, widget_snippets

SLUGS = {"the-definition"}
PICTURE = f"/uploads/{'a' * 64}.png"
LEFT = {
    "a template's sentence": BODY.strip().splitlines()[0],
    "a title": "## A new screen {serves=1}",
    "an item": "- An item",
    "a quoted item": "> - An item",
    "bold": "Some **important words** here.",
    "italic": "Some *words to stress* here.",
    "a formula": f"So ${SAMPLES['formula']}$ holds.",
    "a formula block": SAMPLES["formula"],
    "a cell": "| a cell | 3 |",
    "a picture without words": f"![]({PICTURE})",
    "a picture with the sample": f'![what one sees]({PICTURE} "A caption")',
    "a link of the button": "[where it leads](/learn/the-definition)",
    "a link without an address": "See [this]().",
    "a link to the top": "See [this](#).",
    "a link to a word": "See [this](address).",
    "a link to no nugget": "See [this](/learn/not-there#x).",
    "a note": "TODO: say more.",
    "Latin": "Lorem ipsum dolor sit amet.",
    "a hint": "Write here what you think.",
}
FINE = (
    "A new screen came, and an item of importance.",
    "Say why. Then say how.",
    "`TODO` is a word that programmers write.",
    "See [this](/learn/the-definition), [that](https://a.example/b), [mail](mailto:a@b.example) and [all](/#nuggets).",
    f"![A grey square]({PICTURE})",
    "```python\n# TODO\n```",
    "```exercise\nid: x\nstarter: |\n  # TODO: yours\n```",
    "```quiz\n- ask: Why?\n  options:\n    - text: >-\n        So.\n      feedback:\n        Because it is.\n```",
    "Explain in your own words … what you see.",
)


@pytest.mark.parametrize("name", LEFT)
def test_what_was_left_is_found_where_it_stands(name: str) -> None:
    found = placeholders(f"One.\n\n{LEFT[name]}\n\nTwo.\n", SLUGS)
    assert [one.line for one in found] == [3]
    assert found[0].words.endswith(".")


@together("text", FINE)
def test_words_of_ones_own_are_left_alone(text: str) -> None:
    assert placeholders(text, SLUGS) == []


@pytest.mark.parametrize("field", ["ask", "text", "feedback"])
@together("value", ["", ' ""', " ''", " ~"])
def test_an_empty_answer_is_found(field: str, value: str) -> None:
    told = {"ask": " Why?", "text": " So.", "feedback": " Yes."} | {field: value}
    quiz = (
        f"```quiz\n- ask:{told['ask']}\n  options:\n    - text:{told['text']}\n      feedback:{told['feedback']}\n```"
    )
    (found,) = placeholders(quiz)
    assert found.line == {"ask": 2, "text": 4, "feedback": 5}[field]


@pytest.mark.parametrize("one", [*SNIPPETS, *widget_snippets(["lw-laplace"])], ids=lambda one: one.name)
def test_whatever_a_button_inserts_as_a_sample_is_found(one: object) -> None:
    from lapwing.web.authoring.snippets import Snippet

    assert isinstance(one, Snippet)
    if not one.formats:
        assert placeholders(f"{one.text}\n"), one.text


def test_a_new_nugget_has_all_of_its_template_to_replace() -> None:
    lines = beginning("one-two", "One").splitlines()
    found = [lines[one.line - 1] for one in placeholders("\n".join(lines))]
    assert len(found) >= 6
    assert "- What one can do now." in found


def test_no_nugget_of_ours_has_any() -> None:
    school = built_in_nuggets()
    found = {page.nugget.slug: placeholders(page.nugget.written(), school.pages) for page in school}
    assert {slug: ones for slug, ones in found.items() if ones} == {}
