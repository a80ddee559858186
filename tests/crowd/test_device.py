"""The device: nothing without consent, a limit a day, a limit for life, and nothing that tells what an event was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from chance import assert_follows

from lapwing.crowd import device as module
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.device import Device, Donation, Envelope
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter, LedgerDamaged
from lapwing.noise import Reproducible
from lapwing.privacy import PureDP

EMOJI = CountMeanSketch(epsilon=2, functions=16, width=64, salt="emoji")
DOMAINS = HadamardCountMeanSketch(epsilon=1, functions=16, width=64, salt="domains")
FIRST = date(2026, 1, 1)


class Days:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.today = FIRST

    def __call__(self) -> date:
        return self.today

    def next(self, days: int = 1) -> None:
        self.today += timedelta(days=days)


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def start(tmp_path: Path, days: Days) -> Callable[..., Device]:
    """The device, as often as one likes: always the same file."""

    def begin(*, seed: int = 1, consent: bool = True, allowance: Any = None, **features: Donation) -> Device:
        chosen = features or {"emoji": Donation(protocol=EMOJI, lifetime=10, per_day=2)}
        device = Device(tmp_path / "device.db", chosen, clock=days, entropy=Reproducible(seed), allowance=allowance)
        if consent:
            device.opt_in()
        return device

    return begin


def test_nothing_is_recorded_or_sent_before_somebody_opts_in(start: Callable[..., Device]) -> None:
    device = start(consent=False)
    device.record("emoji", "x")
    assert (device.opted_in, device.stored("emoji"), device.donate()) == (False, 0, [])
    device.opt_in()
    device.record("emoji", "x")
    assert (device.opted_in, device.stored("emoji"), len(device.donate())) == (True, 1, 1)


def test_opting_out_deletes_what_waits_and_keeps_what_was_spent(start: Callable[..., Device], days: Days) -> None:
    device = start()
    device.record("emoji", "x")
    device.donate()
    spent = device.spent("emoji")
    device.record("emoji", "y")
    device.opt_out()
    assert device.stored("emoji") == 0
    device.record("emoji", "z")
    days.next()
    assert device.donate() == []
    device.opt_in()
    assert (device.spent("emoji"), device.stored("emoji")) == (spent, 0)
    assert spent == EMOJI.privacy_loss()


def test_a_day_has_its_limit_and_what_is_left_is_not_saved_up(start: Callable[..., Device], days: Days) -> None:
    device = start()
    days.next(30)
    for event in range(9):
        device.record("emoji", event)
    assert len(device.donate()) == 2
    assert device.stored("emoji") == 0, "the others are deleted"
    device.record("emoji", "once more")
    assert device.donate() == [], "once a day"
    days.next(-10)
    assert device.donate() == [], "a clock that went back"
    days.next(11)
    assert len(device.donate()) == 1


def test_a_lifetime_ends_and_a_restart_does_not_renew_it(start: Callable[..., Device], days: Days) -> None:
    sent = 0
    for _ in range(8):
        device = start()
        for event in "abc":
            device.record("emoji", event)
        sent += len(device.donate())
        days.next()
    loss = EMOJI.privacy_loss()
    assert sent == int(10 / loss.epsilon) == 5
    assert device.spent("emoji") == 5 * loss
    assert device.remaining("emoji").epsilon == 10 - 5 * loss.epsilon < loss.epsilon


def test_a_lifetime_may_fall_but_never_rise(start: Callable[..., Device]) -> None:
    start(emoji=Donation(protocol=EMOJI, lifetime=6))
    start(emoji=Donation(protocol=EMOJI, lifetime=4))
    with pytest.raises(InvalidParameter, match="Write lifetime=4 or less"):
        start(emoji=Donation(protocol=EMOJI, lifetime=5))


def test_every_feature_has_its_own_limits(start: Callable[..., Device]) -> None:
    device = start(
        emoji=Donation(protocol=EMOJI, lifetime=10, per_day=1),
        domains=Donation(protocol=DOMAINS, lifetime=10, per_day=3),
    )
    for event in range(5):
        device.record("emoji", event)
        device.record("domains", event)
    assert Counter(envelope.feature for envelope in device.donate()) == {"emoji": 1, "domains": 3}
    assert device.spent("domains") == 3 * DOMAINS.privacy_loss()


def test_an_envelope_holds_a_feature_and_one_report_and_nothing_else(start: Callable[..., Device]) -> None:
    assert [field.name for field in fields(Envelope)] == ["feature", "report"]
    device = start()
    device.record("emoji", "a secret that must not be in there")
    [envelope] = device.donate()
    reports = Reports.from_bytes(EMOJI, envelope.report)
    assert reports.n == 1
    assert len(envelope.report) == 4 + 16 + 8 + 1 + 8  # magic, fingerprint, number, function, bits
    assert b"secret" not in envelope.report


def test_the_file_never_holds_an_event_nor_a_deleted_report(start: Callable[..., Device], tmp_path: Path) -> None:
    device = start()
    device.record("emoji", "a secret that must not be in there")
    content = (tmp_path / "device.db").read_bytes()
    assert b"secret" not in content
    header = b"LWR1" + EMOJI.fingerprint
    assert header in content
    device.forget("emoji")
    assert header not in (tmp_path / "device.db").read_bytes()


def test_an_event_is_randomised_once_when_it_is_stored(start: Callable[..., Device], tmp_path: Path) -> None:
    device = start(seed=1)
    device.record("emoji", "x")
    content = (tmp_path / "device.db").read_bytes()
    [envelope] = start(seed=99).donate()
    assert envelope.report in content


def test_what_is_sent_and_when_does_not_depend_on_events(tmp_path: Path, days: Days) -> None:
    """The same calls and coins, other events: the same numbers of envelopes, the same reports chosen."""
    one = HadamardCountMeanSketch(epsilon=1, functions=1 << 20, width=2, salt="who")
    seen = []
    for events in ([None] * 20, list(range(20)), ["x" * 10_000] * 20, [float("nan"), [1], "\ud800", object()] * 5):
        days.today = FIRST
        path = tmp_path / f"{len(seen)}.db"
        device = Device(path, {"f": Donation(protocol=one, lifetime=9, per_day=3)}, clock=days, entropy=Reproducible(5))
        device.opt_in()
        calls = []
        for number, event in enumerate(events):
            device.record("f", event)
            if number % 4 == 3:
                days.next()
                envelopes = device.donate()
                calls.append([int(Reports.from_bytes(one, e.report).columns[0][0]) for e in envelopes])
        seen.append((calls, device.spent("f")))
    assert [len(calls) for calls in seen[0][0]] == [3, 3, 3, 0, 0]
    assert all(other == seen[0] for other in seen), "functions name the reports: the same were chosen"


def test_every_stored_report_is_as_likely_to_be_sent_in_whichever_order(
    tmp_path: Path, days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that came after the store was full; which one was sent is read from a protocol that hides nothing."""
    monkeypatch.setattr(module, "MOST_STORED", 2)
    marked = HadamardCountMeanSketch(epsilon=39, functions=1, width=2, salt="0")
    device = Device(
        tmp_path / "d.db", {"f": Donation(protocol=marked, lifetime=10**6)}, clock=days, entropy=Reproducible(3)
    )
    device.opt_in()
    early, late = event_with(marked, 0), event_with(marked, 1)
    chosen = []
    for _ in range(100):
        days.next()
        for event in (early, early, late):
            device.record("f", event)
        assert device.stored("f") == 2
        [envelope] = device.donate()
        report = Reports.from_bytes(marked, envelope.report)
        if report.columns[1][0]:  # the other coordinate is the same for both
            chosen.append(int(report.columns[2][0]) & 1)
    assert_follows(chosen, lambda one: 1 / 3 if one else 2 / 3, range(2))


def event_with(sketch: HadamardCountMeanSketch, cell: int) -> int:
    """An event in this cell of the only function."""
    from lapwing.crowd import hashing

    salt = sketch.salt.encode()
    cells = hashing.cells(hashing.hashed_items(range(100), salt), hashing.rows(1, salt)[:, 0], sketch.width)
    return cells.tolist().index(cell)


class Purse:
    """An allowance that somebody else keeps."""

    def __init__(self, epsilon: int) -> None:
        self.left = Fraction(epsilon)

    def remaining(self) -> PureDP:
        return PureDP(self.left, relation="replace")

    def charge(self, loss: PureDP) -> bool:
        if loss.epsilon > self.left:
            return False
        self.left -= loss.epsilon
        return True


def test_somebody_else_may_keep_the_allowance_for_several_devices(start: Callable[..., Device], days: Days) -> None:
    purse, sent = Purse(5), 0
    device = start(allowance=purse)
    for _ in range(4):
        device.record("emoji", "a")
        device.record("emoji", "b")
        sent += len(device.donate())
        days.next()
    assert sent == 2
    assert purse.remaining().epsilon == 5 - 2 * EMOJI.privacy_loss().epsilon
    assert device.spent("emoji") == 2 * EMOJI.privacy_loss(), "what was refused is not charged"


def test_reports_of_other_parameters_are_deleted_at_the_start(start: Callable[..., Device]) -> None:
    start().record("emoji", "x")
    other = CountMeanSketch(epsilon=2, functions=16, width=64, salt="new")
    device = start(emoji=Donation(protocol=other, lifetime=10))
    assert device.stored("emoji") == 0


def test_nobody_sends_reports_of_other_parameters_at_their_own_price(start: Callable[..., Device], days: Days) -> None:
    """A process that still runs with the old parameters records beside one that donates with new and cheaper ones."""
    before, cheap = start(), CountMeanSketch(epsilon=1, functions=16, width=64, salt="emoji")
    after = start(emoji=Donation(protocol=cheap, lifetime=10, per_day=2))
    sent = []
    for _ in range(3):
        before.record("emoji", "old")
        after.record("emoji", "new")
        sent += after.donate()
        days.next()
    assert [len(Reports.from_bytes(cheap, envelope.report)) for envelope in sent] == [1, 1, 1]
    assert after.spent("emoji") == 3 * cheap.privacy_loss()


def test_what_was_deleted_at_the_start_does_not_keep_later_events_out(
    start: Callable[..., Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_STORED", 2)
    before = start()
    for _ in range(6):
        before.record("emoji", "old")
    after = start(emoji=Donation(protocol=CountMeanSketch(epsilon=1, functions=16, width=64), lifetime=10))
    after.record("emoji", "new")
    assert after.stored("emoji") == 1


def test_two_who_donate_at_once_send_the_day_once(tmp_path: Path) -> None:
    path = tmp_path / "device.db"
    device = Device(path, {"emoji": Donation(protocol=EMOJI, lifetime=10, per_day=2)}, clock=lambda: FIRST)
    device.opt_in()
    for event in range(10):
        device.record("emoji", event)
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    call = [sys.executable, "-c", f"from test_device import donate_from; print(donate_from({str(path)!r}))"]
    running = [subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=here) for _ in range(3)]
    assert sum(int(process.communicate(timeout=60)[0]) for process in running) == 2
    assert device.spent("emoji") == 2 * EMOJI.privacy_loss()


def donate_from(path: str) -> int:
    device = Device(path, {"emoji": Donation(protocol=EMOJI, lifetime=10, per_day=2)}, clock=lambda: FIRST)
    return len(device.donate())


def test_a_damaged_file_is_no_fresh_start(start: Callable[..., Device], tmp_path: Path) -> None:
    start()
    (tmp_path / "device.db").write_bytes(b"not a database, though long enough to be one" * 100)
    with pytest.raises(LedgerDamaged):
        start()


def test_mistakes_are_explained(start: Callable[..., Device]) -> None:
    with pytest.raises(InvalidParameter, match="nothing could ever be donated"):
        Donation(protocol=EMOJI, lifetime=1)
    with pytest.raises(InvalidParameter, match="protocol"):
        Donation(protocol="sketch", lifetime=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="Donation"):
        start(emoji=EMOJI)
    with pytest.raises(InvalidParameter, match="per_day"):
        Donation(protocol=EMOJI, lifetime=10, per_day=0)
    device = start()
    for call in (device.stored, device.spent, device.remaining, device.forget):
        with pytest.raises(InvalidParameter, match="Write one of: emoji"):
            call("emojis")
    with pytest.raises(InvalidParameter, match="Write one of: emoji"):
        device.record("emojis", "x")
