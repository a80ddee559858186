"""From an idea to a nugget in the school: who may do what, and that no text is ever lost."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from drafts import SLUG, autosave, begun, decide, publish, text_of
from fastapi import FastAPI
from PIL import Image
from school_site import PERSON, open_school, signed_in, site_of, visitor

from lapwing.web.accounts.store import users
from lapwing.web.authoring import desk, publication
from lapwing.web.authoring.store import nuggets
from lapwing.web.authoring.store.nuggets import mark_of
from lapwing.web.school.glossary import Glossary
from lapwing.web.school.library import School
from lapwing.web.school.nugget import Nugget, read
from lapwing.web.service import settings


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


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
    assert publication.refresh(site_of(other)) is True
    assert visitor(other).get(f"/learn/{SLUG}").status_code == 200
    assert publication.refresh(site_of(other)) is False, "nothing changed since"
    decide(instructor, "withdraw")
    publication.refresh(site_of(other))
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
    assert "Somebody is already writing a new edition" in second.get("/write/tools").text
    assert "already writing" not in other.get("/write/tools").text, "whether there is a draft is not for learners"
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
    shown = publication.fitting(pages, editions)
    assert SLUG not in shown.pages
    assert "another-nugget" in shown.pages


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
