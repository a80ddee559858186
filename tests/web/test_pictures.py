"""Pictures: shapes, words and colours of the palette, nothing else; alt texts; words large enough; honest curves."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from statistics import NormalDist
from typing import Any
from xml.etree import ElementTree

import pytest
from browser import FRONTEND
from cases import together
from school_site import nuggets

from lapwing.web.authoring.desk import front_of, looked_at, with_front
from lapwing.web.pages import TEMPLATES
from lapwing.web.school.nugget import InvalidNugget, read
from lapwing.web.school.page import page_of
from lapwing.web.school.picture import FOLDER, INKS, InvalidPicture, pictures, read_picture

STYLE = (FRONTEND / "src" / "styles" / "pictures.css").read_text(encoding="utf-8")
HERO = "a-crowd-and-you"
OPENING = [page.nugget.picture for page in nuggets()]
NARROW = 320 - 2 * 1.2 * 16
"""Pixels that a picture has on the smallest phone, beside the margins of the page."""
SMALLEST = 11
"""Pixels of a word that can still be read."""
FRAME = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 200"><title>Some words.</title>{}</svg>'
FRONT = """---
slug: a-nugget
title: A nugget
category: motivation
minutes: 5
level: intuition
roles: [student]
picture: {}
summary: Some words.
objectives: [Explain it.]
---
## A screen {{serves=1}}
"""
every_picture = pytest.mark.parametrize("name", list(pictures()))
Visitor = Callable[..., Any]


def shapes(name: str) -> ElementTree.Element:
    text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    return ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def points(path: ElementTree.Element) -> list[tuple[float, float]]:
    """The corners of a line that is drawn with M and L only."""
    numbers = [float(one) for one in re.findall(r"-?[0-9.]+", path.get("d", ""))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def size_of_words(name: str) -> float:
    """How large the words of a picture are on a phone, in units of its frame."""
    sizes = re.findall(r"max-width: 27rem\) \{ (\.hero )?\.picture > svg \{ font-size: ([0-9.]+)px", STYLE)
    return next(float(size) for hero, size in sizes if bool(hero) == (name == HERO))


@every_picture
def test_a_picture_says_in_words_what_it_shows(name: str) -> None:
    picture = pictures()[name]
    assert 40 <= len(picture.alt) <= 400
    assert picture.alt.endswith(".")
    assert picture.caption == "" or picture.caption.endswith((".", "?"))
    assert picture.svg.startswith('<svg role="img" aria-label="')


@every_picture
def test_its_classes_are_those_of_the_style_sheet(name: str) -> None:
    used = {one for part in shapes(name).iter() for one in part.get("class", "").split()}
    assert not [one for one in used if not re.search(rf"\.{one}[ ,{{]", STYLE)]


def test_the_palette_is_that_of_the_page() -> None:
    palette = (FRONTEND / "src" / "style.css").read_text(encoding="utf-8") + STYLE
    assert all(f"--{ink}:" in palette for ink in INKS)
    assert not re.search(r"#[0-9a-f]{3}|rgb\(|hsl\(", STYLE), "colours come from the variables of the page"


@every_picture
def test_its_words_can_be_read_on_a_phone_and_stay_within_the_frame(name: str) -> None:
    root = shapes(name)
    width, height = (float(one) for one in root.get("viewBox", "").split()[2:])
    size = size_of_words(name)
    assert size * NARROW / width >= SMALLEST
    for word in root.iter("text"):
        long = 0.53 * size * len("".join(word.itertext()))  # a little more than letters take
        left = float(word.get("x", "0")) - long * {"middle": 0.5, "end": 1.0}.get(word.get("text-anchor", ""), 0.0)
        assert left >= -2, word.text
        assert left + long <= width + 2, word.text
        assert size * 0.7 <= float(word.get("y", "0")) <= height - size * 0.2, word.text


def test_every_person_looks_like_every_other() -> None:
    drawn = {
        ElementTree.tostring(part).strip()
        for name in pictures()
        for part in shapes(name).iter()
        if part.get("id") == "person"
    }
    assert len(drawn) == 1


def test_ids_of_two_pictures_never_meet() -> None:
    ids = [one for picture in pictures().values() for one in re.findall(r' id="([^"]+)"', picture.svg)]
    assert len(ids) == len(set(ids))
    assert all(
        f' id="{one}"' in picture.svg
        for picture in pictures().values()
        for one in re.findall(r'href="#([^"]+)"', picture.svg)
    )


def test_every_nugget_opens_with_a_picture_of_its_own_and_no_picture_is_left_over() -> None:
    assert len(set(OPENING)) == len(OPENING) == len(nuggets().pages)
    assert all(page.opening.startswith('<figure class="picture"><svg') for page in nuggets())
    assert all(pictures()[name].svg.count('viewBox="0 0 600 200"') for name in OPENING)
    inside = {name for page in nuggets() for name in re.findall(r"^```picture (\S+)", page.nugget.body, re.MULTILINE)}
    pages = (text.read_text(encoding="utf-8") for text in TEMPLATES.rglob("*.html"))
    on_pages = {name for page in pages for name in re.findall(r'drawn\("([^"]+)"\)', page)}
    assert HERO in on_pages
    assert {*OPENING, *inside, *on_pages} == set(pictures())


@together(
    "drawn",
    [
        "<script>alert(1)</script>",
        "<foreignObject/>",
        '<image href="https://example.org/a.png"/>',
        "<style>.a { fill: red }</style>",
        '<circle r="3" onload="alert(1)"/>',
        '<circle r="3" style="fill: red"/>',
        '<circle r="3" fill="#ff0000"/>',
        '<circle r="3" class="fill-red"/>',
        '<g id="a"/><g id="a"/>',
        '<use href="https://example.org/a.svg#b"/>',
        '<use href="#elsewhere"/>',
        '<path d="M0 0&quot; onload=&quot;alert(1)"/>',
        '<circle r="url(#a)" cx="1"/><circle class="line-ink" r="1"/><animate attributeName="r"/>',
        "<!-- a remark -->",
    ],
)
def test_what_is_no_drawing_is_refused(drawn: str) -> None:
    with pytest.raises(InvalidPicture):
        read_picture("a-picture", FRAME.format(drawn))


@together(
    "text",
    [
        "",
        "<svg/>",
        '<!DOCTYPE svg [<!ENTITY a "b">]>' + FRAME.format(""),
        FRAME.format("").replace("0 0 600 200", "0 0 6e9 200"),
        FRAME.format("").replace("<title>Some words.</title>", ""),
        FRAME.format("").replace("<svg ", '<svg onload="alert(1)" '),
        FRAME.format("<g></h>"),
    ],
)
def test_what_is_no_picture_is_refused(text: str) -> None:
    with pytest.raises(InvalidPicture):
        read_picture("a-picture", text)


def test_words_in_a_picture_stay_words() -> None:
    picture = read_picture(
        "a-picture", FRAME.format('<text x="1" y="20">1 &lt; 2 &amp; "3"</text>').replace("Some", "&quot;Some")
    )
    assert '<text x="1" y="20">1 &lt; 2 &amp; &quot;3&quot;</text>' in picture.svg
    assert 'aria-label="&quot;Some words."' in picture.svg


def test_an_author_is_told_which_pictures_there_are() -> None:
    with pytest.raises(InvalidNugget, match="there is no picture 'nowhere'"):
        page_of(read(FRONT.format("nowhere")))
    look = looked_at(FRONT.format("nowhere"), "a-nugget", nuggets(), ())
    assert [one.words for one in look.complaints if "There is no picture" in one.words]
    assert look.page is not None
    with pytest.raises(InvalidNugget, match="twice"):
        page_of(read(FRONT.format(HERO) + f"```picture {HERO}\n```\n"))


def test_a_picture_within_a_nugget_takes_its_caption_from_the_text() -> None:
    page = page_of(read(FRONT.format(HERO) + "```picture k-anonymity\nWhat **one** sees, $k$.\n```\n"))
    assert pictures()["k-anonymity"].svg in page.screens[0].html
    assert "<figcaption><p>What <strong>one</strong> sees" in page.screens[0].html
    assert "katex" in page.screens[0].html


def test_the_form_of_an_author_keeps_the_picture() -> None:
    text = FRONT.format(HERO)
    assert front_of(text)["picture"] == HERO
    assert read(with_front(text, "a-nugget", front_of(text))).picture == HERO
    assert read(text).picture == read(read(text).written()).picture == HERO


def test_the_two_curves_of_the_landing_page_are_laplace_curves_one_person_apart() -> None:
    root = shapes(HERO)
    curves = {}
    for kind in ("with", "without"):
        [group] = [part for part in root.iter("g") if part.get("class") == f"moves-{kind}"]
        curves[kind] = dict(points(group.find("path")))
    tips = {kind: min(curve, key=lambda x: curve[x]) for kind, curve in curves.items()}
    apart, ground, tall, scale = tips["with"] - tips["without"], 292, 200, 40
    assert math.isclose(apart / scale, 0.25)
    for kind, curve in curves.items():
        for x, y in curve.items():
            assert math.isclose(ground - y, tall * math.exp(-abs(x - tips[kind]) / scale), abs_tol=0.06)
    assert f"ε = {apart / scale}" in pictures()[HERO].caption
    assert f"more than {math.ceil(100 * math.exp(apart / scale)) / 100} times as likely" in pictures()[HERO].caption


def test_two_neighbours_differ_by_a_factor_of_two_and_no_more() -> None:
    drawn = {one.get("class"): one for one in shapes("two-neighbours").iter("path")}
    without, with_you = (dict(points(drawn[f"line-{who} strong"])) for who in ("people", "private"))
    tips = [min(curve, key=lambda x: curve[x]) for curve in (without, with_you)]
    for x in without.keys() & with_you.keys():
        ratio = (262 - with_you[x]) / (262 - without[x])
        assert 0.49 <= ratio <= 2.01
        if x >= tips[1] or x <= tips[0]:
            assert ratio == pytest.approx(2 if x >= tips[1] else 0.5, rel=0.01)


def test_the_red_area_is_delta() -> None:
    drawn = {one.get("class"): points(one) for one in shapes("where-delta-is").iter("path") if "Z" in one.get("d", "")}
    corners = drawn["fill-adversary"]
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    area = abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in pairs)) / 2
    scale, tall = 72, 150
    whole = tall * scale * math.sqrt(2 * math.pi)
    below = NormalDist().cdf
    assert area / whole == pytest.approx(below(-0.5) - math.e * below(-1.5), abs=0.002)  # Balle and Wang (2018)


def test_the_answers_of_two_worlds_have_the_ratio_that_is_said() -> None:
    heights = [float(one.get("height", "0")) for one in shapes("two-worlds").iter("rect") if one.get("width") == "13"]
    ratios = [with_you / without for without, with_you in zip(heights[::2], heights[1::2], strict=True)]
    assert ratios == [pytest.approx(math.exp(sign * 0.5), rel=0.01) for sign in (-1, -1, -1, 1, 1, 1)]


def test_the_bars_of_the_exponential_mechanism_have_its_law() -> None:
    root = shapes("the-exponential-mechanism")
    tall = [float(one.get("height", "0")) for one in root.iter("rect")]
    people = [len(group.findall("use")) for group in root.iter("g") if group.get("class") == "fill-people"]
    weights = [math.exp(score / 2) for score in people]
    assert people == [8, 7, 3, 2]
    for height, weight in zip(tall, weights, strict=True):
        assert math.isclose(height / sum(tall), weight / sum(weights), abs_tol=0.002)


def test_the_dial_of_the_adversary_stops_where_epsilon_says() -> None:
    after = 3 * (10 / 90) / (1 + 3 * (10 / 90))
    assert math.isclose(after, 0.25)
    needles = [
        points(one)[1]
        for one in shapes("the-adversarys-perspective").iter("path")
        if one.get("class") in ("line-people strong", "line-adversary strong")
    ]
    believed = [1 - math.atan2(158 - y, x - 430) / math.pi for x, y in needles]
    assert believed == [pytest.approx(0.10, abs=0.003), pytest.approx(after, abs=0.003)]


READ_AT = """() => [...document.querySelectorAll('.picture > svg')].flatMap((svg) => {
    const words = [...svg.querySelectorAll('text')], wrong = [], frame = svg.getBoundingClientRect();
    const boxes = words.map((one) => one.getBoundingClientRect());
    words.forEach((word, i) => {
        const size = parseFloat(getComputedStyle(word).fontSize) * frame.width / svg.viewBox.baseVal.width;
        if (size < 11) wrong.push(`${word.textContent} is ${size} px`);
        const { left, right } = boxes[i];
        if (left < frame.left - 2 || right > frame.right + 2) wrong.push(`${word.textContent} hangs over`);
        words.slice(0, i).forEach((other, j) => {
            const [a, b] = [boxes[i], boxes[j]];
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            if (across > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.35 * a.height)
                wrong.push(`${word.textContent} meets ${other.textContent}`);
        });
    });
    return wrong;
}).concat(document.documentElement.scrollWidth > innerWidth ? ['the page is wider than its window'] : [])"""


@pytest.mark.sweep
def test_words_in_pictures_neither_meet_nor_shrink_on_any_screen(visit: Visitor) -> None:
    begun = visit(viewport={"width": 320, "height": 700})
    page = begun.open("/")
    wrong = []
    for address in ("/", *(f"/learn/{slug}" for slug in nuggets().pages)):
        page.goto(begun.url + address)
        for width in (320, 390, 1440):
            page.set_viewport_size({"width": width, "height": 700})
            wrong += [f"{address} at {width}: {one}" for one in page.evaluate(READ_AT)]
    assert wrong == []


@pytest.mark.sweep
def test_the_landing_page_tells_its_story_without_scripts_and_can_be_stopped(visit: Visitor) -> None:
    page = visit(java_script_enabled=False, reduced_motion="no-preference").open("/")
    moving = "document.getAnimations().length"
    assert page.evaluate(moving) >= 8
    page.get_by_label("Stop the picture").check()
    assert page.evaluate(moving) == 0
    page = visit(reduced_motion="reduce").open("/")
    assert page.evaluate(moving) == 0
    assert page.get_by_label("Stop the picture").count() == 0 or not page.get_by_label("Stop the picture").is_visible()
