"""From an idea to a nugget in the school: who may do what, and that no text is ever lost."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image
from school_site import PERSON, open_school, signed_in, site_of, visitor
from school_site import nuggets as built_in_nuggets
from sqlalchemy import update
from sweeps import few

from lapwing.web.accounts.store import users
from lapwing.web.authoring import desk, placeholders, publishing
from lapwing.web.authoring.difference import MOST, compared, merged
from lapwing.web.authoring.snippets import OWN, SNIPPETS, WIDGETS, widget_snippets
from lapwing.web.authoring.store import nuggets
from lapwing.web.authoring.store.nuggets import mark_of
from lapwing.web.school import plain
from lapwing.web.school.glossary import Glossary
from lapwing.web.school.library import School
from lapwing.web.school.nugget import InvalidNugget, Nugget, read
from lapwing.web.school.page import page_of
from lapwing.web.service import settings
from lapwing.web.service.tables import Version

SLUG = "a-new-nugget"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def text_of(app: FastAPI, slug: str = SLUG) -> str:
    with site_of(app).database.reading() as db:
        found = nuggets.find(db, slug)
    assert found is not None
    return found.text


def begun(app: FastAPI, client: TestClient, slug: str = SLUG, title: str = "A new nugget") -> str:
    """A draft that could be published: somebody replaced all of the template's words."""
    assert client.post("/write", data={"title": title, "slug": slug}).status_code == 303
    with site_of(app).database.writing() as db:
        db.execute(update(Version).where(Version.slug == slug).values(text=finished(text_of(app, slug))))
    return text_of(app, slug)


def finished(text: str) -> str:
    """The text with words of one's own wherever the template has its words."""
    text = re.sub(r"^summary: [^\n]*\n(?:  [^\n]*\n)*", "summary: Why one reads it.\n", text, flags=re.MULTILINE)
    text = text.replace(placeholders.OBJECTIVE, "Explain it in your own words.")
    text = text.replace("## A first screen {", "## A first screen, and more {").replace(
        "lines of its own:", "its own lines:"
    )
    for sample in ("Begin with what your", "The one sentence that", "What one can do now."):
        text = text.replace(sample, f"So: {sample}")
    return text


def autosave(client: TestClient, text: str, base: str, slug: str = SLUG) -> Any:
    return client.post(f"/write/{slug}/text", json={"text": text, "base": mark_of(base)})


def decide(client: TestClient, action: str, slug: str = SLUG, **more: str) -> Any:
    return client.post(f"/write/{slug}/state", data={"action": action, **more})


def publish(app: FastAPI, client: TestClient, slug: str = SLUG) -> Any:
    return decide(client, "publish", slug, base=mark_of(text_of(app, slug)))


def test_a_form_of_somebody_whose_session_ended_gives_the_text_back(app: FastAPI) -> None:
    answer = visitor(app).post("/write/a-draft", data={"text": "## A & B\n\nLong work."}, headers=PERSON)
    assert answer.status_code == 401
    assert "## A &amp; B\n\nLong work.</textarea>" in answer.text
    assert 'href="/account/sign-in?next=/write/a-draft"' in answer.text
    assert visitor(app).post("/write/a-draft", data={"text": "x"}).json()["title"] == "Please sign in"


def test_a_learner_writes_an_instructor_publishes_and_everybody_reads(app: FastAPI) -> None:
    author, instructor, reader = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor"), visitor(app)
    text = begun(app, author)
    assert reader.get(f"/learn/{SLUG}").status_code == 404
    better = text.replace("## A first screen", "## What a hedgehog knows")
    assert autosave(author, better, text).status_code == 200
    assert instructor.get(f"/write/{SLUG}").status_code == 404, "nobody sees a draft before it is handed in"
    assert decide(author, "submit", note="Please look").status_code == 303
    assert "A new nugget" in instructor.get("/write").text
    assert "hedgehog" in instructor.get(f"/write/{SLUG}/read").text
    assert decide(instructor, "return").status_code == 422, "a reviewer says what should change"
    assert decide(instructor, "return", note="Say more about spines.").status_code == 303
    assert "Say more about spines." in author.get(f"/write/{SLUG}").text
    assert publish(app, author).status_code == 403
    assert decide(author, "submit").status_code == 303
    assert publish(app, instructor).headers["location"] == f"/learn/{SLUG}"
    assert "hedgehog" in reader.get(f"/learn/{SLUG}").text
    assert "A new nugget" in reader.get("/").text
    assert "A new nugget" in reader.get("/", params={"q": "hedgehog"}).text


def test_what_is_published_is_there_after_a_restart(app: FastAPI, tmp_path: Path) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    begun(app, instructor)
    publish(app, instructor)
    again = open_school(tmp_path)
    assert visitor(again).get(f"/learn/{SLUG}").text == visitor(app).get(f"/learn/{SLUG}").text


def test_a_second_server_of_the_same_school_follows(app: FastAPI, tmp_path: Path) -> None:
    other, instructor = open_school(tmp_path), signed_in(app, "Grace", "instructor")
    begun(app, instructor)
    publish(app, instructor)
    assert visitor(other).get(f"/learn/{SLUG}").status_code == 404
    assert publishing.refresh(site_of(other)) is True
    assert visitor(other).get(f"/learn/{SLUG}").status_code == 200
    assert publishing.refresh(site_of(other)) is False, "nothing changed since"
    decide(instructor, "withdraw")
    publishing.refresh(site_of(other))
    assert visitor(other).get(f"/learn/{SLUG}").status_code == 404


def test_a_new_edition_takes_the_place_of_a_built_in_nugget_until_it_is_withdrawn(app: FastAPI) -> None:
    instructor, reader, slug = signed_in(app, "Grace", "instructor"), visitor(app), "tools"
    before, place = reader.get(f"/learn/{slug}").text, list(site_of(app).pages.school.pages).index(slug)
    assert instructor.post("/write", data={"copy_of": slug}).headers["location"] == f"/write/{slug}"
    text = text_of(app, slug)
    assert read(text) == site_of(app).pages.built_in.pages[slug].nugget
    assert autosave(instructor, text.replace("\n## ", "\nOurs is better.\n\n## ", 1), text, slug).status_code == 200
    assert publish(app, instructor, slug).status_code == 303
    assert "Ours is better." in reader.get(f"/learn/{slug}").text
    assert list(site_of(app).pages.school.pages).index(slug) == place
    assert decide(instructor, "withdraw", slug, note="It was not").status_code == 303
    assert reader.get(f"/learn/{slug}").text == before


def test_learners_cannot_take_the_name_of_a_built_in_nugget(app: FastAPI) -> None:
    learner = signed_in(app, "Ada")
    assert learner.post("/write", data={"copy_of": "tools", "slug": "tools"}).status_code == 422
    assert learner.post("/write", data={"copy_of": "tools", "slug": "my-tools", "title": "Mine"}).status_code == 303
    assert "title: Mine" in text_of(app, "my-tools")
    assert learner.post("/write/my-tools/rename", data={"new": "tools"}).status_code == 422
    mine = io.BytesIO(text_of(app, "my-tools").replace("my-tools", "tools").encode())
    assert learner.post("/write/import", files={"file": ("tools.md", mine)}).headers["location"] == "/write/tools-2"


def test_readers_keep_what_was_published_while_the_author_goes_on(app: FastAPI) -> None:
    author, instructor, reader = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor"), visitor(app)
    text = begun(app, author)
    decide(author, "submit")
    publish(app, instructor)
    shown = reader.get(f"/learn/{SLUG}").text
    changed = text.replace("A first screen", "A second thought")
    assert autosave(author, changed, text).status_code == 200
    assert decide(author, "submit").status_code == 303
    assert reader.get(f"/learn/{SLUG}").text == shown
    assert decide(author, "take-back").status_code == 303
    with site_of(app).database.reading() as db:
        found = nuggets.find(db, SLUG)
    assert found is not None
    assert found.state == "published"
    assert author.post(f"/write/{SLUG}/delete").status_code == 409
    decide(author, "submit")
    publish(app, instructor)
    assert "A second thought" in reader.get(f"/learn/{SLUG}").text


def test_a_text_that_changed_since_it_was_reviewed_is_not_published(app: FastAPI) -> None:
    author, instructor = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor")
    text = begun(app, author)
    decide(author, "submit")
    seen = mark_of(text)
    autosave(author, text + "\nSomething nobody reviewed.\n", text)
    assert decide(instructor, "publish", base=seen).status_code == 409
    assert visitor(app).get(f"/learn/{SLUG}").status_code == 404


def test_edit_leads_to_the_editor_or_to_the_beginning_of_an_edition_or_a_copy(app: FastAPI) -> None:
    learner, instructor, other = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor"), signed_in(app, "Max")
    assert "Begin a copy" in learner.get("/write/tools").text
    assert "Begin a new edition" in instructor.get("/write/tools").text
    assert learner.get("/write/no-such-nugget").status_code == 404
    copy = learner.post("/write", data={"copy_of": "tools", "title": "Tools, told differently", "slug": ""})
    assert copy.headers["location"] == "/write/tools-told-differently"
    assert instructor.post("/write", data={"copy_of": "tools"}).headers["location"] == "/write/tools"
    second = signed_in(app, "Mo", "instructor")
    assert "Somebody writes a new edition" in second.get("/write/tools").text
    assert "Somebody writes" not in other.get("/write/tools").text, "whether there is a draft is not for learners"
    assert learner.get("/me").json()["writes"] == ["tools-told-differently"]
    assert (other.get("/me").json()["writes"], instructor.get("/me").json()["writes"]) == ([], ["tools"])
    assert publish(app, instructor, "tools").status_code == 303
    assert 'id="writing"' in second.get("/write/tools").text
    page = visitor(app).get("/learn/tools").text
    assert re.search(r'<a class="edit" id="edit" href="/write/tools"[^>]* hidden>Edit</a>', page)


def order(app: FastAPI) -> list[str]:
    return list(site_of(app).pages.school.pages)


def test_a_nugget_stands_where_its_front_matter_says_and_an_instructor_moves_it(app: FastAPI, tmp_path: Path) -> None:
    instructor, built_in = signed_in(app, "Grace", "instructor"), order(app)
    text = begun(app, instructor)
    autosave(instructor, desk.moved(text, "tools"), text)
    assert publish(app, instructor).status_code == 303
    place = built_in.index("tools") + 1
    assert order(app) == [*built_in[:place], SLUG, *built_in[place:]]
    assert f'<a class="next-step" href="/learn/{SLUG}">' in visitor(app).get("/learn/tools").text

    def move(after: str, base: str | None = None, slug: str = SLUG) -> int:
        return int(decide(instructor, "move", slug, after=after, base=base or mark_of(text_of(app, slug))).status_code)

    assert move("the-beginning") == 303
    assert order(app) == [SLUG, *built_in]
    assert order(open_school(tmp_path)) == [SLUG, *built_in]
    assert (move(SLUG), move("no-such-nugget"), move("tools", base="old")) == (422, 422, 409)
    assert move("") == 303
    assert (order(app), text_of(app)) == ([*built_in, SLUG], text)
    changed = text.replace("A first screen", "Not reviewed")
    autosave(instructor, changed, text)
    assert move("tools") == 409, "what changed since is not published along the way"
    assert "Not reviewed" not in visitor(app).get(f"/learn/{SLUG}").text
    author = signed_in(app, "Ada")
    assert decide(author, "move", after="tools").status_code == 404


def test_nuggets_that_stand_after_one_another_keep_their_order_and_circles_end(app: FastAPI) -> None:
    one = site_of(app).pages.built_in.pages["tools"].nugget

    def named(slug: str, after: str) -> Nugget:
        return replace(one, slug=slug, after=after, needs=(), helps=())

    school = School([named(a, b.strip()) for a, b in ("ab", "b ", "cb", "da", "e ", "gh", "hg", "fx")], Glossary([]))
    assert list(school.pages) == [*"badcefgh"], "a behind b, its own behind it, then c; circles come last"
    again = School([page.nugget for page in school], Glossary([]))
    assert list(again.pages) == list(school.pages)
    assert school.leads_back("b", "d")
    assert not school.leads_back("d", "b")


def test_words_of_a_nugget_are_explained_everywhere_once_it_is_published(app: FastAPI, tmp_path: Path) -> None:
    instructor, reader = signed_in(app, "Grace", "instructor"), visitor(app)
    text = begun(app, instructor)
    words = "words: {encryption: {also: [hedgehog name], short: A <b>name</b> in place of a name.}}"
    mine = text.replace("needs: []", f"needs: []\n{words}").replace("The one sentence", "A hedgehog name")
    told = 'popovertarget="tip-encryption" aria-describedby="tip-encryption-says"'
    look = instructor.post("/write/preview", json={"slug": SLUG, "text": mine}).json()
    assert not [one for one in look["complaints"] if not one["advice"]]
    assert told in look["html"], "the preview shows it already"
    autosave(instructor, mine, text)
    other = "/learn/privacy-preserving-methods"
    before = reader.get(other).text
    assert told not in before
    assert publish(app, instructor).status_code == 303
    for address in (other, f"/learn/{SLUG}"):
        assert told in reader.get(address).text
        assert "A &lt;b&gt;name&lt;/b&gt; in place of a name." in reader.get(address).text
    assert '<dt id="encryption">' in reader.get("/glossary").text
    assert 'href="/glossary#encryption"' in reader.get("/", params={"q": "hedgehog name"}).text
    assert told in visitor(open_school(tmp_path)).get(other).text
    better = mine.replace("in place of a name", "instead")
    autosave(instructor, better, mine)
    assert publish(app, instructor).status_code == 303, "its own words are not in its way"
    assert "instead" in reader.get(other).text
    assert decide(instructor, "withdraw").status_code == 303
    assert reader.get(other).text == before


def test_the_school_that_is_exported_reads_as_the_same_school(app: FastAPI, tmp_path: Path) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    text = begun(app, instructor)
    mine = text.replace("needs: []", "needs: []\nafter: tools\nwords: {quill: {also: [quills], short: A pen.}}")
    autosave(instructor, mine, text)
    publish(app, instructor)
    with zipfile.ZipFile(io.BytesIO(instructor.get("/write/export", params={"school": "true"}).content)) as archive:
        archive.extractall(tmp_path / "school")
    again, shown = School.read(tmp_path / "school"), site_of(app).pages.school
    assert list(again.pages.values()) == list(shown.pages.values())
    assert again.glossary.terms == shown.glossary.terms
    alone = io.BytesIO(instructor.get(f"/write/{SLUG}/file").content)
    assert signed_in(app, "Ada").post("/write/import", files={"file": ("x.md", alone)}).status_code == 303
    assert read(text_of(app, f"{SLUG}-2")).words == read(mine).words


def test_what_others_need_cannot_be_withdrawn(app: FastAPI) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    begun(app, instructor)
    publish(app, instructor)
    text = begun(app, instructor, "another-nugget", "Another")
    needing = text.replace("needs: []", f"needs: [{SLUG}]")
    autosave(instructor, needing, text, "another-nugget")
    assert publish(app, instructor, "another-nugget").status_code == 303
    refused = decide(instructor, "withdraw")
    assert (refused.status_code, "another-nugget" in refused.text) == (422, True)
    assert visitor(app).get(f"/learn/{SLUG}").status_code == 200
    assert decide(instructor, "withdraw", "another-nugget").status_code == 303
    assert decide(instructor, "withdraw").status_code == 303


def test_a_school_opens_without_what_does_not_fit_any_more(app: FastAPI, tmp_path: Path) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    for slug in (SLUG, "another-nugget"):
        text = begun(app, instructor, slug)
        autosave(instructor, text.replace("needs: []", "needs: [tools]") if slug == SLUG else text, text, slug)
        assert publish(app, instructor, slug).status_code == 303
    school = site_of(app).pages.built_in
    smaller = School(
        [
            page.nugget
            for page in school
            if page.nugget.slug != "tools" and "tools" not in page.nugget.needs + page.nugget.helps
        ],
        school.glossary,
    )
    pages = site_of(app).pages
    with site_of(app).database.reading() as db:
        editions = nuggets.editions(db)
    pages.built_in = smaller
    shown = publishing.fitting(pages, editions)
    assert SLUG not in shown.pages
    assert "another-nugget" in shown.pages


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("category: motivation", "category: fun", "Write one of"),
        ("{serves=1}", "{serves=7}", "Count objectives"),
        ("## A first screen", "```widget unicorn\n```\n\n## A first screen", "no widget"),
        ("## A first screen", "```quiz\n- ask: x\n```\n\n## A first screen", "ask and options"),
        ("## A first screen", "```graph\nformula: 2x\n```\n\n## A first screen", "Write * to multiply"),
        ("needs: []", "needs: [nothing]", "no other nugget"),
        (f"slug: {SLUG}", "slug: something-else", "rename the draft"),
        ("---\nslug", "slug", "Begin with ---"),
        ("title: A new nugget", "title: [", "not YAML"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_write_and_is_not_published(
    app: FastAPI, old: str, new: str, told: str
) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    text = begun(app, instructor)
    wrong = text.replace(old, new, 1)
    assert wrong != text
    look = instructor.post("/write/preview", json={"slug": SLUG, "text": wrong}).json()
    words = " ".join(one["words"] for one in look["complaints"] if not one["advice"])
    assert told in words
    assert "short paragraphs" in look["html"].lower(), "the rest is shown all the same"
    autosave(instructor, wrong, text)
    assert decide(instructor, "submit").status_code == 422
    refused = publish(app, instructor)
    assert refused.status_code == 422
    assert visitor(app).get(f"/learn/{SLUG}").status_code == 404


@together(
    ("more", "told"),
    [
        ("after: nothing", "which is no nugget"),
        (f"after: {SLUG}", "stands behind this one"),
        ("after: [tools]", "or leave it out"),
        ("words: {noise: {short: Bzz.}}", "explains 'noise' already"),
        ("words: {quill: {also: [Noise], short: Bzz.}}", "explains 'noise' already"),
        ("words: {quill: {}}", "has no short explanation"),
        ("words: {quill: {short: ' '}}", "needs an explanation"),
        ("words: {∑: {short: A sum.}}", "this sign under also"),
        ("words: {a: {short: x}, b: {also: [A], short: y}}", "explained twice"),
        ("words: {'a: b': {short: x}}", "is no word"),
        ("words: [quill]", "Words have no names"),
    ],
)
def test_a_place_or_a_word_that_cannot_be_says_why(more: str, told: str) -> None:
    text = desk.beginning(SLUG, "A title").replace("needs: []", f"needs: []\n{more}")
    look = desk.looked_at(text, SLUG, built_in_nuggets(), [])
    assert told in " ".join(one.words for one in look.complaints if not one.advice)
    assert not look.ready


def test_a_complaint_names_the_line(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author) + "\n```quiz\n- ask: x\n```\n"
    (complaint,) = (
        one
        for one in author.post("/write/preview", json={"slug": SLUG, "text": text}).json()["complaints"]
        if one["line"]
    )
    assert text.splitlines()[complaint["line"] - 1] == "```quiz"


def test_the_form_and_the_text_say_the_same(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    front = {
        "title": 'Noise: a "first" look',
        "category": "outlook",
        "level": "theory",
        "roles": ["engineer"],
        "needs": ["tools"],
        "helps": [],
        "summary": "# not a comment",
        "objectives": ["Say: yes", "- no"],
        "after": "tools",
        "words": ["spine (spines, prickle): What keeps a fox away, e^3 times: often.", "quill: A long one."],
        "picture": "tools",
    }
    look = author.post("/write/preview", json={"slug": SLUG, "text": text, "front": front}).json()
    assert look["front"] == front
    nugget = read(look["head"] + desk.split(text)[1])
    assert (nugget.title, nugget.objectives) == (front["title"], ("Say: yes", "- no"))
    assert (nugget.after, nugget.picture) == ("tools", "tools")
    assert [term.name for term in nugget.words] == ["spine", "quill"]
    assert nugget.words[0].also == ("spines", "prickle")
    typed = {name: "\n".join(front[name]) for name in ("objectives", "words")}
    data = {**front, **typed, "text": text, "base": mark_of(text), "action": "front"}
    page = author.post(f"/write/{SLUG}", data=data, headers=PERSON).text
    assert "Not saved yet." in page
    assert "# not a comment" in page
    assert text_of(app) == text, "looking keeps nothing"


def test_without_scripts_a_text_is_previewed_and_saved_by_forms(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    mine = text.replace("A first screen", "By hand").replace("\n", "\r\n")
    form = {"text": mine, "base": mark_of(text)}
    page = author.post(f"/write/{SLUG}", data={**form, "action": "preview"}, headers=PERSON).text
    assert "<h2>By hand" in page
    assert text_of(app) == text
    assert author.post(f"/write/{SLUG}", data={**form, "action": "save", "note": "By hand"}).status_code == 303
    assert text_of(app) == text.replace("A first screen", "By hand")
    shown = re.search(
        r"<textarea[^>]*name=\"text\"[^>]*>\n(.*?)</textarea>", author.get(f"/write/{SLUG}").text, re.DOTALL
    )
    assert shown


def test_two_tabs_never_lose_a_text(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    first = text.replace("A first screen", "From the first tab")
    second = text.replace("The one sentence that should stay.", "From the second tab")
    assert autosave(author, first, text).status_code == 200
    assert autosave(author, second, text).status_code == 409
    assert text_of(app) == first
    both = author.post(f"/write/{SLUG}", data={"text": second, "base": mark_of(text)}, headers=PERSON)
    assert both.status_code == 409
    assert "From the first tab" in both.text
    assert "From the second tab" in both.text
    assert "do not touch each other" in both.text
    base = re.search(r'name="base" value="([0-9a-f]+)"', both.text)
    assert base
    together = merged(text, second, first)[0]
    kept = author.post(f"/write/{SLUG}", data={"text": together, "base": base[1], "note": "Both"})
    assert kept.status_code == 303
    assert "From the first tab" in text_of(app)
    assert "From the second tab" in text_of(app)
    with site_of(app).database.reading() as db:
        assert first in [nuggets.version(db, SLUG, one.number).text for one in nuggets.versions(db, SLUG)]  # type: ignore[union-attr]


def test_a_text_that_is_set_aside_stays_among_the_versions(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    theirs, mine = text + "\nTheirs.\n", text + "\nMine.\n"
    autosave(author, theirs, text)
    form = {"text": mine, "base": mark_of(theirs), "action": "aside"}
    assert author.post(f"/write/{SLUG}", data=form).status_code == 303
    assert text_of(app) == theirs
    with site_of(app).database.reading() as db:
        assert nuggets.text_with(db, SLUG, mark_of(mine)) == mine


def test_a_text_in_which_two_meet_is_not_published(app: FastAPI) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    text = begun(app, instructor)
    both, conflicts = merged(text, text + "a\n", text + "b\n")
    assert conflicts == 1
    autosave(instructor, both, text)
    assert "delete the marks" in publish(app, instructor).text


def test_saving_the_same_text_twice_is_no_conflict_and_no_version(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    number = autosave(author, text + "x", text).json()["number"]
    assert autosave(author, text + "x", text).json()["number"] == number


def test_a_decision_does_not_make_an_open_editor_stale(app: FastAPI) -> None:
    author, instructor = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor")
    text = begun(app, author)
    decide(author, "submit")
    decide(instructor, "return", note="More.")
    assert autosave(author, text + "\nMore.\n", text).status_code == 200


def test_versions_are_listed_compared_and_restored(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    changed = text.replace("one thought each", "two thoughts each")
    author.post(f"/write/{SLUG}", data={"text": changed, "base": mark_of(text), "note": "Doubled"})
    assert "Doubled" in author.get(f"/write/{SLUG}/versions").text
    page = author.get(f"/write/{SLUG}/versions/2").text
    assert "<mark>one</mark>" in page
    assert "<mark>two</mark>" in page
    assert author.get(f"/write/{SLUG}/versions/2", params={"since": 9}).status_code == 404
    assert author.get(f"/write/{SLUG}/versions/99").status_code == 404
    assert author.post(f"/write/{SLUG}/versions/1/restore").status_code == 303
    assert text_of(app) == text
    with site_of(app).database.reading() as db:
        assert [one.number for one in nuggets.versions(db, SLUG)] == [3, 2, 1]


def test_typing_for_hours_keeps_a_version_for_every_ten_minutes(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    begun(app, author)
    with site_of(app).database.writing() as db:
        start = nuggets.versions(db, SLUG)[0].created
        for step in range(1, 601):
            draft = nuggets.find(db, SLUG)
            assert draft is not None
            nuggets.save(db, draft, f"text {step}", 1, "", start + 6 * step)
        kept = nuggets.versions(db, SLUG)
    assert kept[0].number == 601
    assert 6 <= len(kept) <= 9
    gaps = [one.created - other.created for one, other in pairwise(kept[1:])]
    assert all(gap >= nuggets.EVERY for gap in gaps)


def test_old_versions_make_room_but_never_what_readers_see(app: FastAPI) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    text = begun(app, instructor)
    publish(app, instructor)
    with site_of(app).database.writing() as db:
        for step in range(nuggets.MOST_VERSIONS + 50):
            draft = nuggets.find(db, SLUG)
            assert draft is not None
            nuggets.save(db, draft, f"{text}{step}", 1, f"Note {step}", step)
        numbers = [one.number for one in nuggets.versions(db, SLUG)]
    assert len(numbers) == nuggets.MOST_VERSIONS
    assert 2 in numbers, "the published one"
    publishing.refresh(site_of(app))
    assert visitor(app).get(f"/learn/{SLUG}").status_code == 200


def test_a_team_writes_and_publishes_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    app = open_school(tmp_path, database=settings.address(postgres_url))
    author, instructor = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor")
    text = begun(app, author)
    changed = text.replace("one thought each", "two thoughts each")
    assert autosave(author, changed, text).status_code == 200
    assert autosave(author, text + "x", text).status_code == 409
    assert author.get(f"/write/{SLUG}/versions").status_code == 200
    assert decide(author, "submit").status_code == 303
    assert publish(app, instructor).status_code == 303
    assert (
        "two thoughts each"
        in visitor(open_school(tmp_path, database=settings.address(postgres_url))).get(f"/learn/{SLUG}").text
    )
    picture = io.BytesIO()
    Image.new("RGB", (9, 9)).save(picture, "PNG")
    sent = author.post("/uploads", files={"picture": ("x.png", picture.getvalue())}).json()
    assert visitor(app).get(sent["address"]).status_code == 200
    assert author.post(f"{sent['address']}/delete").status_code == 303
    assert decide(instructor, "withdraw").status_code == 303
    assert author.post(f"/write/{SLUG}/rename", data={"new": "renamed"}).status_code == 303
    assert author.post("/write/renamed/delete").status_code == 303


ADDRESSES = [
    ("GET", ""),
    ("GET", "/read"),
    ("GET", "/file"),
    ("GET", "/versions"),
    ("GET", "/versions/1"),
    ("POST", ""),
    ("POST", "/text"),
    ("POST", "/versions/1/restore"),
    ("POST", "/state"),
    ("POST", "/rename"),
    ("POST", "/delete"),
]


@pytest.mark.parametrize(("method", "address"), ADDRESSES)
def test_other_peoples_drafts_are_not_there(app: FastAPI, method: str, address: str) -> None:
    author = signed_in(app, "Ada")
    text = begun(app, author)
    more = (
        {"json": {"text": "mine now", "base": mark_of(text)}} if address == "/text" else {"data": {"action": "submit"}}
    )
    for name, role in (("Bob", "learner"), ("Grace", "instructor"), ("Hedy", "admin")):
        answer = signed_in(app, name, role).request(
            method, f"/write/{SLUG}{address}", **(more if method == "POST" else {})
        )
        assert answer.status_code == 404
        assert "A new nugget" not in answer.text
    assert visitor(app).request(method, f"/write/{SLUG}{address}").status_code in (401, 403)
    assert text_of(app) == text


def test_a_learner_does_not_reach_a_draft_in_review_either(app: FastAPI) -> None:
    author, other = signed_in(app, "Ada"), signed_in(app, "Bob")
    begun(app, author)
    decide(author, "submit")
    assert other.get(f"/write/{SLUG}").status_code == 404
    assert other.get("/write/export").status_code == 200
    assert SLUG.encode() not in other.get("/write/export").content
    assert other.get("/write/export", params={"school": "true"}).status_code == 403
    assert signed_in(app, "Grace", "instructor").post(f"/write/{SLUG}/delete").status_code == 403


def test_programs_of_a_draft_run_for_its_author_only(app: FastAPI) -> None:
    author, instructor = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor")
    text = begun(app, author)
    exercise = next(one.text for one in SNIPPETS if one.name == "Exercise").replace("A first step", "Halves")
    autosave(author, f"{text}\n{exercise}\n", text)
    decide(author, "submit")
    for address in (f"/write/{SLUG}", f"/write/{SLUG}/read"):
        assert "data-pyodide" in author.get(address).text
        assert "data-pyodide" not in instructor.get(address).text
    assert "assert half(3) == 1.5" in instructor.get(f"/write/{SLUG}/read").text


def test_files_come_back_as_they_went(app: FastAPI) -> None:
    author, other = signed_in(app, "Ada"), signed_in(app, "Bob")
    text = begun(app, author)
    begun(app, author, "another-nugget", "Another")
    assert author.get(f"/write/{SLUG}/file").text == text
    archive = author.get("/write/export").content
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert {name: opened.read(name).decode() for name in opened.namelist()} == {
            f"{SLUG}.md": text,
            "another-nugget.md": text_of(app, "another-nugget"),
        }
    answer = other.post("/write/import", files={"file": ("all.zip", archive)})
    assert answer.headers["location"] == "/write"
    assert text_of(app, f"{SLUG}-2") == text.replace(f"slug: {SLUG}", f"slug: {SLUG}-2"), "the name was taken"
    autosave(author, text + "\nMore.\n", text)
    assert author.post("/write/import", files={"file": ("x.md", text.encode())}).status_code == 303
    assert text_of(app) == text, "one's own draft gets a new version"


def test_the_whole_school_can_be_taken_along_and_brought_back(app: FastAPI) -> None:
    instructor = signed_in(app, "Grace", "instructor")
    archive = instructor.get("/write/export", params={"school": "true"}).content
    assert instructor.post("/write/import", files={"file": ("school.zip", archive)}).status_code == 303
    for page in site_of(app).pages.built_in:
        assert read(text_of(app, page.nugget.slug)) == page.nugget


def bomb() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.md", b"\0" * 50_000_000)
    return made.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"PK\x03\x04damaged", b"x" * 300_000, bomb(), desk.zipped([("readme.txt", "x")])],
    ids=["empty", "binary", "damaged", "long", "bomb", "without nuggets"],
)
def test_files_that_cannot_be_read_are_explained(app: FastAPI, content: bytes) -> None:
    author = signed_in(app, "Ada")
    answer = author.post("/write/import", files={"file": ("a.zip", content)})
    if content in (b"", b"PK\x03\x04damaged"):
        assert answer.status_code in (303, 422)  # an empty or short text is a draft that says what is missing
    else:
        assert (answer.status_code, 'role="alert"' in answer.text) == (422, True)


def test_a_draft_is_renamed_with_its_text_and_versions(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    begun(app, author)
    assert author.post(f"/write/{SLUG}/rename", data={"new": "../etc"}).status_code == 422
    assert author.post(f"/write/{SLUG}/rename", data={"new": "preview"}).status_code == 422
    assert author.post(f"/write/{SLUG}/rename", data={"new": "better-name"}).status_code == 303
    assert author.get(f"/write/{SLUG}").status_code == 404
    assert "slug: better-name" in text_of(app, "better-name")
    with site_of(app).database.reading() as db:
        assert len(nuggets.versions(db, "better-name")) == 2
    assert author.post("/write/better-name/delete").status_code == 303
    assert author.get("/write/better-name").status_code == 404


def test_nobody_has_more_drafts_than_their_share(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(desk.MOST_DRAFTS, "learner", 2)
    author = signed_in(app, "Ada")
    for number in range(2):
        begun(app, author, f"draft-{number}")
    assert "Delete one first" in author.post("/write", data={"title": "One more"}).text
    answer = author.post("/write/import", files={"file": ("x.md", b"text")})
    assert "Delete one first" in answer.text


def test_who_leaves_takes_private_drafts_along_and_leaves_what_is_published(app: FastAPI) -> None:
    author, instructor = signed_in(app, "Ada"), signed_in(app, "Grace", "instructor")
    begun(app, author)
    decide(author, "submit")
    publish(app, instructor)
    begun(app, author, "private-thoughts")
    with site_of(app).database.writing() as db:
        users.remove(db, 1)
    with site_of(app).database.reading() as db:
        assert nuggets.find(db, "private-thoughts") is None
        assert nuggets.find(db, SLUG) is not None
    assert "somebody who left" in instructor.get(f"/write/{SLUG}/versions").text


# Nothing that an author writes becomes a script, wherever it is shown


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


# Limits

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


# Comparing and merging


def test_a_merge_keeps_what_both_changed() -> None:
    base = "".join(f"line {number}\n" for number in range(20))
    mine, theirs = base.replace("line 3\n", "mine\n"), base.replace("line 15\n", "theirs\nand more\n")
    both, conflicts = merged(base, mine, theirs)
    assert conflicts == 0
    assert both == base.replace("line 3\n", "mine\n").replace("line 15\n", "theirs\nand more\n")
    assert merged(base, mine, mine) == (mine, 0)
    assert merged(base, base, theirs) == (theirs, 0)
    clash, conflicts = merged(base, mine, base.replace("line 3\n", "theirs\n"))
    assert conflicts == 1
    assert "<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> the other one\n" in clash


def test_a_merge_without_the_text_both_began_with_loses_nothing() -> None:
    both, conflicts = merged(None, "a\nb\n", "a\nc\n")
    assert conflicts == 1
    assert {"a", "b", "c"} <= set(both.splitlines())


def test_a_comparison_shows_what_changed_and_a_little_around_it() -> None:
    old = "\n".join(str(number) for number in range(100))
    lines = compared(old, old.replace("\n50\n", "\nfifty\n"))
    assert [line.kind for line in lines] == ["gap", *["same"] * 3, "gone", "new", *["same"] * 3, "gap"]
    assert compared(old, old) == [compared(old, old)[0]]
    assert {line.kind for line in compared("", "a")} == {"new"}


def test_huge_texts_are_compared_in_bounded_time() -> None:
    old = "\n".join(f"a{number % 7}" for number in range(2 * MOST))
    new = "\n".join(f"b{number % 7}" for number in range(2 * MOST))
    assert len(compared(old, new)) == 4 * MOST
    assert len(compared("\n".join(["x", "y"] * 1200), "\n".join(["y", "x"] * 1200))) > 0


def test_elements_of_a_preview_say_on_which_line_they_were_written_and_pages_do_not(app: FastAPI) -> None:
    author = signed_in(app, "Ada", "instructor")
    text = begun(app, author) + "\nA last **thought**.\n\n- an item\n"
    shown = author.post("/write/preview", json={"slug": SLUG, "text": text}).json()["html"]
    lines = text.split("\n")
    for said, written in (("A last", "A last **thought**."), ("an item", "- an item")):
        found = re.search(rf'data-line="(\d+)">{said}', shown)
        assert found is not None
        assert lines[int(found[1]) - 1] == written
    assert "data-line" not in visitor(app).get("/learn/tools").text


def test_what_is_not_finished_is_saved_but_neither_handed_in_nor_published(app: FastAPI) -> None:
    ada = signed_in(app, "Ada", "instructor")
    ada.post("/write", data={"title": "A new nugget", "slug": SLUG})
    text = text_of(app) + "\n![](/uploads/x.png)\n"
    assert autosave(ada, text, text_of(app)).status_code == 200, "a draft is always saved"
    line = text.splitlines().index("- What one can do now.") + 1
    for action in ("submit", "publish"):
        refused = decide(ada, action, base=mark_of(text))
        assert refused.status_code == 422
        assert "places still need words of your own" in refused.text
        assert (
            f'<a href="#text" data-goto="{line}">Line {line}</a>: “What one can do now.” is sample text.'
            in refused.text
        )
        assert "The picture has no description." in refused.text
    assert visitor(app).get(f"/learn/{SLUG}").status_code == 404
    told = ada.post("/write/preview", json={"slug": SLUG, "text": text}).json()["complaints"]
    assert {one["line"] for one in told if one["hole"]} >= {line, len(text.splitlines())}
    assert autosave(ada, finished(text_of(app)).replace("![]", "![A square]"), text).status_code == 200
    assert decide(ada, "publish", base=mark_of(text_of(app))).status_code == 303
