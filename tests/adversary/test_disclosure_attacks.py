"""Attacks on cell suppression, rounding, sub-sampling and the removal of identifiers: they win, and not against DP."""

from __future__ import annotations

import pytest
from cases import together
from scipy.stats import binom

from lapwing.adversary.attacks.attack import Attack
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.identifiers import BY_LAW, IDENTIFIERS, NEIGHBOURLY, PEOPLE, records, relinked
from lapwing.adversary.attacks.rounding import ROUNDING, tipping
from lapwing.adversary.attacks.subsampling import SUBSAMPLING, exposed
from lapwing.adversary.attacks.suppression import SUPPRESSION, between_two_cells, recovered
from lapwing.anonymity.rounding import Rounding
from lapwing.anonymity.suppression import CellSuppression
from lapwing.datasets import town
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

FALSE_ALARM = 1e-6
ALL = [IDENTIFIERS, ROUNDING, SUBSAMPLING, SUPPRESSION]


def at_most(successes: float, rounds: int, chance: float) -> bool:
    return bool(successes <= binom.isf(FALSE_ALARM, rounds, chance))


def at_least(successes: float, rounds: int, chance: float) -> bool:
    return bool(successes >= binom.ppf(FALSE_ALARM, rounds, chance))


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_no_attack_beats_the_bound_of_differential_privacy(attack: Attack) -> None:
    for number, epsilon in enumerate((0.1, 1, 3)):
        played = attack.private(epsilon, 400, Reproducible(number))
        assert at_most(sum(played), len(played), attack.bound(epsilon))


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_every_contest_holds(attack: Attack) -> None:
    contest = attack.run(rounds=20, epsilons=[1])
    assert contest.holds
    assert max(score.success for score in contest.weak) > 0.9


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_every_attack_tells_the_truth_it_is_certain_of(attack: Attack) -> None:
    for seed in range(5):
        for learned in attack.tell(Reproducible(seed)):
            assert learned.truth is not None
            if learned.sure == 1 and isinstance(learned.guess, int):
                assert learned.guess == learned.truth


def test_hidden_cells_come_back_from_totals_unless_others_are_hidden_too() -> None:
    primary, complementary, known = SUPPRESSION.run(rounds=50, epsilons=[], seed=2).weak
    assert primary.success == 1
    assert at_most(complementary.success * 50, 50, 0.5)
    assert known.success == 1


def test_recovered_cells_are_values_or_intervals() -> None:
    counts = {"N": {"flu": 40, "HIV": 2}, "S": {"flu": 31, "HIV": 9}}
    [bare] = recovered(CellSuppression(complementary=False).publish(counts))
    assert (bare.about, bare.guess, bare.sure) == ("N, HIV", 2, 1)
    guesses = {learned.about: learned.guess for learned in recovered(CellSuppression().publish(counts))}
    assert guesses["N, HIV"] == "1 to 10"


def test_rounded_counts_are_read_where_they_flip_or_averaged() -> None:
    nearest, random = ROUNDING.run(rounds=200, epsilons=[], seed=3).weak
    assert nearest.success == 1
    # The means differ by 1 or 0 with a deviation of at most sqrt(2·6.25/400) = 0.18: wrong beyond 2.8 of them.
    assert at_least(random.success * 200, 200, 0.99)


@together("base", [2, 3, 5, 10])
@pytest.mark.parametrize("secret", [0, 1])
def test_the_tipping_set_is_found_for_every_base(base: int, secret: int) -> None:
    people = [secret, *([0, 1, 1] * 10)]
    rounded = Rounding(base=base)
    sizes = []

    def ask(members: object) -> int:
        chosen = list(members)  # type: ignore[call-overload]
        sizes.append(len(chosen))
        return rounded.release(sum(people[i] for i in chosen))

    learned = tipping(ask, range(1, 31), 0, smallest=7)
    assert learned is not None
    assert (learned.guess, learned.sure) == (secret, 1)
    assert min(sizes) >= 7


def test_no_tipping_set_no_claim() -> None:
    assert tipping(lambda members: 0, range(1, 31), 0) is None


def test_a_rare_person_is_found_in_some_sample() -> None:
    once, often, inside = SUBSAMPLING.run(rounds=300, epsilons=[], seed=4).weak
    assert at_most(once.success * 300, 300, 0.55)
    assert at_least(once.success * 300, 300, 0.55)
    assert at_least(often.success * 300, 300, 1 - 0.9**50)
    assert inside.success == 1
    assert exposed([{"keeper": [0], "ill": [1]}], rare="keeper", sensitive="ill") is None
    with pytest.raises(InvalidParameter, match="is not a column"):
        exposed([{"keeper": [0], "ill": [1]}], rare="guard", sensitive="ill")


def test_the_strongest_attacker_on_a_count_reaches_the_bound() -> None:
    played = ROUNDING.private(1, 4000, Reproducible(5))
    assert at_least(sum(played), 4000, best_guess(1))


def test_the_best_guess_between_two_noisy_cells_is_that_of_half_the_epsilon() -> None:
    played = between_two_cells(1, 4000, Reproducible(7))
    assert at_least(sum(played), 4000, best_guess(0.5))
    assert at_most(sum(played), 4000, best_guess(0.5))


def test_safe_harbor_records_are_linked_again_by_what_the_rule_leaves() -> None:
    place = town(PEOPLE)
    birthdays, _ = relinked(place, BY_LAW, safe_harbor=False)
    years, _ = relinked(place, BY_LAW)
    neighbours, right = relinked(place, NEIGHBOURLY)
    listed = sum(person is not None for person in place.truth) / len(place.truth)
    assert birthdays > 0.9 * listed
    assert years < 0.01
    assert 0.08 < neighbours < 0.15  # of all patients, of whom somewhat more than half are on the list
    assert right > 0.6


def test_what_is_published_has_no_names_birthdays_or_whole_postcodes() -> None:
    place = town(1000)
    published = records(place, place.patients, NEIGHBOURLY)
    assert set(published) == set(NEIGHBOURLY)
    assert all(isinstance(year, int) or year == "1934 or before" for year in published["birth_date"])
    assert {len(code.rstrip("*")) for code in published["postcode"]} == {3}


def test_a_safe_harbor_table_tells_a_neighbour_more_than_a_voter_list() -> None:
    names, voters, neighbours = IDENTIFIERS.run(rounds=1000, epsilons=[], seed=6).weak
    assert at_least(names.success * 1000, 1000, 0.95)
    assert at_most(voters.success * 1000, 1000, 0.65)
    assert at_least(neighbours.success * 1000, 1000, 0.75)
