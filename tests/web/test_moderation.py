"""What moderators see and do about what people reported."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from harmful import harm_in
from school_site import open_school, signed_in, site_of, visitor
from sqlalchemy import update

from lapwing.web.service.settings import address
from lapwing.web.service.tables import Comment, Decision, Report, User

TALK = "/learn/tools/discussion"
VICIOUS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7919*7919 }}",
    "</li></ul><svg onload=alert(1)>",
]


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


@pytest.fixture
def moderator(app: FastAPI) -> TestClient:
    return signed_in(app, "Mo", "instructor")


def say(client: TestClient, text: str, *, to: int | None = None) -> int:
    answer = client.post(TALK if to is None else f"/comments/{to}/reply", data={"text": text})
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].rpartition("-")[2])


def report(client: TestClient, number: int, reason: str = "unkind", text: str = "") -> None:
    assert client.post(f"/comments/{number}/report", data={"reason": reason, "text": text}).status_code == 303


def boxes(client: TestClient, **asked: object) -> dict[int, str]:
    """What can be chosen in the queue, by the number of the comment."""
    page = client.get("/moderation", params=asked).text  # type: ignore[arg-type]
    return {int(one.partition(":")[0]): one for one in re.findall(r'name="chosen" value="([^"]+)"', page)}


def decide(client: TestClient, action: str, chosen: list[str], note: str = "", sure: str = "yes") -> str:
    """Decide; what the next page says about it."""
    sent = {"action": action, "chosen": chosen, "note": note, "sure": sure}
    answer = client.post("/moderation", data=sent)
    assert answer.status_code == 303, answer.text
    said = re.search(r'role="status">([^<]*)<', client.get("/moderation").text)
    return html.unescape(said[1]) if said else ""


def test_reports_of_several_people_are_one_entry_with_all_reasons(app: FastAPI) -> None:
    ada, bob, cleo, tess = (signed_in(app, name) for name in ("Ada", "Bob", "Cleo", "Tess"))
    moderator = signed_in(app, "Mo", "instructor")
    assert "Nothing waits for you" in moderator.get("/moderation").text
    question = say(bob, "an innocent question")
    rude, dull = say(ada, "a rude answer", to=question), say(ada, "a dull thread")
    report(tess, dull, "elsewhere")
    report(bob, rude, "unkind", "he called me a fool")
    report(cleo, rude, "spam")
    assert list(boxes(moderator)) == [rude, dull], "what most people reported comes first"
    page = moderator.get("/moderation").text
    assert "Reported by 2 people" in page
    assert "he called me a fool" in page
    assert "It advertises something" in page
    assert "In answer to Bob" in page
    assert "an innocent question" in page
    assert "Reported (2)" in page
    assert "Cleo" not in page, "who reported is not told"


def test_a_hidden_comment_is_there_for_its_author_and_moderators_only(app: FastAPI) -> None:
    ada, bob = signed_in(app), signed_in(app, "Bob")
    moderator, reader = signed_in(app, "Mo", "instructor"), visitor(app)
    number = say(ada, "something rude")
    say(bob, "an answer", to=number)
    report(bob, number)
    assert decide(moderator, "hide", [boxes(moderator)[number]], "Be kind.") == "Hidden: 1."
    assert boxes(moderator) == {}
    for client in (bob, reader):
        page = client.get(TALK).text
        assert "something rude" not in page
        assert "Be kind." not in page
        assert "hidden by a moderator" in page, "because somebody answered"
        assert "1 comment<" in page
        assert client.get(f"/comments/{number}").status_code == 404
    assert bob.post(f"/comments/{number}/reply", data={"text": "x"}).status_code == 404
    assert bob.post(f"/comments/{number}/report", data={"reason": "spam"}).status_code == 404
    mine = ada.get(TALK).text
    assert "something rude" in mine
    assert "Only you and moderators see it" in mine
    assert "Be kind." in mine
    assert ada.post(f"/comments/{number}/edit", data={"text": "kinder", "was": "x"}).status_code == 403
    theirs = moderator.get(TALK).text
    assert "something rude" in theirs
    assert "Only its author and moderators see it" in theirs
    assert decide(moderator, "restore", [boxes(moderator, show="hidden")[number]]) == "Restored: 1."
    assert "something rude" in reader.get(TALK).text


def test_what_is_removed_is_gone_for_good_and_only_if_one_is_sure(app: FastAPI) -> None:
    ada, bob, moderator = signed_in(app), signed_in(app, "Bob"), signed_in(app, "Mo", "instructor")
    number = say(ada, "terrible words")
    say(bob, "an answer", to=number)
    report(bob, number)
    chosen = [boxes(moderator)[number]]
    asked = moderator.post("/moderation", data={"action": "remove", "chosen": chosen, "note": "No."})
    assert asked.status_code == 200
    assert "for good?" in asked.text
    assert "terrible words" in visitor(app).get(TALK).text, "nothing happened yet"
    assert decide(moderator, "remove", chosen, "No.") == "Removed: 1."
    page = ada.get(TALK).text
    assert "removed by a moderator" in page
    assert "No." in page
    assert "terrible" not in page
    with site_of(app).database.reading() as db:
        kept = db.get(Comment, number)
        assert kept is not None
        assert kept.text == ""
    assert decide(moderator, "hide", chosen) == "Hidden: 0. Left alone: 1 (already gone)."
    assert "removed" in moderator.get("/moderation", params={"comment": number}).text


def test_a_dismissed_report_is_answered_and_the_same_words_are_not_reported_again(app: FastAPI) -> None:
    ada, bob, moderator = signed_in(app), signed_in(app, "Bob"), signed_in(app, "Mo", "instructor")
    number = say(ada, "perfectly fine")
    report(bob, number)
    assert decide(moderator, "dismiss", [boxes(moderator)[number]]) == "Dismissed: 1."
    assert "perfectly fine" in visitor(app).get(TALK).text
    report(bob, number)
    assert boxes(moderator) == {}
    with site_of(app).database.writing() as db:
        db.execute(update(Comment).values(text="not fine at all", edited=2**31))
    report(bob, number)
    assert list(boxes(moderator)) == [number]


def test_many_are_decided_at_once_and_what_changed_meanwhile_is_left_alone(app: FastAPI) -> None:
    ada, bob, moderator = signed_in(app), signed_in(app, "Bob"), signed_in(app, "Mo", "admin")
    numbers = [say(ada, f"number {one}") for one in range(4)]
    own = say(moderator, "of the moderator")
    for number in (*numbers, own):
        report(bob, number)
    chosen = boxes(moderator)
    form = ada.get(f"/comments/{numbers[0]}/edit").text
    was = re.search(r'name="was" value="([^"]+)"', form)
    assert was
    ada.post(f"/comments/{numbers[0]}/edit", data={"text": "something else", "was": was[1]})
    ada.post(f"/comments/{numbers[1]}/delete")
    said = decide(moderator, "hide", list(chosen.values()))
    assert said.startswith("Hidden: 2.")
    for why in ("1 (changed meanwhile)", "1 (already gone)", "1 (your own, somebody else has to decide)"):
        assert why in said
    assert sorted(boxes(moderator)) == [numbers[0], own], "deleted ones wait for nobody"


def test_the_history_is_kept_with_notes_and_without_the_words(app: FastAPI) -> None:
    ada, moderator = signed_in(app), signed_in(app, "Mo", "instructor")
    number = say(ada, "up and down")
    one = moderator.get("/moderation", params={"comment": number}).text
    assert "up and down" in one, "a moderator looks at any comment"
    for action, note in (("hide", "first"), ("restore", "second"), ("remove", "third")):
        chosen = boxes(moderator, comment=number)[number]
        assert decide(moderator, action, [chosen], note).endswith(": 1.")
    past = moderator.get("/moderation", params={"show": "history"}).text
    assert past.index("third") < past.index("second") < past.index("first")
    assert "up and down" not in past
    assert past.count("<bdi>Mo</bdi>") == 3


@pytest.mark.parametrize("role", ["learner", "instructor", "admin"])
def test_only_instructors_and_admins_moderate(app: FastAPI, role: str) -> None:
    ada, client = signed_in(app), signed_in(app, "Mo", role)
    number = say(ada, "words")
    allowed = role != "learner"
    assert (client.get("/moderation").status_code == 200) is allowed
    assert ("/moderation?comment=" in client.get(TALK).text) is allowed
    mark = boxes(client, comment=number).get(number, f"{number}:x")
    sent = {"action": "hide", "chosen": [mark]}
    assert client.post("/moderation", data=sent).status_code == (303 if allowed else 403)
    assert visitor(app).post("/moderation", data=sent).status_code == 401
    assert ("words" in visitor(app).get(TALK).text) is not allowed


def test_a_decision_needs_the_token(app: FastAPI) -> None:
    ada, moderator = signed_in(app), signed_in(app, "Mo", "instructor")
    number = say(ada, "words")
    sent = {"action": "hide", "chosen": [boxes(moderator, comment=number)[number]]}
    moderator.headers.pop("x-csrf-token")
    assert moderator.post("/moderation", data=sent).status_code == 403
    assert "words" in visitor(app).get(TALK).text


@together(
    "sent",
    [
        {"action": "explode", "chosen": ["1:x"]},
        {"action": "hide", "chosen": ["x"]},
        {"action": "hide", "chosen": ["-1:x"]},
        {"action": "hide", "chosen": ["9" * 40 + ":x"]},
        {"action": "hide", "chosen": ["1:x"], "note": "x" * 501},
        {"action": "hide", "chosen": [f"{one}:x" for one in range(60)]},
    ],
)
def test_decisions_that_make_no_sense_are_refused(moderator: TestClient, sent: dict[str, object]) -> None:
    assert moderator.post("/moderation", data=sent).status_code == 422


def test_choosing_nothing_is_explained(app: FastAPI) -> None:
    assert decide(signed_in(app, "Mo", "instructor"), "hide", []) == "Choose at least one comment first."
    assert decide(signed_in(app, "Max", "instructor"), "hide", ["77:x"]).endswith("1 (already gone).")
    assert signed_in(app, "Mia", "instructor").get("/moderation", params={"comment": 7}).status_code == 404


@pytest.mark.parametrize("words", VICIOUS)
def test_vicious_words_are_only_words_for_moderators_too(app: FastAPI, words: str) -> None:
    ada, bob, moderator = signed_in(app), signed_in(app, "Bob"), signed_in(app, "Mo", "instructor")
    number = say(bob, words, to=say(ada, words))
    report(ada, number, "other", words)
    with site_of(app).database.writing() as db:
        db.execute(update(User).values(name=words))
    chosen = [boxes(moderator)[number]]
    pages = [moderator.get("/moderation").text]
    pages.append(moderator.post("/moderation", data={"action": "remove", "chosen": chosen, "note": words}).text)
    decide(moderator, "hide", chosen, words)
    pages += [moderator.get("/moderation", params=asked).text for asked in ({"show": "hidden"}, {"show": "history"})]
    pages += [bob.get(TALK).text, moderator.get(TALK).text]
    for page in pages:
        assert harm_in(page) == []
        assert str(7919 * 7919) not in page


def test_who_moderated_may_leave_and_the_decision_stays(app: FastAPI) -> None:
    ada, moderator = signed_in(app), signed_in(app, "Mo", "instructor")
    number = say(ada, "words")
    decide(moderator, "hide", [boxes(moderator, comment=number)[number]], "a note")
    with site_of(app).database.writing() as db:
        user = db.query(User).filter_by(name="Mo").one()
        db.delete(user)
    past = signed_in(app, "Max", "instructor").get("/moderation", params={"show": "history"}).text
    assert "somebody who left" in past
    assert "a note" in past
    with site_of(app).database.reading() as db:
        assert (db.query(Decision).count(), db.query(Report).count()) == (1, 0)


def test_a_team_talks_and_moderates_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    app = open_school(tmp_path, database=address(postgres_url))
    ada, bob, moderator = signed_in(app), signed_in(app, "Bob"), signed_in(app, "Mo", "instructor")
    number = say(bob, "rude \x00words", to=say(ada, "a question"))
    report(ada, number)
    assert list(boxes(moderator)) == [number]
    assert decide(moderator, "hide", [boxes(moderator)[number]], "a note") == "Hidden: 1."
    assert "rude words" not in ada.get(TALK).text
    assert "a note" in bob.get(TALK).text
    assert moderator.get("/moderation", params={"show": "history"}).status_code == 200
    assert ada.get(f"/comments/{2**70}").status_code in (404, 422)
