"""Keys and ids of an epoch that is over are destroyed when all that was acknowledged was counted."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import NOON, Parties, fresh, handed_in, post, running, segment

from lapwing.collect import documents
from lapwing.collect.clock import GRACE, ON_THE_WAY, SURE_AFTER, Certainty, today
from lapwing.collect.keys import Key
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter


def noon_after(parties: Parties, *spans: timedelta) -> datetime:
    """At noon, so long after the last day of the first epoch."""
    return datetime.combine(parties.collection.epochs[0].end, NOON.timetz()) + sum(spans, timedelta())


def test_what_was_acknowledged_on_the_last_day_is_sealed_on_the_next(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        parties.clock[0] = noon_after(parties, GRACE)
        assert post(parties, fresh(parties)).status == 201
        parties.clock[0] = noon_after(parties, GRACE, timedelta(days=1))
        assert post(parties, fresh(parties)).status in (403, 410)
        parties.ingestor.intake.rotate(now=True)
        assert parties.sealer.seal() == 1


def test_ids_are_kept_until_everything_open_at_the_end_was_sealed(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        sealer, ids = parties.sealer, parties.sealer.folders.ids
        assert post(parties, fresh(parties)).status == 201
        parties.ingestor.intake.rotate(now=True)
        sealer.seal()
        repeated = fresh(parties)
        assert post(parties, repeated).status == 201
        assert post(parties, repeated).status == 201
        over = noon_after(parties, 2 * GRACE, timedelta(days=1)).date()
        assert sealer.retire(over - timedelta(days=1)) == []
        assert sealer.retire(over) == []  # a segment is open that may hold envelopes of the epoch
        parties.ingestor.intake.rotate(now=True)
        assert sealer.seal() == 1
        assert list(ids.iterdir())
        assert sealer.retire(over) == [1]
        assert not list(ids.iterdir())
        assert sealer.retire(over) == []
        assert sealer.retired() == {1}
        # a clock that goes back opens nothing again
        assert post(parties, fresh(parties)).status == 201
        parties.ingestor.intake.rotate(now=True)
        assert sealer.seal() == 0
        assert sealer.totals()["no epoch in use"] == 1


def test_an_ingestor_forgets_its_keys_with_the_epoch(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        parties.clock[0] = noon_after(parties, GRACE)
        parties.ingestor.retire()
        assert parties.ingestor.token_keys
        assert parties.issuer.retire() == []
        parties.clock[0] = noon_after(parties, GRACE, timedelta(days=1))
        parties.ingestor.retire()
        assert not parties.ingestor.token_keys
        assert not parties.ingestor.gateway_keys
        assert parties.issuer.retire() == [1]
        assert not parties.issuer.keys


def test_the_key_that_opens_reports_is_destroyed_when_its_segments_were_counted(tmp_path: Path) -> None:
    with running(tmp_path) as parties:
        aggregator, destroyed = parties.aggregator, list[int]()
        aggregator._destroy = destroyed.append
        handed_in(parties, segment(parties, ["bus"] * 12).to_bytes())
        aggregator.work()
        handed_in(parties, segment(parties, ["bike"] * 3).to_bytes())  # came, and waits to be opened
        parties.clock[0] = noon_after(parties, GRACE, ON_THE_WAY)
        assert aggregator.retire() == 0
        parties.clock[0] += timedelta(days=1)
        assert aggregator.retire() == 0
        assert aggregator.work() == 3
        assert aggregator.retire() == 1
        assert destroyed == [1]
        assert not list((tmp_path / "aggregator" / "ids").iterdir())
        assert aggregator.retire() == 0
        handed_in(parties, segment(parties, ["car"] * 2).to_bytes())
        assert aggregator.work() == 0
        assert aggregator.totals()["the key is gone"] == 2
        assert aggregator.totals()["counted"] == 15
        assert parties.settle() == 0  # the batch is counted and published without the key
        assert parties.analyzer.together().reports == 15


def test_keys_are_removed_from_the_folders_of_their_parties(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "commute")
    workspace.create(question="How?", answers=["bus", "bike"])
    workspace.open()
    workspace.destroy_keys("ingestor", ["token", "gateway"], [1, 7])
    assert workspace.keys("ingestor", "token") == {}
    aggregator = workspace.aggregator()
    aggregator.clock, aggregator.sure = lambda: NOON + timedelta(days=400), Certainty(0)
    assert aggregator.retire() == 1
    assert not (workspace.folder / "aggregator" / "report-1.key").exists()
    assert workspace.keys("aggregator", "report") == {}
    assert workspace.aggregator().retire() == 0


def test_a_key_that_a_crash_left_half_destroyed_is_gone(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "commute")
    workspace.create(question="How?", answers=["bus", "bike"])
    workspace.open()
    path = workspace.folder / "aggregator" / "report-1.key"
    assert isinstance(workspace.keys("aggregator", "report")[1], Key)
    path.write_bytes(bytes(len(path.read_bytes())))  # overwritten, and then the power failed
    assert workspace.keys("aggregator", "report") == {}
    assert not path.exists()


def opened_before(folder: Path, monkeypatch: pytest.MonkeyPatch, days: int, **changes: Any) -> Workspace:
    """A collection of ten days that was opened so many days ago."""
    workspace, opens = Workspace(folder), today() - timedelta(days=days)
    dates = {"opens": opens.isoformat(), "closes": (opens + timedelta(days=9)).isoformat()}
    workspace.create(question="How?", answers=["bus", "bike"], **dates, **changes)
    with monkeypatch.context() as earlier:
        earlier.setattr("lapwing.collect.workspace.today", lambda: opens)
        workspace.open()
    return workspace


def rewritten(workspace: Workspace, **changes: Any) -> None:
    document = documents.parsed(workspace.draft.read_bytes()) | {"version": 2} | changes
    workspace.draft.write_text(documents.written(document), encoding="utf-8")


def test_no_key_is_made_anew_for_an_epoch_that_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = opened_before(tmp_path, monkeypatch, days=20)
    [signed] = workspace.collection().epochs
    for party, name in (("aggregator", "report"), ("issuer", "token"), ("ingestor", "token")):
        workspace.destroy_keys(party, [name], [1])
    rewritten(workspace, question="How now?", closes=(today() + timedelta(days=9)).isoformat())
    past, present = workspace.open().epochs
    assert past == signed
    assert present.start == signed.end + timedelta(days=1)
    assert {path.name for path in tmp_path.rglob("*-1.key")} == set()
    assert set(workspace.keys("ingestor", "token")) == set(workspace.keys("aggregator", "report")) == {2}


@pytest.mark.parametrize("days", [5, 20])
def test_a_signed_epoch_keeps_its_days_and_keys_and_new_days_get_a_new_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    workspace = opened_before(tmp_path, monkeypatch, days=days)
    [signed] = workspace.collection().epochs
    rewritten(workspace, closes=(today() + timedelta(days=50)).isoformat())
    first, second, third = workspace.open().epochs
    assert first == signed
    assert (second.number, second.start, second.days) == (2, signed.end + timedelta(days=1), 45)
    assert (third.number, third.start) == (3, second.end + timedelta(days=1))
    assert len({epoch.report_key for epoch in (first, second, third)}) == 3
    rewritten(workspace, version=3, closes=(today() + timedelta(days=1)).isoformat())
    assert workspace.open().epochs == (first, second, third), "also where it ends earlier again"


def test_a_collection_that_opens_again_begins_with_a_new_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = opened_before(tmp_path, monkeypatch, days=20)
    [signed] = workspace.collection().epochs
    rewritten(workspace, opens=today().isoformat(), closes=(today() + timedelta(days=9)).isoformat())
    past, present = workspace.open().epochs
    assert past == signed
    assert (present.number, present.start) == (2, today())


def test_no_day_comes_before_the_first_signed_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = opened_before(tmp_path, monkeypatch, days=5)
    rewritten(workspace, opens=(today() - timedelta(days=6)).isoformat())
    with pytest.raises(InvalidParameter, match="never changes"):
        workspace.open()


def test_a_relay_that_comes_later_needs_no_key_for_an_epoch_that_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = opened_before(tmp_path, monkeypatch, days=20)
    servers: Any = documents.parsed(workspace.draft.read_bytes())["servers"]
    servers |= {"relay": {"address": "http://127.0.0.1:9"}}
    rewritten(workspace, servers=servers, closes=(today() + timedelta(days=9)).isoformat())
    workspace.open()
    assert set(workspace.keys("ingestor", "gateway")) == {2}


def test_a_key_that_devices_seal_for_is_not_replaced_when_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = opened_before(tmp_path, monkeypatch, days=5)
    workspace.destroy_keys("aggregator", ["report"], [1])
    rewritten(workspace, question="How now?")
    before = workspace.collection().epochs
    assert workspace.open().epochs == before, "its secret may be on another machine"
    assert not (tmp_path / "aggregator" / "report-1.key").exists()


def test_a_key_is_destroyed_only_after_the_clock_has_said_so_for_hours_on_end() -> None:
    seconds = [1000.0]
    sure = Certainty(timer=lambda: seconds[0])
    assert sure.of([1]) == set(), "one reading may be wrong"
    seconds[0] += SURE_AFTER - 1
    assert sure.of([1, 2]) == set()
    seconds[0] += 1
    assert sure.of([1, 2]) == {1}
    assert sure.of([2]) == set(), "the clock was put back"
    seconds[0] += SURE_AFTER - 1
    assert sure.of([1, 2]) == {2}, "from the beginning"


@pytest.mark.parametrize("transport", ["direct", "shuffled"])
def test_a_clock_that_is_days_ahead_for_a_while_destroys_nothing(tmp_path: Path, transport: str) -> None:
    seconds, gone = [0.0], list[int]()
    with running(tmp_path, transport=transport) as parties:
        stations = (parties.aggregator, *parties.shufflers.values())
        for party in (parties.issuer, parties.ingestor, parties.sealer, *stations):
            party.sure = Certainty(timer=lambda: seconds[0])
        for station in stations:
            station._destroy, station.clock = gone.append, lambda: parties.clock[0]

        def rounds() -> list[Any]:
            parties.ingestor.retire()
            retired = [station.retire() for station in stations]
            return [parties.issuer.retire(), parties.sealer.retire(parties.clock[0].date()), *retired]

        nothing = [[], [], *(0 for _ in stations)]
        parties.clock[0] = NOON + timedelta(days=400)
        assert rounds() == nothing
        seconds[0] += SURE_AFTER / 2
        assert rounds() == nothing
        parties.clock[0] = NOON  # somebody has noticed
        assert rounds() == nothing
        assert post(parties, fresh(parties)).status == 201
        assert gone == []
        parties.clock[0] = NOON + timedelta(days=400)
        rounds()
        parties.ingestor.intake.rotate(now=True)
        parties.sealer.seal()
        seconds[0] += SURE_AFTER
        assert rounds() == [[1], [1], *(1 for _ in stations)]
        assert gone == [1 for _ in stations]
        assert parties.ingestor.token_keys == {}
