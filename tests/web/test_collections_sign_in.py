"""The school as the issuer of a collection: who is signed in gets tokens, once, and no report leads back to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import Parties, post, working
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PASSWORD, account, browser_of, open_school, site_of, visit_as, visitor

from lapwing.collect import issuer as issuers
from lapwing.collect import tokens
from lapwing.collect.clock import Certainty, today
from lapwing.collect.sealing import seal
from lapwing.collect.tokens import Token
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter
from lapwing.web.collections.admission import destroy_old_keys, issuer_at

ORIGIN = "https://testserver"
ADDRESS = "/take-part/members/tokens"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path, origin=ORIGIN)


@pytest.fixture
def parties(app: FastAPI) -> Iterator[Parties]:
    folder = site_of(app).settings.collections
    assert folder is not None
    with working(folder / "members", school=ORIGIN) as parties:
        yield parties


def quota(parties: Parties) -> int:
    return parties.collection.tokens_each(parties.collection.epochs[0])


def asked(client: TestClient, request: tokens.Request) -> tuple[int, bytes]:
    answer = client.post(ADDRESS, content=(1).to_bytes(4, "little") + request.to_bytes())
    return answer.status_code, answer.content


def got(client: TestClient, parties: Parties, count: int) -> list[Token]:
    request = tokens.request(1, count)
    status, answer = asked(client, request)
    assert status == 200, answer
    return request.tokens(parties.keys.tokens.public, answer)


def test_whoever_is_signed_in_gets_their_quota_once(app: FastAPI, parties: Parties) -> None:
    ada, bob = account(app, "Ada"), account(app, "Bob")
    request = tokens.request(1, quota(parties))
    first = asked(browser_of(app, ada), request)
    assert first[0] == 200
    assert asked(browser_of(app, ada), request)[0] == 200, "an answer that got lost is given again"
    status, why = asked(browser_of(app, ada), tokens.request(1, 1))
    assert (status, b"were issued to you" in why) == (429, True)
    assert len(got(browser_of(app, bob), parties, quota(parties))) == quota(parties), "others get theirs"


@pytest.mark.parametrize("who", ["nobody", "half"])
def test_whoever_is_not_fully_signed_in_gets_no_token_and_is_told_to_sign_in(
    app: FastAPI, parties: Parties, who: str
) -> None:
    status, why = asked(visit_as(app, who), tokens.request(1, 1))
    assert status == 403
    assert b"Sign in first. This collection gives tokens to people who have an account." in why
    served = issuer_at(site_of(app), "members")
    assert served is not None
    assert served.issued() == 0


def test_another_page_cannot_ask_in_the_name_of_somebody(app: FastAPI, parties: Parties) -> None:
    client, body = browser_of(app, account(app, "Ada")), tokens.request(1, 1).to_bytes()
    assert client.post(ADDRESS, content=body, headers={"x-csrf-token": "guessed"}).status_code == 403
    assert client.post(ADDRESS, content=body, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.post("/take-part/others/tokens", content=body).status_code == 404


def test_the_school_knows_the_account_and_nothing_leads_from_a_report_to_it(app: FastAPI, parties: Parties) -> None:
    people = [account(app, name) for name in ("Ada", "Bob")]
    requests = [tokens.request(1, 2) for _ in people]
    answers = [asked(browser_of(app, person), request)[1] for person, request in zip(people, requests, strict=True)]
    held = [
        request.tokens(parties.keys.tokens.public, answer) for request, answer in zip(requests, answers, strict=True)
    ]
    for mine in held:
        report = parties.collection.protocol.randomize(["bus"]).to_bytes()
        envelope = tokens.tagged(mine[0], parties.collection, seal(parties.collection, 1, report))
        assert post(parties, envelope.to_bytes()).status == 201
    parties.settle()

    known = parties.folder / "issuer" / "issued.db"
    seen = known.read_bytes() + b"".join(request.to_bytes() for request in requests) + b"".join(answers)
    key = parties.keys.tokens.secret
    names = [issuers._keyed(key, b"name", f"account {person.id}".encode()).encode() for person in people]
    guessed = [issuers._hash(f"account {person.id}".encode()).encode() for person in people]
    assert not any(name in seen for name in guessed), "without the key nobody can try the numbers of accounts"
    assert all(name in seen for name in names), "it knows which accounts have tokens"
    elsewhere = b"".join(
        path.read_bytes()
        for party in ("ingestor", "aggregator")
        for path in (parties.folder / party).rglob("*")
        if path.is_file()
    )
    for mine in held:
        for token in mine:
            assert token.id not in seen
            assert token.secret not in seen
            assert token.id.hex().encode() not in seen
    assert not any(name in elsewhere or name[:16] in elsewhere for name in names)
    for request in requests:
        for element in request.blinded:
            assert element not in elsewhere
    # every token fits every request: a blind that explains the pair exists (tests/collect/test_tokens.py), and both
    # tokens were made with the one key that the signed file names, so the key does not tell them apart either
    assert len({epoch.token_key for epoch in parties.collection.epochs}) == 1


def test_people_read_what_signing_in_tells_the_school(app: FastAPI, parties: Parties) -> None:
    address = f"/take-part/{parties.collection.id}"
    nobody = visitor(app).get(address).text
    assert f'href="/account/sign-in?next={address}"' in nobody
    assert "I agree" not in nobody
    member = visit_as(app, "learner").get(address).text
    for words in ("learns that your account takes part", "cannot tell which report is yours", "I agree"):
        assert words in member
    assert f"gets {quota(parties)} tokens until" in member
    assert "an account of this school can take part" in visit_as(app, "operator").get(_console(parties)).text


def test_a_collection_whose_people_sign_in_elsewhere_is_not_asked_here(app: FastAPI, tmp_path: Path) -> None:
    folder = site_of(app).settings.collections
    assert folder is not None
    with working(folder / "members", school="https://another.example") as parties:
        assert "A browser cannot answer" in visit_as(app, "learner").get(f"/take-part/{parties.collection.id}").text
        assert f"{ORIGIN}/take-part/members" in visit_as(app, "operator").get(_console(parties)).text
        assert asked(visit_as(app, "learner"), tokens.request(1, 1))[0] == 404


def _console(parties: Parties) -> str:
    return f"/collections/{parties.collection.id}"


def test_the_school_destroys_the_keys_of_epochs_that_are_over(app: FastAPI, parties: Parties) -> None:
    folder = site_of(app).settings.collections
    assert folder is not None
    days = {"opens": (today() - timedelta(days=30)).isoformat(), "closes": (today() - timedelta(days=3)).isoformat()}
    with working(folder / "before", school=ORIGIN, **days) as before:
        keys = [one.folder / "issuer" / "token-1.key" for one in (before, parties)]
        assert [key.exists() for key in keys] == [True, True]
        destroy_old_keys(site_of(app), defaultdict(lambda: Certainty(0)))
        assert [key.exists() for key in keys] == [False, True]


def test_a_fault_in_one_collection_keeps_no_key_of_another(
    app: FastAPI, parties: Parties, caplog: pytest.LogCaptureFixture
) -> None:
    folder = site_of(app).settings.collections
    assert folder is not None
    days = {"opens": (today() - timedelta(days=30)).isoformat(), "closes": (today() - timedelta(days=3)).isoformat()}
    (parties.folder / "issuer" / "token-1.key").chmod(0o644)  # in use, and others may read it
    with ExitStack() as stack:
        past = [stack.enter_context(working(folder / name, school=ORIGIN, **days)) for name in ("odd", "other", "seen")]
        keys = [one.folder / "issuer" / "token-1.key" for one in past]
        keys[0].unlink()
        keys[0].mkdir()  # cannot be destroyed as a key is
        keys[1].chmod(0o644)
        destroy_old_keys(site_of(app), defaultdict(lambda: Certainty(0)))
        assert [key.exists() for key in keys] == [True, False, False]
    assert "odd" in caplog.text, "a fault is said"


def test_an_issuer_that_cannot_know_who_signed_in_says_what_to_start(parties: Parties) -> None:
    with pytest.raises(InvalidParameter, match="lapwing serve --collections"):
        Workspace(parties.folder).issuer()


def test_who_took_part_is_shown_to_them_and_deleted_with_the_account(app: FastAPI, parties: Parties) -> None:
    ada, bob = browser_of(app, account(app, "Ada")), browser_of(app, account(app, "Bob"))
    for client in (ada, bob):
        got(client, parties, 3)
    until = parties.collection.epochs[0].end.isoformat()
    mine = [{"collection": parties.collection.name, "until": until, "tokens": 3}]
    assert ada.get("/account/data").json()["collections_taken_part_in"] == mine
    assert ada.post("/account/delete", data={"password": PASSWORD}).status_code == 303
    served = issuer_at(site_of(app), "members")
    assert served is not None
    assert served.issued() == 3, "only Bob's are left"
    assert bob.get("/account/data").json()["collections_taken_part_in"] == mine


def test_who_got_tokens_is_deleted_when_the_epoch_is_over(app: FastAPI, parties: Parties) -> None:
    got(browser_of(app, account(app, "Ada")), parties, 2)
    served = issuer_at(site_of(app), "members")
    assert served is not None
    assert (served.retire(), served.issued()) == ([], 2)
    served.sure = Certainty(0)
    served.day = lambda: parties.collection.epochs[0].end + timedelta(days=2)
    assert (served.retire(), served.issued()) == ([1], 0)
