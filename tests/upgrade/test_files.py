"""What was stored or sent by an earlier version opens, and holds what it held."""

from __future__ import annotations

import json
import lzma
import pickle
import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import frozen
import numpy as np
import pytest
from frozen import FILES

import lapwing as lw
import lapwing.crowd as crowd
from lapwing.crowd import Counts, Reports
from lapwing.curator import Answer
from lapwing.errors import InvalidParameter


@pytest.fixture(autouse=True)
def _old_words() -> Iterator[None]:
    """Old ways to write something may warn; what they made must open all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of all files, unpacked."""
    for place in FILES.iterdir():
        packed = place.name.endswith(".db.xz")
        content = lzma.decompress(place.read_bytes()) if packed else place.read_bytes()
        (tmp_path / place.name.removesuffix(".xz" if packed else "")).write_bytes(content)
    (tmp_path / "memo.key").chmod(0o600)
    (tmp_path / "visits.csv").write_text(frozen.CSV, encoding="utf-8")
    (tmp_path / "areas.csv").write_text(frozen.AREAS_CSV, encoding="utf-8")
    return tmp_path


def stored(name: str) -> Any:
    return json.loads((FILES / name).read_text(encoding="utf-8"))


def table(folder: Path, **more: Any) -> Any:
    return eval(frozen.OPENED, {"lw": lw, "folder": folder, "more": more})


@pytest.mark.parametrize("name", frozen.PROTOCOLS)
def test_reports_and_counts_of_every_protocol_open(name: str) -> None:
    record = stored("crowd.json")[name]
    protocol = eval(frozen.PROTOCOLS[name][0], {**vars(crowd), **{n: getattr(crowd, n) for n in crowd.__all__}})
    assert protocol.fingerprint.hex() == record["fingerprint"]
    assert json.loads(json.dumps(protocol.parameters())) == record["parameters"]
    assert protocol.privacy_loss().epsilon <= Fraction(record["loss"])
    reports = Reports.from_bytes(protocol, bytes.fromhex(record["reports"]))
    assert reports.n == record["n"]
    assert reports.to_bytes().hex() == record["reports"]
    counts = Counts.from_bytes(protocol, lzma.decompress(bytes.fromhex(record["counts"])))
    assert counts == protocol.absorb(None, reports)


def test_devices_go_on_where_they_were(folder: Path) -> None:
    told = stored("devices.json")
    known = {**{n: getattr(crowd, n) for n in crowd.__all__}, "folder": folder, "PureDP": lw.PureDP}
    known["timedelta"] = timedelta
    device = eval(frozen.DEVICE, known)
    assert device.opted_in
    assert str(device.remaining("emoji").epsilon) == told["device remaining"]
    lifetime, poll = eval(frozen.LIFETIME, known), eval(frozen.POLL, known)
    assert str(lifetime.remaining().epsilon) == told["lifetime remaining"]
    again = [lifetime.report("to work", "car", poll, period=week).hex() for week in (1, 2)]
    assert again == told["lifetime sent"]
    memo = eval(frozen.MEMO, known)
    assert memo.cohort == told["memo cohort"]
    assert memo.permanent("bike").tolist() == told["memo permanent"]


def test_answers_know_the_charges_that_an_earlier_version_made_for_them(folder: Path) -> None:
    """It named a charge by the hash of its entry; now charges have random ids."""
    for place in ("pure.db", "approximate.db", "concentrated.db", "units.db"):
        ledger = lw.Ledger(folder / place)
        charges = [entry for entry in ledger.entries() if entry.act == "charge"]
        assert charges
        for charge in charges:
            [dataset, *_] = charge.body["costs"]
            assert ledger.accounts(dataset, charge=charge.number, entry=charge.hash[:16])
            with pytest.raises(InvalidParameter, match="no charge to the data set"):
                ledger.accounts(dataset, charge=charge.number, entry="0" * 16)


@pytest.mark.parametrize("name", frozen.QUESTIONS)
def test_saved_questions_are_the_same_questions(folder: Path, name: str) -> None:
    record, visits = stored("questions.json")[name], table(folder)
    areas = eval(frozen.AREAS, {"lw": lw, "folder": folder})
    asked = eval(frozen.QUESTIONS[name], {"lw": lw, "table": visits, "areas": areas})
    for saved in (
        lw.Query.from_yaml(record["yaml"], visits, {"areas": areas}),
        lw.Query.from_json(record["json"], visits, {"areas": areas}),
    ):
        assert saved.to_json() == record["json"]
        assert saved.digest() == asked.digest()
        answer = saved.release(epsilon=2, entropy=lw.noise.Reproducible(1))
        before = Answer.from_json(record["answer"])
        assert [column.values for column in answer.columns] == [column.values for column in before.columns]
        assert answer.loss == before.loss


def test_questions_that_were_asked_with_a_key_are_recognised(folder: Path) -> None:
    """A ledger binds a key to the digest of its question: with another digest nobody could ask for the answer again."""
    visits, areas = table(folder), eval(frozen.AREAS, {"lw": lw, "folder": folder})
    known = {"lw": lw, "table": visits, "areas": areas}
    digests = {name: eval(asked, known).digest() for name, asked in frozen.QUESTIONS.items()}
    before = {name: record["digest"] for name, record in stored("questions.json").items()}
    assert [name for name in digests if digests[name] != before[name]] == []


@pytest.mark.parametrize("name", frozen.QUESTIONS)
def test_saved_answers_are_read_to_the_last_bit(name: str) -> None:
    text = stored("questions.json")[name]["answer"]
    assert Answer.from_json(text).to_json() == text


@pytest.mark.parametrize("kind", frozen.LOSSES)
def test_ledgers_of_every_kind_open_and_go_on(folder: Path, kind: str) -> None:
    told = stored("ledgers.json")[kind]
    book = lw.Ledger(folder / f"{kind}.db", anchor=folder / f"{kind}.anchor", create=False)
    assert [entry.act for entry in book.entries()] == told["entries"]
    assert str(book.spent("visits")) == told["spent"]
    assert str(book.remaining("visits")) == told["remaining"]
    assert book.rules("visits").failures == 3
    allowance, spend = frozen.LOSSES[kind]
    visits = table(folder, ledger=book, allowance=eval(allowance, {"lw": lw}))
    query = eval(frozen.QUESTIONS[frozen.KEYED], {"lw": lw, "table": visits})
    repeated = eval(f"query.release({spend}, key='first')", {"query": query})
    assert repeated.to_json() == told["answer"]
    assert str(book.spent("visits")) == told["spent"], "the same question under the same key costs nothing"
    eval(f"query.release({spend})", {"query": query})
    assert str(book.spent("visits")) != told["spent"]
    book.verify()


def test_a_ledger_with_several_units_and_a_failure_opens(folder: Path) -> None:
    told = stored("ledgers.json")["units"]
    book = lw.Ledger(folder / "units.db", create=False)
    assert [entry.act for entry in book.entries()] == told["entries"]
    assert str(book.spent("visits", "household")) == told["spent"]
    assert book.analysts("visits", "patient") == ["ada"]
    assert len(book.failures("visits")) == 1


def test_a_described_data_set_opens(folder: Path) -> None:
    visits = lw.open_described(folder / "visits.yaml")
    assert visits.remaining() == lw.PureDP(1, unit="patient")
    assert len(visits.group_by("region").agg(lw.count()).release(epsilon=1).columns[0].values) == 2


def test_saved_models_say_what_they_said() -> None:
    record = pickle.loads(lzma.decompress((FILES / "models.pickle.xz").read_bytes()))
    assert len(record) > 15
    for name, (pickled, rows, before) in record.items():
        model = pickle.loads(pickled)
        said = model.predict(rows) if hasattr(model, "predict") else None
        if said is None:
            said = model.transform(rows) if hasattr(model, "transform") else model.covariance_
        assert np.allclose(said, before), name


@pytest.mark.parametrize("name", ["stream_windows", "stream_people"])
def test_streams_go_on_where_they_were(folder: Path, name: str) -> None:
    told = stored("streams.json")[name]
    place, anchor = folder / f"{name}.db", folder / f"{name}.anchor"
    place.chmod(0o600)
    stream = lw.open_stream(place, anchor=anchor, clock=lambda: datetime(2030, 1, 1))
    assert (stream.definition.digest(), str(stream.loss), stream.closed) == (
        told["digest"],
        told["loss"],
        told["closed"],
    )
    assert [item.family for item in stream.items] == told["families"]
    assert [json.loads(stream.at(step).to_json())["columns"] for step in (1, 2)] == told["answers"]
    stream.observe([{"patient": 7, "region": "N", "at": datetime(2026, 2, 28)}])
    assert stream.closed == told["closed"] + 1
    arrays = {"patient": np.array([], dtype=np.int64), "region": np.array([], dtype=object)}
    table = lw.open(
        {**arrays, "at": np.array([], dtype="datetime64[us]")},
        unit="patient",
        keys={"region": ["N", "S"]},
        name="visits",
    )
    named = {"consecutive_steps": 3} if name == "stream_windows" else {"active_steps": 2}
    again = table.stream(lw.count(), by="region", every="day", steps=6, start="2026-02-26", time="at", **named)
    assert again.open(place, epsilon=1, anchor=anchor).closed == stream.closed
