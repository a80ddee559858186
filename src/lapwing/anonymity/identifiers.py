"""The 18 identifiers of HIPAA's Safe Harbor: which columns hold them, and a table without them.

The rule of 45 CFR 164.514(b)(2) lists what must go before health data counts as de-identified in the United States.
`classify` guesses from the names and the contents of columns what each of them is, `remove` does what the rule asks:
dates become years, ages above 89 become 90+ (and years of birth that tell such an age are merged), ZIP codes keep three
digits, everything else on the list is dropped.

What it cannot know: what a column means if neither its name nor its values say so; names inside free text; whether a
code was derived from the person; and the last condition of the rule, that nobody who publishes knows how the rest could
be linked to a person. Read what it found, and correct it with `kinds=`. On 95 labelled columns, ours and therefore kind
to it, the first run found 58 of the 59 identifiers, raised no false alarm, and named the kind of 56 rightly. On 128
more, listed by somebody who had not written the rules, it missed 25 of 74 at first, most for their abbreviated names.

What the rule leaves standing, year of birth, sex, three digits, work, family, is a fingerprint again: see the attack
`identifiers`.

>>> people = {"Pat. name": ["Ada Hall", "Bob Reed"], "DOB": ["1931-04-02", "1980-12-24"], "zip": ["02138", "03602"],
...           "age": [93, 44], "diagnosis": ["asthma", "flu"]}
>>> {name: finding.kind.name for name, finding in classify(people).items() if finding.kind}
{'Pat. name': 'NAME', 'DOB': 'DATE', 'zip': 'PLACE', 'age': 'DATE'}
>>> remove(people, year=2024)
{'DOB': ['1934 or before', 1980], 'zip': ['021**', '000**'], 'age': ['90+', 44], 'diagnosis': ['asthma', 'flu']}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any

import numpy as np

from lapwing import checks
from lapwing.anonymity.identifier_rules import BY_CONTENT, BY_NAME, NOT_BY_NAME, looks_like_date, running_number
from lapwing.anonymity.table import Column, Columns, columns_of, named
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

SMALL_ZIPS = frozenset(re.findall("...", "036059063102203556692790821823830831878879884890893"))
"""Three digits shared by 20,000 people or fewer in the census of 2000; newer censuses may add some."""
OLDEST = 89
_EXAMINED = 1000
"""Values of a column that are looked at."""
_MOST = 0.8
"""The share of values that must look alike."""


class Kind(Enum):
    """The identifiers (A) to (R) of the rule."""

    NAME = "names"
    PLACE = "places smaller than a state"
    DATE = "dates more exact than a year, and ages over 89"
    PHONE = "telephone numbers"
    FAX = "fax numbers"
    EMAIL = "email addresses"
    SOCIAL_SECURITY = "social security numbers"
    MEDICAL_RECORD = "medical record numbers"
    HEALTH_PLAN = "health plan beneficiary numbers"
    ACCOUNT = "account numbers"
    LICENCE = "certificate and licence numbers"
    VEHICLE = "vehicle identifiers and plates"
    DEVICE = "device identifiers and serial numbers"
    URL = "web addresses"
    IP = "internet protocol addresses"
    BIOMETRIC = "biometric identifiers"
    PHOTO = "photographs of faces"
    OTHER = "any other unique number, characteristic or code"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a column seems to be.

    Attributes:
        why: The reason, in words.

    >>> from lapwing.anonymity import classify
    >>> finding = classify({"email": ["ada@example.org", "bob@example.org"]})["email"]
    >>> finding.kind.value, finding.treatment
    ('email addresses', 'drop')
    """

    kind: Kind | None
    """None if nothing speaks for an identifier."""
    confidence: float
    """A rough degree from 0 to 1, not a probability: 0.95 if name and contents agree, less if only one speaks."""
    why: str
    treatment: str = "keep"
    """What `remove` does: keep, drop, year, year of birth, top-code or three digits."""

    def __str__(self) -> str:
        return f"{self.treatment}, because {self.why}" if self.kind else f"keep; {self.why}"


def classify(table: Any, *, year: int | None = None) -> dict[str, Finding]:
    """Guess which HIPAA identifier each column holds, by its name and its contents.

    Args:
        table: Columns by name, rows as dicts, or a data frame.
        year: The year of the data, from which ages are computed. None: this year.

    Returns:
        For each column the kind of identifier (None for none), how sure the guess is, why, and what `remove` does with
            it.

    Raises:
        InvalidParameter: If year is not a whole number from 1 on, or if table is not a table.

    >>> found = classify({"name": ["Ada Byron", "Alan Turing"], "age": [36, 41]})
    >>> sorted(found)
    ['age', 'name']
    """
    first = _first_year(year)
    return {name: _finding(name, values, first) for name, values in columns_of(table).items()}


def remove(
    table: Any,
    *,
    kinds: Mapping[str, Kind | None] | None = None,
    at_least: Number = 0.5,
    year: int | None = None,
) -> Columns:
    """Remove or coarsen the identifiers, as the Safe Harbor rule asks.

    Args:
        table: Columns by name, rows as dicts, or a data frame.
        kinds: What some columns are, whatever the guess: `{"ward": None}` keeps one, `{"x17": Kind.NAME}` drops one.
        at_least: How sure a guess must be, from 0 to 1; a column with a less sure guess stays as it is.
        year: The year of the data, from which ages are computed. None: this year.

    Returns:
        The remaining columns by name.

    Raises:
        InvalidParameter: If `kinds` names a column that does not exist, or something that is not a kind.

    >>> list(remove({"email": ["ada@example.org", "alan@example.org"], "age": [36, 41]}))
    ['age']
    """
    columns, sure = columns_of(table), float(checks.share(at_least=at_least))
    overrides, first = dict(kinds or {}), _first_year(year)
    named(columns, kinds=list(overrides))
    for name, kind in overrides.items():
        if kind is not None and not isinstance(kind, Kind):
            raise InvalidParameter("kinds", {name: kind}, "is not a kind of identifier", "Write Kind.NAME or None.")
    kept: Columns = {}
    for name, values in columns.items():
        finding = _finding(name, values, first)
        if name in overrides:
            kind = overrides[name]
            finding = Finding(kind, 1.0, "told", _treatment(kind, _words(name), _plain(values)) if kind else "keep")
        treatment = finding.treatment if finding.confidence >= sure else "keep"
        if treatment != "drop":
            kept[name] = (
                values if treatment == "keep" else [_treated(treatment, value, first) for value in _plain(values)]
            )
    return kept


def _finding(name: str, values: Column, first: int) -> Finding:
    plain = _plain(values)
    filled = [value for value in plain[:_EXAMINED] if not _missing(value)]
    words = _words(name)
    flags = len(filled) > 2 and set(map(str, filled)) <= {"0", "1", "True", "False"}  # has a photo, is not one
    by_name = None if flags or re.search(NOT_BY_NAME, words) else _first(BY_NAME, words)
    content, share = _by_content(filled)
    if _is_age(words, filled):
        old = any((_number(value) or 0) > OLDEST for value in filled)
        why = f"some ages are above {OLDEST}" if old else f"ages up to {OLDEST} may stay"
        return Finding(Kind.DATE, 0.95, why, "top-code") if old else Finding(None, 0.95, why)
    if _is_birth(words) and any(re.fullmatch(r"1[89]\d\d", str(value)) and int(value) < first for value in filled):
        return Finding(Kind.DATE, 0.95, f"some years of birth reveal ages above {OLDEST}", "year of birth")
    if by_name == "DATE" and content != "DATE":
        by_name = None  # a year, a weight at birth, a count of days
    if content is None and by_name is None:
        if re.search(_FREE, words) and any(len(str(value).split()) > 1 for value in filled):
            return Finding(Kind.OTHER, 0.75, f"its name says {words!r}: free text, which may hold anything", "drop")
        return _by_uniqueness(plain, filled)
    if content is None or (by_name is not None and content in ("OTHER", "NAME", "PLACE", "PHONE", "ACCOUNT")):
        kind, agree = Kind[str(by_name)], content == by_name
        why, confidence = f"its name says {words!r}", 0.95 if agree else 0.75
    else:
        kind, agree = Kind[content], content == by_name
        why = f"{share:.0%} of its values look like {kind.value}"
        confidence = 0.95 if agree else 0.9 * share if content != "NAME" else 0.6 * share
    return Finding(kind, confidence, why, _treatment(kind, words, filled))


def _words(name: str) -> str:
    """The words of a column's name, lower case: “PatientName”, “patient_name” and “PATIENTNAME” are the same."""
    words = " ".join(re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))
    return re.sub(r"(?<=[a-z]{2})(?<!\buser)(?=(?:name|addr|num|nbr|phone|cd|dt)\b)", " ", words)


def _first(rules: Mapping[str, str], words: str) -> str | None:
    return next((kind for kind, pattern in rules.items() if re.search(rf"\b(?:{pattern})\b", words)), None)


def _by_content(filled: list[Any]) -> tuple[str | None, float]:
    """The kind that most values look like, and how many do."""
    if not filled:
        return None, 0.0
    if sum(map(looks_like_date, filled)) >= _MOST * len(filled):
        return "DATE", sum(map(looks_like_date, filled)) / len(filled)
    texts = [value.strip() for value in filled if isinstance(value, str)]
    for kind, looks in BY_CONTENT.items():
        share = sum(bool(looks(text)) for text in texts) / len(filled)
        if share >= _MOST and (kind != "NAME" or len(set(texts)) > len(texts) / 2):
            return kind, share
    return None, 0.0


def _by_uniqueness(plain: list[Any], filled: list[Any]) -> Finding:
    """Codes that no two records share, and free text."""
    texts = [value for value in filled if isinstance(value, str)]
    if len(texts) == len(filled) >= 5 and sum(len(text.split()) for text in texts) >= 5 * len(texts):
        return Finding(Kind.OTHER, 0.5, "free text, which may hold anything", "drop")
    distinct = len(filled) >= 10 and len(set(map(str, filled))) == len(filled)
    if distinct and len(texts) == len(filled) and sum(any(c.isdigit() for c in t) for t in texts) >= _MOST * len(texts):
        return Finding(Kind.OTHER, 0.7, "no two of its codes are the same", "drop")
    if distinct and running_number(filled):
        return Finding(Kind.OTHER, 0.6, "a running number, or numbers of one length, no two the same", "drop")
    return Finding(None, 0.5, "neither its name nor its values look like an identifier" if plain else "it is empty")


def _is_age(words: str, filled: list[Any]) -> bool:
    numbers = any(_number(value) is not None and not looks_like_date(value) for value in filled)
    return numbers and bool(re.search(r"\bages?\b", words))


def _number(value: Any) -> float | None:
    """The number that a value is or begins with: 93, “93”, “93 years”."""
    match = None if isinstance(value, bool) else re.match(r"\s*(\d+(?:\.\d+)?)", str(value))
    return float(match[1]) if match else None


def _is_birth(words: str) -> bool:
    return bool(re.search(r"\b(?:birth ?(?:day|date|year)?|born|dob|yob)\b", words))


def _treatment(kind: Kind, words: str, filled: list[Any]) -> str:
    if kind is Kind.DATE:
        return "top-code" if _is_age(words, filled) else "year of birth" if _is_birth(words) else "year"
    if kind is Kind.PLACE and filled and all(_ZIP.fullmatch(str(value)) for value in filled if not _missing(value)):
        return "three digits"
    return "drop"


_FREE = re.compile(r"\b(?:notes?|comments?|remarks?|memo|free text)\b")
_ZIP = re.compile(r"(\d{5})(?:-?\d{4})?")
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d(?=\d{4}\b)|(?:1[89]|20)\d\d\b|\b\d{4}(?=-\d\d)")


def _first_year(year: int | None) -> int:
    """The first year of birth that does not tell an age above 89."""
    return (date.today().year if year is None else checks.whole(year=year)) - OLDEST


def _treated(treatment: str, value: Any, first: int) -> Any:
    if _missing(value):
        return None
    if treatment == "top-code":
        return f"{OLDEST + 1}+" if (_number(value) or 0) > OLDEST else value
    if treatment == "three digits":
        three = str(value)[:3]
        return f"{'000' if three in SMALL_ZIPS else three}**"
    match = _YEAR.search(str(value))
    if match is None:
        return None
    year = int(match[0])
    return f"{first - 1} or before" if treatment == "year of birth" and year < first else year


def _missing(value: Any) -> bool:
    try:
        return bool(value is None or value == "" or value != value)
    except TypeError:  # pandas has a missing value that is neither equal nor unequal to anything
        return True


def _plain(values: Column) -> list[Any]:
    if isinstance(values, np.ndarray):
        fine = values.astype("datetime64[us]") if values.dtype.kind == "M" else values
        listed: list[Any] = fine.tolist()
        return listed
    return list(values)
