"""The contract between the mechanisms and the auditor: no real mechanism is caught, every broken control is."""

from __future__ import annotations

import inspect
import math

import pytest

import lapwing.mechanisms
from lapwing.adversary import CONTROLS, Control, Witness, all_witnesses, audit

FALSE_ALARM = 5e-7
"""Per audit of a real mechanism: with up to 200 of them the suite fails by chance in one of ten thousand runs."""

TEETH = 0.2
"""Each mechanism has a witness that shows at least this share of its claim; a claim of less would be caught."""

EXPORTED = [getattr(lapwing.mechanisms, name) for name in lapwing.mechanisms.__all__]
MECHANISMS = [thing for thing in EXPORTED if inspect.isclass(thing) and hasattr(thing, "privacy_loss")]


def witnesses_of(mechanism: type) -> list[Witness]:
    return [witness for witness in all_witnesses() if type(witness.mechanism) is mechanism]


def test_there_are_mechanisms_and_few_enough_audits() -> None:
    assert len(MECHANISMS) > 15
    assert len(all_witnesses()) * FALSE_ALARM < 1e-4
    assert {type(witness.mechanism) for witness in all_witnesses()} <= set(MECHANISMS)


def shown(witness: Witness) -> float:
    """The share of its claim that an audit shows; more than all of it is a failure."""
    found = audit(
        witness.mechanism,
        witness.pair,
        samples=witness.samples,
        confidence=1 - FALSE_ALARM,
        delta=witness.delta,
        claimed=witness.claim,
    )
    assert not found.caught, f"{witness}: {found.explain()}"
    assert found.claimed is not None
    assert math.isfinite(found.claimed)
    return found.epsilon_lower_bound / found.claimed if found.claimed else math.inf


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_the_auditor_does_not_beat_the_stated_loss_with_the_first_witness_that_has_teeth(mechanism: type) -> None:
    witnesses = witnesses_of(mechanism)
    assert witnesses, f"{mechanism.__name__} needs a pair of tailored neighbours in lapwing.adversary.witnesses"
    assert any(shown(witness) > TEETH for witness in witnesses), "these witnesses would not notice a false claim"


@pytest.mark.sweep
@pytest.mark.parametrize("witness", all_witnesses(), ids=str)
def test_the_auditor_never_beats_the_stated_loss(witness: Witness) -> None:
    shown(witness)


@pytest.mark.parametrize("witness", all_witnesses(), ids=str)
def test_a_witness_is_answered_without_an_alarm(witness: Witness, recwarn: pytest.WarningsRecorder) -> None:
    for data in (witness.pair.first, witness.pair.second):
        witness.mechanism.release(data)
    assert not recwarn.list


@pytest.mark.parametrize("control", CONTROLS, ids=str)
def test_every_broken_control_is_caught(control: Control) -> None:
    found = audit(control, control.pair)
    assert found.claimed == 1
    assert found.caught, found.explain()
    assert found.epsilon_lower_bound > control.shows - 5 * control.spread - 0.01, found.explain()
