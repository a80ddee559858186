"""Collections in the web application: who watches them, what they see, and a browser that takes part."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from collecting import CROWD, Keys, Parties, awaited, document, free_addresses, fresh, post, publish, working
from fastapi import FastAPI
from playwright.sync_api import Page, Route, expect
from school_site import account, open_school, signed_in, site_of, visit_as, visitor
from typer.testing import CliRunner

from lapwing.cli.commands import app as commands
from lapwing.collect import reader
from lapwing.collect.analyzer import Result
from lapwing.collect.clock import today
from lapwing.collect.drafts import ports_of
from lapwing.collect.simulation import send_answers
from lapwing.collect.string_protocol import StringProtocol
from lapwing.collect.workspace import Workspace
from lapwing.crowd import Counts
from lapwing.crowd.intervals import exact_estimate
from lapwing.web.accounts.store import users
from lapwing.web.collections import watch
from lapwing.web.collections.answering import MOST_GROUPS, question_of, servers_of, travel_of
from lapwing.web.collections.charts import MOST_BATCHES, chart
from lapwing.web.collections.registry import find, registered, unreadable
from lapwing.web.collections.routes.console import epochs_of, together
from lapwing.web.service.headers import POLICY
from lapwing.web.survey.parameters import Design
from lapwing.web.survey.results import results

Visitor = Callable[..., Any]


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def place_of(app: FastAPI) -> Path:
    folder = site_of(app).settings.collections
    assert folder is not None
    return folder


@pytest.fixture
def parties(app: FastAPI) -> Iterator[Parties]:
    with working(place_of(app) / "commute") as parties:
        yield parties


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PATIENCE", 60.0)  # a busy machine is slow
    monkeypatch.setattr(watch, "WATCH", watch.Watch(60.0))


# Operators


def test_an_operator_watches_collections_and_may_nothing_else(app: FastAPI) -> None:
    client = visit_as(app, "operator")
    assert client.get("/collections").status_code == 200
    assert "/collections" in client.get("/account").text
    for address in ("/admin", "/moderation", "/statistics"):
        assert client.get(address).status_code == 403
    assert visit_as(app, "instructor").get("/collections").status_code == 403


def test_an_admin_makes_operators_and_takes_it_back(app: FastAPI) -> None:
    admin, ada = signed_in(app, "Grace", "admin"), account(app, "Ada", "instructor")
    assert "Make operator" in admin.get("/admin/users").text
    for word, expected in (("yes", True), ("no", False)):
        assert admin.post(f"/admin/users/{ada.id}/operator", data={"operator": word}).status_code == 303
        with site_of(app).database.reading() as db:
            kept = users.by_id(db, ada.id)
        assert kept is not None
        assert (kept.operator, kept.role) == (expected, "instructor")


def test_the_command_line_makes_operators_new_or_not(app: FastAPI, tmp_path: Path) -> None:
    account(app, "Ada")
    where = ["--database", str(tmp_path / "school.db")]
    for name, new in (("ada", False), ("Hedy", True)):
        told = CliRunner().invoke(commands, ["school", "operator", name, *where])
        assert told.exit_code == 0, told.output
        assert ("Password, shown once" in told.output) == new
    with site_of(app).database.reading() as db:
        assert [(one.name, one.operator) for one in users.everybody(db)] == [("Ada", True), ("Hedy", True)]


def test_a_server_is_not_started_with_a_folder_that_has_no_collection(tmp_path: Path) -> None:
    where = ["--database", str(tmp_path / "school.db"), "--collections", str(tmp_path)]
    told = CliRunner().invoke(commands, ["serve", *where])
    assert told.exit_code == 2
    assert "has no collection" in " ".join(told.output.split())


# What is there


def test_only_signed_files_are_there_and_a_changed_one_is_named(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "one")
    workspace.create(question="Really?", answers=["yes", "no"])
    assert registered(tmp_path) == []
    collection = workspace.open()
    assert [one.collection for one in registered(tmp_path)] == [collection]
    assert [one.collection for one in registered(tmp_path / "one")] == [collection], "the folder itself will do"
    found = find(tmp_path, collection.id)
    assert found is not None
    assert found.state() == "open"
    assert found.state(collection.closes + timedelta(days=1)) == "closed"
    assert found.state(collection.opens - timedelta(days=1)) == "not open yet"
    workspace.close()
    assert [one.state() for one in registered(tmp_path)] == ["closed"]
    workspace.signed.write_text(workspace.signed.read_text(encoding="utf-8").replace("Really", "Truly"), "utf-8")
    assert registered(tmp_path) == []
    assert [name for name, _ in unreadable(tmp_path)] == ["one"]
    assert registered(None) == registered(tmp_path / "nowhere") == []


KINDS: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "marks": ({"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["a", "b"]}, ("a", "b"), "a mark or no mark"),
    "one of them": ({"protocol": "CategoryResponse", "keep": "1/2", "domain": 3}, ("0", "1", "2"), "chance of 50 %"),
    "yes or no": (
        {"protocol": "BinaryResponse", "yes_if_yes": "3/4", "yes_if_no": "1/4"},
        ("Yes", "No"),
        "with a chance of 25 %",
    ),
    "a number": ({"protocol": "StochasticRounding", "flip": "1/4", "bounds": ["0", "24"]}, (), "to 0 or to 24"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_says_what_will_be_sent_with_the_odds_of_the_file(tmp_path: Path, kind: str) -> None:
    protocol, answers, words = KINDS[kind]
    workspace = Workspace(tmp_path)
    workspace.create(question="What?", answers=["a"], protocol=protocol)
    question = question_of(workspace.open())
    assert question is not None
    assert question.answers == answers
    assert words in question.sent


def test_the_console_says_that_nothing_else_protects_strings(app: FastAPI) -> None:
    workspace = Workspace(place_of(app) / "pages")
    strings = StringProtocol(threshold=20, length=32, randomness="issuer")
    workspace.create(question="Which page?", strings=strings, servers=free_addresses(ports_of("blinded")))
    collection = workspace.open()
    assert question_of(collection) is None
    page = visit_as(app, "operator").get(f"/collections/{collection.id}").text
    assert "have the same host" in page
    assert "still bounded" not in page
    assert "no local epsilon" in page


def test_what_a_browser_cannot_answer_is_not_asked_there(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="Which?", answers=["a"], protocol={"preset": "popular emoji"}, candidates=["😀"])
    assert question_of(workspace.open()) is None


GROUPS = {**CROWD, "from": "attribute", "values": ["north", "south"]}
WAYS: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "directly": ({}, ("sealed for the server that counts", "from everybody"), ("passed on", "Which of these")),
    "one shuffler": (
        {"transport": "shuffled"},
        ("sealed twice", "Reports that are alike form a group", "shuffler with aggregator"),
        ("blinder", "Which of these"),
    ),
    "a public group": (
        {"transport": "blinded", "crowd": GROUPS},
        ("sealed three times", "Which of these do you belong to?", "<option>north</option>", "This is public"),
        ("your true answer is sent along",),
    ),
    "a group of the answer": (
        {"transport": "blinded", "crowd": {**CROWD, "from": "answer"}},
        ("neither of the two servers can read it alone", "do not work together: from everybody"),
        ("Which of these",),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_page_says_what_the_way_of_a_report_adds(app: FastAPI, way: str) -> None:
    changes, there, missing = WAYS[way]
    workspace = Workspace(place_of(app) / "way")
    workspace.create(question="How?", answers=["bus", "bike"], **changes)
    collection = workspace.open()
    page = visitor(app).get(f"/take-part/{collection.id}").text
    for words in there:
        assert words in page
    for words in missing:
        assert words not in page
    assert "data-collection=" in page
    assert 'class="consent">Your report passes' not in page, "the signed text says it already"


def test_what_the_signed_text_leaves_out_about_shufflers_is_shown_beside_it() -> None:
    keys = Keys()
    draft = document(keys, transport="blinded", crowd={**CROWD, "from": "answer"})
    added = travel_of(reader.sign(reader.checked(draft), keys.operator)).consent
    assert "made of your true answer" in added
    whole = document(keys, transport="blinded", crowd={**CROWD, "from": "answer"}, consent=f"Words.\n{added}\n")
    assert travel_of(reader.sign(reader.checked(whole), keys.operator)).consent == ""


def test_more_groups_than_fit_on_a_page_are_not_asked_there(tmp_path: Path) -> None:
    for count in (MOST_GROUPS, MOST_GROUPS + 1):
        workspace = Workspace(tmp_path / str(count))
        crowd = {**GROUPS, "values": [f"group {number}" for number in range(count)]}
        workspace.create(question="Which?", answers=["a", "b"], transport="shuffled", crowd=crowd)
        assert (question_of(workspace.open()) is None) == (count > MOST_GROUPS)


# The policy of pages


def test_only_the_page_to_take_part_may_speak_to_the_servers_of_its_collection(app: FastAPI, parties: Parties) -> None:
    collection, client = parties.collection, visitor(app)
    allowed = servers_of(collection)
    assert allowed == [collection.servers[name].address for name in ("issuer", "ingestor")]
    answer = client.get(f"/take-part/{collection.id}")
    expected = POLICY.replace("connect-src 'self'", f"connect-src 'self' {' '.join(allowed)}")
    assert answer.headers.get_list("content-security-policy") == [expected]
    assert answer.headers["cache-control"] == "no-store"
    for address in ("/", "/take-part/unknown", "/collections"):
        assert client.get(address).headers["content-security-policy"] == POLICY
    Workspace(place_of(app) / "commute").close()
    closed = client.get(f"/take-part/{collection.id}")
    assert "takes no more answers" in closed.text
    assert closed.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("address", ["http://a b;script-src *", "http://[::1]:80", "http://x'self'"])
def test_an_address_that_would_change_the_policy_is_refused(app: FastAPI, address: str) -> None:
    workspace = Workspace(place_of(app) / "odd")
    servers = {name: {"address": address} for name in ("issuer", "ingestor", "aggregator", "analyzer")}
    workspace.create(question="Really?", answers=["yes", "no"], servers=servers)
    collection = workspace.open()
    answer = visitor(app).get(f"/take-part/{collection.id}")
    assert answer.status_code == 503
    assert answer.headers["content-security-policy"] == POLICY


# The console


def test_the_console_shows_estimates_of_closed_batches_only(app: FastAPI, parties: Parties) -> None:
    client, address = visit_as(app, "operator"), f"/collections/{parties.collection.id}"
    before = client.get(address)
    assert before.status_code == 200
    assert "No batch is closed yet." in before.text
    assert before.text.count('class="fine"') == 8, "every party runs, in the figure and in the table"
    for words in ("How do you travel to work?", "cannot be taken back", "local ε", "in use, 0 days old", 'class="qr"'):
        assert words in before.text
    publish(parties, 3)
    watch.WATCH = watch.Watch(60.0)
    now = client.get(f"{address}/now").text
    assert "From 120 reports in 3 batches" in now
    assert now.count("<figure>") == 3
    assert now.count('class="noise" d=') == 9
    assert "<html" not in now


@pytest.mark.parametrize("version", [1, 2])
def test_the_console_says_where_results_of_earlier_versions_are(app: FastAPI, version: int) -> None:
    workspace = Workspace(place_of(app) / "again")
    servers = {party: {"address": "http://127.0.0.1:9"} for party in ("issuer", "ingestor", "aggregator", "analyzer")}
    workspace.create(question="Really?", answers=["yes", "no"], servers=servers, version=version)
    page = visit_as(app, "operator").get(f"/collections/{workspace.open().id}").text
    assert ("--all-versions" in page) == (version > 1)


def test_the_console_shows_progress_in_steps_and_refusals_by_reason(app: FastAPI, parties: Parties) -> None:
    assert send_answers(parties.collection, ["bike"] * 5).stored == 5
    twice = fresh(parties)
    assert [post(parties, twice).status for _ in range(2)] == [201, 201]
    assert post(parties, b"no report").status == 400
    parties.settle()
    now = visit_as(app, "operator").get(f"/collections/{parties.collection.id}/now").text
    assert "About 6 of the 20 reports that a batch needs have come" in now
    refused = [(reason, count) for _, reason, count in watch.now(parties.collection).refused()]
    assert refused == [("duplicate", 1), ("wrong length", 1)]
    assert "<td>duplicate</td>" in now


def test_progress_is_rounded_down_and_ends_with_a_full_batch() -> None:
    shown = [watch.progress_of(waiting, 100).reports for waiting in (-3, 0, 9, 10, 19, 99, 100, 5000)]
    assert shown == [0, 0, 0, 10, 10, 90, 100, 100]
    assert watch.progress_of(100, 100).full
    assert not watch.progress_of(99, 100).full


def test_a_party_that_is_down_or_another_one_is_said_to_be(app: FastAPI, tmp_path: Path) -> None:
    with working(tmp_path / "mine") as mine, working(tmp_path / "other", name="other") as other:
        servers = {name: {"address": server.address} for name, server in mine.collection.servers.items()}
        servers["aggregator"] = {"address": other.collection.servers["aggregator"].address}
        servers["analyzer"] = {"address": other.collection.servers["analyzer"].address}
        servers["ingestor"] = {"address": "http://127.0.0.1:9"}
        workspace = Workspace(place_of(app) / "third")
        workspace.create(question="Really?", answers=["yes", "no"], servers=servers)
        states = {party.name: party.state for party in watch.now(workspace.open()).parties}
    assert states == {
        "issuer": watch.RUNS,
        "ingestor": watch.SILENT,
        "aggregator": watch.STRANGE,
        "analyzer": watch.STRANGE,
    }


def test_the_console_says_that_devices_have_nothing_left_that_a_batch_is_damaged_and_since_when_it_is_closed(
    app: FastAPI,
) -> None:
    opens = (today() - timedelta(days=9)).isoformat()
    with working(place_of(app) / "late", name="late", opens=opens) as late:
        publish(late, 2)
        (late.analyzer.folder / "00000001.batch").write_bytes(b"")
        client, address = visit_as(app, "operator"), f"/collections/{late.collection.id}"
        page = client.get(f"{address}/now").text
        assert "pays for answers of 8 days" in page
        assert "1 batch cannot be read any more and is missing here" in page
        assert "From 40 reports in 1 batch" in page
        assert "Counted since this version of the collection began." in page
        since = Workspace(late.folder).close()
        assert f"closed since {since:%-d %B %Y, %H:%M} UTC" in client.get(address).text


def test_a_party_that_takes_its_time_is_no_alarm(
    app: FastAPI, parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "FRESH", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as slow:
        servers = {name: {"address": server.address} for name, server in parties.collection.servers.items()}
        servers["ingestor"] = {"address": f"http://127.0.0.1:{slow.getsockname()[1]}"}
        workspace = Workspace(place_of(app) / "slow")
        workspace.create(question="Really?", answers=["yes", "no"], servers=servers)
        ours, glancing = workspace.open(), watch.Watch(0.05)

        def ingestor() -> watch.Party:
            return next(party for party in glancing.parties(ours) if party.name == "ingestor")

        assert (ingestor().state, ingestor().tone) == (watch.WAITING, "waiting")
        with slow.accept()[0] as line:
            line.recv(1 << 16)
            said = json.dumps({"collection": ours.id, "totals": {"sealed": 4}}).encode()
            line.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(said), said))
        awaited(lambda: ingestor().state == watch.RUNS)
        assert ingestor().totals == {"sealed": 4}, "as it said before, while it is asked again"

    awaited(lambda: ingestor().state == watch.SILENT)


def test_a_survey_and_a_collection_say_the_same_about_the_same_reports() -> None:
    design = Design(kind="choice", question="How?", answers=("bus", "bike", "car"), flip=Fraction(1, 8))
    tally = [3, 20, 2]
    [shown] = results(design, 25, {0: tally}).steps
    counts = Counts(design.protocol, 25, np.array(tally, dtype=np.int64))
    rows = Result((1,), date(2026, 1, 1), 25, exact_estimate(design.protocol, counts)).rows()
    ends = [(4 * row["count"], 4 * row["low"], 4 * row["high"]) for row in rows]
    assert [(row.value, row.low, row.high) for row in shown.rows] == [pytest.approx(row) for row in ends]


def batch(number: int, **row: float) -> watch.Publication:
    rows = [{"answer": "a", "low": 10, "high": 30, "count": 20} | row]
    return watch.Publication.model_validate(
        {"batches": [number], "day": date(2026, 1, 1), "reports": 100, "answers": rows}
    )


def test_a_chart_has_a_bar_for_each_of_the_newest_batches() -> None:
    drawn = chart([batch(number) for number in range(1, MOST_BATCHES + 8)])
    assert drawn is not None
    [panel] = drawn.panels
    assert len(panel.bars) == MOST_BATCHES
    assert (drawn.first, drawn.last, drawn.low, drawn.high) == (8, MOST_BATCHES + 7, "0 %", "40 %")
    assert (panel.bars[0].low, panel.bars[0].value, panel.bars[0].high) == (75.0, 50.0, 25.0)
    assert chart([]) is None


def test_batches_that_say_different_things_have_a_panel_for_each() -> None:
    """Of strings, every batch shows those that enough people sent in it: others, or none."""
    first, second = ({"answer": answer, "low": 10, "high": 30, "count": 20} for answer in ("/a", "/b"))
    days = {"day": date(2026, 1, 1), "reports": 100}
    listed = [
        watch.Publication.model_validate({"batches": [number], **days, "answers": rows})
        for number, rows in enumerate(([first], [second, first], []), start=1)
    ]
    drawn = chart(listed)
    assert drawn is not None
    assert [(panel.answer, len(panel.bars)) for panel in drawn.panels] == [("/b", 1), ("/a", 2)]
    assert chart(listed[2:]) is None


def test_what_lies_beyond_the_possible_is_cut_where_it_is_shown() -> None:
    drawn = chart([batch(1, low=-50, high=260)])
    assert drawn is not None
    assert (drawn.panels[0].bars[0].low, drawn.panels[0].bars[0].high) == (100.0, 0.0)
    few = batch(1, low=-50, high=260)
    assert few.shown(few.answers[0]) == (0.0, 20.0, 100.0)
    mean = batch(1, low=-50, high=260, mean=105)
    assert mean.shown(mean.answers[0]) == (-50, 105, 260)


def test_answers_are_read_as_people_write_them() -> None:
    read = watch.Row.model_validate_json
    rows = [read(f'{{"answer": {answer}, "low": 1, "high": 2}}') for answer in ("true", "false", "1", '"bus"')]
    assert [row.label for row in rows] == ["Yes", "No", "1", "bus"]


def test_parties_on_one_machine_are_named(tmp_path: Path) -> None:
    names = ("issuer", "ingestor", "aggregator", "analyzer")
    hosts = {
        "apart": (("a.org", "b.org", "c.org", "d.org"), []),
        "two": (("a.org", "b.org", "b.org", "d.org"), [("ingestor", "aggregator")]),
        "all": (("10.0.0.1", "10.0.0.1", "127.0.0.1", "localhost"), [names]),
    }
    for name, (places, expected) in hosts.items():
        workspace = Workspace(tmp_path / name)
        servers = {party: {"address": f"http://{host}"} for party, host in zip(names, places, strict=True)}
        workspace.create(question="Really?", answers=["yes", "no"], servers=servers)
        assert together(workspace.open()) == expected


def test_keys_have_an_age_and_one_pair_is_in_use(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.create(question="Really?", answers=["yes", "no"])
    collection = workspace.open()
    start = collection.epochs[0].start
    assert [(one["state"], one["age"]) for one in epochs_of(collection, start + timedelta(days=3))] == [("in use", 3)]
    assert [one["state"] for one in epochs_of(collection, collection.closes + timedelta(days=1))] == ["over"]


# A browser that takes part


def elsewhere(begun: Any) -> set[str]:
    """Whom a browser asked besides the school; that was no failure here."""
    asked = {found[1] for one in begun.wrong if (found := re.fullmatch(r"asked elsewhere: (\S+)", one))}
    begun.wrong = [one for one in begun.wrong if not one.startswith("asked elsewhere: ")]
    return {"{0.scheme}://{0.netloc}".format(urlsplit(one)) for one in asked}


def agree(page: Page) -> None:
    page.get_by_role("button", name="I agree").click()
    expect(page.locator(".outcome")).not_to_be_empty()


def answer(page: Page, words: str) -> None:
    page.get_by_label(words, exact=True).check()
    page.get_by_role("button", name="Send my answer").click()
    expect(page.locator(".answering")).to_be_hidden()


WITHOUT_HTTPS = """
Object.defineProperty(window, "isSecureContext", { get: () => false });
Object.defineProperty(Navigator.prototype, "locks", { get: () => undefined });
Object.defineProperty(Crypto.prototype, "subtle", { get: () => undefined });
"""
"""What browsers withhold from pages that came by plain http from another machine."""


@pytest.mark.parametrize("https", [True, False], ids=["https", "plain http"])
def test_a_browser_takes_part_and_its_report_is_counted(visit: Visitor, live_school: Any, https: bool) -> None:
    with working(place_of(live_school.app) / f"phone-{https}", name=f"phone-{https}".lower()) as parties:
        begun = visit(viewport={"width": 390, "height": 800})
        if not https:
            begun.context.add_init_script(WITHOUT_HTTPS)
        bodies: list[bytes] = []
        begun.context.on("request", lambda one: bodies.append(one.post_data_buffer or b""))
        page = begun.open(f"/take-part/{parties.collection.id}")
        expect(page.locator(".insecure")).to_be_visible(visible=not https)
        expect(page.locator(".answering")).to_be_hidden()
        agree(page)
        expect(page.locator(".outcome")).to_contain_text("Nothing was sent yet")
        assert elsewhere(begun) == {parties.collection.servers["issuer"].address}, "tokens come before an answer"
        answer(page, "bike")
        expect(page.locator(".outcome")).to_contain_text("sealed and sent")
        expect(page.locator(".left")).to_contain_text("7 more answers")
        assert parties.ingestor.totals["stored"] == 1
        assert parties.settle() == 1
        assert elsewhere(begun) == {parties.collection.servers["ingestor"].address}
        assert not any(b"bike" in body for body in bodies)

        page.reload()
        expect(page.locator(".outcome")).to_contain_text("You have answered for now")
        page.get_by_role("button", name="Leave").click()
        expect(page.locator(".outcome")).to_contain_text("cannot be taken back")
        agree(page)
        expect(page.locator(".outcome")).to_contain_text("answered for now already")
        expect(page.locator(".answering")).to_be_hidden()
        assert parties.ingestor.totals["stored"] == 1
        assert elsewhere(begun) <= set(servers_of(parties.collection))


def test_a_report_that_could_not_be_sent_waits_and_is_sent_when_the_page_is_opened_again(
    visit: Visitor, live_school: Any
) -> None:
    with working(place_of(live_school.app) / "offline", name="offline") as parties:
        begun = visit()
        page = begun.open(f"/take-part/{parties.collection.id}")
        page.route("**/reports", lambda route: route.abort())
        agree(page)
        answer(page, "bike")
        expect(page.locator(".outcome")).to_contain_text("waits in this browser")
        assert not parties.ingestor.totals
        begun.wrong = [one for one in begun.wrong if "ERR_FAILED" not in one]
        page.unroute("**/reports")
        page.reload()
        expect(page.locator(".outcome")).to_contain_text("You have answered for now")
        assert parties.settle() == 1
        elsewhere(begun)


def test_a_code_lets_somebody_in_and_a_wrong_one_sends_nothing(visit: Visitor, live_school: Any) -> None:
    with working(place_of(live_school.app) / "codes", name="codes", admission="codes") as parties:
        [code] = parties.issuer.new_codes(1)
        begun = visit()
        page = begun.open(f"/take-part/{parties.collection.id}")
        page.get_by_label("Your code").fill("wrong")
        agree(page)
        expect(page.locator(".outcome")).to_contain_text("This code is not known")
        begun.wrong = [one for one in begun.wrong if "status of 403" not in one]
        page.get_by_label("Your code").fill(code)
        agree(page)
        answer(page, "bike")
        expect(page.locator(".outcome")).to_contain_text("sealed and sent")
        assert parties.ingestor.totals["stored"] == 1
        elsewhere(begun)


def test_somebody_signs_in_gets_tokens_once_and_answers_without_the_account(visit: Visitor, live_school: Any) -> None:
    with working(place_of(live_school.app) / "members", school=live_school.url) as parties:
        member, begun = visit_as(live_school.app, "learner"), visit()
        page = begun.open(f"/take-part/{parties.collection.id}")
        assert page.get_by_role("link", name="Sign in").last.get_attribute("href") == (
            f"/account/sign-in?next=/take-part/{parties.collection.id}"
        )
        expect(page.get_by_role("button", name="I agree")).to_have_count(0)
        begun.become(member)
        page.reload()
        sent: dict[str, dict[str, str]] = {}
        begun.context.on("request", lambda one: sent.update({one.url: one.all_headers()}))
        agree(page)
        answer(page, "bike")
        expect(page.locator(".outcome")).to_contain_text("sealed and sent")
        assert parties.settle() == 1
        carried = {url.rsplit("/", 1)[-1]: set(headers) for url, headers in sent.items()}
        assert {"cookie", "x-csrf-token"} <= carried["tokens"]
        assert not {"cookie", "x-csrf-token"} & carried["reports"]
        elsewhere(begun)

        other = visit()
        other.become(member)
        second = other.open(f"/take-part/{parties.collection.id}")
        agree(second)
        expect(second.locator(".outcome")).to_contain_text("has already received its tokens, in another browser")
        other.wrong = [one for one in other.wrong if "status of 429" not in one]


def test_a_proxy_that_fails_after_the_issuer_counted_does_not_lock_an_account_out(
    visit: Visitor, live_school: Any
) -> None:
    with working(place_of(live_school.app) / "proxied", school=live_school.url) as parties:
        begun = visit()
        begun.become(visit_as(live_school.app, "learner"))
        page = begun.open(f"/take-part/{parties.collection.id}")
        asked: list[bytes] = []

        def lost(route: Route) -> None:
            asked.append(route.request.post_data_buffer or b"")
            assert route.fetch().status == 200
            route.fulfill(status=504)

        page.route("**/tokens", lost)
        agree(page)
        expect(page.locator(".outcome")).to_contain_text("does not answer. Try again")
        begun.wrong = [one for one in begun.wrong if "status of 504" not in one]
        page.unroute("**/tokens")
        begun.context.on("request", lambda one: asked.append(one.post_data_buffer or b""))
        page.get_by_role("button", name="I agree").click()
        expect(page.locator(".outcome")).to_contain_text("now choose your answer")
        assert len(asked) == 2
        assert asked[0] == asked[1], "the same request is free"


def test_a_number_is_sent_as_one_of_its_ends_and_no_number_is_not_sent(visit: Visitor, live_school: Any) -> None:
    hours = {"protocol": "StochasticRounding", "flip": "1/4", "bounds": ["0", "24"]}
    with working(place_of(live_school.app) / "hours", name="hours", protocol=hours) as parties:
        begun = visit()
        page = begun.open(f"/take-part/{parties.collection.id}")
        agree(page)
        for given, said in (("eight", "This is not a number"), ("7,5", "sealed and sent")):
            page.get_by_label("Your answer").fill(given)
            page.get_by_role("button", name="Send my answer").click()
            expect(page.locator(".outcome")).to_contain_text(said)
        assert parties.settle() == 1
        elsewhere(begun)


def test_a_browser_takes_part_through_two_shufflers_up_to_the_estimate(visit: Visitor, live_school: Any) -> None:
    place, named = place_of(live_school.app) / "blinded", {"transport": "blinded", "crowd": GROUPS}
    with working(place, name="blinded", **named) as parties:
        begun = visit(viewport={"width": 390, "height": 800})
        page = begun.open(f"/take-part/{parties.collection.id}")
        page.get_by_role("button", name="I agree").click()
        expect(page.locator(".outcome")).to_be_empty()  # the browser asks for the group first
        page.get_by_label("Which of these do you belong to?").select_option("south")
        agree(page)
        answer(page, "bike")
        expect(page.locator(".outcome")).to_contain_text("sealed and sent")
        expect(page.locator(".left")).to_contain_text("Your group: south.")
        assert elsewhere(begun) == set(servers_of(parties.collection))
        assert send_answers(parties.collection, ["bike", "bus"] * 20).stored == 40
        parties.clock[0] += timedelta(hours=2)
        parties.settle()
        for shuffler in parties.shufflers.values():
            assert shuffler.totals()["taken"] == 41, "every layer of the browser's report was opened"
        assert parties.analyzer.together().plain()["taken"] == 41
        begun.become(visit_as(live_school.app, "operator"))
        page.goto(f"{begun.url}/collections/{parties.collection.id}")
        expect(page.locator("#estimates + p")).to_contain_text("in 1 batch")
        expect(page.locator(".estimates tbody tr")).to_have_count(3)


def test_the_console_renews_itself_when_a_batch_is_published(visit: Visitor, live_school: Any) -> None:
    with working(place_of(live_school.app) / "live", name="live") as parties:
        begun = visit()
        begun.become(visit_as(live_school.app, "operator"))
        page = begun.open(f"/collections/{parties.collection.id}")
        expect(page.locator("#now")).to_contain_text("No batch is closed yet.")
        publish(parties, 1)
        expect(page.locator("#now")).to_contain_text("From 40 reports in 1 batch;")
        expect(page.locator(".panels svg")).to_have_count(0)
        publish(parties, 2)
        expect(page.locator(".panels svg")).to_have_count(3)
