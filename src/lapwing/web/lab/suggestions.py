"""Guess the type, bounds and keys of a column from its name and declared type, without looking at the data.

Each suggestion says why. The words of a name are compared with English and German ones. What the name is about counts
first (a bill length is a length), then any other word; a unit of measure makes it a number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lapwing.web.lab.statement import Type


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A type, perhaps bounds or keys, and why."""

    type: Type
    bounds: tuple[float, float] | None = None
    keys: tuple[str, ...] = ()
    why: str = ""
    person: bool = False
    """Whether the column seems to say whose row it is."""


@dataclass(frozen=True, slots=True)
class _Rule:
    words: str
    """Any of these is a word of the name."""
    type: Type
    why: str
    bounds: tuple[float, float] | None = None
    keys: tuple[str, ...] = ()
    units: str = ""
    """Units of measure that its bounds are in. With another unit in the name the rule says nothing."""


_PEOPLE = (
    "patient patients patientin person people user users customer customers client member household respondent "
    "individual subject participant student employee citizen kunde kundin nutzer benutzer mitglied haushalt "
    "teilnehmer schueler mitarbeiter"
)
_HEADS = "nummer datum kennung kosten preis betrag umsatz einkommen gehalt anzahl gewicht groesse tage"
"""What German compounds end with: a Patientennummer is a number of patients."""
_IDENTITY = "id ids uuid guid nr no number nummer key kennung pseudonym token"
_COUNTS = "n nb num number anzahl count"
"""How names of counts begin: n_visits, number of rooms."""
_ENDS = {"per", "pro", "of", "in", "at", "by", "je", "von"}
"""What follows these words is not what the column is about: hours per week are hours."""
_UNITS = (
    "mm cm dm km inch inches ft feet yd miles kg mg ug lb lbs oz ml cl litres liters gallons sec secs seconds ms min "
    "mins minutes minuten hr hrs hours stunden days tage weeks wochen months monate years jahre hz khz mhz kw kwh mw "
    "hpa kpa mbar psi mmhg bpm mph kmh kph knots deg degrees celsius fahrenheit usd eur gbp chf dollars euros cents "
    "pct percent prozent ppm ppb mmol kcal px bytes kb mb gb"
)
_MONEY = "usd eur gbp chf dollars euros cents"
_RULES = (
    _Rule(
        "timestamp datetime date datum dob birthday birthdate geburtsdatum geburtstag admission birth",
        "date",
        "The name says date.",
    ),
    _Rule("age ages alter", "integer", "Ages of people lie between 0 and 120.", (0, 120), units="years jahre"),
    _Rule(
        "pct percent percentage prozent anteil",
        "number",
        "A percentage lies between 0 and 100.",
        (0, 100),
        units="pct percent prozent",
    ),
    _Rule("share probability quote fraction wahrscheinlichkeit", "number", "A share lies between 0 and 1.", (0, 1)),
    _Rule("year yr jahr geburtsjahr birthyear", "integer", "Years from 1900 to 2100.", (1900, 2100)),
    _Rule("month monat", "integer", "There are twelve months.", (1, 12), tuple(map(str, range(1, 13)))),
    _Rule(
        "weekday wochentag dow",
        "integer",
        "There are seven days; some count from 0.",
        (0, 7),
        tuple(map(str, range(8))),
    ),
    _Rule("day tag", "integer", "A month has 31 days at most.", (1, 31), tuple(map(str, range(1, 32)))),
    _Rule("hour stunde", "integer", "A day has 24 hours.", (0, 23), tuple(map(str, range(24)))),
    _Rule("minute minutes minuten", "number", "Minutes of a day.", (0, 1440), units="minutes minuten"),
    _Rule("hours stunden", "number", "A week has 168 hours.", (0, 168), units="hours stunden"),
    _Rule("days tage", "integer", "Days of a year.", (0, 366), units="days tage"),
    _Rule(
        "geschlecht",
        "text",
        "The spelling is a guess: write it as in your table.",
        None,
        ("w", "m", "d"),
    ),
    _Rule(
        "sex gender",
        "text",
        "The spelling is a guess: write it as in your table.",
        None,
        ("female", "male", "other"),
    ),
    _Rule("lat latitude breitengrad", "number", "Latitudes lie between −90 and 90.", (-90, 90), units="deg degrees"),
    _Rule(
        "lon lng long longitude laengengrad",
        "number",
        "Longitudes lie between −180 and 180.",
        (-180, 180),
        units="deg degrees",
    ),
    _Rule("bmi", "number", "Values outside count as the nearest bound.", (10, 80)),
    _Rule("height groesse koerpergroesse", "number", "Heights of people in centimetres.", (0, 250), units="cm"),
    _Rule("weight gewicht koerpergewicht", "number", "Weights of people in kilograms.", (0, 300), units="kg"),
    _Rule(
        "temperature temperatur temp",
        "number",
        "Temperatures of weather or bodies, in Celsius or Fahrenheit.",
        (-60, 130),
        units="deg degrees celsius fahrenheit",
    ),
    _Rule("systolic diastolic blutdruck", "number", "Blood pressure in mmHg.", (0, 300), units="mmhg"),
    _Rule("pulse puls heart_rate herzfrequenz", "number", "Beats in a minute.", (0, 250), units="bpm"),
    _Rule(
        "income salary wage earnings einkommen gehalt lohn verdienst",
        "number",
        "Income in a year. Higher values count as the upper bound.",
        (0, 200_000),
        units=_MONEY,
    ),
    _Rule(
        "cost costs price amount fee bill revenue spend kosten preis betrag umsatz rechnung",
        "number",
        "A guess: amounts above the upper bound count as the upper bound.",
        (0, 10_000),
        units=_MONEY,
    ),
    _Rule("rating stars sterne bewertung note grade", "number", "Ratings and marks are small numbers.", (0, 10)),
    _Rule("score punkte points", "number", "A guess: many scores end at 100.", (0, 100)),
    _Rule(
        "visits children kids kinder besuche members",
        "integer",
        "A count for one person. Higher values count as the upper bound.",
        (0, 20),
    ),
    _Rule("zip zipcode plz postcode postal postleitzahl phone telefon", "text", "Digits, but not a quantity."),
    _Rule(
        "smoker raucher smoke smokes married verheiratet retired active aktiv deceased died survived female pregnant",
        "boolean",
        "The name asks yes or no.",
        None,
        ("true", "false"),
    ),
    _Rule(
        "name names code type kind category group class level status color colour species island region city town "
        "country state carrier origin dest destination manufacturer model brand comment comments description notes",
        "text",
        "The name sounds like words or codes. State keys if you want to group by it.",
    ),
    _Rule("count counts freq frequency deaths births cases", "integer", "A count. State its lowest and highest value."),
    _Rule(
        "length width depth height thickness diameter radius size mass area volume distance dist speed velocity delay "
        "duration time pressure humidity humid density rate ratio total sum mean average avg median min max population "
        "pop gdp tax alt altitude elevation temperature precip visib mpg hp x y z laenge breite tiefe hoehe masse "
        "flaeche entfernung geschwindigkeit dauer summe mittelwert",
        "number",
        "The name sounds like a quantity. State its lowest and highest value.",
    ),
)
TEXT = "The name does not say what it is, so we took text. Change that if it is wrong."
_ASKS = {"is", "has", "was", "ist", "hat", "war", "flag", "can", "kann"}


def suggest(name: str, declared: Type | None = None) -> Suggestion:
    """What a column of this name and type probably is.

    >>> suggest("patientAge").bounds, suggest("Größe_cm").bounds, suggest("is_smoker").type
    ((0, 120), (0, 250), 'boolean')
    """
    words = words_in(name)
    suggestion = _by_name(words)
    if declared is None:
        return suggestion if suggestion.why else replace(suggestion, why=TEXT)
    if declared == suggestion.type or {declared, suggestion.type} == {"integer", "number"}:
        return Suggestion(
            declared, suggestion.bounds, suggestion.keys, suggestion.why or "The type in the file.", suggestion.person
        )
    keys = ("true", "false") if declared == "boolean" else ()
    return Suggestion(declared, None, keys, "The type in the file.", suggestion.person)


def words_in(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case, with umlauts spelled out.

    >>> words_in("bodyWeight (kg)"), words_in("GRÖSSE_cm")
    (('body', 'weight', 'kg'), ('groesse', 'cm'))
    """
    spelled = re.sub(r"(?<=[a-zäöüß0-9])(?=[A-ZÄÖÜ])", " ", name).lower()
    for sign, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
        spelled = spelled.replace(sign, letters)
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
    return tuple(part for word in re.findall(r"[a-z]+|\d+", plain) for part in _parted(word))


def _parted(word: str) -> tuple[str, ...]:
    for head in _HEADS.split():
        front = word.removesuffix(head)
        if front != word and len(front) > 2:
            bare = {front.removesuffix(joint) for joint in ("", "innen", "en", "n", "s")} & set(_PEOPLE.split())
            return (min(bare, default=front), head)
    return (word,)


def unit_among(names: Iterable[str]) -> str:
    """The column that seems to say whose row it is, or nothing."""
    units = [name for name in names if suggest(name).person]
    return units[0] if units else ""


def _by_name(words: tuple[str, ...]) -> Suggestion:
    people, identity = set(_PEOPLE.split()), set(_IDENTITY.split())
    if words and (words[-1] in identity or words[0] in ("id", "uuid") or (len(words) == 1 and words[0] in people)):
        whose = len(words) == 1 or bool(people & set(words))
        return Suggestion("text", why="This seems to identify somebody or something.", person=whose)
    if words and words[0] in _ASKS:
        return Suggestion("boolean", None, ("true", "false"), "The name asks yes or no.")
    if {"time", "hour"} <= set(words) or {"day", "birth"} <= set(words):
        return Suggestion("date", why="The name says date.")
    if words and words[0] in _COUNTS.split():
        return Suggestion("integer", why="A count. State its lowest and highest value.")
    unit = words[-1] if words and words[-1] in _UNITS.split() else ""
    for about in ({_head(words)}, set(words)):
        for rule in _RULES:
            if about & set(rule.words.split()) and (not unit or unit in rule.units.split()):
                return Suggestion(rule.type, rule.bounds, rule.keys, rule.why)
    if unit:
        return Suggestion("number", why=f"It ends with a unit of measure ({unit}). State its lowest and highest value.")
    return Suggestion("text")


def _head(words: tuple[str, ...]) -> str:
    """What the column is about: the last word that is no unit of measure, before "per", "of" and the like.

    >>> _head(("bill", "length", "mm")), _head(("hours", "per", "week")), _head(("days",))
    ('length', 'hours', 'days')
    """
    stop = next((place for place, word in enumerate(words) if place and word in _ENDS), len(words))
    front = [word for word in words[:stop] if not word.isdecimal()]
    named = [word for word in front if word not in _UNITS.split()] or front
    return named[-1] if named else ""
