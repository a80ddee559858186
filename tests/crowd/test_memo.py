"""A device's permanent responses: the same for ever, independent of one another, and all that averaging finds."""

from __future__ import annotations

import copy
import hashlib
import hmac
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_share

from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.memo import Memo, device_key, new_key
from lapwing.crowd.permanent_response import PermanentResponse
from lapwing.crowd.rappor import BasicOneTimeRappor, BasicRappor, OneTimeRappor, Rappor
from lapwing.crowd.unary import UnaryEncoding
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

SURVEY = Rappor.from_symbols(k=64, m=1, f=0.5, p=0.25, q=0.75)
KEY = bytes(range(32))


def memo(protocol: PermanentResponse = SURVEY, question: str = "homepage", key: bytes = KEY) -> Memo:
    return Memo(protocol=protocol, question=question, key=key)


def bits_of(row: Any, width: int) -> Any:
    return unpack_rows(np.asarray(row).reshape(1, -1), width)[0].astype(bool)


def truth_of(device: Memo, value: Any) -> Any:
    true = np.zeros(device.protocol.width, dtype=bool)
    true[device.protocol.set_places(device.cohort, value)] = True
    return true


def flips(device: Memo, value: Any) -> Any:
    """Where the permanent response differs from the truth."""
    return bits_of(device.permanent(value), device.protocol.width) ^ truth_of(device, value)


def test_a_device_answers_the_same_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "key"
    before = Memo.on_device(path, protocol=SURVEY, question="homepage")
    row, cohort = before.permanent("example.org"), before.cohort
    del before
    after = Memo.on_device(path, protocol=SURVEY, question="homepage")
    assert (after.permanent("example.org") == row).all()
    assert after.cohort == cohort
    assert (Memo.on_device(tmp_path / "other", protocol=SURVEY, question="homepage").permanent("a") != row).any()


def test_the_key_is_made_once_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: device_key(path), range(16)))
    assert keys == {path.read_bytes()}
    assert len(path.read_bytes()) == 32
    assert os.listdir(tmp_path) == ["key"]
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
        with pytest.raises(InvalidParameter, match="others than its owner"):
            device_key(path)


@pytest.mark.parametrize("short", [b"", b"fifteen bytes!!", "text that is long enough", None])
def test_short_keys_are_refused_and_no_key_is_ever_shown(short: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter) as refused:
        memo(key=short)
    assert "fifteen" not in str(refused.value)
    assert repr(KEY)[2:10] not in repr(memo())
    (tmp_path / "key").write_bytes(b"fifteen bytes!!")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(InvalidParameter, match="at least 16 bytes"):
        device_key(tmp_path / "key")


@pytest.mark.parametrize("leave", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_memo_does_not_leave_its_device(leave: Callable[[Memo], Any]) -> None:
    with pytest.raises(TypeError, match="must not leave"):
        leave(memo())


def test_only_forms_with_a_permanent_response_have_a_memo() -> None:
    with pytest.raises(InvalidParameter, match="no permanent response"):
        memo(UnaryEncoding.from_epsilon(1, symmetric=True, domain=2))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        memo(question="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Later(Rappor):
    """The same protocol in another version."""

    version: ClassVar[int] = 2


OTHERS: dict[str, Callable[[bytes], tuple[Memo, Any]]] = {
    "noise": lambda key: (memo(replace(SURVEY, permanent_noise=0.25), key=key), "v"),
    "size": lambda key: (memo(replace(SURVEY, bits=65), key=key), "v"),
    "hashes": lambda key: (memo(replace(SURVEY, hashes=3), key=key), "v"),
    "salt": lambda key: (memo(replace(SURVEY, salt="s"), key=key), "v"),
    "question": lambda key: (memo(question="search engine", key=key), "v"),
    "value": lambda key: (memo(key=key), "w"),
    "version": lambda key: (memo(Later.from_symbols(k=64, m=1, f=0.5, p=0.25, q=0.75), key=key), "v"),
    "form": lambda key: (memo(BasicRappor(domain=64, permanent_noise=0.5, one_if_unset=0, one_if_set=1), key=key), 1),
    "key": lambda key: (memo(key=key + b"\1"), "v"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_whatever_else_is_changed_the_noise_is_independent(what: str) -> None:
    agree = trials = 0
    for number in range(40):
        key = hashlib.sha256(b"%d" % number).digest()
        (other, value) = OTHERS[what](key)
        one, two = flips(memo(key=key), "v"), flips(other, value)[:64]
        agree, trials = agree + int((one == two).sum()), trials + 64
    a, b = Fraction(1, 4), other.protocol.permanent_probability(False)
    assert_share(agree, trials, float(a * b + (1 - a) * (1 - b)))


def test_other_cohorts_and_other_bits_have_independent_noise_too() -> None:
    agree = trials = neighbours = 0
    for number in range(120):
        key = hashlib.sha256(b"%d" % number).digest()
        one, two = (memo(replace(SURVEY, cohorts=cohorts), key=key) for cohorts in (2, 3))
        first, second = flips(one, "v"), flips(two, "v")
        if one.cohort != two.cohort:
            agree, trials = agree + int((first == second).sum()), trials + 64
        else:
            assert (first == second).all()  # only the number of cohorts is different: nothing that sets bits
        neighbours += int((first[:-1] == first[1:]).sum())
    assert trials > 1000
    assert_share(agree, trials, 5 / 8)
    assert_share(neighbours, 120 * 63, 5 / 8)


def test_other_fresh_noise_keeps_the_permanent_response() -> None:
    row = memo().permanent("v")
    assert (memo(replace(SURVEY, one_if_unset=0, one_if_set=1)).permanent("v") == row).all()
    assert (memo(OneTimeRappor(permanent_noise=0.5, bits=64, cohorts=1)).permanent("v") == row).all()
    assert (memo().permanent(1) == memo().permanent("1")).all()  # one text, the same bits


@together("noise", [0.5, Fraction(1, 2), Decimal("0.50"), np.float32(0.5)])
def test_the_same_noise_keeps_the_permanent_response_however_it_is_written(noise: Any) -> None:
    """Else a collector who writes it differently would get a second one, and the loss would be twice as large."""
    assert (memo(replace(SURVEY, permanent_noise=noise)).permanent("v") == memo().permanent("v")).all()


def test_noise_that_has_equal_inputs_has_equal_truths() -> None:
    """Else the same flips would hide two different rows, and their difference would show."""
    seen: dict[tuple[object, ...], list[int]] = {}
    forms = [replace(SURVEY, salt=salt, bits=bits) for salt, bits in product(("", "s"), (64, 65))]
    basic = [BasicOneTimeRappor(permanent_noise=0.5, domain=domain) for domain in (3, ["a", "b", "c"], [2, 1, 0])]
    for form, value in product((*forms, *basic), ("a", "b", "c", 0, 1, 2, None, "1", b"1")):
        places = form.set_places(0, value)
        assert seen.setdefault(form.decided_by(0, value), places) == places


@together("later", [["a", "c", "b"], ["a", "b", "d"], ["a", "b", "c", "d"]])
def test_another_list_has_another_response_to_every_answer(later: list[str]) -> None:
    """Else the response to "a" would stay when the list changes, and that to "c" would not: who sees both is told."""
    before, after = (
        memo(BasicOneTimeRappor(permanent_noise=0.5, domain=[*domain, *range(60)]))
        for domain in (["a", "b", "c"], later)
    )
    for value in ("a", "b", "c", 7, None):
        assert (flips(before, value)[:63] != flips(after, value)[:63]).any()


def test_bits_are_flipped_with_half_the_permanent_noise() -> None:
    for noise in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 10**9)):
        device = memo(replace(SURVEY, permanent_noise=noise))
        flipped = sum(int(flips(device, value).sum()) for value in range(60))
        assert_share(flipped, 60 * 64, float(noise / 2))


@pytest.mark.parametrize(
    "form",
    [
        Rappor.from_symbols(k=3, m=1, f=0.5, p=0.25, q=0.75),
        OneTimeRappor(permanent_noise=0.5, bits=3, cohorts=1),
        BasicRappor(domain=3, permanent_noise=0.5, one_if_unset=0.25, one_if_set=0.75),
    ],
    ids=lambda form: type(form).__name__,
)
def test_over_all_devices_reports_have_the_law_of_the_protocol(form: PermanentResponse) -> None:
    entropy, seen = Reproducible(1), []
    for _ in range(3000):
        report = memo(form, key=new_key(entropy)).report(1, entropy)
        seen.append(int(report.column("bits")[0, 0]))
    ones = [float(form.one_probability(i in form.set_places(0, 1))) for i in range(3)]
    assert_follows(
        seen, lambda row: float(np.prod([p if row >> i & 1 else 1 - p for i, p in enumerate(ones)])), range(8)
    )


def test_cohorts_are_uniform_over_devices_and_belong_to_the_question() -> None:
    form, entropy = OneTimeRappor(permanent_noise=0.5, cohorts=5), Reproducible(2)
    keys = [new_key(entropy) for _ in range(2000)]
    assert_follows([memo(form, key=key).cohort for key in keys], lambda _: 0.2, range(5))
    same = sum(memo(form, key=key).cohort == memo(form, "another", key).cohort for key in keys)
    assert_share(same, 2000, 0.2)
    assert memo(form).cohort == memo(replace(form, permanent_noise=0.25)).cohort


def test_a_report_of_a_device_is_a_report_like_any_other() -> None:
    for form in (
        replace(SURVEY, cohorts=8),
        BasicRappor(domain=4, permanent_noise=0.5, one_if_unset=0.5, one_if_set=1),
    ):
        report = memo(form).report(2)
        again = type(report).from_bytes(form, report.to_bytes())
        assert again == report
        assert form.absorb(form.empty(), again).n == 1


def test_averaging_reports_finds_the_permanent_response_and_no_more() -> None:
    device, entropy = memo(), Reproducible(3)
    sent = sum(bits_of(device.report("v", entropy).column("bits")[0], 64).astype(int) for _ in range(400))
    found = sent > 200  # a wrong bit has probability e^(−2·400·(1/4)²) < 10^-21
    assert (found == bits_of(device.permanent("v"), 64)).all()
    assert (found != truth_of(device, "v")).sum() > 3


def test_without_a_memo_averaging_finds_the_truth() -> None:
    reports = SURVEY.randomize(["v"] * 4000, Reproducible(4))
    shares = unpack_rows(reports.column("bits"), 64).mean(axis=0)
    middle = float(SURVEY.one_probability(True) + SURVEY.one_probability(False)) / 2
    assert ((shares > middle) == truth_of(memo(), "v")).all()  # q* − p* = 1/4: wrong with e^(−2·4000/64) at most


def test_each_different_answer_costs_the_lifetime_loss_again() -> None:
    assert memo().lifetime_loss() == SURVEY.lifetime_loss()
    assert memo().lifetime_loss(3).epsilon == 3 * SURVEY.lifetime_loss().epsilon
    with pytest.raises(InvalidParameter):
        memo().lifetime_loss(0)


def test_when_an_answer_changes_is_not_hidden() -> None:
    """The limit of every memo, stated in rappor.md: the loss compares lives that change at the same times."""
    device = memo(OneTimeRappor(permanent_noise=0.5, cohorts=1))
    rows = [device.report(value).column("bits").tobytes() for value in ("a", "a", "b", "a")]
    assert [rows[0] == row for row in rows] == [True, True, False, True]


def test_strange_answers_have_a_permanent_response() -> None:
    for value in (None, float("nan"), "\ud800", b"\xff", [1], object(), 10**5000):
        assert memo().permanent(value).shape == (1,)
        assert memo(BasicOneTimeRappor(permanent_noise=0.5, domain=2)).permanent(value).shape == (1,)


def test_the_derivation_is_the_one_that_is_written_down() -> None:
    def part(text: bytes) -> bytes:
        return len(text).to_bytes(8, "big") + text

    device = memo(OneTimeRappor(permanent_noise=Fraction(1, 3), bits=40, hashes=2, cohorts=4, salt="s"), "q", KEY)
    start = b"".join(map(part, (b"lapwing memo 1", b"cohort", b"q", b"0")))
    first = hmac.digest(KEY, start + bytes(8), "sha256")
    assert device.cohort == first[0] >> 6
    parts = (b"lapwing memo 1", b"permanent", b"1", b"1/3", b"q", b"bloom", b"40", b"2", b"s", b"%d" % device.cohort)
    start = b"".join(map(part, (*parts, b"a")))
    for i, flipped in enumerate(flips(device, "a")):
        digits = hmac.digest(KEY, start + part(b"%d" % i) + bytes(8), "sha256")
        assert flipped == (Fraction(int.from_bytes(digits, "big"), 1 << 256) < Fraction(1, 6))
