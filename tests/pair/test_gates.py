"""Gates on shared bits: right for all inputs, and nothing is seen, over all tapes."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from cases import together as each
from pairing import together
from scipy.stats import chi2

from lapwing.noise import SYSTEM
from lapwing.pair.gates import Gates, ands_at_least, ands_below, at_least, below
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.links import Disagreement, Link
from lapwing.pair.noise_shares import noise_bits, noise_words, triples_for
from lapwing.pair.transfers import Bits, OutOfTriples, Transfers, Triples, random_bits, transposed

FALSE_ALARM = 1e-6
TRUTH = np.array([False, True])


def dealt(a: int, b: int, a_share: int, b_share: int, c_share: int, place: int) -> Triples:
    """One triple with these shares of server 0."""
    values = (a, b, a & b)
    shares = (a_share, b_share, c_share)
    return Triples(
        *(np.array([bool(share if place == 0 else share ^ value)]) for share, value in zip(shares, values, strict=True))
    )


And = Callable[[Gates, Bits, Bits], Bits]


def honest(gates: Gates, left: Bits, right: Bits) -> Bits:
    return gates.both(left, right)


def one_pad(gates: Gates, left: Bits, right: Bits) -> Bits:
    """The same pad on both inputs."""
    a, _, _ = gates.triples.take(1)
    gates.opened_bits(np.concatenate([left ^ a, right ^ a]))
    return left


def no_pad(gates: Gates, left: Bits, right: Bits) -> Bits:
    gates.opened_bits(np.concatenate([left, right]))
    return left


def views(gate: And, mine: tuple[int, int], theirs: tuple[int, int]) -> Counter[tuple[object, ...]]:
    """What server 0 sees (its triple and the messages), over all tapes of the dealer, for these shares."""
    seen = Counter[tuple[object, ...]]()
    for tape in itertools.product((0, 1), repeat=5):

        def server(link: Link, tape: tuple[int, ...] = tape) -> Bits:
            x, y = (mine, theirs)[link.place]
            gates = Gates(link, dealt(*tape, link.place))
            return gate(gates, np.array([bool(x)]), np.array([bool(y)]))

        run = together(server)
        seen[(tape[2:], *run.heard[0])] += 1
    return seen


@pytest.mark.parametrize("gate", [honest, one_pad, no_pad])
def test_over_all_tapes_a_server_sees_the_same_for_all_inputs_of_the_other(gate: And) -> None:
    """Its own triple is one of three bits; pads that are alike, or missing, are found out."""
    for mine in itertools.product((0, 1), repeat=2):
        all_views = [views(gate, mine, theirs) for theirs in itertools.product((0, 1), repeat=2)]
        alike = all(view == all_views[0] for view in all_views)
        assert alike == (gate is honest)


def test_a_triple_that_is_used_twice_is_found_out() -> None:
    """Two gates with one triple open x ⊕ x′: the control for single use."""

    def opened(theirs: tuple[int, int]) -> set[int]:
        seen = set()
        for a in (0, 1):  # the pad of server 1
            first, second = theirs[0] ^ a, theirs[1] ^ a
            seen.add(first ^ second)
        return seen

    assert opened((0, 0)) != opened((0, 1))
    triples = dealt(1, 1, 0, 1, 0, 0)
    triples.take(1)
    with pytest.raises(OutOfTriples, match="takes 1 triples, and 0 are left"):
        triples.take(1)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="used twice"):
            copied(triples)


def test_gates_are_right_for_all_shares() -> None:
    cases = np.array(list(itertools.product((False, True), repeat=4)))

    def server(link: Link) -> tuple[Bits, Bits, Bits]:
        transfers = Transfers(link)
        gates = Gates(link, transfers.triples(len(cases)))
        x, y = cases[:, link.place], cases[:, 2 + link.place]
        return gates.both(x, y), gates.negated(x), gates.public(TRUTH)

    ours, theirs = together(server).results
    both, negated, public = (one ^ other for one, other in zip(ours, theirs, strict=True))
    x, y = cases[:, 0] ^ cases[:, 1], cases[:, 2] ^ cases[:, 3]
    assert (both == (x & y)).all()
    assert (negated == ~x).all()
    assert (public == TRUTH).all()


@each("bits", [1, 2, 3, 5])
def test_comparisons_are_right_for_all_numbers_and_thresholds(bits: int) -> None:
    numbers = np.arange(1 << bits)
    digits = (numbers >> np.arange(bits)[::-1, None] & 1).astype(np.bool_)
    thresholds = list(range(1 << bits))
    masks = [random_bits(digits.size, SYSTEM).reshape(digits.shape) for _ in thresholds]

    def server(link: Link) -> list[Bits]:
        gates = Gates(link, Transfers(link).triples(len(thresholds) * len(numbers) * ands_below(bits)))
        shares = [mask if link.place else mask ^ digits for mask in masks]
        results = below(gates, shares, thresholds)
        assert len(gates.triples) == 0
        return results

    for threshold, ours, theirs in zip(thresholds, *together(server).results, strict=True):
        assert ((ours ^ theirs) == (numbers < threshold)).all()


def test_joint_noise_has_its_law_and_neither_server_knows_it() -> None:
    noise, draws = JointLaplace(2, precision=16), 4000

    def server(link: Link) -> tuple[object, object]:
        transfers = Transfers(link)
        gates = Gates(link, transfers.triples(2 * triples_for(noise, draws)))
        words = noise_words(gates, transfers, noise, draws)
        bits = noise_bits(gates, noise, draws)
        assert len(gates.triples) == 0
        return words, bits

    (words, bits), (other_words, other_bits) = together(server).results
    together_bits = (bits ^ other_bits).astype(np.int64)
    weights = np.array([*(1 << place for place in range(len(bits) - 1)), -(1 << (len(bits) - 1))])
    for values in ((words + other_words).view(np.int64), weights @ together_bits):
        assert _statistic(noise, values) < chi2.ppf(1 - FALSE_ALARM, 2 * _REACH + 1)
    assert _statistic(noise, words.view(np.int64) % 64) > chi2.ppf(1 - FALSE_ALARM, 2 * _REACH + 1), "a share alone"


_REACH = 8


def _statistic(noise: JointLaplace, values: np.ndarray) -> float:
    """Of a chi-square test, with all that is further out in one cell."""
    expected = [float(noise.probability(value)) for value in range(-_REACH, _REACH + 1)]
    observed = [int((values == value).sum()) for value in range(-_REACH, _REACH + 1)]
    expected.append(1 - sum(expected))
    observed.append(len(values) - sum(observed))
    return sum((o - len(values) * e) ** 2 / (len(values) * e) for o, e in zip(observed, expected, strict=True))


def test_messages_have_lengths_that_depend_on_the_numbers_alone() -> None:
    noise = JointLaplace(2, precision=16)

    def server(link: Link) -> None:
        transfers = Transfers(link)
        noise_words(Gates(link, transfers.triples(triples_for(noise, 50))), transfers, noise, 50)

    first, second = together(server), together(server)
    assert first.lengths == second.lengths
    assert first.rounds == second.rounds
    assert first.heard != second.heard


def test_transfers_give_the_chosen_key_and_products_are_right() -> None:
    choices = random_bits(1000, SYSTEM)

    def server(link: Link) -> tuple[object, object]:
        transfers = Transfers(link)
        keys = transfers._receiver.keys(choices) if link.place == 0 else transfers._sender.keys(len(choices))
        return keys, (transfers.products(choices), transfers.arithmetic(choices))

    (chosen, (product, sums)), ((zero, one), (other_product, other_sums)) = together(server).results
    assert (chosen == np.where(choices[:, None], one, zero)).all()
    assert not (chosen == np.where(choices[:, None], zero, one)).all(axis=1).any()
    assert ((product + other_product) == choices).all()
    assert ((sums + other_sums) == 0).all()


def test_triples_are_triples_and_every_share_is_as_likely() -> None:
    def server(link: Link) -> tuple[Bits, Bits, Bits]:
        transfers = Transfers(link)
        return transfers.triples(20_000).take(20_000)

    ours, theirs = together(server).results
    a, b, c = (one ^ other for one, other in zip(ours, theirs, strict=True))
    assert (c == (a & b)).all()
    codes = sum(share.astype(int) << place for place, share in enumerate((*ours, *theirs[:2])))
    counts = np.bincount(codes, minlength=32)
    assert ((counts - 625) ** 2 / 625).sum() < chi2.ppf(1 - FALSE_ALARM, 31)


def test_a_matrix_of_bits_is_turned() -> None:
    matrix = np.frombuffer(SYSTEM.words(128 * 5, np.uint64).tobytes(), dtype=np.uint8).reshape(128, 40)
    plain = np.unpackbits(matrix, axis=1, bitorder="little").T
    assert (np.unpackbits(transposed(matrix), axis=1, bitorder="little") == plain).all()


def test_whoever_does_something_else_ends_the_conversation() -> None:
    def silent(link: Link) -> None:
        link.connection.close()

    def garbled(link: Link) -> None:
        link.send(b"something else")

    def no_element(link: Link) -> None:
        link.send(b"\xff" * 32)

    for other in (silent, garbled, no_element):
        with pytest.raises(Disagreement, match="Nothing of it was used"):
            together(lambda link: Transfers(link), other)


def test_at_least_is_right_for_all_small_numbers_and_thresholds() -> None:
    """Numbers below 2^3 with four bits, shared modulo 2^64 in many ways."""
    numbers = np.repeat(np.arange(8, dtype=np.uint64), 20)
    pads = SYSTEM.words(len(numbers), np.uint64)

    def server(link: Link) -> list[list[bool]]:
        gates = Gates(link, Transfers(link).triples(8 * len(numbers) * ands_at_least(4)))
        own = pads if link.place == 0 else numbers - pads
        return [at_least(gates, own, threshold, 4).tolist() for threshold in range(8)]

    first, second = together(server).results
    for threshold in range(8):
        opened = [a != b for a, b in zip(first[threshold], second[threshold], strict=True)]
        assert opened == (numbers >= threshold).tolist()
