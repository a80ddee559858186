"""An invented town: its people, the patients of its hospital without names, and its voters with names.

Households come first (who lives together, how old, of which sex, in which part of the town), then schooling and work,
income, illnesses by age and sex, and names made of syllables. The shares that make it plausible and where they are
from are in `town_facts`. The same seed gives the same town everywhere.
"""

from __future__ import annotations

import datetime
import hashlib
import warnings
from dataclasses import dataclass, field
from typing import Any, Final

from lapwing import checks
from lapwing.errors import NotPrivateWarning
from lapwing.noise import Reproducible

TODAY: Final = datetime.date(2024, 12, 31)
"""The day on which everybody has the age given. The hospital's records are those of the year that ends."""
FEWEST_POSTCODES: Final = 3
Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Town:
    """An invented town: all its people, two published tables about them, and which rows belong to the same person.

    A postcode has five digits; its first three are the district. The two tables share birth date, sex and postcode. A
    person who is the only one with these three values can be found at once.

    >>> place = town(people=200)
    >>> patient, voter = next((row, voter) for row, voter in enumerate(place.truth) if voter is not None)
    >>> place.hospital["birth_date"][patient] == place.voters["birth_date"][voter]  # the same person
    True
    """

    people: Columns = field(repr=False)
    """All people with all columns, which no published table should show."""
    hospital: Columns = field(repr=False)
    """The year's patients, without names: birth_date, sex, postcode, admission, diagnosis; ordered by admission."""
    voters: Columns = field(repr=False)
    """About 70 % of the adults: name, address, postcode, birth_date, sex; ordered by name."""
    patients: list[int] = field(repr=False)
    """For every row of `hospital`, the row of that person among `people`."""
    registered: list[int] = field(repr=False)
    """For every row of `voters`, the row of that person among `people`."""
    truth: list[int | None] = field(repr=False)
    """For every row of `hospital`, the row of the same person among `voters`; None if that person is no voter."""


def town(people: int = 20_000, *, seed: int = 0, per_postcode: int = 7_000) -> Town:
    """Make an invented town.

    With the default of 7,000 people per postcode, about five in six people are the only ones of their sex and birth
    date in their postcode. In the United States it is 87 % (Sweeney 2000) or 63 % (Golle 2006).

    Args:
        people: How many people live there.
        seed: The same seed and sizes give the same town everywhere.
        per_postcode: How many people a postcode has on average. A town has at least three postcodes.

    Returns:
        The town, with the tables that its hospital and its town hall publish.

    Raises:
        InvalidParameter: If `people` or `per_postcode` is less than 1, or `seed` is negative.

    >>> place = town(people=12)
    >>> list(place.hospital)
    ['birth_date', 'sex', 'postcode', 'admission', 'diagnosis']
    >>> list(place.voters)
    ['name', 'address', 'postcode', 'birth_date', 'sex']
    >>> len(place.people["name"])
    12
    """
    from lapwing.datasets import town_tables

    count, each = checks.whole(people=people), checks.whole(per_postcode=per_postcode)
    key = f"lapwing town 1, seed {checks.whole(minimum=0, seed=seed)}, {count} people, {each} to a postcode"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # there is nobody to protect
        entropy = Reproducible(hashlib.sha256(key.encode()).digest())
    everybody = town_tables.everybody(count, max(FEWEST_POSTCODES, round(count / each)), TODAY, entropy)
    hospital, patients = town_tables.hospital(everybody, TODAY, entropy)
    voters, registered = town_tables.voters(everybody, entropy)
    place = {person: row for row, person in enumerate(registered.tolist())}
    return Town(
        people=town_tables.plain(everybody),
        hospital=town_tables.plain(hospital),
        voters=town_tables.plain(voters),
        patients=patients.tolist(),
        registered=registered.tolist(),
        truth=[place.get(person) for person in patients.tolist()],
    )
