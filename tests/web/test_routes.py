"""Every address asked by everybody: what they get is written down here, and a new address without an entry fails."""

from __future__ import annotations

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from school_site import account, open_school, site_of, visit_as, visitor
from sweeps import few

from lapwing.web.accounts.sessions import SAFE, refuse_unguarded
from lapwing.web.routes import all_routers
from lapwing.web.service.tables import Comment

WHO = ("nobody", "half", "learner", "instructor", "admin")
"""`half` is an admin who has not shown the second factor."""
EVERYBODY = (200, 200, 200, 200, 200)
LEARNERS = (401, 403, 200, 200, 200)
INSTRUCTORS = (401, 403, 403, 200, 200)
ADMINS = (401, 403, 403, 403, 200)
"""Operators are learners who have one more right: see test_collections.py."""


def then(allowed: tuple[int, ...], status: int) -> tuple[int, ...]:
    """The same people, who get another answer: a form sent empty, or an address that leads on."""
    return tuple(status if one == 200 else one for one in allowed)


# What each of WHO gets, asking without a body. {user_id} is somebody else, who wrote {comment_id}, {slug} a nugget.
ANSWERS: dict[str, tuple[int, ...]] = {
    "GET /": EVERYBODY,
    "GET /learn/{slug}": EVERYBODY,
    "GET /glossary": EVERYBODY,
    "GET /static/{name:path}": EVERYBODY,
    "GET /health": EVERYBODY,
    "GET /docs": then(EVERYBODY, 307),
    "GET /docs/{address:path}": then(EVERYBODY, 404),  # the address in braces is no page; pages: test_documentation.py
    "GET /me": EVERYBODY,
    "POST /me/progress": then(LEARNERS, 200),
    "GET /account": LEARNERS,
    "GET /account/data": LEARNERS,
    "POST /account/profile": then(LEARNERS, 303),
    "POST /account/password": then(LEARNERS, 422),
    "POST /account/delete": then(LEARNERS, 422),
    "GET /account/sign-up": EVERYBODY,
    "POST /account/sign-up": then(EVERYBODY, 422),
    "GET /account/sign-in": EVERYBODY,
    "POST /account/sign-in": then(EVERYBODY, 422),
    "POST /account/sign-out": then(EVERYBODY, 303),
    "GET /account/code": (401, 200, 303, 303, 303),
    "POST /account/code": (401, 422, 303, 303, 303),
    "GET /account/second-factor": LEARNERS,
    "POST /account/second-factor": then(LEARNERS, 422),
    "POST /account/second-factor/remove": then(LEARNERS, 422),
    "GET /admin": ADMINS,
    "GET /admin/users": ADMINS,
    "POST /admin/users/{user_id}/role": then(ADMINS, 422),
    "POST /admin/users/{user_id}/active": then(ADMINS, 422),
    "POST /admin/users/{user_id}/operator": then(ADMINS, 422),
    "POST /admin/users/{user_id}/password": ADMINS,
    "GET /votes": EVERYBODY,
    "POST /votes": then(EVERYBODY, 422),
    "GET /me/votes": LEARNERS,
    "GET /recommendation": EVERYBODY,
    "GET /survey": EVERYBODY,
    "POST /survey": then(EVERYBODY, 422),
    "GET /survey/explained": EVERYBODY,
    "GET /survey/{survey_id}": then(EVERYBODY, 404),  # there is none; who may do what is in test_survey.py
    "POST /survey/{survey_id}/link": then(EVERYBODY, 422),
    "POST /survey/{survey_id}/answers": then(EVERYBODY, 422),
    "GET /survey/{survey_id}/report": then(EVERYBODY, 404),
    "POST /survey/{survey_id}/report": then(EVERYBODY, 404),
    "GET /moderation/surveys": INSTRUCTORS,
    "POST /moderation/surveys/{survey_id}": then(INSTRUCTORS, 404),
    "GET /survey/{survey_id}/results": then(EVERYBODY, 404),
    "GET /survey/{survey_id}/results.csv": then(EVERYBODY, 404),
    "GET /survey/{survey_id}/keep/{key}": then(EVERYBODY, 404),
    "GET /survey/{survey_id}/keep/{key}/results.csv": then(EVERYBODY, 404),
    "GET /survey/{survey_id}/keep/{key}/links": then(EVERYBODY, 404),
    "GET /survey/{survey_id}/keep/{key}/links.csv": then(EVERYBODY, 404),
    "POST /survey/{survey_id}/keep/{key}/close": then(EVERYBODY, 404),
    "POST /survey/{survey_id}/keep/{key}/delete": then(EVERYBODY, 404),
    "GET /join": EVERYBODY,
    "POST /join": then(LEARNERS, 422),
    "GET /classes": LEARNERS,
    "POST /classes": then(INSTRUCTORS, 422),
    "POST /classes/finished": then(LEARNERS, 422),
    "POST /classes/{class_id}/leave": then(
        LEARNERS, 404
    ),  # there is none; whose classes are whose is in test_classes.py
    "POST /classes/{class_id}/pseudonym": then(LEARNERS, 404),
    "GET /classes/{class_id}": then(INSTRUCTORS, 404),
    "GET /classes/{class_id}/projected": then(INSTRUCTORS, 404),
    "GET /classes/{class_id}/class.csv": then(INSTRUCTORS, 404),
    "POST /classes/{class_id}/name": then(INSTRUCTORS, 404),
    "POST /classes/{class_id}/code": then(INSTRUCTORS, 404),
    "POST /classes/{class_id}/delete": then(INSTRUCTORS, 404),
    "GET /classes/{class_id}/pupils/{mark}": then(INSTRUCTORS, 404),
    "POST /classes/{class_id}/pupils/{mark}/remove": then(INSTRUCTORS, 404),
    "GET /learn/{slug}/discussion": EVERYBODY,
    "POST /learn/{slug}/discussion": then(LEARNERS, 422),
    "GET /comments/{comment_id}": then(EVERYBODY, 303),
    "GET /comments/{comment_id}/reply": LEARNERS,
    "POST /comments/{comment_id}/reply": then(LEARNERS, 422),
    "GET /comments/{comment_id}/edit": then(LEARNERS, 403),
    "POST /comments/{comment_id}/edit": then(LEARNERS, 403),
    "GET /comments/{comment_id}/delete": then(LEARNERS, 403),
    "POST /comments/{comment_id}/delete": then(LEARNERS, 403),
    "GET /comments/{comment_id}/report": LEARNERS,
    "POST /comments/{comment_id}/report": then(LEARNERS, 422),
    "GET /moderation": INSTRUCTORS,
    "POST /moderation": then(INSTRUCTORS, 422),
    "POST /usage": then(EVERYBODY, 422),
    "GET /statistics": INSTRUCTORS,
    "POST /statistics/grant": then(ADMINS, 422),
    "POST /statistics/{week}": then(INSTRUCTORS, 404),
    "GET /write": LEARNERS,
    "POST /write": then(LEARNERS, 422),
    "POST /write/preview": then(LEARNERS, 422),
    "GET /write/export": LEARNERS,
    "POST /write/import": then(LEARNERS, 422),
    "GET /write/{slug}": LEARNERS,  # how to begin a copy; a draft of somebody else is not there, see test_drafts.py
    "POST /write/{slug}": then(LEARNERS, 404),
    "POST /write/{slug}/text": then(LEARNERS, 422),
    "GET /write/{slug}/read": then(LEARNERS, 404),
    "GET /write/{slug}/file": then(LEARNERS, 404),
    "GET /write/{slug}/versions": then(LEARNERS, 404),
    "GET /write/{slug}/versions/{number}": then(LEARNERS, 404),
    "POST /write/{slug}/versions/{number}/restore": then(LEARNERS, 404),
    "POST /write/{slug}/state": then(LEARNERS, 404),
    "POST /write/{slug}/rename": then(LEARNERS, 404),
    "POST /write/{slug}/delete": then(LEARNERS, 404),
    "GET /lab": EVERYBODY,
    "POST /lab/upload": then(EVERYBODY, 422),
    "POST /lab/paste": then(EVERYBODY, 422),
    "POST /lab/examples/{slug}": then(EVERYBODY, 404),
    "GET /lab/{id}": then(EVERYBODY, 404),  # a table of another browser is not there, see test_lab_intake.py
    "POST /lab/{id}": then(EVERYBODY, 404),
    "POST /lab/{id}/rows": then(EVERYBODY, 404),
    "POST /lab/{id}/read": then(EVERYBODY, 404),
    "GET /lab/{id}/check": then(EVERYBODY, 404),
    "POST /lab/{id}/check": then(EVERYBODY, 404),
    "POST /lab/{id}/propose": then(EVERYBODY, 404),
    "POST /lab/{id}/look": then(EVERYBODY, 404),
    "POST /lab/{id}/over": then(EVERYBODY, 404),
    "POST /lab/{id}/delete": then(EVERYBODY, 404),
    "GET /lab/{id}/jobs/{job}": then(EVERYBODY, 404),
    "POST /lab/{id}/jobs/{job}/cancel": then(EVERYBODY, 404),
    "GET /lab/{id}/failures": then(EVERYBODY, 404),
    "POST /lab/{id}/failures": then(EVERYBODY, 404),
    "GET /uploads": LEARNERS,
    "POST /uploads": then(LEARNERS, 422),
    "POST /uploads/videos": then(LEARNERS, 422),
    "GET /uploads/{name}": then(EVERYBODY, 404),
    "POST /uploads/{name}/delete": then(LEARNERS, 404),
    "GET /lab/{id}/ask": then(EVERYBODY, 404),  # who brought no table, see test_lab_asking.py
    "GET /lab/{id}/ask/{analysis}": then(EVERYBODY, 404),
    "POST /lab/{id}/ask/{analysis}": then(EVERYBODY, 404),
    "GET /lab/{id}/ask/{analysis}/preview": then(EVERYBODY, 404),
    "GET /lab/{id}/ask/{analysis}/at": then(EVERYBODY, 404),
    "GET /lab/{id}/ask/{analysis}/nearby": then(EVERYBODY, 404),
    "POST /lab/{id}/ask/{analysis}/look": then(EVERYBODY, 404),
    "GET /lab/{id}/answers/{mark}": then(EVERYBODY, 404),
    "GET /lab/{id}/answers/{mark}/export/{kind}": then(EVERYBODY, 404),
    "POST /lab/{id}/answers/{mark}/exact-file": then(EVERYBODY, 404),
    "POST /lab/{id}/answers/{mark}/show/{what}": then(EVERYBODY, 404),
    "GET /lab/{id}/shown/{job}": then(EVERYBODY, 404),
    "GET /lab/{id}/streams": then(EVERYBODY, 404),
    "POST /lab/{id}/streams": then(EVERYBODY, 404),
    "GET /lab/{id}/streams/{mark}": then(EVERYBODY, 404),
    "GET /lab/{id}/streams/{mark}/now": then(EVERYBODY, 404),
    "GET /lab/{id}/streams/{mark}/export/{kind}": then(EVERYBODY, 404),
    "POST /lab/{id}/streams/{mark}/close": then(EVERYBODY, 404),
    "POST /lab/{id}/streams/{mark}/run": then(EVERYBODY, 404),
    "GET /collections": ADMINS,
    "GET /collections/{collection_id}": then(ADMINS, 404),
    "GET /collections/{collection_id}/now": then(ADMINS, 404),
    "GET /take-part": EVERYBODY,
    "GET /take-part/{collection_id}": then(EVERYBODY, 404),
    "POST /take-part/{name}/tokens": then(EVERYBODY, 404),
    "GET /guide": EVERYBODY,
    "GET /guide/advice": then(EVERYBODY, 422),
    "GET /guide/report": then(EVERYBODY, 422),
    "GET /guide/rules": EVERYBODY,
    "GET /guide/so-far": EVERYBODY,
}
BODIES: dict[str, object] = {"POST /me/progress": {}}
"""What has to be sent as JSON to be read at all."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    made = open_school(tmp_path_factory.mktemp("school"))
    other = account(made, "Somebody Else")
    with site_of(made).database.writing() as db:
        db.add(Comment(slug="tools", user_id=other.id, text="Hello.", created=0))
    return made


def routes() -> list[str]:
    """All of them, as ANSWERS names them."""
    known = [route for router in all_routers() for route in router.routes if isinstance(route, APIRoute)]
    return [f"{method} {route.path}" for route in known for method in sorted(route.methods or ()) if method != "HEAD"]


def ask(app: FastAPI, client: TestClient, entry: str, **more: object) -> int:
    method, _, path = entry.partition(" ")
    style = site_of(app).pages.assets.names["style.css"]
    samples = {"{slug}": "tools", "{name:path}": style, "{user_id}": "1", "{comment_id}": "1", "{week}": "2000-W01"}
    samples |= {"{number}": "1", "{name}": "picture.png"}
    for name, value in samples.items():
        path = path.replace(name, value)
    if entry in BODIES:
        more["json"] = BODIES[entry]
    return client.request(method, path, **more).status_code  # type: ignore[arg-type]


def test_every_address_has_an_entry_and_every_entry_an_address() -> None:
    assert sorted(routes()) == sorted(ANSWERS)


def test_a_school_does_not_open_with_a_route_that_anybody_could_use_in_your_name() -> None:
    careless = APIRouter()
    careless.add_api_route("/change", lambda: None, methods=["POST"])
    with pytest.raises(TypeError, match="/change"):
        refuse_unguarded([careless])
    refuse_unguarded(all_routers())


@pytest.fixture(scope="module")
def people(app: FastAPI) -> dict[str, TestClient]:
    """A browser of each of WHO, signed in once for all tests that leave it so."""
    return {who: visit_as(app, who) for who in WHO}


UNSAFE = [entry for entry in ANSWERS if entry.partition(" ")[0] not in SAFE]
SIGN_OUT = "POST /account/sign-out"


@pytest.mark.parametrize("entry", ANSWERS)
def test_everybody_gets_what_is_theirs(app: FastAPI, people: dict[str, TestClient], entry: str) -> None:
    asking = {who: visit_as(app, who) for who in WHO} if entry == SIGN_OUT else people
    got = {who: ask(app, client, entry) for who, client in asking.items()}
    assert got == dict(zip(WHO, ANSWERS[entry], strict=True))


@pytest.mark.parametrize("address", ["/", "/learn/tools", "/docs", "/docs/", "/lab", "/guide"])
def test_head_answers_as_get_does_without_the_body(people: dict[str, TestClient], address: str) -> None:
    client = people["nobody"]
    whole, head = (client.request(method, address, follow_redirects=False) for method in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers.get("content-type") == whole.headers.get("content-type")


@pytest.mark.parametrize("entry", UNSAFE)
def test_nothing_changes_without_the_token_of_the_session_or_from_another_site(
    app: FastAPI, people: dict[str, TestClient], entry: str
) -> None:
    assert ask(app, without_token(app, people["admin"]), entry) == 403
    assert ask(app, people["nobody"], entry, headers={"origin": "https://evil.example"}) == 403
    assert ask(app, people["learner"], entry, headers={"sec-fetch-site": "cross-site"}) == 403


@pytest.mark.parametrize("entry", few(UNSAFE, stays=2))
def test_no_other_token_and_no_other_word_for_another_site_helps(
    app: FastAPI, people: dict[str, TestClient], entry: str
) -> None:
    for token in ("", "x" * 43, "ünrichtig"):
        headers = {b"x-csrf-token": token.encode()}
        assert ask(app, without_token(app, people["admin"]), entry, headers=headers) == 403
    for where in ({"sec-fetch-site": "same-site"}, {"origin": "null"}):
        assert ask(app, people["nobody"], entry, headers=where) == 403
        assert ask(app, people["learner"], entry, headers=where) == 403


def without_token(app: FastAPI, client: TestClient) -> TestClient:
    """A browser of the same session that does not send its token."""
    bare = visitor(app)
    bare.cookies = client.cookies
    return bare
