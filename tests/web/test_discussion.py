"""The discussion under a nugget, as readers, writers and troublemakers use it."""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from harmful import harm_in
from school_site import PASSWORD, PERSON, account, open_school, signed_in, site_of, visitor
from sqlalchemy import update
from sweeps import few

from lapwing.web.discussion import threads
from lapwing.web.discussion.store import comments
from lapwing.web.discussion.threads import AT_ONCE, LONGEST, html_of
from lapwing.web.service.limits import RULES
from lapwing.web.service.tables import Comment, User

TALK = "/learn/tools/discussion"
PART = {"hx-request": "true"}
VICIOUS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:alert(1))",
    "[x](//evil.example/a)",
    "![x](https://evil.example/a.png)",
    "![x](/account/data)",
    "<div hx-get='/me' hx-on:click='alert(1)' data-hx-trigger='load'>x</div>",
    "<form action='https://evil.example'><input name=csrf></form>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<style>*{display:none}</style>",
    "<hx-partial hx-target='body'>x</hx-partial>",
    "</textarea></div><script>alert(1)</script>",
    '" autofocus onfocus="alert(1)',
    "{{ 7919 * 7919 }}{% include 'x' %}",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\url{javascript:alert(1)}$",
    r"$\includegraphics{https://evil.example/a.png}$",
    r"$\htmlClass{x}{y}\htmlId{talk}{z}\htmlData{at=1}{w}$",
    "$<img src=x onerror=alert(1)>$",
    '<span class="formula" id="lw-math-0"></span>',
    '<div class="lw-hole" id="lw-hole-0"></div>',
    "[x]: javascript:alert(1)\n\n[x]",
    '<https://evil.example/" onclick="alert(1)>',
    "`</code><script>alert(1)</script>`",
    "```html onload=alert(1)\n</pre><script>alert(1)</script>\n```",
    "| a |\n|---|\n| <b onclick=alert(1)>x</b> |",
    "\u202egpj.exe\u202c and a\u0301\u0301\u0301\u0301",
]


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def say(client: TestClient, text: str, *, to: int | None = None) -> int:
    """Write a comment; its number."""
    answer = client.post(TALK if to is None else f"/comments/{to}/reply", data={"text": text})
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].rpartition("-")[2])


def read(client: TestClient, **asked: object) -> str:
    return client.get(TALK, params=asked).text  # type: ignore[arg-type]


def field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return html.unescape(found[1])


def test_somebody_asks_and_somebody_answers(app: FastAPI) -> None:
    ada, bob, reader = signed_in(app), signed_in(app, "Bob"), visitor(app)
    assert "Nobody has said anything yet" in read(reader)
    asked = say(ada, "Why is $e^\\epsilon$ a *factor*?")
    say(bob, "Because odds multiply.", to=asked)
    page = read(reader)
    assert "2 comments" in page
    assert "<em>factor</em>" in page
    assert "katex" in page
    assert page.index("Why is") < page.index("Because odds")
    assert "<textarea" not in page
    assert "/account/sign-in?next=/learn/tools/discussion" in page


def test_the_page_of_a_nugget_is_the_same_for_everybody_and_leads_to_the_discussion(app: FastAPI) -> None:
    ada, reader = signed_in(app), visitor(app)
    before = reader.get("/learn/tools").content
    say(ada, "Here I am.")
    assert reader.get("/learn/tools").content == ada.get("/learn/tools").content == before
    assert f'href="{TALK}"'.encode() in before


def test_a_part_is_not_a_page(app: FastAPI) -> None:
    ada = signed_in(app)
    part = ada.get(TALK, headers=PART)
    assert part.text.strip().startswith('<div id="talk">')
    assert "<html" not in part.text
    assert part.headers["cache-control"] == "no-store"
    made = ada.post(TALK, data={"text": "In place."}, headers=PART)
    assert (made.status_code, "In place." in made.text, "1 comment" in made.text) == (200, True, True)
    reply = ada.post("/comments/1/reply", data={"text": "Below."}, headers=PART)
    assert reply.text.strip().startswith('<div class="thread" id="thread-1">')
    assert "2 comments" in reply.text


def test_two_levels_are_shown_and_deeper_ones_are_folded(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    first = say(ada, "level zero")
    second = say(bob, "level one", to=first)
    third = say(ada, "level two", to=second)
    fourth = say(bob, "level three", to=third)
    page = read(ada)
    before, folded = page.split('<details class="deeper">')
    assert "level one" in before
    assert "level two" not in before
    assert "level two" in folded
    assert "level three" in folded
    assert "2 more answers" in folded
    assert f'<a href="#comment-{third}"><bdi>Ada' in folded
    found = ada.get(f"/comments/{fourth}")
    assert found.headers["location"] == f"{TALK}?at={fourth}#comment-{fourth}"
    assert '<details class="deeper" open>' in read(ada, at=fourth)


def test_threads_come_newest_or_oldest_first_and_a_link_finds_its_page(app: FastAPI) -> None:
    ada = signed_in(app)
    numbers = [say(ada, f"thread number {number}.") for number in range(AT_ONCE + 3)]
    newest, oldest = read(ada), read(ada, order="oldest")
    assert newest.index(f"number {AT_ONCE + 2}.") < newest.index(f"number {AT_ONCE + 1}.")
    assert oldest.index("number 0.") < oldest.index("number 1.")
    assert "number 0." not in newest
    assert "Page 1 of 2" in newest
    assert "number 0." in read(ada, page=2) == read(ada, page=99)
    assert "number 0." in read(ada, at=numbers[0])
    assert "Page 1 of 2" in read(ada, at=99999, page=-5, order="'\"><script>")


def test_a_comment_is_changed_by_its_author_and_says_so(app: FastAPI) -> None:
    ada = signed_in(app)
    number = say(ada, "A frist thought.")
    assert 'class="edited"' not in read(ada)
    form = ada.get(f"/comments/{number}/edit").text
    assert "A frist thought." in form
    changed = ada.post(f"/comments/{number}/edit", data={"text": "A first thought.", "was": field(form, "was")})
    assert changed.status_code == 303
    page = read(visitor(app))
    assert "A first thought." in page
    assert "frist" not in page
    assert 'class="edited"' in page


def test_of_two_edits_that_began_together_the_second_is_asked_again(app: FastAPI) -> None:
    ada = signed_in(app)
    number = say(ada, "original")
    was = field(ada.get(f"/comments/{number}/edit").text, "was")
    assert ada.post(f"/comments/{number}/edit", data={"text": "one way", "was": was}).status_code == 303
    second = ada.post(f"/comments/{number}/edit", data={"text": "another way", "was": was}, headers=PART)
    assert second.status_code == 409
    assert second.headers["hx-retarget"] == f"#form-{number}"
    assert "one way" in second.text
    assert ">another way</textarea>" in second.text
    again = ada.post(f"/comments/{number}/edit", data={"text": "another way", "was": field(second.text, "was")})
    assert again.status_code == 303
    assert "another way" in read(ada)


def test_of_edits_at_the_same_moment_one_wins_and_none_is_mixed(app: FastAPI) -> None:
    ada = signed_in(app)
    number = say(ada, "original")
    was = field(ada.get(f"/comments/{number}/edit").text, "was")

    def change(text: str) -> int:
        return ada.post(f"/comments/{number}/edit", data={"text": text, "was": was}).status_code

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(change, [f"way {one}" for one in range(4)]))
    assert sorted(answers) == [303, 409, 409, 409]


def test_a_button_pressed_twice_says_it_once(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    assert say(ada, "Hello.") == say(ada, "Hello.") != say(bob, "Hello.")
    assert say(ada, "Hello.", to=1) == say(ada, "Hello.", to=1) != 1


def test_what_is_deleted_leaves_a_gap_only_where_somebody_answered(app: FastAPI) -> None:
    ada, bob, reader = signed_in(app), signed_in(app, "Bob"), visitor(app)
    first, other = say(ada, "to be deleted"), say(ada, "this one too")
    reply = say(bob, "an answer that stays", to=first)
    for number in (first, other):
        assert "for good" in ada.get(f"/comments/{number}/delete").text
        assert ada.post(f"/comments/{number}/delete").status_code == 303
    page = read(reader)
    assert page.count("removed by its author") == 2, "in words and in the label"
    assert "an answer that stays" in page
    assert "deleted" not in page
    assert "this one too" not in page
    with site_of(app).database.reading() as db:
        kept = comments.one(db, first)
    assert kept is not None
    assert (kept.text, kept.user_id) == ("", None), "nothing is kept"
    assert bob.post(f"/comments/{reply}/delete").status_code == 303
    assert "Nobody has said anything yet" in read(reader)
    assert reader.get(f"/comments/{first}").status_code == 404


def test_nobody_changes_what_others_said(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    admin = signed_in(app, "Grace", "admin")
    number = say(ada, "mine")
    was = field(ada.get(f"/comments/{number}/edit").text, "was")
    for other in (bob, admin):
        assert other.get(f"/comments/{number}/edit").status_code == 403
        assert other.post(f"/comments/{number}/edit", data={"text": "yours", "was": was}).status_code == 403
        assert other.post(f"/comments/{number}/delete").status_code == 403
    for what in ("edit", "delete", "reply", "report"):
        assert visitor(app).post(f"/comments/{number}/{what}", data={"text": "x"}).status_code == 401
        assert bob.post(f"/comments/{number + 1}/{what}", data={"text": "x"}).status_code == 404
        assert bob.post(f"/comments/{10**30}/{what}", data={"text": "x"}).status_code in (404, 422)
    assert "mine" in read(visitor(app))


def test_without_the_token_nothing_is_said(app: FastAPI) -> None:
    ada = signed_in(app)
    number = say(ada, "mine")
    token = ada.headers.pop("x-csrf-token")
    for where in (TALK, *(f"/comments/{number}/{what}" for what in ("reply", "edit", "delete"))):
        for sent in ({}, {"csrf": "wrong"}):
            assert ada.post(where, data={"text": "forged", **sent}).status_code == 403
    assert "1 comment<" in read(ada)
    assert ada.post(TALK, data={"text": "meant", "csrf": token}).status_code == 303, "a plain form has it as a field"


def test_everything_works_with_plain_forms(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    for client in (ada, bob):
        client.headers.pop("x-csrf-token")
        client.headers.update(PERSON)

    def send(client: TestClient, page: str, **typed: str) -> str:
        form = re.search(r'<form class="writing".*?</form>', page, re.DOTALL)
        assert form
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0]))
        action = re.search(r'action="([^"]+)"', form[0])
        assert action
        answer = client.post(action[1], data={**hidden, **typed}, follow_redirects=True)
        assert answer.status_code == 200
        return answer.text

    page = send(ada, read(ada), text="A *question*", preview="yes")
    assert "How it will look" in page
    assert ">A *question*</textarea>" in page
    assert "0 comments" in page
    page = send(ada, page, text="A *question*")
    assert "1 comment<" in page
    page = send(bob, bob.get("/comments/1/reply").text, text="An answer")
    assert "An answer" in page
    page = send(bob, bob.get("/comments/2/edit").text, text="A better answer")
    assert "A better answer" in page
    page = send(ada, ada.get("/comments/2/report").text, reason="spam", text="ads")
    assert "A moderator will look at it" in page
    page = send(ada, ada.get("/comments/1/delete").text)
    assert "removed by its author" in page
    anonymous = visitor(app).get("/comments/2/reply", headers=PERSON)
    assert anonymous.headers["location"] == "/account/sign-in?next=/comments/2/reply"


@pytest.mark.parametrize("text", ["", "   \r\n ", "x" * (LONGEST + 1), "\x00\x07"])
def test_what_will_not_do_is_explained_and_not_lost(app: FastAPI, text: str) -> None:
    ada = signed_in(app)
    for headers in ({}, PART):
        answer = ada.post(TALK, data={"text": text}, headers=headers)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert text.strip(" \r\n\x00\x07") in answer.text
    assert "0 comments" in read(ada)


def test_there_is_no_discussion_of_what_is_no_nugget(app: FastAPI) -> None:
    ada = signed_in(app)
    assert ada.get("/learn/nothing/discussion").status_code == 404
    assert ada.post("/learn/nothing/discussion", data={"text": "x"}).status_code == 404


@pytest.mark.parametrize("text", few(VICIOUS, stays=12))
def test_vicious_words_are_only_words(app: FastAPI, text: str) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    preview = ada.post(TALK, data={"text": text, "preview": "yes"})
    assert preview.status_code == 200
    number = say(ada, text)
    reply = bob.post(f"/comments/{number}/reply", data={"text": text}, headers=PART)
    pages = [preview.text, read(bob), read(visitor(app)), ada.get(f"/comments/{number}/edit").text]
    pages += [bob.get(f"/comments/{number}/report").text, html_of(text)]
    wrong = bob.post(f"/comments/{number}/report", data={"reason": text[:100], "text": text})
    pages.append(wrong.text)
    assert wrong.status_code == 422
    for page in pages:
        assert harm_in(page) == []
    assert [one for one in harm_in(reply.text) if one != "hx-partial"] == []
    assert "<img" not in html_of(text)


def test_the_search_for_harm_finds_it() -> None:
    assert all(harm_in(text) for text in VICIOUS[:4])


@pytest.mark.parametrize(
    "name", ["<b>x</b>", '"><script>alert(1)</script>', "{{ 7919*7919 }}", "</title><svg onload=alert(1)>"]
)
def test_names_are_only_words(app: FastAPI, name: str) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    first = say(ada, "said")
    say(ada, "again", to=say(ada, "more", to=first))
    with site_of(app).database.writing() as db:
        db.execute(update(User).where(User.id == 1).values(name=name))
    for page in (read(bob), bob.get(f"/comments/{first}/reply").text):
        assert harm_in(page) == []
        assert html.escape(name) in page.replace("&#34;", "&quot;")


def test_who_left_has_no_name_any_more(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    say(ada, "staying words")
    say(bob, "words that go", to=1)
    assert ada.post("/account/delete", data={"password": PASSWORD}).status_code == 303
    page = read(bob)
    assert "somebody who left" in page
    assert "staying words" in page
    assert "Ada" not in page
    assert bob.post("/account/delete", data={"password": PASSWORD, "comments": "remove"}).status_code == 303
    assert "words that go" not in read(visitor(app))


def test_a_comment_is_reported_once_by_a_person_with_a_reason(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    number = say(ada, "buy my book")
    where = f"/comments/{number}/report"
    assert ada.post(where, data={"reason": "spam"}).status_code == 403, "one's own"
    for wrong in ({}, {"reason": "because"}, {"reason": "other"}, {"reason": "spam", "text": "x" * 501}):
        assert bob.post(where, data=wrong).status_code == 422
    thanks = bob.post(where, data={"reason": "spam", "text": "again"}, headers=PART)
    assert "A moderator will look at it" in thanks.text
    assert "You reported this before" in bob.post(where, data={"reason": "unkind"}, headers=PART).text


def test_nobody_writes_or_reports_faster_than_moderators_read(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    ada, bob = signed_in(app), signed_in(app, "Bob")
    most = RULES["comment"].most
    answers = [ada.post(TALK, data={"text": f"number {one}"}).status_code for one in range(most + 2)]
    assert answers == [303] * most + [429] * 2
    assert ada.post(TALK, data={"text": "look", "preview": "yes"}).status_code == 200, "looking is not writing"
    assert bob.post(TALK, data={"text": "others may"}).status_code == 303
    most = RULES["report"].most
    answers = [bob.post(f"/comments/{one + 1}/report", data={"reason": "spam"}).status_code for one in range(most)]
    assert answers == [303] * most
    assert bob.post("/comments/1/report", data={"reason": "spam"}).status_code == 429


def test_reports_wait_for_moderators_before_there_are_more(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    numbers = [say(ada, f"number {one}") for one in range(threads.MOST_WAITING + 1)]
    answers = [bob.post(f"/comments/{one}/report", data={"reason": "spam"}).status_code for one in numbers]
    assert answers == [303] * threads.MOST_WAITING + [429]


def test_a_thread_may_be_as_deep_as_people_are_stubborn(app: FastAPI) -> None:
    ada, deep = signed_in(app), 1200
    with site_of(app).database.writing() as db:
        for number in range(1, deep + 1):
            db.add(Comment(id=number, slug="tools", parent_id=number - 1 or None, user_id=1, text="no", created=number))
    assert f"{deep - 2:,} more answers" in read(ada)


@together("text", ["*" * LONGEST, "[" * LONGEST, ">" * LONGEST, "$x$" * 1600, "`" * LONGEST, "|a" * 2500, "![" * 2500])
def test_strange_texts_are_shown_soon(text: str) -> None:
    assert len(html_of(text)) < 4_000_000


def test_comments_of_another_nugget_stay_there(app: FastAPI) -> None:
    ada = signed_in(app)
    account(app, "Bob")
    say(ada, "about tools")
    assert "0 comments" in ada.get("/learn/vendors/discussion").text
