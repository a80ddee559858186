"""The nugget about two servers: every number it says is one of the library."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from school_site import nuggets

from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.noise_shares import triples_for

NUGGET = Path(__file__).resolve().parents[2] / "src" / "lapwing" / "web" / "nuggets" / "26-two-servers.md"
TEXT = " ".join(NUGGET.read_text(encoding="utf-8").split())


def best_guess(secrets: tuple[int, int], weights: list[int], *, ring: bool = True) -> Fraction:
    """How often somebody is right who sees the secret without what was drawn, and guesses which of the two it was."""
    chances: dict[int, list[int]] = {}
    for place, secret in enumerate(secrets):
        for drawn, weight in enumerate(weights):
            view = (secret - drawn) % len(weights) if ring else secret - drawn
            chances.setdefault(view, [0, 0])[place] += weight
    return Fraction(sum(map(max, chances.values())), 2 * sum(weights))


def test_what_is_said_of_one_server_is_true() -> None:
    fair, loaded = [1] * 10, list(range(10, 0, -1))
    said = (
        "from one share is right in {:.1f} %",
        "server B is right in {:.1f} %",
        "subtracted without the ring, it is right in {:.1f} %",
    )
    guesses = best_guess((2, 7), fair), best_guess((2, 7), loaded), best_guess((2, 7), fair, ring=False)
    for sentence, guess in zip(said, guesses, strict=True):
        assert sentence.format(float(100 * guess)) in TEXT


def test_the_example_adds_up() -> None:
    secret, drawn, missing = map(
        int, re.findall(r"Your secret is (\d+)\. You draw (\d+) .*? which is (\d+) on", TEXT)[0]
    )
    assert (drawn + missing) % 100 == secret


def test_what_is_said_of_joint_noise_is_true() -> None:
    noise = JointLaplace(scale=2)
    assert f"takes {noise.uniform_bits} random bits from each server" in TEXT
    assert abs(noise.privacy_loss(1).epsilon - Fraction(1, 2)) < Fraction(1, 2 * 10**18), "0.5 to 18 digits"
    assert noise.privacy_loss(1).delta < Fraction(1, 10**55)
    assert f"One draw of noise at ε = 0.5 takes {triples_for(noise, 1):,} of them" in TEXT
    assert f"off by at most {noise.half_width()}, with 95 % confidence" in TEXT
    chances = {value: noise.probability(value) for value in range(-noise.largest - 1, noise.largest + 1)}
    within = [
        width
        for width in (7, 8)
        if sum(
            chances[value] * chances[total - value] for total in range(-width, width + 1) for value in range(-60, 61)
        )
        >= Fraction(95, 100)
    ]
    assert within == [8]
    assert "off by at most 8, again with 95 % confidence" in TEXT


def test_every_objective_is_served_and_every_formula_can_be_read() -> None:
    page = nuggets().pages["two-servers"]
    assert {number for screen in page.screens for number in screen.serves} == {1, 2, 3}
    assert page.pace.short <= 10
    assert len(page.widgets) == 3
    assert not any("formula-wrong" in screen.html for screen in page.screens)


@pytest.mark.sweep
def test_shares_open_to_the_sum_and_only_who_made_the_noise_can_take_it_off(visit: Callable[..., Any]) -> None:
    page = visit().read("two-servers", "?split-secret.way=number&split-secret.secret=4&joint-noise.way=alone")
    split, seat, noise = page.locator(".widget").all()
    split.get_by_role("button", name="Open the sum").press("Enter")
    rows = [list(map(int, re.findall(r"\d+", text))) for text in split.locator("tbody tr").all_inner_texts()[:8]]
    assert all((first + second - secret) % 100 == 0 for first, secret, second in rows)
    expect(split.locator(".opened")).to_have_text(f"opened: {sum(secret for _, secret, _ in rows)}")
    expect(seat.locator(".seen b")).to_have_text("50.0 %")
    seat.locator("select").first.select_option("both")
    expect(seat.locator(".seen b")).to_have_text("100.0 %")
    assert panels(noise)[1] == 47, "server A takes off its own noise"
    noise.locator("select").first.select_option("together")
    everybody, server = panels(noise)
    assert everybody == server, "server A sees what everybody sees"
    coins = noise.locator(".coins .coin").all_inner_texts()
    magnitude = sum(2**place for place, coin in enumerate(coins[1:]) if coin == "1")
    assert everybody - 47 == (-1 - magnitude if coins[0] == "1" else magnitude)


def panels(widget: Locator) -> list[int]:
    """What everybody sees, and what server A sees after taking off what it knows."""
    return [int(text.rpartition(" ")[2]) for text in widget.locator(".name span").all_inner_texts()]
