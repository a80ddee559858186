"""The 18 identifiers are found in columns that nobody described, and removed as the rule says."""

from __future__ import annotations

import datetime
import random
import string
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import together

from lapwing.anonymity.identifiers import SMALL_ZIPS, Finding, Kind, classify, remove
from lapwing.errors import InvalidParameter

ROWS = 60
YEAR = 2024
CHOICE = random.Random(18)

FIRST = ["Ada", "Bob", "Carla", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jack", "Kofi", "Lena", "Noor"]
LAST = ["Hall", "Reed", "Okafor", "Smith", "Novak", "Silva", "Tan", "O'Neill", "Weber", "Rossi", "Wong", "Khan"]
TOWNS = ["Springfield", "Salem", "Fall River", "Clinton", "Georgetown", "Greenville"]


def pick(*words: Any) -> Callable[[], Any]:
    return lambda: CHOICE.choice(words)


def number(low: int, high: int) -> Callable[[], int]:
    return lambda: CHOICE.randint(low, high)


def digits(pattern: str) -> Callable[[], str]:
    """A text with # for a digit and @ for a capital letter."""
    pool = {"#": string.digits, "@": "ABCDEFGHJKLMNPRSTUVWXYZ"}
    return lambda: "".join(CHOICE.choice(pool.get(sign, sign)) for sign in pattern)


def real(low: float, high: float) -> Callable[[], float]:
    return lambda: round(CHOICE.uniform(low, high), 2)


def day(form: str = "%Y-%m-%d") -> Callable[[], str]:
    return lambda: (datetime.date(1940, 1, 1) + datetime.timedelta(CHOICE.randrange(30_000))).strftime(form)


def full_name() -> str:
    return f"{CHOICE.choice(FIRST)} {CHOICE.choice(LAST)}"


def card() -> str:
    body = [CHOICE.randrange(10) for _ in range(15)]
    doubled = [d if place % 2 else (2 * d - 9 if d > 4 else 2 * d) for place, d in enumerate(body)]
    return "".join(map(str, body)) + str(-sum(doubled) % 10)


# Column names as in hospital extracts, survey files and open synthetic records; what they hold; what they are.
LABELLED: list[tuple[str, Callable[[], Any], Kind | None]] = [
    ("patient_name", full_name, Kind.NAME),
    ("FirstName", pick(*FIRST), Kind.NAME),
    ("LAST", pick(*LAST), Kind.NAME),
    ("MAIDEN", pick(*LAST), Kind.NAME),
    ("mother's name", full_name, Kind.NAME),
    ("attending", full_name, Kind.NAME),
    ("next_of_kin", full_name, Kind.NAME),
    ("ADDRESS", digits("## Main Street"), Kind.PLACE),
    ("CITY", pick(*TOWNS), Kind.PLACE),
    ("county_of_residence", pick("Essex", "Suffolk", "Bristol"), Kind.PLACE),
    ("zip", digits("0213#"), Kind.PLACE),
    ("postal_code", digits("9####"), Kind.PLACE),
    ("LAT", real(41, 43), Kind.PLACE),
    ("LON", real(-73, -70), Kind.PLACE),
    ("col_7", digits("### Oak Avenue"), Kind.PLACE),
    ("census_tract", digits("####.##"), Kind.PLACE),
    ("BIRTHDATE", day(), Kind.DATE),
    ("dob", day("%m/%d/%Y"), Kind.DATE),
    ("admit_dt", day("%Y-%m-%d %H:%M"), Kind.DATE),
    ("DischargeDate", day("%d %b %Y"), Kind.DATE),
    ("x_12", day("%Y/%m/%d"), Kind.DATE),
    ("age", number(20, 99), Kind.DATE),
    ("phone", digits("(617) 555-####"), Kind.PHONE),
    ("mobile_no", digits("617555####"), Kind.PHONE),
    ("reach_at", digits("617-555-####"), Kind.PHONE),
    ("fax", digits("617-555-####"), Kind.FAX),
    ("e-mail", lambda: f"{CHOICE.choice(FIRST).lower()}{CHOICE.randrange(99)}@example.org", Kind.EMAIL),
    ("contact", lambda: f"{CHOICE.choice(LAST)}@example.com", Kind.EMAIL),
    ("SSN", digits("1##-4#-1###"), Kind.SOCIAL_SECURITY),
    ("v3", digits("2##-5#-1###"), Kind.SOCIAL_SECURITY),
    ("MRN", digits("M######"), Kind.MEDICAL_RECORD),
    ("patient_id", number(10_000, 99_999), Kind.MEDICAL_RECORD),
    ("chart no", digits("C-####"), Kind.MEDICAL_RECORD),
    ("member_id", digits("W########"), Kind.HEALTH_PLAN),
    ("MedicareNumber", digits("#@@#-@@#-@@##"), Kind.HEALTH_PLAN),
    ("insurance_no", digits("########"), Kind.HEALTH_PLAN),
    ("account_number", digits("########"), Kind.ACCOUNT),
    ("billing", card, Kind.ACCOUNT),
    ("iban", digits("DE## #### #### #### #### ##"), Kind.ACCOUNT),
    ("DRIVERS", digits("S########"), Kind.LICENCE),
    ("PASSPORT", digits("X########X"), Kind.LICENCE),
    ("physician_npi", digits("1#########"), Kind.LICENCE),
    ("licence_plate", digits("@@@ ####"), Kind.VEHICLE),
    ("car", digits("1HG@M8##@#A######"), Kind.VEHICLE),
    ("pacemaker_serial", digits("PM######"), Kind.DEVICE),
    ("adapter", digits("0#:1A:2B:3#:4D:##"), Kind.DEVICE),
    ("homepage", digits("https://example.org/~u####"), Kind.URL),
    ("source", digits("www.example.com/p/####"), Kind.URL),
    ("ip_address", digits("10.1#.2#.#"), Kind.IP),
    ("client", digits("192.168.1#.2#"), Kind.IP),
    ("fingerprint", digits("@@##@@##"), Kind.BIOMETRIC),
    ("iris_template", digits("@@@@@####"), Kind.BIOMETRIC),
    ("photo", digits("p####.jpg"), Kind.PHOTO),
    ("frontal", digits("img_####.png"), Kind.PHOTO),
    ("uuid", digits("1234abcd-12ab-34cd-56ef-12345678####"), Kind.OTHER),
    ("record", digits("@@@-######"), Kind.OTHER),
    ("username", lambda: CHOICE.choice(FIRST).lower() + str(CHOICE.randrange(999)), Kind.OTHER),
    ("participant", number(1, 999), Kind.OTHER),
    ("remarks", lambda: f"Seen with {full_name()} on the ward, left after {CHOICE.randrange(9)} days", Kind.OTHER),
    ("diagnosis", pick("asthma", "flu", "diabetes", "Heart Failure", "Lung Cancer"), None),
    ("sex", pick("f", "m"), None),
    ("GENDER", pick("F", "M"), None),
    ("state", pick("MA", "NH", "RI"), None),
    ("RACE", pick("white", "black", "asian", "native"), None),
    ("ETHNICITY", pick("hispanic", "nonhispanic"), None),
    ("MARITAL", pick("M", "S", "D", "W"), None),
    ("smoker", pick(True, False), None),
    ("bmi", real(17, 40), None),
    ("weight_kg", real(45, 120), None),
    ("birth_weight", number(2000, 4500), None),
    ("height", number(150, 200), None),
    ("systolic", number(90, 180), None),
    ("income", number(8_000, 180_000), None),
    ("HEALTHCARE_EXPENSES", real(100, 900_000), None),
    ("year_of_birth", number(1940, 2010), None),
    ("admission_year", number(2010, 2020), None),
    ("length_of_stay", number(1, 40), None),
    ("age_group", pick("20-29", "30-39", "40-49"), None),
    ("age_at_visit", number(20, 80), None),
    ("drug_name", pick("Aspirin", "Metformin", "Ibuprofen"), None),
    ("hospital name", pick("General Hospital", "Mercy Hospital"), None),
    ("icd10", pick("J45.9", "E11.0", "I50.1"), None),
    ("cell_count", number(3000, 11000), None),
    ("education", pick("primary", "secondary", "tertiary"), None),
    ("occupation", pick("teacher", "farmer", "nurse"), None),
    ("insurance_type", pick("public", "private", "none"), None),
    ("visits", number(0, 20), None),
    ("cost", real(10, 5000), None),
    ("test_result", pick("positive", "negative"), None),
    ("blood type", pick("A+", "B+", "0-"), None),
    ("glucose", real(3, 12), None),
    ("outcome", pick("recovered", "died", "transferred"), None),
    ("satisfaction", number(1, 5), None),
    ("country", pick("US", "CA"), None),
    ("device type", pick("pump", "stent"), None),
]


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    CHOICE.seed(18)
    table = {name: [make() for _ in range(ROWS)] for name, make, _kind in LABELLED}
    return classify(table, year=YEAR)


def test_precision_and_recall_on_labelled_columns(found: dict[str, Finding]) -> None:
    truth = {name: kind for name, _make, kind in LABELLED}
    flagged = {name for name, finding in found.items() if finding.kind}
    real_ones = {name for name, kind in truth.items() if kind}
    hits = flagged & real_ones
    precision, recall = len(hits) / len(flagged), len(hits) / len(real_ones)
    right = sum(found[name].kind is truth[name] for name in hits) / len(hits)
    assert precision >= 0.95
    assert recall >= 0.95
    assert right >= 0.95


def test_every_kind_of_the_rule_is_among_the_labelled_columns(found: dict[str, Finding]) -> None:
    assert len(Kind) == 18
    assert {finding.kind for finding in found.values()} == {*Kind, None}


def test_findings_say_why_and_how_sure(found: dict[str, Finding]) -> None:
    assert found["SSN"].confidence > found["v3"].confidence > found["attending"].confidence
    assert "look like" in found["v3"].why
    assert "member id" in found["member_id"].why
    assert all(0 < finding.confidence <= 1 for finding in found.values())


def test_dates_become_years_and_great_age_is_merged() -> None:
    table = {
        "dob": ["1931-04-02", "1934-12-31", "1935-01-01", None, "2001-05-06"],
        "admission": [datetime.date(2023, 5, 6)] * 5,
        "birth_year": [1931, 1934, 1935, 1990, 2001],
        "age": [93, 90, 89, None, 23],
    }
    assert remove(table, year=2024) == {
        "dob": ["1934 or before", "1934 or before", 1935, None, 2001],
        "admission": [2023] * 5,
        "birth_year": ["1934 or before", "1934 or before", 1935, 1990, 2001],
        "age": ["90+", "90+", 89, None, 23],
    }


def test_zip_codes_keep_three_digits_unless_few_people_share_them() -> None:
    assert len(SMALL_ZIPS) == 17
    codes = ["02138", "03602", "10210", "89312-1234", None, "94301"]
    assert remove({"zip": codes}) == {"zip": ["021**", "000**", "000**", "000**", None, "943**"]}
    assert remove({"zip": [2138, 3602]}) == {}  # digits were lost: the column goes


def test_everything_else_on_the_list_is_dropped_and_the_rest_is_untouched() -> None:
    CHOICE.seed(1)
    table = {name: [make() for _ in range(ROWS)] for name, make, _kind in LABELLED}
    kept = remove(table, year=YEAR)
    for name, _make, kind in LABELLED:
        if kind is None:
            assert kept[name] is table[name]
        elif kind not in (Kind.DATE, Kind.PLACE) and name != "LAST":
            assert name not in kept


def test_a_person_may_correct_the_guess() -> None:
    table = {"x17": ["Ada", "Bob"], "name": ["oak", "elm"], "when_born": ["1950-01-02", "2001-02-03"]}
    kept = remove(table, kinds={"x17": Kind.NAME, "name": None}, year=2024)
    assert kept == {"name": ["oak", "elm"], "when_born": [1950, 2001]}
    assert "name" in remove(table, at_least=0.9)
    with pytest.raises(InvalidParameter, match="is not a column"):
        remove(table, kinds={"nme": None})
    with pytest.raises(InvalidParameter, match=r"Kind\.NAME"):
        remove(table, kinds={"x17": "NAME"})  # type: ignore[dict-item]


def test_numbers_that_look_like_dates_and_odd_values_do_no_harm() -> None:
    days = np.array(["2020-01-02", "2021-03-04"], dtype="datetime64[D]")
    assert remove({"seen": days}) == {"seen": [2020, 2021]}
    odd = {"a": [None, None], "b": [b"\xff", b"\xfe"], "c": [1, "x"], "d": [float("nan"), 1.5], "e": [["l"], {}]}
    assert set(remove(odd)) == set("abcde")
    assert classify({"amount": ["1234.56", "1999.12"] * 5})["amount"].kind is None
    assert classify({}) == {}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": pandas.array([91, None, 40], dtype="Int64"), "mail": ["a@b.org", None, "c@d.org"]})
    assert classify(frame)["mail"].kind is Kind.EMAIL
    assert [str(age) for age in remove(frame)["age"]] == ["90+", "None", "40.0"]  # as pandas gives them


@together(
    ("name", "values", "kept"),
    [
        ("Age", ["93", "44", "unknown"], ["90+", "44", "unknown"]),
        ("age at visit", ["93 years", "44 years"], ["90+", "44 years"]),
        ("yob", ["1931", "1980"], ["1934 or before", 1980]),
        ("DOB", [19310402, 19800513], ["1934 or before", 1980]),
        ("BIRTHDT", ["04021931", "05131980"], ["1934 or before", 1980]),
        ("DISCH_DT", ["01JAN2020", "13FEB2021"], [2020, 2021]),
        ("age_calculated_on", ["2020-01-01", "2020-01-02"], [2020, 2020]),
    ],
)
def test_ages_and_dates_as_files_write_them(name: str, values: list[Any], kept: list[Any]) -> None:
    assert remove({name: values}, year=YEAR) == {name: kept}


def test_columns_as_hospitals_call_them() -> None:
    people = ("PATIENTNAME", "PTNAME", "FIRST_NM", "PATID", "CSN", "HAR", "EMPI", "SUBJID", "ACCTNUM", "ZIPCD", "SSNO")
    people += ("POSTALCD", "CITYNAME", "MEMBERID", "GroupNumber", "emergency_contact", "employer", "PHONE_NBR")
    found = classify({name: ["AX", "BY", "CZ"] for name in people})
    assert [name for name in people if found[name].treatment == "keep"] == []
    facts = ("photo", "implant", "father_alive", "retina_exam", "long_term_care", "sin_rhythm")
    found = classify({name: [0, 1, 1] for name in facts})
    assert [name for name in facts if found[name].kind] == []


def test_notes_are_free_text_even_if_they_are_short_and_few() -> None:
    found = classify({"note": ["seen by Dr. Miller", "call 617-555-0100"], "notes": ["A", "B"]})
    assert [one.treatment for one in found.values()] == ["drop", "keep"]
    assert str(found["note"]) == "drop, because its name says 'note': free text, which may hold anything"
