"""Safe Harbor: health records without the 18 identifiers of HIPAA, linked to people again.

The rule removes names, birthdays and most digits of postcodes. It leaves the year of birth, three digits, and all that
is not on its list: sex, work, schooling, family. A neighbour knows these. Sweeney and others (2017, Re-identification
risks in HIPAA Safe Harbor data) did it with a real table that met the rule. Here the town is invented
(`lapwing.datasets.town`), and the secret, the result of a test, is a fair coin for every patient.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.linkage import linkage
from lapwing.adversary.attacks.suppression import between_two_cells
from lapwing.anonymity.identifiers import remove
from lapwing.anonymity.table import Columns, classes_of
from lapwing.datasets import Town, town
from lapwing.datasets.town import TODAY
from lapwing.noise import Entropy, bernoulli, uniform_below

PEOPLE = 20_000
BY_LAW = ("birth_date", "sex", "postcode")
"""What a list of voters tells."""
NEIGHBOURLY = (*BY_LAW, "marital_status", "education", "occupation")
"""What a neighbour knows too; none of it is among the 18."""


def records(place: Town, who: Sequence[int], columns: Sequence[str], *, safe_harbor: bool = True) -> Columns:
    """Some people of the town in some columns: without the 18 identifiers, or only without names."""
    known: Columns = {name: [place.people[name][person] for person in who] for name in ("name", *columns)}
    return remove(known, year=TODAY.year) if safe_harbor else {name: known[name] for name in columns}


def relinked(place: Town, columns: Sequence[str], *, safe_harbor: bool = True) -> tuple[float, float]:
    """Link the hospital's records of an invented town to its voters, and say how often this names a patient.

    The attacker coarsens the list of voters in the same way as the hospital coarsens its records. A list of voters has
    no jobs and no schooling. A neighbour, an employer or a data broker knows these as well.

    Args:
        place: The town, as `lapwing.datasets.town` makes it.
        columns: What the attacker knows of people: names of columns of `place.people`.
        safe_harbor: Whether the hospital removes the 18 identifiers of HIPAA, or only names.

    Returns:
        The share of all patients who are named correctly, and the share of named patients whose name is correct.

    >>> from lapwing.datasets import town
    >>> share, _ = relinked(town(2_000), ["birth_date", "sex", "postcode"], safe_harbor=False)
    >>> share > 0.5
    True
    """
    patients, voters = (
        records(place, who, columns, safe_harbor=safe_harbor) for who in (place.patients, place.registered)
    )
    match = linkage(patients, voters, on=list(columns))
    return match.recall(place.truth), match.precision(place.truth)


@cache
def _crowds(columns: tuple[str, ...], *, safe_harbor: bool) -> list[int]:
    """For every patient, how many records fit what is known of them."""
    place = town(PEOPLE)
    alike = classes_of(records(place, place.patients, columns, safe_harbor=safe_harbor), columns)
    sizes: list[int] = alike.sizes[alike.member].tolist()
    return sizes


def _play(rounds: int, entropy: Entropy, columns: tuple[str, ...], *, safe_harbor: bool) -> Rounds:
    """Somebody known to be a patient: the attacker says what most of the records that fit say."""
    crowds = _crowds(columns, safe_harbor=safe_harbor)
    won: list[float] = []
    for _ in range(rounds):
        crowd = crowds[uniform_below(len(crowds), entropy=entropy)]
        results = bernoulli(Fraction(1, 2), crowd, entropy)
        won.append(float((2 * int(results.sum()) >= crowd) == bool(results[0])))
    return won


def _names_removed(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, BY_LAW, safe_harbor=False)


def _safe_harbor(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, BY_LAW, safe_harbor=True)


def _neighbour(rounds: int, entropy: Entropy) -> Rounds:
    return _play(rounds, entropy, NEIGHBOURLY, safe_harbor=True)


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    """The first patients whose records no other fits, under each way of removing."""
    conclusions = []
    for about, columns, safe_harbor in (
        ("only names removed", BY_LAW, False),
        ("all 18 identifiers removed, a neighbour asks", NEIGHBOURLY, True),
    ):
        crowds = _crowds(columns, safe_harbor=safe_harbor)
        alone = [row for row, crowd in enumerate(crowds) if crowd == 1]
        result = bool(bernoulli(Fraction(1, 2), entropy=entropy))
        row = alone[uniform_below(len(alone), entropy=entropy)]
        place = town(PEOPLE)
        name = place.people["name"][place.patients[row]]
        because = f"One record fits in {', '.join(columns)}, as for {len(alone) / len(crowds):.0%} of all patients."
        conclusions.append(
            Conclusion(about=f"{name}'s test, {about}", guess=result, sure=1, because=because, truth=result)
        )
    return conclusions


IDENTIFIERS = Attack(
    name="identifiers",
    title="Safe Harbor: what remains when the 18 identifiers are removed",
    secret="the result of a patient's test",
    source="45 CFR 164.514(b)(2); Sweeney and others 2017",
    weak={
        "no names (birthday, sex and postcode known)": _names_removed,
        "all 18 removed (birthday, sex and postcode known)": _safe_harbor,
        "all 18 removed (work, school and family also known)": _neighbour,
    },
    answer="counts of results in every group with Laplace noise, everybody else known",
    promise="epsilon for all counts together, whatever the result of one patient (replace)",
    private=between_two_cells,
    bound=best_guess,
    example=_example,
    lesson="A list of identifiers is never complete: anything that differs between people identifies them.",
    rounds=1000,
)
