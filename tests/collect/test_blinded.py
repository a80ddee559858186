"""Two shufflers and what each of them could try: every party plays against the others, with and without devices."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from collecting import CROWD, Keys, document, shuffler_of

from lapwing.collect import blinding, oprf, reader
from lapwing.collect.collection import Collection
from lapwing.collect.crowds import crowd_id
from lapwing.collect.handovers import received_by
from lapwing.collect.sealing import ID_BYTES, layer_info, opened_by, row_bytes, seal
from lapwing.collect.segments import SealedSegment
from lapwing.noise import SYSTEM

KEYS = Keys()
DICTIONARY = ["bus", "bike", "car", "plane", "boat"]


def collection(**crowd: Any) -> Collection:
    named = {**CROWD, "from": "answer", **crowd}
    publishing = {"smallest_batch": 5, "every_hours": 1}
    draft = document(KEYS, transport="blinded", crowd=named, publishing=publishing, admission="nobody-asked")
    return reader.sign(reader.checked(draft), KEYS.operator)


COLLECTION = collection()


def sealed(answer: str, ours: Collection = COLLECTION) -> bytes:
    assert ours.crowd is not None
    report = ours.protocol.randomize([answer]).to_bytes()
    return seal(ours, 1, report, crowd=ours.crowd.name(report, answer=answer))


def passed_on(folder: Path, rows: list[bytes], ours: Collection = COLLECTION, *, bad: int = 0) -> list[bytes]:
    """What the thresholder gets for these reports, row by row."""
    import numpy as np

    blinder = shuffler_of(ours, folder, KEYS, "blinder")
    data = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    assert blinder._stored(SealedSegment(ours.digest, 1, data).to_bytes()).status == 201
    blinder.work()
    [path] = blinder.outgoing.iterdir()
    handover = received_by(ours, "thresholder", path.read_bytes())
    assert handover.taken == len(rows) - bad
    return [row.tobytes() for row in handover.segment.reports]


def pseudonyms(rows: list[bytes]) -> list[bytes]:
    """As the thresholder decrypts them."""
    names = [blinding.pseudonym(row[: blinding.PAIR_BYTES], KEYS.crowds.secret) for row in rows]
    assert None not in names
    return [name for name in names if name is not None]


def element(answer: str) -> bytes:
    assert COLLECTION.crowd is not None
    return oprf.hash_to_group(crowd_id(COLLECTION, COLLECTION.crowd.name(b"", answer=answer)))


def test_the_thresholder_counts_crowds_without_their_names(tmp_path: Path) -> None:
    sizes = Counter(
        pseudonyms(
            passed_on(
                tmp_path, [sealed("bus")] * 0 + [sealed("bus") for _ in range(7)] + [sealed("car") for _ in range(3)]
            )
        )
    )
    assert sorted(sizes.values()) == [3, 7]


def test_the_thresholder_alone_cannot_try_out_a_dictionary(tmp_path: Path) -> None:
    """Whatever it computes from its key and the names, no pseudonym is among it."""
    seen = set(pseudonyms(passed_on(tmp_path, [sealed(answer) for answer in ["bus"] * 5 + ["car"] * 5])))
    tried = {element(word) for word in DICTIONARY}
    tried |= {oprf.times(KEYS.crowds.secret, element(word)) for word in DICTIONARY}
    tried |= {oprf.subtract(element(word), KEYS.crowds.public) for word in DICTIONARY}
    assert not seen & tried


def test_pseudonyms_of_two_batches_have_nothing_in_common(tmp_path: Path) -> None:
    reports = [sealed("bus") for _ in range(6)]
    first, second = (passed_on(tmp_path / name, reports) for name in ("a", "b"))
    assert not set(pseudonyms(first)) & set(pseudonyms(second))
    assert not {row[: blinding.PAIR_BYTES] for row in first} & {row[: blinding.PAIR_BYTES] for row in second}


def test_the_blinder_alone_cannot_try_out_a_dictionary() -> None:
    """It sees the encryption of a crowd. With the thresholder's *public* key it can encrypt guesses: none is equal."""
    plain = opened_by(KEYS.hops["blinder"].private, sealed("bus"), layer_info("blinder", COLLECTION.digest, 1))
    assert plain is not None
    pair = plain[ID_BYTES : ID_BYTES + blinding.PAIR_BYTES]
    first, second = pair[:32], pair[32:]
    for word in DICTIONARY:
        guess = blinding.encrypted(KEYS.crowds.public, crowd_id(COLLECTION, b"answer\n" + word.encode()))
        assert guess[:32] != first
        assert oprf.subtract(second, element(word)) != first  # a multiple of the key, which it cannot recognise
    assert oprf.subtract(second, element("bus")) == oprf.times(KEYS.crowds.secret, first)  # whoever has the key can


def test_the_blinder_cannot_open_the_rest(tmp_path: Path) -> None:
    plain = opened_by(KEYS.hops["blinder"].private, sealed("bus"), layer_info("blinder", COLLECTION.digest, 1))
    assert plain is not None
    payload = plain[ID_BYTES + blinding.PAIR_BYTES :]
    for party in ("blinder", "aggregator", "thresholder"):
        assert opened_by(KEYS.hops["blinder"].private, payload, layer_info(party, COLLECTION.digest, 1)) is None


def test_both_together_run_the_dictionary_attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what the quote says: with both secrets nothing is hidden."""
    drawn: list[bytes] = []
    real = oprf.random_scalar
    reports = [sealed(answer) for answer in ["bus"] * 6 + ["car"] * 2]

    def random_scalar(*args: Any) -> bytes:
        drawn.append(real(*args))
        return drawn[-1]

    monkeypatch.setattr(oprf, "random_scalar", random_scalar)
    seen = Counter(pseudonyms(passed_on(tmp_path, reports)))
    [exponent] = drawn
    found = {word: seen[oprf.times(exponent, element(word))] for word in DICTIONARY}
    assert found == {"bus": 6, "bike": 0, "car": 2, "plane": 0, "boat": 0}


def test_a_device_of_the_thresholder_buys_one_guess_in_one_batch(tmp_path: Path) -> None:
    """It recognises its own payload, so it learns the pseudonym of what it sent, and how many others share it."""
    others = [sealed(answer) for answer in ["bus"] * 5 + ["car"] * 3]
    own = sealed("bus")
    plain = opened_by(KEYS.hops["blinder"].private, own, layer_info("blinder", COLLECTION.digest, 1))
    assert plain is not None
    mine = plain[ID_BYTES + blinding.PAIR_BYTES :]  # its own device knows what it sealed
    rows = passed_on(tmp_path / "a", [*others, own])
    names = pseudonyms(rows)
    [place] = [place for place, row in enumerate(rows) if row[blinding.PAIR_BYTES :] == mine]
    assert Counter(names)[names[place]] == 6, "the guess is answered: five others said bus"
    unknown = set(names) - {names[place]}
    assert len(unknown) == 1  # the other crowd has no name: that would be another token
    assert not {oprf.times(KEYS.crowds.secret, element(word)) for word in DICTIONARY} & unknown
    later = pseudonyms(passed_on(tmp_path / "b", [sealed(answer) for answer in ["bus"] * 5 + ["car"] * 3]))
    assert names[place] not in later, "and it says nothing about the next batch"


def test_one_token_may_ask_about_two_crowds_at_once_and_hears_only_whether_both_are_there(tmp_path: Path) -> None:
    """Pairs add up. It is one answer, yes or no, unless both are there: the proof says so."""

    def asked(first: str, second: str, folder: Path) -> bool:
        scalar = oprf.random_scalar()
        both = oprf.add(element(first), element(second))
        pair = oprf.base_times(scalar) + oprf.add(both, oprf.times(scalar, KEYS.crowds.public))
        keys = COLLECTION.numbered(1)
        assert keys is not None
        from lapwing.collect.sealing import sealed_for

        filler = bytes(row_bytes(COLLECTION, "thresholder") - blinding.PAIR_BYTES)
        body = bytes(ID_BYTES) + pair + filler
        forged = sealed_for(keys.hop_keys["blinder"], body, layer_info("blinder", COLLECTION.digest, 1))
        rows = passed_on(folder, [*(sealed(answer) for answer in ["bus"] * 4 + ["car"] * 4), forged])
        [mine] = [row for row in rows if row[blinding.PAIR_BYTES :] == filler]
        [answer] = pseudonyms([mine])
        names = set(pseudonyms([row for row in rows if row is not mine]))
        return any(oprf.subtract(answer, name) in names for name in names)

    assert asked("bus", "car", tmp_path / "a")
    assert not asked("bus", "boat", tmp_path / "b")


def test_what_is_no_pair_is_left_out_and_counted(tmp_path: Path) -> None:
    from lapwing.collect.sealing import sealed_for

    keys = COLLECTION.numbered(1)
    assert keys is not None
    width = row_bytes(COLLECTION, "thresholder") - blinding.PAIR_BYTES
    for bad in (bytes(64), b"\xff" * 64, oprf.base_times(oprf.random_scalar()) + bytes(32)):
        body = SYSTEM.bits(128).to_bytes(16, "little") + bad + bytes(width)
        forged = sealed_for(keys.hop_keys["blinder"], body, layer_info("blinder", COLLECTION.digest, 1))
        folder = tmp_path / bad[:2].hex() / bad[-2:].hex()
        rows = passed_on(folder, [*(sealed("bus") for _ in range(5)), forged], bad=1)
        assert len(rows) == 5


def test_dummies_fill_every_crowd_and_look_like_reports(tmp_path: Path) -> None:
    ours = collection(threshold=40, mean_drop=10, sigma=2, dummies={"epsilon": 2, "delta": "0.001"})
    assert ours.crowd is not None
    dummies = ours.crowd.dummies
    assert dummies is not None
    rows = passed_on(tmp_path, [sealed("bus", ours) for _ in range(6)], ours)
    sizes = sorted(Counter(pseudonyms(rows)).values())
    assert len(sizes) <= 4  # bus, bike, car, and no answer: also where nobody is
    assert 6 <= len(rows) <= 6 + 4 * dummies.most
    info = layer_info("thresholder", ours.digest, 1)
    inner = [opened_by(KEYS.hops["thresholder"].private, row[blinding.PAIR_BYTES :], info) for row in rows]
    assert all(plain is not None for plain in inner), "every row opens for the thresholder"
    reports = [
        opened_by(KEYS.reports.private, (plain or b"")[ID_BYTES:], layer_info("aggregator", ours.digest, 1))
        for plain in inner
    ]
    assert all(report is not None for report in reports), "and for the aggregator"
    assert ours.crowd.name(b"", answer="a rocket") == ours.crowd.name(b""), "there is no crowd without dummies"


def test_too_many_dummies_for_a_threshold_are_refused() -> None:
    crowd = {**CROWD, "from": "answer", "dummies": {"epsilon": 1, "delta": "0.000001"}}
    problems = reader.problems(document(KEYS, transport="blinded", crowd=crowd))
    assert "dummies alone could fill a crowd" in "; ".join(problems)
    wrong = reader.problems(document(KEYS, transport="blinded", crowd={**crowd, "from": "report", "threshold": 90}))
    assert "crowd.dummies" in "; ".join(wrong)
