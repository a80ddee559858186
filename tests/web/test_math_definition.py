"""The texts about the definition say what the library computes."""

from __future__ import annotations

import math

from browser import answers_of
from cases import together
from comparisons.beliefs import GAP, highest
from school_site import nuggets

from lapwing.privacy.composition import compose
from lapwing.privacy.losses import PureDP

SCHOOL = nuggets()


def words(slug: str) -> str:
    return " ".join(SCHOOL.pages[slug].words.split())


@together("prior", [1, 10, 50, 90])
def test_the_table_of_beliefs_is_computed(prior: int) -> None:
    epsilons = (0.01, 0.1, 0.5, 1, math.log(3), 2, 5)
    row = " ".join(f"{100 * highest(epsilon, prior / 100):.2f}" for epsilon in epsilons)
    assert f"{prior} {row}" in words("the-adversarys-perspective")


def test_the_premiums_are_computed_and_rounded_up() -> None:
    text = words("the-adversarys-perspective")
    for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0):
        assert f"{math.ceil(100_000 * highest(2 * epsilon, 0.02)):,}" in text


def test_the_table_of_compositions_is_computed() -> None:
    text = words("the-definition")
    found = [compose(*[PureDP(0.1)] * count, delta=1e-6).advanced for count in (10, 25, 50, 100, 1000)]
    assert all(found)
    assert "advanced " + " ".join(f"{float(loss.epsilon):.3g}" for loss in found if loss) in text


def test_the_game_of_the_text_is_the_game_of_the_widget() -> None:
    text = words("the-definition")
    for right in answers_of([("game", "right", [GAP / 2, GAP, scale], None) for scale in (0.003, 0.03)]):
        assert f"right in {100 * right:.0f} %" in text
