"""The nuggets about shuffling and about collections: every number they say is one of the library."""

from __future__ import annotations

import json
import math
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import FRONTEND, answers_of
from cases import together
from school_site import nuggets
from scipy.stats import binom

from lapwing.collect.collection import Collection
from lapwing.crowd import UnaryEncoding
from lapwing.crowd.shuffling import Shuffled
from lapwing.privacy import PureDP
from lapwing.privacy.shuffling import clones_closed, least_people, shuffled

ROOT = Path(__file__).resolve().parents[2]
NUGGETS = ROOT / "src" / "lapwing" / "web" / "nuggets"
DELTA = 1e-6


def text_of(slug: str) -> str:
    [path] = NUGGETS.glob(f"*-{slug}.md")
    return " ".join(path.read_text(encoding="utf-8").split())


def stored() -> Any:
    return json.loads((FRONTEND / "src" / "data" / "shuffling.json").read_text(encoding="utf-8"))


def central(local: float, people: int) -> float:
    return float(shuffled(PureDP(local, relation="replace"), people, DELTA).epsilon)


def assert_stored(local: float, people: int) -> None:
    """Rounded up, in the fourth digit."""
    facts = stored()
    shown = facts["epsilon"][facts["local"].index(local)][facts["people"].index(people)]
    exact = central(local, people)
    assert exact <= shown * (1 + 1e-12) <= min(local, exact * 1.0011) * (1 + 1e-9), (local, people)


@together(("local", "people"), [(0.5, 100), (1, 10_000), (2, 10_000), (2, 1_000_000), (4, 1_000), (6, 100_000_000)])
def test_what_the_widgets_show_is_the_librarys_epsilon(local: float, people: int) -> None:
    assert_stored(local, people)


@pytest.mark.sweep
def test_all_that_the_widgets_show_is_the_librarys_epsilon() -> None:
    facts = stored()
    for local in facts["local"]:
        for people in facts["people"]:
            assert_stored(local, people)


def test_the_stored_numbers_are_those_of_a_shuffled_protocol_and_belong_to_the_tool() -> None:
    facts, tool = stored(), runpy.run_path(str(ROOT / "tools" / "widget-data-shuffling"))
    assert (facts["delta"], facts["people"], facts["local"]) == (
        tool["DELTA"],
        list(tool["PEOPLE"]),
        list(tool["LOCAL"]),
    )
    poll = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike"])
    batch = float(Shuffled(poll, n=100_000, delta=DELTA).privacy_loss().epsilon)
    assert math.isclose(facts["epsilon"][1][facts["people"].index(100_000)], batch, rel_tol=2e-3)


def test_the_table_of_the_shuffle_model_is_the_librarys() -> None:
    text = text_of("the-shuffle-model")
    rows = re.findall(r"\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text)
    assert len(rows) == 4
    for people, *shown in rows:
        for local, number in zip((1, 2, 4), shown, strict=True):
            assert math.isclose(float(number), central(local, int(people.replace(",", ""))), rel_tol=5e-3)


def test_what_is_said_of_batches_is_true() -> None:
    text = text_of("the-shuffle-model")
    people = least_people(2, 0.1, DELTA)
    assert f"wait for {people:,} people" in text
    assert "the batch costs ε = 0.05" in text
    assert central(4, 1_000_000) <= 0.05
    assert "12.9 times less" in text
    assert round(2 / central(2, 10_000), 1) == 12.9
    assert 1.9 < central(2, 10_000) / central(2, 40_000) < 2.2, "four times as many people halve epsilon"
    assert 0.28 < central(2, 10_000) / float(clones_closed(2, 10_000, DELTA)) < 0.36, "a third of the closed bound"
    assert central(4, 1_000) > 3.9


def test_what_a_shuffler_costs_is_said_for_the_epsilons_for_which_it_is_true() -> None:
    said = "some 10 to 25 times the central error (for ε up to 1, and from about a thousand people on)"
    assert said in text_of("local-differential-privacy")
    sizes = ((people, epsilon) for people in (1_000, 10_000, 1_000_000, 10**8) for epsilon in (0.01, 0.1, 0.5, 1))
    for error in answers_of([("choice", "models", list(size), None) for size in sizes]):
        assert 10 < error["shuffled"] / error["central"] < 25


def best_guess(epsilon: float, people: int) -> float:
    """Whoever knows the answers of all others, of whom 30 % say yes, and sees how many reports do."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    yes = round(0.3 * (people - 1))
    no = people - 1 - yes
    law = np.convolve(binom.pmf(np.arange(yes + 1), yes, truth), binom.pmf(np.arange(no + 1), no, 1 - truth))
    return 0.5 + float((truth - 0.5) * law.max())


def test_what_is_said_of_finding_ada_is_true() -> None:
    text = text_of("the-shuffle-model")
    for said, share in (("88.1 %", best_guess(2, 1)), ("58.8 %", best_guess(2, 30)), ("52.7 %", best_guess(2, 300))):
        assert said in text
        assert f"{100 * share:.1f} %" == said


def test_the_text_for_people_is_the_one_that_the_library_writes(tmp_path: Path) -> None:
    from lapwing.collect.workspace import Workspace

    workspace = Workspace(tmp_path / "poll")
    workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
    collection: Collection = workspace.open()
    assert " ".join(collection.consent.split()) in text_of("collecting-from-millions")


def test_what_is_said_of_a_million_phones_is_true() -> None:
    text = text_of("collecting-from-millions")
    assert "The analyst alone learns ε = 0.013 about each person" in text
    assert central(2, 1_000_000) <= 0.013


@together("slug", ["the-shuffle-model", "collecting-from-millions"])
def test_every_objective_is_served_and_every_formula_can_be_read(slug: str) -> None:
    page = nuggets().pages[slug]
    assert {number for screen in page.screens for number in screen.serves} == {1, 2, 3}
    assert page.pace.short <= 10
    assert page.widgets
    assert not any("formula-wrong" in screen.html for screen in page.screens)
