"""What each server sees, over all tapes: circuits of two gates and comparisons, with all cases side by side in one run.

A tape is the dealer's bits of every triple. A case is a tape with all shares of all inputs; every case has a column of
its own, so one run of the circuit plays all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cases import together as each
from numpy.typing import NDArray
from pairing import Run, together

from lapwing.pair.gates import Gates, ands_below, below
from lapwing.pair.links import Link
from lapwing.pair.transfers import Bits, Triples

Circuit = Callable[[Gates, Bits], Bits]
"""From one server's shares, an input a row, to its share of the result."""
Codes = NDArray[np.int64]


class SamePad(Gates):
    def both(self, left: Bits, right: Bits) -> Bits:
        a, b, c = (part.reshape(left.shape) for part in self.triples.take(left.size))
        self.opened_bits(np.concatenate([(left ^ a).ravel(), (right ^ a).ravel()]))
        return c ^ b


class NoPad(Gates):
    def both(self, left: Bits, right: Bits) -> Bits:
        a, _, _ = self.triples.take(left.size)
        self.opened_bits(np.concatenate([left.ravel(), right.ravel()]))
        return a.reshape(left.shape)


class OnePad(Gates):
    """The second input goes without."""

    def both(self, left: Bits, right: Bits) -> Bits:
        a, _, _ = self.triples.take(left.size)
        self.opened_bits(np.concatenate([left.ravel() ^ a, right.ravel()]))
        return a.reshape(left.shape)


@dataclass(frozen=True)
class Plan:
    """A circuit, how many ANDs it takes, and how many inputs it has."""

    circuit: Circuit
    ands: int
    inputs: int
    truth: Callable[[Bits], Bits]


def _chain(gates: Gates, shares: Bits) -> Bits:
    return gates.both(gates.both(shares[:1], shares[1:2]), gates.negated(shares[2:3]))[0]


def _below(threshold: int) -> Plan:
    return Plan(
        lambda gates, shares: below(gates, [shares], [threshold])[0],
        ands_below(2),
        2,
        lambda bits: 2 * bits[0].astype(int) + bits[1] < threshold,
    )


PLANS = {
    "one gate": Plan(lambda gates, s: gates.both(s[:1], s[1:2])[0], 1, 2, lambda bits: bits[0] & bits[1]),
    "two gates": Plan(_chain, 2, 3, lambda bits: bits[0] & bits[1] & ~bits[2]),
    **{f"a comparison with {threshold}": _below(threshold) for threshold in (1, 2, 3)},
}
PADS: dict[str, type[Gates]] = {"same pad": SamePad, "no pad": NoPad, "one pad": OnePad}


@dataclass(frozen=True)
class Played:
    """All cases of a circuit: inputs of both servers, what each saw, and the result."""

    mine: tuple[Codes, Codes]
    views: tuple[Codes, Codes]
    inputs: Bits
    result: Bits

    def same_for_all_inputs_of_the_other(self, place: int) -> bool:
        """Whether for each own input the views have one law, whatever the other server's inputs are."""
        own, other, view = self.mine[place], self.mine[1 - place], self.views[place]
        values, view = np.unique(view, return_inverse=True)
        counts = np.zeros((own.max() + 1, other.max() + 1, len(values)), dtype=int)
        np.add.at(counts, (own, other, view), 1)
        return bool((counts == counts[:, :1]).all())


def played(plan: Plan, gates: type[Gates] = Gates, *, reused: bool = False) -> Played:
    """All cases; `reused` deals the first triple for every AND of the circuit."""
    width = 5 * plan.ands + 2 * plan.inputs
    cases = (np.arange(1 << width) >> np.arange(width)[:, None] & 1).astype(np.bool_)
    tape = cases[: 5 * plan.ands].reshape(plan.ands, 5, -1)
    a, b, *shares = np.swapaxes(tape[[0] * plan.ands] if reused else tape, 0, 1)
    inputs = cases[5 * plan.ands :].reshape(2, plan.inputs, -1)

    def dealt(place: int) -> list[Bits]:
        return [share ^ value if place else share for share, value in zip(shares, (a, b, a & b), strict=True)]

    def server(link: Link) -> Bits:
        triples = Triples(*(part.ravel().copy() for part in dealt(link.place)))
        return plan.circuit(gates(link, triples), inputs[link.place])

    run = together(server)
    first, second = (_codes([*dealt(place), *_messages(run, place, cases.shape[1])]) for place in (0, 1))
    codes = _codes([inputs[0]]), _codes([inputs[1]])
    return Played(codes, (first, second), inputs[0] ^ inputs[1], np.logical_xor(*run.results))


def _messages(run: Run, place: int, columns: int) -> list[Bits]:
    parts = (np.unpackbits(np.frombuffer(message, np.uint8), bitorder="little") for message in run.heard[place])
    return [part.reshape(-1, columns).astype(np.bool_) for part in parts]


def _codes(parts: list[Bits]) -> Codes:
    """One number a column for all its bits."""
    bits = np.concatenate(parts)
    assert len(bits) < 62
    return (bits.astype(np.int64) << np.arange(len(bits))[:, None]).sum(axis=0)


@each("name", list(PLANS))
def test_over_all_tapes_both_servers_see_the_same_for_all_inputs_of_the_other(name: str) -> None:
    cases = played(PLANS[name])
    assert (cases.result == PLANS[name].truth(cases.inputs)).all()
    assert cases.same_for_all_inputs_of_the_other(0)
    assert cases.same_for_all_inputs_of_the_other(1)


@each("name", list(PLANS))
@each("mutant", list(PADS))
def test_pads_that_are_missing_or_the_same_are_found_out_by_both_servers(name: str, mutant: str) -> None:
    cases = played(PLANS[name], PADS[mutant])
    assert not cases.same_for_all_inputs_of_the_other(0)
    assert not cases.same_for_all_inputs_of_the_other(1)


@each("name", ["two gates", "a comparison with 2"])
def test_a_triple_for_two_gates_is_found_out_by_both_servers(name: str) -> None:
    """One gate alone has no second use; in comparisons with 1 and 3 both gates hide the same bit or its complement."""
    cases = played(PLANS[name], reused=True)
    assert not cases.same_for_all_inputs_of_the_other(0)
    assert not cases.same_for_all_inputs_of_the_other(1)


@each("threshold", [1, 2, 3])
def test_a_coin_is_as_likely_as_its_threshold_given_all_that_one_server_has(threshold: int) -> None:
    """Its own uniform bits and its view: the other's uniform bits make the coin. Without pads it is known."""
    plan = _below(threshold)

    def shares_of_ones(cases: Played, place: int) -> set[float]:
        _, seen = np.unique(cases.views[place] * 4 + cases.mine[place], return_inverse=True)
        ones = np.bincount(seen, weights=plan.truth(cases.inputs))
        return set((ones / np.bincount(seen)).tolist())

    for place in (0, 1):
        assert shares_of_ones(played(plan), place) == {threshold / 4}
        assert shares_of_ones(played(plan, NoPad), place) == {0.0, 1.0}
