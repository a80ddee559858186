"""A sum that holds noise from a seed promises nothing, and says so wherever the ledger is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lapwing as lw
from lapwing.cli.ledger import app
from lapwing.curator import PrivateTable
from lapwing.datasets import clinic_csv
from lapwing.errors import IncompatibleLosses, InvalidParameter
from lapwing.models import Account, StandardScaler
from lapwing.noise import Reproducible
from lapwing.privacy import PureDP, Trust
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.quotes import risk

TOPS = lw.Tops(epsilon=1, bound=600, steps=40, first=2)


def clinic(ledger: Ledger, name: str = "clinic") -> PrivateTable:
    allowance = PureDP(9, unit="patient")
    rows = clinic_csv()
    keys, types = {"region": ["North", "South"]}, {"age": "integer"}
    return lw.open(rows, unit="patient", keys=keys, types=types, ledger=ledger, dataset=name, allowance=allowance)


def words(path: Path) -> str:
    shown = CliRunner().invoke(app, ["show", str(path)], env={"COLUMNS": "300"})
    assert shown.exit_code == 0
    return shown.output


def test_a_sum_with_noise_from_a_seed_says_so_for_good_and_is_not_explained(ledger: Ledger, place: str) -> None:
    ledger.open("others", PureDP(1))
    ledger.charge(["people", "others"], PureDP(0.25))
    ledger.charge("people", PureDP(0.25), seeded=True)
    ledger.charge("people", PureDP(0.25))
    again = Ledger(place)
    again.verify()
    [account] = again.accounts("people")
    explained: list[Callable[[Any], object]] = [risk, lw.explain, lambda loss: (2 * loss).to_replace().explain()]
    for spent in (again.spent("people"), account.spent, again.history("people")[-1].total):
        assert str(spent) == "ε = 0.75 (add_remove, per person, NOT PRIVATE: noise from a seed)"
        for explain in explained:
            with pytest.raises(InvalidParameter, match="came from a seed, so nothing can be promised"):
                explain(spent)
        with pytest.raises(IncompatibleLosses, match="the second promises more"):
            _ = spent <= PureDP(1)
    assert ["NOT PRIVATE" in str(past.loss) for past in account.charges] == [False, True, False]
    assert ["NOT PRIVATE" in str(past.total) for past in account.charges] == [False, True, True]
    assert again.remaining("people") == account.remaining == PureDP(0.25)
    assert again.spent("others") == PureDP(0.25)


def test_what_an_analyst_spent_is_about_the_own_charges(ledger: Ledger) -> None:
    for analyst in ("ada", "bob"):
        ledger.open("people", PureDP(0.5), analyst=analyst)
        ledger.charge("people", PureDP(0.25), analyst=analyst, seeded=analyst == "bob")
    assert ledger.spent("people", analyst="ada") == PureDP(0.25)
    assert "NOT PRIVATE" in str(ledger.spent("people", analyst="bob"))
    assert "NOT PRIVATE" in str(ledger.spent("people"))


def test_a_seed_does_not_hide_against_whom_a_sum_holds(place: str) -> None:
    servers = Trust(towards="either server alone", not_towards="both together", behaviour="semi-honest")
    ledger = Ledger(place)
    ledger.open("people", PureDP(1, trust=servers))
    ledger.charge("people", PureDP(0.25, trust=servers), seeded=True)
    spent = ledger.spent("people")
    assert spent.trust is not None
    assert str(spent.trust).startswith("NOT PRIVATE")
    assert (spent + PureDP(1, trust=servers)).trust == spent.trust
    assert Trust.from_dict(json.loads(json.dumps(spent.trust.to_dict()))) == spent.trust


def test_a_charge_for_secret_noise_is_not_answered_with_noise_from_a_seed(ledger: Ledger) -> None:
    """Between the charge and the release the process may have ended; then the question is asked once more."""
    charge = ledger.charge("people", PureDP(0.25), key="smokers")
    with pytest.raises(InvalidParameter, match="was charged for noise that is not from a seed"):
        ledger.charge("people", PureDP(0.25), key="smokers", seeded=True)
    ledger.record(charge, b"42")
    assert ledger.charge("people", PureDP(0.25), key="smokers", seeded=True).stored == b"42"
    assert ledger.spent("people") == PureDP(0.25)
    for seeded in (True, False):
        ledger.charge("people", PureDP(0.25), key="drinkers", seeded=seeded)
    assert "NOT PRIVATE" in str(ledger.spent("people"))


def test_entries_for_secret_noise_do_not_mention_seeds(ledger: Ledger) -> None:
    ledger.charge("people", PureDP(0.25), key='"seeded": true')
    [body] = [entry.body for entry in ledger.entries() if entry.act == "charge"]
    assert "seeded" not in body
    assert ledger.spent("people") == PureDP(0.25)


def test_a_charge_is_known_by_a_random_id_and_not_by_the_chain_of_entries(ledger: Ledger, place: str) -> None:
    """The chain depends on times and on keys of others, which answers would commit to."""
    charge = ledger.charge("people", PureDP(0.25), key="smokers")
    assert re.fullmatch(r"[0-9a-f]{16}", charge.entry)
    assert not any(entry.hash.startswith(charge.entry) for entry in ledger.entries())
    again = Ledger(place)
    assert again.charge("people", PureDP(0.25), key="smokers").entry == charge.entry
    assert again.accounts("people", charge=charge.number, entry=charge.entry)
    with pytest.raises(InvalidParameter, match="no charge to the data set"):
        again.accounts("people", charge=charge.number, entry=ledger.entries()[-1].hash[:16])


def test_releases_streams_and_fits_tell_the_ledger_that_their_noise_comes_from_a_seed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    asked: dict[str, Callable[[PrivateTable], Any]] = {
        "answer": lambda table: table.agg(lw.count()).release,
        "marginals": lambda table: table.marginals([["region"]]).release,
        "distribution": lambda table: table.agg(lw.cdf("age", edges=range(0, 101, 20))).release,
        "stream": lambda table: (
            lambda **more: table.stream(lw.count(), every="step", steps=4, active_steps=1).open(
                tmp_path / "stream", **more
            )
        ),
    }
    for name, release in asked.items():
        release(clinic(ledger, name))(epsilon=1, entropy=Reproducible(7))
        assert "NOT PRIVATE" in str(ledger.spent(name))
    ledger.open("events", PureDP(9, unit="event"))
    lw.open_numeric_stream(tmp_path / "numbers", TOPS, ledger=ledger, dataset="events", entropy=Reproducible(7))
    assert "NOT PRIVATE" in str(ledger.spent("events"))
    for dataset, seed in (("fit", None), ("seeded fit", 7)):
        ledger.open(dataset, PureDP(9))
        scaler = StandardScaler(epsilon=1, bounds=[(0, 100)], account=Account(ledger, dataset), random_state=seed)
        scaler.fit([[20], [30], [40]])
        assert ("NOT PRIVATE" in str(ledger.spent(dataset))) == (seed is not None)
    assert words(path).count("NOT PRIVATE: noise from a seed") == 6


def test_a_statement_does_not_add_up_answers_with_noise_from_a_seed(ledger: Ledger) -> None:
    asked = clinic(ledger).agg(lw.count())
    answer = asked.release(epsilon=1)
    assert "so far together cost ε = 1" in answer.statement(ledger).to_markdown()
    asked.release(epsilon=1, entropy=Reproducible(b"published"))
    with pytest.raises(InvalidParameter, match="about all answers together"):
        answer.statement(ledger)
    assert "This answer costs ε = 1" in answer.statement().to_markdown()


def test_a_stream_that_was_charged_for_secret_noise_takes_none_from_a_seed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    stream = clinic(ledger).stream(lw.count(), every="step", steps=4, active_steps=1)
    visits = stream.open(tmp_path / "visits", epsilon=1)
    ledger.open("events", PureDP(9, unit="event"))
    delays = lw.open_numeric_stream(tmp_path / "delays", TOPS, ledger=ledger, dataset="events")
    observed: list[Callable[..., object]] = [
        lambda **more: visits.observe([{"patient": 1}], **more),
        lambda **more: delays.observe([5], **more),
    ]
    for observe in observed:
        with pytest.raises(InvalidParameter, match="the ledger was charged for a stream whose noise does not"):
            observe(entropy=Reproducible(7))
        assert "NOT PRIVATE" not in str(observe())
    assert (visits.closed, delays.closed) == (1, 1)
    assert "NOT PRIVATE" not in words(tmp_path / "ledger.db")
