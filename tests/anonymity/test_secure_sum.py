"""The secure sum: true totals, views that say nothing, and failures that are noticed, in one process and in many."""

from __future__ import annotations

import json
import socket
import subprocess
from fractions import Fraction

import numpy as np
import pytest
import typer
from cases import together
from scipy.stats import chi2, norm
from typer.testing import CliRunner

from lapwing import processes
from lapwing.anonymity import parties
from lapwing.anonymity.parties import run_apart
from lapwing.anonymity.secure_sum import ProtocolFailed, SecureSum
from lapwing.cli import commands
from lapwing.cli import secure_sum as command
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
COMPANIES = ("ABC", "Beta", "Gamma")
STUDY = SecureSum(cells=("women", "men"), companies=COMPANIES)
TABLES = {"ABC": {"women": 40, "men": 60}, "Beta": {"women": 7, "men": 9}, "Gamma": {"women": 0, "men": -5}}
TOTALS = {"women": 47, "men": 64}


def test_the_totals_are_exact() -> None:
    assert STUDY.run(TABLES).totals == TOTALS
    assert SecureSum(cells=STUDY.cells, companies=COMPANIES, servers=5, threshold=3).run(TABLES).totals == TOTALS


def views(amount: int, draws: int, server: int, seed: int) -> np.ndarray:
    """What a server sees of a company whose number is `amount`, many times."""
    study, entropy = SecureSum(cells=["pay"], companies=COMPANIES), Reproducible(seed)
    return np.array([study.split({"pay": amount}, entropy)[server][0] for _ in range(draws)])


@pytest.mark.parametrize("server", [0, 1], ids=["server A", "server B"])
@pytest.mark.parametrize("amount", [0, 10**12], ids=["nothing", "a fortune"])
def test_what_a_server_sees_is_uniform_whatever_the_data(server: int, amount: int) -> None:
    bins, draws = 64, 12_800
    seen = views(amount, draws, server, seed=1)
    for part in (seen // ((STUDY.prime + bins) // bins), seen % bins):  # the leading bits, and the last ones
        counts = np.bincount(part.astype(np.int64), minlength=bins)
        statistic = float(((counts - draws / bins) ** 2 / (draws / bins)).sum())
        assert statistic < chi2.ppf(1 - FALSE_ALARM, bins - 1)


def test_the_uniformity_test_would_see_a_mask_that_is_too_short() -> None:
    entropy = Reproducible(1)
    short = np.array([entropy.bits(32) + 10**9 for _ in range(1000)])
    counts = np.bincount((short // ((STUDY.prime + 64) // 64)).astype(np.int64), minlength=64)
    assert ((counts - 1000 / 64) ** 2 / (1000 / 64)).sum() > chi2.ppf(1 - FALSE_ALARM, 63)


def test_both_servers_together_see_everything() -> None:
    seen = STUDY.run(TABLES).seen
    together = sum(seen[server]["ABC"][0] for server in ("server A", "server B"))
    assert together % STUDY.prime == TABLES["ABC"]["women"]


def test_a_missing_company_stops_the_sum() -> None:
    with pytest.raises(ProtocolFailed, match="Gamma: did not send"):
        STUDY.run({name: TABLES[name] for name in ("ABC", "Beta")})


@together("wrong", [[1], "ab", [1, 2.5], [1, -1], [1, 2**61], [1, True], None])
def test_what_is_no_row_of_the_field_stops_the_sum(wrong: object) -> None:
    with pytest.raises(ProtocolFailed, match="Beta: sent something"):
        STUDY.add_up({"ABC": [1, 2], "Beta": wrong, "Gamma": [1, 2]})  # type: ignore[dict-item]


@together(
    ("wrong", "why"),
    [
        ({"companies": ["ABC", "Beta"]}, "at least 3"),
        ({"companies": ["ABC", "Beta", "Beta"]}, "different names"),
        ({"cells": []}, "at least 1"),
        ({"servers": 1}, "at least 2"),
        ({"largest": 2**60 - 1}, "might not fit"),
        ({"epsilon": 1}, "name every cell"),
        ({"epsilon": 1, "sensitivity": {"women": 1, "men": 0}}, "at least 1"),
        ({"epsilon": 1, "sensitivity": {"women": 1, "men": 1}, "threshold": 2}, "cannot add noise"),
        ({"epsilon": -1, "sensitivity": {"women": 1, "men": 1}}, "greater than 0"),
    ],
)
def test_studies_that_cannot_work_are_refused(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        SecureSum(**{"cells": ["women", "men"], "companies": COMPANIES, **wrong})  # type: ignore[arg-type]


def test_each_server_adds_noise_for_the_whole_epsilon() -> None:
    study = SecureSum(
        cells=("women", "men"),
        companies=COMPANIES,
        epsilon=Fraction(1, 2),
        sensitivity={"women": 3, "men": 5},
        cells_per_person=2,
    )
    entropy, rounds = Reproducible(2), 2000
    errors = np.array([list(study.run(TABLES, entropy).totals.values()) for _ in range(rounds)])
    errors -= np.array(list(TOTALS.values()))
    for column, scale in zip(errors.T, (12, 20), strict=True):  # sensitivity·cells/epsilon
        variance = 2 * 2 * scale**2  # of a Laplace of that scale, from each of two servers
        off = norm.isf(FALSE_ALARM / 4) * np.sqrt(3.5 / rounds)  # the kurtosis of the sum of two Laplaces is 4.5
        assert abs((column**2).mean() / variance - 1) < off


# Separate processes ---------------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """The processes that were started, to see that all of them have ended."""
    found: list[subprocess.Popen[str]] = []

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **named: object) -> None:
            super().__init__(*args, **named)  # type: ignore[call-overload]
            found.append(self)

    monkeypatch.setattr(processes.subprocess, "Popen", Watched)
    return found


def ended(processes: list[subprocess.Popen[str]]) -> bool:
    return all(process.returncode is not None for process in processes)


def test_separate_processes_find_the_same_totals(started: list[subprocess.Popen[str]]) -> None:
    told: list[str] = []
    outcome = run_apart(STUDY, TABLES, heard=lambda name, did: told.append(name))
    assert outcome.totals == TOTALS
    assert len(started) == 3 + 2 + 1
    assert len({process.pid for process in started}) == 6
    assert ended(started)
    assert set(outcome.seen) == {"server A", "server B", "analyst"}
    assert {"server A", "server B", "analyst"} <= set(told)
    for server in ("server A", "server B"):
        assert set(outcome.seen[server]) == set(COMPANIES)
        plain = {value for table in TABLES.values() for value in table.values()}
        assert not plain & {value for values in outcome.seen[server].values() for value in values}


def test_with_a_threshold_a_silent_server_does_no_harm(started: list[subprocess.Popen[str]]) -> None:
    study = SecureSum(cells=STUDY.cells, companies=COMPANIES, servers=3, threshold=2)
    assert run_apart(study, TABLES, faults={"server B": "silent"}).totals == TOTALS
    assert ended(started)


@pytest.mark.parametrize(
    ("who", "fault", "why"),
    [
        ("Beta", "silent", "Beta.*: did not send its numbers"),
        ("Beta", "garbled", "Beta: sent something else than 2 numbers"),
        ("server B", "garbled", "server B: sent something else than 2 numbers"),
    ],
)
def test_a_party_that_misbehaves_is_named_and_everything_ends(
    started: list[subprocess.Popen[str]], who: str, fault: str, why: str
) -> None:
    with pytest.raises(ProtocolFailed, match=why):
        run_apart(STUDY, TABLES, timeout=2.5 if fault == "silent" else 30, faults={who: fault})
    assert len(started) >= 3
    assert ended(started)


def test_a_party_ends_when_whoever_started_it_is_gone() -> None:
    job = {"role": "server", "number": 1, "name": "server A", "word": "word", "seconds": 250, "fault": None}
    command = processes.Crew(parties.ENTRY).command
    job |= {"senders": list(COMPANIES), "to": 1, "study": parties._written(STUDY)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        assert "port" in json.loads(process.stdout.readline())
        assert process.poll() is None  # it waits for companies, for minutes if it must
        process.stdin.close()  # as the system does for a process that was killed
        assert process.wait(timeout=100) == 1


def test_time_that_is_too_short_is_an_error_and_not_a_hang(started: list[subprocess.Popen[str]]) -> None:
    with pytest.raises(ProtocolFailed):
        run_apart(STUDY, TABLES, timeout=1e-6)
    assert ended(started)


def test_a_table_that_is_wrong_stops_the_run_without_saying_its_numbers(started: list[subprocess.Popen[str]]) -> None:
    with pytest.raises(ProtocolFailed, match="Beta: secret") as failure:
        run_apart(STUDY, TABLES | {"Beta": {"women": 10**13, "men": 1}})
    assert str(10**13) not in str(failure.value)
    assert ended(started)


def test_strangers_and_doubled_messages_are_dealt_with() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def say(line: bytes) -> None:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as out:
                out.sendall(line)

        server = parties._Party("server A", "word", parties.time.monotonic() + 20, None)
        say(b"GET / HTTP/1.1\r\n\r\n")
        say(json.dumps({"word": "guess", "from": "Beta", "values": [9]}).encode() + b"\n")
        say(b"")
        say(json.dumps({"word": "word", "from": "Beta", "values": [1]}).encode() + b"\n")
        assert server.receive(listener, ["Beta"], 1) == {"Beta": [1]}
        for _ in range(2):
            say(json.dumps({"word": "word", "from": "Beta", "values": [1]}).encode() + b"\n")
        with pytest.raises(ProtocolFailed, match="twice"):
            server.receive(listener, ["Beta", "ABC"], 2)
        say(json.dumps({"word": "word", "from": "Mallory", "values": [1]}).encode() + b"\n")
        with pytest.raises(ProtocolFailed, match="does not take part"):
            server.receive(listener, ["Beta"], 1)


def test_unknown_faults_and_missing_tables_are_refused_before_anything_starts(
    started: list[subprocess.Popen[str]],
) -> None:
    with pytest.raises(InvalidParameter, match="silent, garbled"):
        run_apart(STUDY, TABLES, faults={"Beta": "asleep"})
    with pytest.raises(InvalidParameter, match="one per company"):
        run_apart(STUDY, {"ABC": TABLES["ABC"]})
    assert not started


# The command ----------------------------------------------------------------------------------------------------------


def test_the_story_ends_with_the_gap_of_the_study() -> None:
    study = command.study_of(companies=12)
    tables = command.payrolls(study, Reproducible(5))
    totals = study.run(tables).totals
    assert totals == {cell: sum(table[cell] for table in tables.values()) for cell in study.cells}
    assert 76 < command.cents(totals) < 78
    people = [cell for cell in study.cells if cell.startswith("people")]
    assert all(totals[cell] * command.LARGEST_WAGE > totals[cell.replace("people", "pay")] for cell in people)


def told(*arguments: str) -> tuple[int, str]:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(commands.secure_sum)
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})
    return result.exit_code, result.output


def test_the_command_shows_who_saw_what() -> None:
    code, text = told("--companies", "3")
    assert code == 0, text
    for words in ("server A", "server B", "company 3", "cents per dollar", "exact, to the dollar", "subtract"):
        assert words in text
    code, text = told("--companies", "3", "--epsilon", "1")
    assert code == 0, text
    assert "private with ε = 1" in text


def test_the_command_says_what_is_wrong() -> None:
    code, text = told("--companies", "2")
    assert (code, "subtract its own" in text) == (2, True)
    code, text = told("--servers", "1")
    assert (code, "servers = 1" in text) == (2, True)
    code, text = told("--silent", "compny 2")
    assert (code, "does not take part" in text) == (2, True)
    code, text = told("--companies", "3", "--silent", "company 2", "--timeout", "2")
    assert (code, "company 2" in text) == (2, True)


def test_more_companies_than_a_laptop_starts_are_refused_at_once() -> None:
    with pytest.raises(InvalidParameter, match="--companies 100"):
        command.study_of(companies=1000)


def test_a_threshold_that_is_too_small_is_told_one_that_works() -> None:
    with pytest.raises(InvalidParameter, match="threshold=3"):
        command.study_of(companies=3, servers=3, threshold=0)
