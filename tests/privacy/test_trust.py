"""A guarantee that holds against some parties only says so, wherever it goes."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from cases import together

import lapwing as lw
from lapwing.errors import IncompatibleLosses, InvalidParameter
from lapwing.privacy import PLD, ZCDP, AdditiveNoise, ApproxDP, Loss, PureDP, RenyiDP, Trust
from lapwing.privacy.quotes import after, risk
from lapwing.privacy.shuffling import shuffled

GROUPS = "Diffie-Hellman in ristretto255"
SERVERS = Trust(
    towards="either server alone", not_towards="both together", behaviour="semi-honest", assumes=(GROUPS, "AES-128")
)
FEWER = replace(SERVERS, assumes=("AES-128", "SHA-256"))
OTHERS = replace(SERVERS, towards="the analyzer", not_towards="the ingestor")

LOSSES: list[Loss] = [
    PureDP(1, relation="replace", trust=SERVERS),
    ApproxDP(1, 1e-9, relation="replace", trust=SERVERS),
    ZCDP(0.5, relation="replace", trust=SERVERS),
    ZCDP(0.5, 1e-9, relation="replace", trust=SERVERS),
    RenyiDP([2, 4, 64], [0.1, 0.2, 3], relation="replace", trust=SERVERS),
    PLD([PureDP(0.5, relation="replace")], relation="replace", trust=SERVERS),
    PLD([AdditiveNoise("discrete_laplace", 10, 2)], relation="replace", trust=SERVERS),
]
every_loss = together("loss", LOSSES)


@every_loss
def test_whatever_is_made_of_a_loss_keeps_its_trust(loss: Loss) -> None:
    made: list[Loss] = [3 * loss, loss + loss, loss.to_approx(1e-6), sum([loss, loss]), loss.to_replace()]  # type: ignore[list-item]
    for step in (
        lambda: loss.for_group(2),
        loss.to_zcdp,
        lambda: loss.to_renyi([2, 3]),
        lambda: loss.subsampled(0.1, "fixed_size"),
        lambda: loss + replace(loss, trust=None),
        lambda: replace(loss, trust=None) + loss,
        lambda: lw.compose(loss, replace(loss, trust=None), delta=1e-5).best,
        lambda: pickle.loads(pickle.dumps(loss)),
    ):
        try:
            made.append(step())
        except lw.errors.UnsupportedConversion:
            continue  # there is no such conversion, whatever the trust
    assert len(made) > 8
    assert [one.trust for one in made] == [SERVERS] * len(made)
    assert loss != replace(loss, trust=None)


@together("bound", ["basic", "advanced", "optimal", "zcdp", "renyi", "pld"])
def test_every_theorem_of_a_composition_keeps_the_trust(bound: str) -> None:
    plain, trusting = PureDP(0.1, relation="replace"), PureDP(0.1, relation="replace", trust=SERVERS)
    for losses in ([plain, trusting, plain], [trusting, plain, plain]):
        assert getattr(lw.compose(*losses, delta=1e-6), bound).trust == SERVERS


def test_add_remove_becomes_replace_under_the_same_trust() -> None:
    for loss in (PureDP(1, trust=SERVERS), PLD([ApproxDP(1, 1e-9, trust=SERVERS)], trust=SERVERS)):
        assert loss.to_replace().trust == SERVERS
        assert loss.to_replace().relation == "replace"
    assert lw.parallel(PureDP(1), PureDP(2, trust=SERVERS), disjoint_by="unit").trust == SERVERS
    assert lw.parallel(PureDP(3), PureDP(2, trust=SERVERS), disjoint_by="unit").trust == SERVERS


def test_a_shuffled_batch_and_what_remains_of_an_allowance_keep_the_trust() -> None:
    loss = PureDP(1, relation="replace", trust=SERVERS)
    assert shuffled(loss, 10_000, 1e-6).trust == SERVERS
    left = after(PureDP(3, relation="replace", trust=SERVERS), loss)
    assert left == PureDP(2, relation="replace", trust=SERVERS)


def test_a_sum_needs_what_both_assume() -> None:
    one, other = PureDP(1, trust=SERVERS), PureDP(1, trust=FEWER)
    both = one + other
    assert both == other + one
    assert both.trust == replace(SERVERS, assumes=(GROUPS, "AES-128", "SHA-256"))
    assert one <= replace(one, trust=both.trust)
    with pytest.raises(IncompatibleLosses, match="the second promises more"):
        _ = replace(one, trust=both.trust) <= one


def test_losses_against_different_parties_do_not_add() -> None:
    one, other = PureDP(1, trust=SERVERS), PureDP(1, trust=OTHERS)
    for step in (
        lambda: one + other,
        lambda: lw.compose(one, other),
        lambda: lw.parallel(one, other, disjoint_by="unit"),
        lambda: PLD([one], trust=OTHERS),
        lambda: PLD([one]),
        lambda: one <= other,
        lambda: one <= PureDP(9),
    ):
        with pytest.raises(IncompatibleLosses):
            step()
    assert PureDP(1) <= PureDP(1, trust=SERVERS), "what holds against everybody holds against a server"


def test_the_trust_is_in_the_words_of_a_loss_and_only_there() -> None:
    loss = ApproxDP(1, 1e-9, relation="replace", trust=SERVERS)
    sentence = (
        f"Trust: this holds against either server alone (semi-honest), not against both together, and assumes AES-128 "
        f"and {GROUPS}."
    )
    explanation = loss.explain()
    assert sentence in explanation.text.splitlines()
    assert risk(loss).endswith(sentence)
    assert str(loss) == "ε = 1, δ = 1e-09 (replace, per person, towards either server alone)"
    assert eval(repr(loss)) == loss
    assert Trust.from_dict(json.loads(json.dumps(explanation.data["trust"]))) == SERVERS
    plain = replace(loss, trust=None)
    assert "trust" not in plain.explain().data
    assert "rust" not in plain.explain().text + str(plain) + repr(plain) + risk(plain)


def test_an_answer_keeps_the_trust_and_one_without_is_written_as_ever() -> None:
    column = lw.curator.show.answer.Column("n", "count", (3,))
    loss = ApproxDP(1, 1e-9, relation="replace", trust=SERVERS)
    answer = lw.Answer((column,), loss, remaining=replace(loss, epsilon=2))
    again = lw.Answer.from_json(answer.to_json())
    assert again == answer
    assert (again.loss.trust, again.remaining.trust) == (SERVERS, SERVERS)  # type: ignore[union-attr]
    assert "Trust: this holds against either server alone" in again.explain().text
    assert "trust" not in replace(answer, loss=PureDP(1), remaining=None).to_json()


@every_loss
def test_a_pickle_of_a_loss_that_knew_no_trust_can_be_read(loss: Loss) -> None:
    state: Any = loss.__getstate__()
    place = state.index(SERVERS)
    old: Any = object.__new__(type(loss))
    old.__setstate__([*state[:place], *state[place + 1 :]])
    assert old == replace(loss, trust=None)


@together(
    "wrong",
    [
        {"towards": ""},
        {"not_towards": 3},
        {"behaviour": "two\nlines"},
        {"assumes": "AES-128"},
        {"assumes": [Fraction(1)]},
        {"assumes": {"a": 1}},
    ],
)
def test_a_trust_is_said_in_words(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Trust(**{"towards": "a", "not_towards": "b", "behaviour": "c", **wrong})


def test_a_loss_takes_no_other_trust() -> None:
    for kind in (lambda: PureDP(1, trust="servers"), lambda: ZCDP(1, trust={"towards": "a"})):  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="is not a Trust"):
            kind()
