"""A draft: what is wrong with it, its versions, two tabs, files, and who sees it."""

from __future__ import annotations

import io
import re
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from cases import together
from drafts import SLUG, autosave, begun, decide, finished, publish, text_of
from fastapi import FastAPI
from school_site import PERSON, open_school, signed_in, site_of, visitor
from school_site import nuggets as built_in_nuggets

from lapwing.web.authoring import desk, publication
from lapwing.web.authoring.difference import merged
from lapwing.web.authoring.snippets import SNIPPETS
from lapwing.web.authoring.store import nuggets
from lapwing.web.authoring.store.nuggets import mark_of
from lapwing.web.school.nugget import read


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("category: motivation", "category: fun", "Write one of"),
        ("{serves=1}", "{serves=7}", "Count objectives"),
        ("## A first screen", "```widget unicorn\n```\n\n## A first screen", "no widget"),
        ("## A first screen", "```quiz\n- ask: x\n```\n\n## A first screen", "ask and options"),
        ("## A first screen", "```graph\nformula: 2x\n```\n\n## A first screen", "Write * to multiply"),
        ("needs: []", "needs: [nothing]", "not another nugget"),
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
        ("after: nothing", "which is not a nugget"),
        (f"after: {SLUG}", "which comes after this one"),
        ("after: [tools]", "or leave it out"),
        ("words: {noise: {short: Bzz.}}", "explains 'noise' already"),
        ("words: {quill: {also: [Noise], short: Bzz.}}", "explains 'noise' already"),
        ("words: {quill: {}}", "has no short explanation"),
        ("words: {quill: {short: ' '}}", "needs an explanation"),
        ("words: {∑: {short: A sum.}}", "this sign under also"),
        ("words: {a: {short: x}, b: {also: [A], short: y}}", "explained twice"),
        ("words: {'a: b': {short: x}}", "is not a word"),
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
    assert "do not overlap" in both.text
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
    publication.refresh(site_of(app))
    assert visitor(app).get(f"/learn/{SLUG}").status_code == 200


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
