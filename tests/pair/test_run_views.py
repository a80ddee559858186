"""What one server sees of a question, over all tapes of owners: the same for all rows, and what a simulator makes.

A batch holds one row again and again, once for each tape of its owner: its products' masks and its pad. So one run
plays all tapes, and each of them has its own bit in every message. Mutants that must be found out: no pad, the same pad
twice, a product that is used again, and no mask in the conversion.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from pairing import Run as Played
from pairing import together
from scipy.stats import chi2, chi2_contingency
from tapes import Tape, as_bytes

from lapwing.adversary import audit
from lapwing.noise import SYSTEM, Entropy
from lapwing.pair import runs
from lapwing.pair.domains import Layout, Listed, joined, split
from lapwing.pair.gates import Gates
from lapwing.pair.holdings import Batch, Holdings, packed
from lapwing.pair.intake import take_in
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Link
from lapwing.pair.noise_shares import noise_words, triples_for
from lapwing.pair.runs import Order, Run
from lapwing.pair.tallies import Among, Dimension, Tally, counted
from lapwing.pair.transfers import Bits, Transfers

FALSE_ALARM = 1e-6
LAYOUT = Layout((Listed("a", "integer", (0,)), Listed("b", "integer", (0, 1))), products=2)
"""Two bits and three; of products only the first one of a is enumerated."""
QUESTION = counted(Tally((Dimension("a", ((0,), (1,))),), Among("b", (0,))))
"""Opens one masked bit of b for each row, and two masked cells."""
QUIET = JointLaplace(Fraction(1, 32))
OTHER = counted(Tally((Dimension("a", ((0,), (1,))),), Among("b", (1,))))
"""The same with another bit of b."""
ROWS = list(itertools.product((0, None), (0, 1, None)))
FIRST, SECOND, VARIED = 2, 3, 5 + 3
"""Where the bits of both questions are; and how many pads are enumerated, of a row and the first product of a."""
TAPES = 1 << (1 + VARIED)


def tapes() -> Bits:
    """All choices of a mask and of the pads of these bits, one a column."""
    return (np.arange(TAPES) >> np.arange(1 + VARIED)[:, None] & 1).astype(np.bool_)


Upload = Callable[[Bits], tuple[Bits, tuple[list[bytes], list[bytes]]]]


def honest(rows: Bits) -> tuple[Bits, tuple[list[bytes], list[bytes]]]:
    """The library's own upload, with a tape."""
    mask, pads = tapes()[0], tapes()[1:]
    bits = LAYOUT.with_products(rows, Tape([as_bytes(mask)]))
    pad = np.zeros((8 * LAYOUT.bytes, TAPES), dtype=np.bool_)
    pad[:VARIED] = pads
    return bits, split(bits, Tape([as_bytes(pad.T.ravel())]))


def no_pad(rows: Bits) -> tuple[Bits, tuple[list[bytes], list[bytes]]]:
    """Server 0 gets zeros, and server 1 the row."""
    bits = LAYOUT.with_products(rows, Tape([as_bytes(tapes()[0])]))
    return bits, split(bits, Tape([bytes(LAYOUT.bytes * TAPES)]))


def same_pad(rows: Bits) -> tuple[Bits, tuple[list[bytes], list[bytes]]]:
    """One random bit for all bits of a row."""
    bits = LAYOUT.with_products(rows, Tape([as_bytes(tapes()[0])]))
    return bits, split(bits, Tape([as_bytes(np.repeat(tapes()[1][:, None], 8 * LAYOUT.bytes, axis=1).ravel())]))


def no_mask(rows: Bits) -> tuple[Bits, tuple[list[bytes], list[bytes]]]:
    """Products of zero: what is opened is the bit itself."""
    _, (first, _) = honest(rows)
    bits = LAYOUT.with_products(rows, Tape([bytes(TAPES)]))
    pad = np.frombuffer(b"".join(first), dtype=np.uint8)
    return bits, split(bits, Tape([pad.tobytes()]))


@dataclass
class Seen:
    """Of each tape: what a server was given, the masked bits that it heard, and the cells that it heard."""

    given: list[tuple[bool, ...]]
    opened: list[tuple[bool, ...]]
    cells: list[tuple[bool, ...]]


@cache
def asked(row: tuple[Any, Any], upload: Upload) -> tuple[list[Seen], Played]:
    """What both servers see of a question about this row."""
    table = {"a": [row[0]] * TAPES, "b": [row[1]] * TAPES}
    _, shares = upload(LAYOUT.encoded(table))

    def server(link: Link) -> list[list[int]]:
        batch = Batch(packed(shares[link.place], LAYOUT), TAPES)
        return Run(link, Holdings(LAYOUT, [batch]), Transfers(link)).answers([Order(QUESTION, QUIET)])

    played = together(server)
    seen = []
    for share, heard in zip(shares, played.heard, strict=True):
        parts = joined(share, LAYOUT.bits)[:VARIED], _bits(heard[-3], 1), _bits(heard[-2], 2)
        seen.append(Seen(*map(_columns, parts)))
    return seen, played


def _bits(message: bytes, lines: int) -> Bits:
    data = np.frombuffer(message, dtype=np.uint8).reshape(lines, -1)
    return np.unpackbits(data, axis=1, count=TAPES, bitorder="little").astype(np.bool_)


def _columns(bits: Bits) -> list[tuple[bool, ...]]:
    return [tuple(column) for column in bits.T.tolist()]


def all_alike(upload: Upload) -> bool:
    """Whether both servers see the same of all rows in uploads and products: exactly, over all tapes."""
    views: list[list[Counter[Any]]] = [[], []]
    for row in ROWS:
        for place, seen in enumerate(asked(row, upload)[0]):
            views[place].append(Counter(zip(seen.given, seen.opened, strict=True)))
    return all(view == part[0] for part in views for view in part)


@pytest.mark.parametrize("upload", [honest, no_pad, same_pad, no_mask])
def test_over_all_tapes_of_an_owner_a_server_sees_the_same_for_all_rows(upload: Upload) -> None:
    assert all_alike(upload) == (upload is honest)


def alike(samples: Sequence[Sequence[Any]]) -> bool:
    """Whether samples may have one law: chi-square, with a false alarm in a million."""
    kinds = sorted(set().union(*samples))
    table = [[Counter(sample)[kind] for kind in kinds] for sample in samples]
    return len(kinds) > 1 and bool(chi2_contingency(table).pvalue > FALSE_ALARM)


@pytest.mark.parametrize("again", [False, True], ids=["once", "a mutant that uses products again"])
def test_a_product_that_is_used_again_is_found_out(again: bool) -> None:
    """With one mask, what is opened in two questions tells whether their bits are alike."""
    samples = []
    for row in ROWS:
        _, shares = honest(LAYOUT.encoded({"a": [row[0]] * TAPES, "b": [row[1]] * TAPES}))
        given = joined(shares[0], LAYOUT.bits)
        first, second = _opened_twice(shares, again)
        samples.append(_columns(np.stack([first, second, given[FIRST] ^ given[SECOND]])))
    assert alike(samples) != again


def _opened_twice(shares: Sequence[list[bytes]], again: bool) -> list[Bits]:
    """The masked bits that server 0 hears in two questions about different bits of one column."""

    def server(link: Link) -> None:
        transfers, used = Transfers(link), Counter[str]()
        holdings = Holdings(LAYOUT, [Batch(packed(shares[link.place], LAYOUT), TAPES)])
        for measure in (QUESTION, OTHER):
            Run(link, holdings, transfers, Counter() if again else used).answers([Order(measure, QUIET)])

    heard = [message for message in together(server).heard[0] if len(message) == TAPES // 8]
    return [_bits(message, 1)[0] for message in heard[-2:]]


def no_masks(count: int, entropy: Entropy) -> Bits:
    return np.zeros(count, dtype=np.bool_)


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "a mutant without masks"])
def test_cells_in_the_conversion_look_the_same_for_all_rows(masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not masked:
        monkeypatch.setattr(runs, "random_bits", no_masks)
    play = asked if masked else asked.__wrapped__
    samples: list[list[Any]] = [[], []]
    for row in ROWS:
        for place, seen in enumerate(play(row, honest)[0]):
            triples = zip(seen.opened, seen.given, seen.cells, strict=True)
            samples[place].append([(opened, own[5:7], cells) for opened, own, cells in triples])
    assert [alike(part) for part in samples] == [masked, masked]


def simulated(seen: Seen, answers: list[list[int]], own: list[bytes]) -> tuple[list[Any], bytes]:
    """One server's messages from its own share, its own words and the answer alone: uniform bits, and a difference."""
    draws = _columns(np.frombuffer(SYSTEM.words(3 * TAPES // 8, np.uint64), np.uint8)[: 3 * TAPES].reshape(3, -1) & 1)
    words = np.array(answers[0], dtype=np.int64).view(np.uint64) - np.frombuffer(own[-1], dtype="<u8")
    return list(zip(seen.given, draws, strict=True)), words.astype("<u8").tobytes()


def test_a_simulator_makes_the_transcript_from_one_servers_inputs_and_the_answer() -> None:
    for row in ROWS[:2]:
        views, played = asked(row, honest)
        for place, seen in enumerate(views):
            sent = played.heard[1 - place]
            made, last = simulated(seen, played.results[place], sent)
            assert played.heard[place][-1] == last, "the final share follows from the answer"
            real = [(o, *c) for o, c in zip(seen.opened, seen.cells, strict=True)]
            drawn = [((d[0],), *d[1:]) for _, d in made]
            for bits in range(2):  # jointly with a bit of the server's own share, too
                mine = [(own[bits], kind) for own, kind in zip(seen.given, real, strict=True)]
                theirs = [(own[bits], kind) for (own, _), kind in zip(made, drawn, strict=True)]
                assert alike([mine, theirs])


def test_lengths_order_and_rounds_are_the_same_for_all_rows() -> None:
    plays = [asked(row, honest)[1] for row in ROWS]
    assert all((play.lengths, play.rounds) == (plays[0].lengths, plays[0].rounds) for play in plays)
    assert plays[0].heard != plays[1].heard


def test_messages_of_the_intake_are_uniform_whatever_the_row() -> None:
    """Bytes of all transfers, at both servers; the last message is the check, which the simulator knows."""
    limit = chi2.ppf(1 - FALSE_ALARM, 255)
    for row in (ROWS[0], ROWS[3]):
        _, shares = honest(LAYOUT.encoded({"a": [row[0]] * TAPES, "b": [row[1]] * TAPES}))

        def server(link: Link, shares: Any = shares) -> Any:
            return take_in(link, Transfers(link), LAYOUT, packed(shares[link.place], LAYOUT), TAPES)

        for messages in together(server).heard:
            for message in messages[2:-1]:  # after the base transfers
                counts = np.bincount(np.frombuffer(message, dtype=np.uint8), minlength=256)
                assert ((counts - len(message) / 256) ** 2 / (len(message) / 256)).sum() < limit


# -------------------------------------------------------------------------------------------------------- the auditor

NOISE = JointLaplace(1, precision=16)
DRAWS = 2000


def own_guess(coins: list[bytes]) -> np.ndarray:
    """The draws that one server's uniform bits alone would make."""
    parts = []
    for coin, data in zip((NOISE.sign, *NOISE.digits), coins, strict=False):
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=coin.bits * DRAWS, bitorder="little")
        rows = np.packbits(bits.reshape(coin.bits, DRAWS), axis=0).T
        spare = -coin.bits % 8
        parts.append(np.array([int.from_bytes(row.tobytes(), "big") >> spare < coin.threshold for row in rows]))
    sign, *digits = parts
    size = sum(digit.astype(np.int64) << place for place, digit in enumerate(digits))
    return np.where(sign, -1 - size, size)


@pytest.mark.parametrize("helps", [True, False], ids=["both toss", "a mutant where one tosses"])
def test_an_answer_stays_private_for_a_server_that_subtracts_what_its_own_coins_say(helps: bool) -> None:
    tapes = [Tape(), Tape() if helps else Tape([bytes(1 << 20)] * 40)]

    def server(link: Link) -> Any:
        transfers = Transfers(link)
        gates = Gates(link, transfers.triples(triples_for(NOISE, DRAWS)))
        return noise_words(gates, transfers, NOISE, DRAWS, tapes[link.place])

    ours, theirs = together(server).results
    seen = iter(((ours + theirs).view(np.int64) - own_guess(tapes[0].drawn)).tolist())
    stated = NOISE.privacy_loss(1)
    result = audit(
        lambda data: sum(data) + next(seen), ([1, 0], [1, 1]), samples=DRAWS // 2, claimed=stated, relation="replace"
    )
    assert result.caught != helps
