"""What somebody meets who starts their first collection: wrong keys, taken ports, slips of the pen, a first answer."""

from __future__ import annotations

import shutil
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from collecting import publish, working, workspace_with_ports
from typer.testing import CliRunner

from lapwing.cli.commands import app
from lapwing.collect import documents, exports
from lapwing.collect.answers import countable, spoken
from lapwing.collect.clock import today
from lapwing.collect.collection import Transport
from lapwing.collect.drafts import FOR_DEVICES, ports_of
from lapwing.collect.key_ring import check_keys
from lapwing.collect.keys import Key
from lapwing.collect.participant import Participant
from lapwing.collect.parties import listener_of, serve
from lapwing.collect.string_protocol import StringProtocol
from lapwing.collect.workspace import CLOSED, Workspace
from lapwing.errors import InvalidParameter


def run(*words: str) -> tuple[int, str]:
    """The exit code and what was said, in one line."""
    result = CliRunner().invoke(app, ["collect", *words])
    return result.exit_code, " ".join(result.output.split())


def begun(folder: Path, **changes: Any) -> Workspace:
    workspace = Workspace(folder)
    workspace.create(**{"question": "How?", "answers": ["bus", "bike"], **changes})
    return workspace


def edited(workspace: Workspace, **changes: Any) -> None:
    draft = documents.parsed(workspace.draft.read_bytes()) | changes
    workspace.draft.write_text(documents.written(draft), encoding="utf-8")


def relayed(servers: dict[str, Any]) -> dict[str, Any]:
    return servers | {"relay": {"address": "http://127.0.0.1:9999"}}


@pytest.mark.parametrize("transport", ["direct", "blinded"])
def test_a_party_with_other_keys_than_those_of_the_signed_file_does_not_start(
    tmp_path: Path, transport: Transport
) -> None:
    workspace = begun(tmp_path, transport=transport)
    edited(workspace, servers=relayed(documents.parsed(workspace.draft.read_bytes())["servers"]))
    collection = workspace.open()
    files = sorted(path for path in tmp_path.rglob("*.key") if path.parent != tmp_path)
    assert len(files) == (6 if transport == "direct" else 11)
    for party in collection.servers:
        check_keys(collection, tmp_path, party, today())
    for path in files:
        party, key = path.parent.name, path.read_bytes()
        path.unlink()
        with pytest.raises(InvalidParameter, match=f"{party}/{path.name}.*is missing"):
            check_keys(collection, tmp_path, party, today())
        Key.random(Key.read(_written(path, key)).kind).write(_unlinked(path))
        with pytest.raises(InvalidParameter, match=f"{party}/{path.name}.*not the key that collection.yaml names"):
            serve(tmp_path, party)  # it would never end
        _unlinked(path)
        _written(path, key)


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def _unlinked(path: Path) -> Path:
    path.unlink()
    return path


def test_keys_of_epochs_that_are_over_may_be_gone(tmp_path: Path) -> None:
    collection = begun(tmp_path).open()
    shutil.rmtree(tmp_path / "issuer")
    end = collection.epochs[-1].end
    check_keys(collection, tmp_path, "issuer", end + timedelta(days=2))
    with pytest.raises(InvalidParameter, match="is for epoch 1, until"):
        check_keys(collection, tmp_path, "issuer", end + timedelta(days=1))


def test_a_port_that_is_taken_says_what_to_write(tmp_path: Path) -> None:
    workspace = workspace_with_ports(tmp_path, 10)
    with listener_of(workspace.collection(), "issuer"):
        code, output = run("serve", "issuer", str(tmp_path))
    assert code == 2
    assert "is in use already" in output
    assert "lapwing collect new … --port" in output
    with pytest.raises(InvalidParameter, match="is not an address of this machine"):
        listener_of(workspace.collection(), "issuer", host="192.0.2.1")


def test_two_collections_have_ports_of_their_own(tmp_path: Path) -> None:
    arguments = ("--question", "How?", "--answers", "bus, bike", "--transport", "blinded", "--port", "8301")
    assert run("new", str(tmp_path / "other"), *arguments)[0] == 0
    servers = documents.parsed((tmp_path / "other" / "draft.yaml").read_bytes())["servers"]
    ports = {int(server["address"].rpartition(":")[2]) for server in servers.values()}
    assert ports == {8301, 8302, 8303, 8304, 8306, 8307}
    assert not ports & set(ports_of("blinded").values())
    with pytest.raises(InvalidParameter, match="no room"):
        ports_of("direct", first=65_533)


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("http://192.168.1.20", "Write --host 192.168.1.20."),
        ("https://collect.example.org:9000/x", "Write --host collect.example.org --port 9000."),
        ("192.168.1.20:8101", "Write --host 192.168.1.20 --port 8101."),
        ("two words", "such as 192.168.1.20"),
        ("", "such as 192.168.1.20"),
    ],
)
def test_a_host_is_a_machine_and_no_address(tmp_path: Path, host: str, hint: str) -> None:
    code, output = run("new", str(tmp_path / "x"), "--question", "How?", "--answers", "a, b", "--host", host)
    assert code == 2
    assert hint in output
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(("host", "written"), [("my-machine.local", "my-machine.local"), ("fe80::1", "[fe80::1]")])
def test_names_and_numbers_of_machines_stand_in_addresses(tmp_path: Path, host: str, written: str) -> None:
    workspace = begun(tmp_path, host=host)
    assert workspace.checked() == []
    assert workspace.open().servers["issuer"].address == f"http://{written}:8101"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("2", "Write --error 0.02 for 2 percentage points."),
        ("0", "must be a number above 0"),
        ("nan", "must be a number above 0"),
        ("inf", "an error that no number of devices can reach"),
        ("1e-300", "an error that no number of devices can reach"),
    ],
)
def test_an_error_that_makes_no_sense_is_refused(tmp_path: Path, error: str, words: str) -> None:
    begun(tmp_path)
    code, output = run("quote", str(tmp_path), "--error", error)
    assert code == 2
    assert words in output
    assert "which is more than there are people" in run("quote", str(tmp_path), "--error", "0.000001")[1]


def test_another_operators_key_signs_nothing(tmp_path: Path) -> None:
    workspace = begun(tmp_path)
    workspace.open()
    key = tmp_path / "operator.key"
    for kind in ("ed25519", "x25519"):
        key.unlink()
        Key.random(kind).write(key)
        edited(workspace, version=2)
        with pytest.raises(InvalidParameter, match="not the key that signed"):
            workspace.open()


def test_a_signed_file_that_was_changed_says_how_to_go_on(tmp_path: Path) -> None:
    workspace = begun(tmp_path)
    signed = workspace.open()
    text = workspace.signed.read_text(encoding="utf-8")
    workspace.signed.write_text(text.replace("How?", "Why?"), encoding="utf-8")
    for words in (("open",), ("status",), ("serve", "issuer"), ("results",)):
        code, output = run(*words, str(tmp_path))
        assert code == 2
        assert "was changed after it was signed" in output
        assert "sign it again" not in output, "which nobody could do with that file"
    workspace.signed.write_text(text, encoding="utf-8")
    assert workspace.open() == signed


def test_a_slip_of_the_pen_in_a_draft_gets_the_nearest_key(tmp_path: Path) -> None:
    workspace = begun(tmp_path)
    draft = documents.parsed(workspace.draft.read_bytes())
    limits = {"report_per_day": 1, "lifetime_epsilon": 8}
    edited(workspace, limits=limits, Transport="direct", publishing=draft["publishing"] | {"zzz": 1})
    problems = workspace.checked()
    assert "limits.report_per_day: is not known. Did you mean reports_per_day?" in problems
    assert "Transport: is not known. Did you mean transport?" in problems
    assert "publishing.zzz: is not known. Known are: every_hours, smallest_batch" in problems
    for word in ("quote", "open"):
        assert "Did you mean reports_per_day?" in run(word, str(tmp_path))[1]
    assert not list(tmp_path.glob("*/*.key")), "no key is made for a draft that cannot be opened"


def test_a_draft_that_is_wrong_says_what_to_do_about_it(tmp_path: Path) -> None:
    strings = StringProtocol(threshold=20, length=32, randomness="issuer")
    workspace = begun(tmp_path / "my club", answers=(), strings=strings)
    draft = documents.parsed(workspace.draft.read_bytes())
    dummies = {"epsilon": 1, "delta": "0.000001", "crowds_up_to": 20}
    edited(workspace, crowd=draft["crowd"] | {"dummies": dummies})
    code, output = run("quote", str(workspace.folder))
    assert code == 2
    assert "Write 21 or more. Correct it, then: lapwing collect check '" in output
    assert "my club'" in output


def test_a_draft_that_lasts_longer_than_an_epoch_may_is_fine(tmp_path: Path) -> None:
    workspace = begun(tmp_path)
    edited(workspace, closes=(today() + timedelta(days=300)).isoformat())
    assert workspace.checked() == []
    assert len(workspace.open().epochs) == 7


def test_a_newcomer_sends_a_first_answer(tmp_path: Path) -> None:
    folder = tmp_path / "commute"
    with working(folder) as parties:
        assert f"lapwing collect answer {folder} bus" in run("open", str(folder))[1]
        code, output = run("answer", str(folder), "bike", "--devices", "20")
        assert code == 0, output
        assert "20 reports were randomised here" in output
        assert run("answer", str(folder / "collection.yaml"), "bike")[0] == 0
        assert parties.settle() == 21
        assert "21 reports in 1 batch" in run("results", str(folder))[1]
        code, output = run("answer", str(folder), "tram")
        assert (code, parties.ingestor.totals["stored"]) == (2, 21)
        assert "Write one of: bus, bike, car." in output
        run("close", str(folder))
        code, output = run("answer", str(folder), "bus")
        assert code == 2
        assert "were refused by the ingestor: 1 of 1. Is the collection closed?" in output
    code, output = run("answer", str(folder), "bus")
    assert code == 2
    assert "issuer" in output
    assert "does not answer at" in output


def test_a_first_answer_may_need_a_code(tmp_path: Path) -> None:
    with working(tmp_path / "club", admission="codes") as parties:
        assert "--code CODE" in run("open", str(parties.folder))[1]
        assert "lapwing collect codes" in run("answer", str(parties.folder), "bus")[1]
        assert "a code that it knows" in run("answer", str(parties.folder), "bus", "--code", "x")[1]
        assert "is not a code" in run("answer", str(parties.folder), "bus", "--code", "x y\r\nz")[1]
        assert parties.ingestor.totals["stored"] == 0
        [code] = parties.issuer.new_codes(1)
        used, output = run("answer", str(parties.folder), "bus", "--code", code)
        assert used == 0
        assert "took 1 of the 47 tokens" in output
        assert parties.ingestor.totals["stored"] == 1
        assert "took 2 of" in run("answer", str(parties.folder), "bus", "--devices", "2", "--code", code)[1], (
            "as it says"
        )
        person = Participant(tmp_path / "device")
        person.opt_in(parties.collection, code=code)
        person.record("bus")
        person.tick()
        assert person.status().tokens == 0, "a device asks for all of them, of which three are gone"


def test_only_the_machine_of_the_issuer_makes_codes(tmp_path: Path) -> None:
    workspace = begun(tmp_path / "club", admission="codes")
    workspace.open()
    code, output = run("codes", str(tmp_path / "club"), "3")
    assert (code, len(output.split())) == (0, 3)
    (tmp_path / "copy").mkdir()
    shutil.copy(workspace.signed, tmp_path / "copy")
    code, output = run("codes", str(tmp_path / "copy"), "3")
    assert code == 2
    assert "Run this on the machine of the issuer" in output
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["collection.yaml"], "nothing was made"


def test_a_full_batch_that_waits_for_its_time_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "commute"
    with working(folder) as parties:
        output = run("answer", str(folder), "bike", "--devices", "20")[1]
        assert "Estimates appear when a batch has 20 reports." in output
        assert "Even a full batch waits until one hour after the last one (every_hours: 1)." in output
        assert "a full batch waits" not in run("status", str(folder))[1]
        parties.clock[0] = parties.clock[0].replace(hour=12, minute=34, second=56)
        parties.settle()
        run("answer", str(folder), "bike", "--devices", "20")
        parties.settle()
        output = run("status", str(folder))[1]
        assert "counted: 40" in output
        assert f"; a full batch waits until {parties.clock[0]:%-d %B %Y}, 14:00 UTC at most" in output, "no second"
        parties.clock[0] = parties.clock[0].replace(hour=14, minute=0, second=0)
        assert "a full batch waits" not in run("status", str(folder))[1]


def test_a_device_speaks_to_issuer_and_ingestor_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, asked = tmp_path / "commute", list[str]()
    with working(folder) as parties:
        party_at = {urlsplit(server.address).port: party for party, server in parties.collection.servers.items()}

        def connect(connection: HTTPConnection) -> None:
            asked.append(party_at[connection.port])
            usual(connection)

        usual = HTTPConnection.connect
        monkeypatch.setattr(HTTPConnection, "connect", connect)
        assert run("answer", str(folder), "bike")[0] == 0
    assert set(asked) == set(FOR_DEVICES)


def test_a_closed_collection_says_so_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / "commute"
    with working(folder) as parties:
        publish(parties, 1)
        shutil.copytree(folder, tmp_path / "elsewhere", ignore=lambda *_: ["ingestor", "analyzer", CLOSED])
        for place in (folder, tmp_path / "elsewhere"):
            assert "losed since" not in run("status", str(place))[1] + run("results", str(place))[1]
        since = Workspace(folder).close()
        assert Workspace(folder).close() == since, "it was closed once"
        for place in (folder, tmp_path / "elsewhere"):
            for word in ("status", "results"):
                output = run(word, str(place))[1]
                assert f"Closed since {since:%-d %B %Y, %H:%M} UTC: no more reports are taken." in output
        assert "closed, " in run("status", str(folder))[1]
    assert "Closed since" in run("status", str(folder))[1], "also while the ingestor is down"
    (folder / CLOSED).write_text(f"{parties.collection.id}\n", encoding="ascii")  # as it was written once
    assert Workspace(folder).closed() is not None
    (folder / CLOSED).write_text(f"{parties.collection.id}\nyesterday\n", encoding="ascii")
    assert Workspace(folder).closed() is not None, "closed it is"


def test_results_say_that_devices_had_nothing_left_to_say(tmp_path: Path) -> None:
    opens = today() - timedelta(days=9)
    with working(tmp_path / "commute", opens=opens.isoformat()) as parties:
        publish(parties, 1)
        output = run("results", str(tmp_path / "commute"))[1]
        assert "pays for answers of 8 days" in output
        assert "are too small" in output
        assert exports.outlasted(parties.collection, opens + timedelta(days=7)) == ""
        assert exports.outlasted(parties.collection, opens + timedelta(days=8)) != ""


@pytest.mark.parametrize(
    ("protocol", "good", "bad"),
    [
        (
            {"protocol": "UnaryEncoding", "epsilon": 1, "domain": ["bus", "bike"]},
            ["bus"],
            ["Bus", "", 1, None, [], "x"],
        ),
        ({"protocol": "UnaryEncoding", "epsilon": 1, "domain": 5}, [0, 4, 4.0], [5, -1, "4", 0.5]),
        ({"protocol": "BinaryResponse", "epsilon": 1}, [True, False], ["yes", 2, None]),
        ({"protocol": "StochasticRounding", "epsilon": 2, "bounds": [0, 24]}, [8, 8.5, 99], ["8", None, float("nan")]),
    ],
)
def test_a_collection_knows_which_answers_it_can_count(
    tmp_path: Path, protocol: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    collection = begun(tmp_path, protocol=protocol, limits={"reports_per_day": 1, "lifetime_epsilon": 8}).open()
    assert all(countable(collection, answer) for answer in good)
    assert not any(countable(collection, answer) for answer in bad)
    for answer in good:
        words = {True: "yes", False: "No"}.get(answer, str(answer)) if isinstance(answer, bool) else str(answer)
        assert spoken(collection, words.removesuffix(".0")) == answer
    with pytest.raises(InvalidParameter, match="can count"):
        spoken(collection, "a word that is no answer")
