"""A server that is killed at any message, or around anything that it writes down.

Afterwards the same key gets the stored release from both servers, or is burnt; there is one answer for one charge; both
ledgers were charged before anything was opened; and no product was used twice.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from two_servers import (
    BOUND,
    NAMES,
    PRODUCT,
    ROWS,
    Mortal,
    Servers,
    assert_products_were_used_once,
    made,
    make_mortal,
    two_servers,
)

from lapwing.errors import LapwingError
from lapwing.pair import workspace
from lapwing.pair.client import Client
from lapwing.pair.deployment import Deployment
from lapwing.processes import Crew

BURNT = "begun before and did not end"
PARTS = 6
UPLOADED = 2
"""Steps of the upload, which come before the question."""


def steps_of(folder: Path) -> dict[str, list[str]]:
    """What each server does in a question that nobody disturbs."""
    with two_servers(folder, mortal=True, patience=20) as servers:
        servers.client.ask(PRODUCT, "k")
        return {name: list(server.history) for name, server in servers.running.items() if isinstance(server, Mortal)}


def ask(servers: Servers, key: str) -> Any:
    """The numbers, or the sentence that says why not."""
    try:
        return servers.client.ask(PRODUCT, key).numbers
    except LapwingError as error:
        return str(error)


def settled(servers: Servers, key: str) -> Any:
    """The numbers, or that the question is burnt: whoever is asked again says one of these in the end."""
    for _ in range(5):
        answer = ask(servers, key)
        if not isinstance(answer, str) or BURNT in answer:
            return answer
    raise AssertionError(answer)


def survive(folder: Path, victim: str, fatal: int) -> str:
    """Kill one server at one step of a question, start it again, ask again, and ask something new."""
    with two_servers(folder, mortal=True, patience=3) as servers:
        mortal = servers.running[victim]
        assert isinstance(mortal, Mortal)
        mortal.fatal = fatal
        first = ask(servers, "k")
        assert mortal.dead
        for name in {run.server for run in servers.runs} and NAMES:
            assert servers.spent(name) == 1, "something was opened before both were charged"
        servers.stop(victim)
        servers.start(victim)
        second = settled(servers, "k")
        assert settled(servers, "k") == second, "for ever"
        assert isinstance(first, str) or first == second
        by_server = [run.server for run in servers.runs]
        assert max(by_server.count(name) for name in NAMES) <= 1, "one charge, and opened twice"
        assert not isinstance(settled(servers, "new"), str)
        assert_products_were_used_once(servers.runs)
        used = [servers.store(name).used() for name in NAMES]
        assert used == [BOUND + BOUND] * 2
        assert [servers.spent(name) for name in NAMES] == [2, 2]
        assert [numbers["rows"] for numbers in servers.client.status().values()] == [len(ROWS)] * 2
        return "burnt" if isinstance(second, str) else "answered"


CASES = [
    (NAMES[0], "after begin", "burnt"),
    (NAMES[0], "before record", "answered"),
    (NAMES[1], "after prepare", "answered"),
    (NAMES[1], "after begin", "burnt"),
]


def test_a_server_that_is_killed_around_what_it_writes_down_burns_a_key_or_keeps_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_mortal(monkeypatch)
    history = steps_of(tmp_path / "whole")
    for number, (victim, moment, fate) in enumerate(CASES):
        assert survive(tmp_path / str(number), victim, history[victim].index(moment) + 1) == fate, (victim, moment)


@pytest.mark.parametrize("victim", NAMES)
def test_a_server_that_is_killed_before_it_acknowledges_an_upload_gets_it_again(
    tmp_path: Path, victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_mortal(monkeypatch)
    with two_servers(tmp_path / "p", rows=(), mortal=True) as servers:
        mortal = servers.running[victim]
        assert isinstance(mortal, Mortal)
        mortal.fatal = UPLOADED
        with pytest.raises(LapwingError, match="Start it: lapwing pair serve"):
            servers.upload(ROWS)
        servers.stop(victim)
        servers.start(victim)
        servers.upload(ROWS)
        assert servers.first.take_in() == len(ROWS)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("victim", NAMES)
def test_a_server_that_is_killed_at_any_step_burns_a_key_or_keeps_its_answer(
    tmp_path: Path, victim: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_mortal(monkeypatch)
    history = steps_of(tmp_path / "whole")[victim]
    steps = range(UPLOADED + 1 + part, len(history) + 1, PARTS)
    fates = {step: survive(tmp_path / str(step), victim, step) for step in steps}
    begun, kept = history.index("after begin") + 1, history.index("after record") + 1
    assert all(fate == "answered" for step, fate in fates.items() if step < begun - 2 or step >= kept), fates
    assert "burnt" in fates.values()


def start(crew: Crew, folder: Path, name: str) -> None:
    crew.start(name, {"folder": str(folder), "server": name, "patience": 5})
    crew.fact(name, "address", time.monotonic() + 60)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("victim", "fatal", "fate"),
    [(NAMES[0], 16, "burnt"), (NAMES[1], 4, "answered")],
)
def test_a_process_that_is_killed_while_it_computes_starts_again(
    tmp_path: Path, victim: str, fatal: int, fate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two real processes, and SIGKILL: in the middle of a run, and of the intake before it."""
    folder = made(tmp_path / "p")
    deployment = Deployment.read(folder)
    client = Client(deployment, folder / "analyst.pem", 60)
    support = str(Path(__file__).resolve().parents[1] / "support")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([support, *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("LAPWING_TEST_FATAL", str(fatal))
    with closing(Crew("mortal_party:party")) as mortals, closing(Crew("lapwing.pair.child:party")) as crew:
        for name in NAMES:
            start(mortals if name == victim else crew, folder, name)
        client.upload_all(zip(workspace.codes_in(folder), ROWS, strict=False))
        with pytest.raises(LapwingError):
            client.ask(PRODUCT, "k")
        assert mortals.processes[victim].wait(60) == -signal.SIGKILL
        start(crew, folder, victim)
        if fate == "burnt":
            with pytest.raises(LapwingError, match=BURNT):
                client.ask(PRODUCT, "k")
        else:
            assert client.ask(PRODUCT, "k").numbers == client.ask(PRODUCT, "k").numbers
        client.ask(PRODUCT, "new")
        for status in client.status().values():
            assert (status["rows"], status["epsilon"], status["products"]["a"]) == (len(ROWS), "1/1", 14)
