"""What identifiers look like: words in the names of columns, and patterns of values."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

NOT_BY_NAME: Final = (
    r"\b(?:(?:drug|product|brand|file|hospital|company|ward|test|species|gene|disease|study|trial|generic|trade|"
    r"procedure|medication|column|variable|lab) names?|cell (?:count|type|line)s?|"
    r"(?:white|red|blood) cells?|email (?:opt|opened|count)\w*|"
    r"account (?:balance|type|status)|device (?:type|class)|vehicle (?:type|class|count)|id type|phone type|"
    r"(?:zip|postal) (?:population|income)|licen[cs]e type|plan type|link strength)\b"
)
"""Names that sound like identifiers of people and are none."""

_NO = r"n(?:o|r|br|um|umber)"
BY_NAME: Final[Mapping[str, str]] = {
    "EMAIL": r"e ?mails?(?: address(?:es)?)?",
    "IP": r"ip(?: ?v ?\d)?(?: addr(?:ess)?)?|ipaddress",
    "FAX": rf"fax(?: {_NO})?",
    "URL": r"urls?|web ?(?:site|page|address)|home ?page|(?:profile )?link",
    "SOCIAL_SECURITY": rf"ssn|social security(?: {_NO})?|soc sec|ssno|^sin$",
    "VEHICLE": r"vin|vehicle|(?:number |licen[cs]e )?plates?|car reg(?:istration)?",
    "DEVICE": rf"device|serial(?: {_NO})?|imei|imsi|udid|mac(?: addr(?:ess)?)?|implant|pacemaker",
    "HEALTH_PLAN": rf"health plan|beneficiary|member(?:ship)? ?(?:id|{_NO})|insurance (?:id|{_NO})"
    rf"|insured id|group (?:id|{_NO})|policy(?: (?:id|{_NO}))|medicare|medicaid|subscriber(?: id)?|hicn|mbi|payer id",
    "MEDICAL_RECORD": rf"mrns?|e?mpi|csn|har|fin {_NO}|"
    rf"medical record|med rec|chart(?: (?:id|{_NO}))|record (?:id|{_NO})"
    rf"|(?:patient|pat|hospital|encounter|visit|case) (?:id|{_NO})|(?:patient|pat|pt)id",
    "LICENCE": rf"licen[cs]e|certificate|passport|npi|dea(?: {_NO})?|drivers? lic\w*",
    "ACCOUNT": rf"account|acct|iban|bank|(?:credit |debit )?card (?:{_NO})|credit card|routing",
    "BIOMETRIC": r"biometrics?|finger ?prints?|^(?:iris|retina)$|voice ?prints?|face ?prints?|palm ?print|dna profile",
    "PHOTO": r"photos?|photographs?|pictures?|portraits?|selfie|face image|head ?shot|mugshot",
    "PHONE": rf"phones?|tele?phone|tel|mobile|cell(?:phone)?|contact (?:{_NO})|home ?phone|phone ?number",
    "PLACE": r"address|addr|street|city|town|village|hamlet|county|precinct|parish|district|borough|neighbou?rhood|"
    r"municipality|zips?|zip ?codes?|post ?codes?|postal|plz|geo ?code|latitude|longitude|lat|lon|lng|^long$|gps|"
    r"census (?:tract|block)|tract|location|residence|place of birth|birth ?place",
    "NAME": r"names?|sur ?name|first ?name|last ?name|full ?name|fore ?name|given ?name|middle ?name|maiden(?: name)?|"
    r"fname|lname|nick ?name|initials|mother|father|next of kin|kin|spouse|guardian|contact person|"
    r"emergency contact|employer|(?:first|last) nm|pt (?:first|last)",
    "DATE": r"dates?|dob|dod|birth|birth ?day|born|admission|admitted|admit|discharged?|death|died|deceased|"
    r"time ?stamp|day|visited|created|updated|when|service|appointment|onset|diagnosed",
    "OTHER": r"ids?|uid|uuid|guid|identifiers?|user ?name|login|user ?id|handle|twitter|token|unique code|study id|"
    r"subject|participant|barcode|^key$|hash|subj ?id",
}
"""Words of a column's name, lower case and separated by blanks, in the order in which they are tried."""

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"(?:1[89]|20)\d\d[-/](?:0?[1-9]|1[0-2])|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]\d\d?:\d\d.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?: \d\d?:\d\d.*)?"
    rf"|\d{{1,2}}\.? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}(-?){_MONTH}\1\d{{2,4}}"
    r"|(?:1[89]|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])|(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:1[89]|20)\d\d",
    re.IGNORECASE,
)
_WAYS = r"street|st|road|rd|avenue|ave|lane|ln|way|drive|dr|court|ct|boulevard|blvd|close|square|sq|place|pl|terrace"
_POSTCODE = r"\d{5}-\d{4}|0\d{4}|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}"


def looks_like_date(value: Any) -> bool:
    """A date, or a text that is one; more exact than a year.

    >>> [looks_like_date(value) for value in ("1971-10-02", "02OCT1971", 19711002, "1971", "1234.56")]
    [True, True, True, False, False]
    """
    return isinstance(value, date) or (
        isinstance(value, (str, int)) and _DATE.fullmatch(str(value).strip()) is not None
    )


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _payment_card(text: str) -> bool:
    """13 to 19 digits whose check digit is right (Luhn 1960)."""
    digits = re.sub(r"[ -]", "", text)
    if not re.fullmatch(r"\d{13,19}", digits):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _account(text: str) -> bool:
    return (
        _payment_card(text)
        or re.fullmatch(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?", text) is not None
    )


def _vehicle(text: str) -> bool:
    """17 characters without I, O and Q, letters and digits (ISO 3779)."""
    letters = re.fullmatch(r"[A-HJ-NPR-Z0-9]{17}", text) is not None
    return letters and bool(re.search(r"\d", text)) and bool(re.search(r"[A-Z]", text))


BY_CONTENT: Final[Mapping[str, Callable[[str], bool]]] = {
    "EMAIL": _matches(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "PHOTO": _matches(r"\S+\.(?i:jpe?g|png|gif|tiff?|heic|bmp|webp)"),
    "URL": _matches(r"(?:(?i:https?|ftp)://\S+|www\.\S+\.\S+)"),
    "IP": _ip,
    "SOCIAL_SECURITY": _matches(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}"),
    "DEVICE": _matches(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"),
    "OTHER": _matches(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
    "VEHICLE": _vehicle,
    "ACCOUNT": _account,
    "PHONE": _matches(r"(?:\+?1[-. ]?)?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}|\+\d[\d ()/-]{7,}|0\d{2,4}[ /-]\d[\d ]{4,}"),
    "PLACE": _matches(rf"\d+[A-Za-z]?,? \S.*\b(?i:{_WAYS})\b.*|{_POSTCODE}"),
    "NAME": _matches(r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-Z][a-zé’'-]+,?(?: [A-Z]\.?)? [A-Z][A-Za-zé’'-]+"),
}
"""Patterns of values by kind, the most telling first."""


def running_number(values: list[Any]) -> bool:
    """Whole numbers one after another, or all with the same number of digits, six at least.

    >>> running_number([4, 2, 3]), running_number([481_516, 234_215]), running_number([52_000, 61_500, 148_000])
    (True, True, False)
    """
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return False
    lengths = {len(str(abs(value))) for value in values}
    return max(values) - min(values) == len(values) - 1 or (len(lengths) == 1 and lengths.pop() >= 6)
