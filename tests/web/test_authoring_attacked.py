"""Nothing that an author writes becomes a script, does harm, or keeps us busy."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from drafts import SLUG, autosave, begun, decide, publish, text_of
from fastapi import FastAPI
from school_site import PERSON, open_school, signed_in, site_of, visitor
from sweeps import few

from lapwing.web.authoring import desk, placeholders
from lapwing.web.authoring.snippets import OWN, SNIPPETS, WIDGETS, widget_snippets
from lapwing.web.authoring.store.nuggets import mark_of
from lapwing.web.school import plain
from lapwing.web.school.library import School
from lapwing.web.school.nugget import InvalidNugget, read
from lapwing.web.school.page import page_of


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


class Inspector(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(shown)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        ours = (known.get("src") or "").startswith("/static/") or known.get("type") == "application/json"
        if tag in ("iframe", "object", "embed", "base", "style") or (tag == "script" and not ours):
            self.found.append(tag)
        for name, value in attrs:
            leads = re.sub(r"[\s\x00-\x20]", "", value or "").lower()
            if name.startswith("on") or (name == "style" and "url" in leads):
                self.found.append(f"{tag} {name}")
            if name in ("href", "src", "action", "formaction", "xlink:href", "srcdoc"):
                if not re.match(r"(/(?!/)|#|https?:|mailto:|\?)", leads) and leads:
                    self.found.append(f"{tag} {name}={value}")
                if name == "src" and not leads.startswith("/"):
                    self.found.append(f"{tag} {name}={value}")


def dangers(shown: str) -> list[str]:
    return Inspector(shown).found


EVIL = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "{{ 7777 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "<!--<script>",
    "\u2028</title><script>alert(1)</script>",
]


FENCES = {
    "graph": "```graph\ntitle: {0}\nformula: x\nx: {{from: 0, to: 1, label: {0}}}\n"
    "sliders: {{b: {{from: 0, to: 1, label: {0}}}}}\nsentence: {0}\n```",
    "data": "```data\ntitle: {0}\ncolumns: [{0}, b]\nrows: [[{0}, 1]]\ncomputed: {{{0}: b*2}}\n```",
    "quiz": "```quiz\n- ask: {0}\n  options:\n    - {{text: {0}, feedback: {0}, right: true}}\n"
    "    - {{text: {0}, feedback: {0}}}\n```",
    "exercise": "```exercise\nid: {0}\ntitle: {0}\ntask: {0}\nsolution: {0}\nstarter: {0}\nhint: {0}\nchecks: {0}\n```",
    "widget": "```widget laplace x={1}\n{1}\n```",
    "block": "::: proof {1}\n{1}\n:::",
    "picture": '![{1}](/x.png "{1}") [{1}]({1})',
    "formula": "$ {1} $ and\n\n$$\n\\href{{{1}}}{{x}}\n$$",
}


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_nothing_that_an_author_writes_becomes_a_script(app: FastAPI, evil: str) -> None:
    author, instructor = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor")
    begun(app, author)
    quoted = json.dumps(evil)
    front = dict.fromkeys(("title", "category", "minutes", "level", "summary"), evil) | {
        name: [evil] for name in ("roles", "needs", "helps", "objectives")
    }
    body = "\n\n".join([f"## {evil}", evil, *(fence.format(quoted, evil) for fence in FENCES.values())])
    wild = desk.with_front(body, SLUG, front)
    tame = desk.with_front(
        body, SLUG, {"title": evil, "category": "outlook", "minutes": "5", "level": "theory", "roles": ["student"],
                     "summary": evil, "objectives": [evil]}
    )  # fmt: skip
    for text in (wild, tame):
        look = author.post("/write/preview", json={"slug": SLUG, "text": text, "front": None}).json()
        assert not dangers(look["html"])
        assert (
            author.post(f"/write/{SLUG}", data={"text": text, "base": mark_of(text_of(app)), "note": evil}).status_code
            == 303
        )
        for address in ("", "/read", "/versions", "/versions/2"):
            shown = author.get(f"/write/{SLUG}{address}", headers=PERSON).text
            assert not dangers(shown), address
            assert "54439" not in shown
        assert not dangers(author.get("/write", headers=PERSON).text)
    tame = re.sub(r"```widget.*?```", "", tame, flags=re.DOTALL)
    for one in reversed(placeholders.placeholders(tame)):  # links that lead nowhere are not published at all
        tame = "\n".join(line for number, line in enumerate(tame.split("\n"), 1) if number != one.line)
    if read(tame) and not page_problems(tame):
        author.post(f"/write/{SLUG}", data={"text": tame, "base": mark_of(text_of(app))})
        decide(author, "submit", note=evil)
        assert publish(app, instructor).status_code == 303
        for address in ("/", f"/learn/{SLUG}"):
            assert not dangers(visitor(app).get(address).text)


def page_problems(text: str) -> list[Any]:
    wrong: list[Any] = []
    page_of(read(text), wrong=wrong)
    return wrong


def test_widgets_are_not_told_what_browsers_act_on() -> None:
    front = desk.beginning(SLUG, "x")
    for option in ("onload=alert(1)", "onclick=x", "style=x", "id=x", "class=x", "slot=x", "is=x"):
        with pytest.raises(InvalidNugget, match="cannot be told"):
            page_of(read(f"{front}\n```widget laplace {option}\n```\n"))
    assert 'view="many"' in page_of(read(f"{front}\n```widget gaussian view=many\n```\n")).screens[-1].html


BOMBS = {
    "laughs": "a: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b]",
    "deep": "[" * 5000,
    "deeper": "- " * 5000 + "x",
    "wide": "[" + "1," * 20_000 + "1]",
    "long": "x: " + "y" * 100_000,
    "object": "!!python/object/apply:os.system ['true']",
    "number": "x: " + "9" * 30_000,
    "date": "x: 9999-99-99",
    "recursive": "&a [*a]",
    "merge": "a: &a {x: 1}\nb: {<<: *a}",
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("fence", few(["front", "quiz", "exercise", "graph", "data"], stays=2))
def test_yaml_that_does_harm_is_refused_with_words(app: FastAPI, name: str, fence: str) -> None:
    author = signed_in(app, "Ada")
    good = desk.beginning(SLUG, "A new nugget")
    text = f"---\n{BOMBS[name]}\n---\n## One\n" if fence == "front" else f"{good}\n```{fence}\n{BOMBS[name]}\n```\n"
    answer = author.post("/write/preview", json={"slug": SLUG, "text": text})
    assert answer.status_code == 200
    assert [one for one in answer.json()["complaints"] if not one["advice"]]
    assert len(answer.content) < 500_000


def test_yaml_that_people_write_is_read() -> None:
    assert plain.load('- ask: "a: b"\n  n: 1.5\n  yes: true\n  when: 2020-01-02')[0]["n"] == 1.5
    for school in School.read():
        assert read(school.nugget.written()) == school.nugget


@pytest.mark.parametrize(
    "body",
    few(
        [
            "x" * 60_000,
            "[" * 20_000,
            "![" * 15_000,
            "> " * 20_000,
            "- " * 20_000,
            "*a **a " * 8_000,
            "`" * 40_000,
            "$a$ " * 12_000,
            "::: proof\n" * 4_000,
            "| a " * 12_000 + "|\n" + "|---" * 12_000 + "|\n",
            "## a\n" * 10_000,
            "```graph\nformula: x\n```\n" * 2_000,
            "```quiz\n[\n```\n" * 3_000,
            "<a " * 15_000,
            "[a](" * 12_000,
            "\\" * 50_000,
            "&amp;" * 10_000,
            "epsilon " * 7_000,
            '"' * 50_000,
            "'a" * 25_000,
        ],
        stays=10,
    ),
    ids=lambda body: body[:12].strip(),
)
def test_texts_that_mean_to_keep_us_busy_are_answered(app: FastAPI, body: str) -> None:
    author = signed_in(app, "Ada")
    text = desk.beginning(SLUG, "A new nugget") + "\n## More\n\n" + body
    answer = author.post("/write/preview", json={"slug": SLUG, "text": text})
    assert answer.status_code == 200


def test_a_text_that_is_too_long_is_refused_without_losing_the_old_one(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    assert autosave(author, text + "x" * desk.LONGEST, text).status_code == 413
    assert author.post(f"/write/{SLUG}", data={"text": "y" * 70_000, "base": mark_of(text)}).status_code == 413
    assert author.post(f"/write/{SLUG}", data={"text": "y" * 500_000, "base": "x"}).status_code == 422
    assert text_of(app) == text


def test_signs_that_no_database_takes_are_left_out(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    sent = json.dumps({"text": text + "a\x00b\ud800c\x1b", "base": mark_of(text)})
    headers = {"content-type": "application/json"}
    assert author.post(f"/write/{SLUG}/text", content=sent, headers=headers).status_code in (200, 422)
    assert autosave(author, text + "a\x00b\x1bc", text).status_code == 200
    assert text_of(app).endswith("abc")


def test_the_address_of_a_draft_is_checked(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    for slug in ("export", "import", "preview", "../x", "Ä", "a" * 61, "-x-", "x"):
        assert author.post("/write", data={"title": "x", "slug": slug}).status_code == 422
    assert author.post("/write", data={"title": "  "}).status_code == 422
    assert author.post("/write", data={"title": "Ünïcode Títle"}).headers["location"] == "/write/unicode-title"
    assert author.post("/write", data={"title": "Ünïcode Títle"}).status_code == 422, "taken"


def test_every_snippet_can_be_shown_as_it_is(app: FastAPI) -> None:
    site = site_of(app)
    for one in (*SNIPPETS, *widget_snippets(site.pages.assets.widgets)):
        text = f"{desk.beginning(SLUG, 'x')}\n{one.text}\n"
        text = text.replace("/uploads/….", f"/uploads/{'a' * 64}.")
        look = desk.looked_at(text, SLUG, site.pages.school, site.pages.assets.widgets)
        assert all(said.advice or said.hole for said in look.complaints), (one.name, look.complaints)


def test_every_widget_is_described_to_authors(app: FastAPI) -> None:
    there = {name.removeprefix("lw-") for name in site_of(app).pages.assets.widgets}
    assert there - set(OWN) == set(WIDGETS)
