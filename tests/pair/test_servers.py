"""Two servers over TLS on loopback: who may do what, what is charged when, and what a peer that misbehaves can do."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from two_servers import BOUND, LINEAR, NAMES, PRODUCT, ROWS, Servers, asking, made, said, two_servers

from lapwing.errors import LapwingError
from lapwing.pair import server as serving
from lapwing.pair import workspace
from lapwing.pair.certificates import new_certificate
from lapwing.pair.client import Client, ServerRefused
from lapwing.pair.deployment import Deployment
from lapwing.pair.frames import NotReached, connected
from lapwing.pair.runs import Run
from lapwing.pair.server import PairServer
from lapwing.privacy import ApproxDP


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with two_servers(tmp_path_factory.mktemp("pair") / "p", epsilon=100, patience=5) as servers:
        yield servers


def test_a_key_is_charged_and_answered_once_by_both(pair: Servers) -> None:
    before = pair.client.remaining()
    told = pair.client.ask(PRODUCT, "once")
    again = pair.client.ask(PRODUCT, "once")
    assert again.numbers == told.numbers
    assert before.epsilon - pair.client.remaining().epsilon == 1
    assert pair.client.remaining() == again.remaining
    assert [pair.store(name).used() for name in NAMES] == [BOUND, BOUND]
    with pytest.raises(ServerRefused, match="was used for another question"):
        pair.client.ask(LINEAR, "once")


def test_two_at_the_same_time_under_one_key_get_one_answer(pair: Servers) -> None:
    answers: list[Any] = []

    def asked() -> None:
        try:
            answers.append(pair.client.ask(LINEAR, "twice").numbers)
        except LapwingError as error:
            answers.append(str(error))

    threads = [threading.Thread(target=asked) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    final = pair.client.ask(LINEAR, "twice").numbers
    assert all(answer == final or "being answered at this moment" in answer for answer in answers), answers


def test_questions_at_the_same_time_wait_for_each_other(pair: Servers) -> None:
    answers = []

    def asked(key: str) -> None:
        answers.append(pair.client.ask(LINEAR, key).numbers)

    threads = [threading.Thread(target=asked, args=(f"many {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4


@pytest.mark.parametrize("name", NAMES)
def test_only_an_analyst_of_the_file_may_ask_and_only_the_other_server_may_meet(
    pair: Servers, name: str, tmp_path: Path
) -> None:
    """Owners show no certificate; another server, a stranger and a child of an analyst's key are nobody."""
    stranger = tmp_path / "stranger.pem"
    new_certificate(stranger, "analyst")
    other = NAMES[1 - NAMES.index(name)]
    refused = {"error": "this server does not answer that, or not to you", "kind": "Refusal"}
    for what in ("ask", "check", "meet", "stored", "nothing", None, 3, ["ask"]):
        assert said(pair, name, asking(pair, do=what)) == refused
    for what in ("meet", "stored"):
        assert said(pair, name, asking(pair, do=what), pair.folder / "analyst.pem") == refused
    assert said(pair, name, asking(pair), pair.folder / other / "key.pem") == refused
    with pytest.raises((LapwingError, OSError)):
        said(pair, name, asking(pair), stranger)
    for nothing in ([], "ask", None, 7):
        assert said(pair, name, nothing) == refused


def test_a_server_with_another_key_than_the_file_says_is_not_spoken_to(pair: Servers) -> None:
    first, second = pair.first.deployment.servers
    with pytest.raises(NotReached, match="has another key than the file says"):
        connected(replace(second, address=first.address), None, pair.patience)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_made_for_another_file_is_refused_and_not_charged(pair: Servers, name: str) -> None:
    analyst, before = pair.folder / "analyst.pem", pair.spent(name)
    for content in (asking(pair, file="0" * 64), asking(pair, file=None), {"do": "upload", "rows": []}):
        assert "made for another file" in said(pair, name, content, analyst)["error"]
    assert pair.spent(name) == before


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_question_is_refused_and_not_charged(pair: Servers, name: str) -> None:
    """Also under the key of a release that exists, where nothing is computed."""
    analyst = pair.folder / "analyst.pem"
    pair.client.ask(LINEAR, "stored")
    before = pair.spent(name)
    wide = LINEAR.written()
    wide["measures"][0]["size"] = 1 << 50
    for key in ("new", "stored"):
        for request in (None, {}, wide, {**LINEAR.written(), "epsilons": ["1/0"]}):
            assert said(pair, name, asking(pair, request, key), analyst)["kind"] in (
                "InvalidParameter",
                "UnsupportedQuery",
            )
    for key in (None, "", 5, ["k"], "a\0b", "\ud800", "k" * 100_000):
        assert said(pair, name, asking(pair, key=key), analyst)["kind"] in ("Refusal", "InvalidParameter")
    assert pair.spent(name) == before


def raw(servers: Servers, data: bytes, key_file: Path | None = None) -> bytes:
    """What comes back for these bytes, until the connection ends."""
    with closing(connected(servers.first.deployment.servers[0], key_file, 10)) as connection:
        connection.sendall(data)
        try:
            return connection.recv(1 << 16)
        except OSError:
            return b""


def test_frames_that_are_none_end_the_connection_and_nothing_else(pair: Servers) -> None:
    def framed(content: bytes) -> bytes:
        return len(content).to_bytes(4, "little") + content

    large = (serving.MOST_FROM_OWNERS + 1).to_bytes(4, "little")
    for data in (large, b"\xff\xff\xff\xff", framed(b"{"), framed(b"\xff"), framed(b"[" * 100_000), b"\x04\0\0\0{"):
        assert raw(pair, data) == b""
    assert pair.client.status().keys() == set(NAMES)


@pytest.mark.parametrize(
    "rows",
    [None, {}, [None], [{}], [{"code": 1, "salt": "", "share": "", "other": "0" * 64}], [[]], "rows", [{"code": "x"}]],
    ids=str,
)
def test_what_is_no_upload_is_refused(pair: Servers, rows: Any) -> None:
    content = {"do": "upload", "file": pair.first.deployment.fingerprint, "rows": rows}
    assert said(pair, NAMES[0], content)["kind"] == "UploadRefused"


def test_an_owner_who_was_cut_off_after_one_server_starts_again_until_the_row_is_taken_in(tmp_path: Path) -> None:
    with two_servers(tmp_path / "p", rows=ROWS[:2]) as servers:
        code = workspace.codes_in(servers.folder)[4]
        first, _ = servers.client._messages([(code, ROWS[4])], servers.first._entropy)
        servers.store(NAMES[0]).upload(serving.uploads_in(first, 0))
        assert servers.first.take_in() == 2, "half a row waits"
        assert servers.client.status()[NAMES[0]]["waiting"] == 1
        servers.client.upload(code, ROWS[4])
        assert servers.first.take_in() == 1
        with pytest.raises(ServerRefused, match="taken in, so it cannot be changed"):
            servers.client.upload(code, ROWS[4])
        with pytest.raises(ServerRefused, match="not on the list"):
            servers.client.upload("made up", ROWS[4])
        assert [numbers["rows"] for numbers in servers.client.status().values()] == [3, 3]


def test_a_row_does_not_change_while_it_is_taken_in_and_has_one_code(tmp_path: Path) -> None:
    with two_servers(tmp_path / "p") as servers:
        codes, store = workspace.codes_in(servers.folder), servers.store(NAMES[0])
        with store.taking(), pytest.raises(ServerRefused, match="cannot be changed"):
            servers.client.upload(codes[0], ROWS[1])
        messages, _ = servers.client._messages([(codes[6], ROWS[0])], servers.first._entropy)
        [(code, name, share)] = serving.uploads_in(messages, 0)
        other = workspace.code_for(codes[7], 0)
        store.upload([(code, name, share)])
        with pytest.raises(LapwingError, match="with another code"):
            store.upload([(other, name, share)])


@pytest.mark.parametrize("poor", NAMES)
def test_each_ledger_refuses_alone_and_then_neither_is_charged_or_opens_anything(tmp_path: Path, poor: str) -> None:
    with two_servers(tmp_path / "p", epsilon=2) as servers:
        ledger = servers.running[poor].ledger
        ledger.charge("people", ApproxDP(Fraction(3, 2), 0, relation="replace"))
        with pytest.raises(ServerRefused, match=f"{poor} refuses: its ledger does not allow"):
            servers.client.ask(LINEAR, "k")
        assert {name: servers.spent(name) for name in NAMES} == {
            name: Fraction(3, 2) if name == poor else 0 for name in NAMES
        }
        rich = NAMES[1 - NAMES.index(poor)]
        with pytest.raises(ServerRefused):  # who does not ask both whether they would, pays at one, for nothing
            servers.client._both(asking(servers))
        assert servers.spent(rich) == 1
        assert not servers.store(rich).has_begun("k")
        assert not servers.store(poor).has_begun("k")


def test_both_ledgers_are_charged_before_the_servers_say_anything_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged: list[list[Fraction]] = []
    met, run = PairServer._met, Run.answers
    with two_servers(tmp_path / "p", patience=10) as servers:
        servers.first.take_in()

        def meeting(server: PairServer, *rest: Any) -> None:
            charged.append([servers.spent(NAMES[0])])
            met(server, *rest)

        def answered(self: Run, orders: Any) -> Any:
            charged.append([servers.spent(name) for name in NAMES])
            assert all(servers.store(name).has_begun("k") for name in NAMES)
            return run(self, orders)

        monkeypatch.setattr(PairServer, "_met", meeting)
        monkeypatch.setattr(Run, "answers", answered)
        servers.client.ask(LINEAR, "k")
    assert charged == [[1], [1, 1], [1, 1]]


def test_a_client_says_which_server_is_not_there(tmp_path: Path) -> None:
    deployment = Deployment.read(made(tmp_path / "p"))
    with pytest.raises(LapwingError, match=r"the server as at 127.0.0.1:\d+ does not answer"):
        Client(deployment, tmp_path / "p" / "analyst.pem", 1).ask(LINEAR)
