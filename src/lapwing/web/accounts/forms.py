"""What people type into forms, checked: a value, or a sentence that says what to write instead."""

from __future__ import annotations

import re
import unicodedata

from lapwing.web.accounts.store.users import LONGEST_NAME, tidy

_LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20]*")
_SIGNS = set(" -_.'’")
NO_NAMES = {"admin", "administrator", "lapwing", "moderator", "root", "system", "nobody", "anonymous", "deleted"}


def name_complaint(name: str, *, reserved: bool = False) -> str:
    """What is wrong with a new name, or nothing. Some names are for those who run the school."""
    shown = tidy(name)
    if not 2 <= len(shown) <= LONGEST_NAME:
        return f"Take 2 to {LONGEST_NAME} characters."
    kinds = [unicodedata.category(sign) for sign in shown]
    if not all(kind[0] in "LMN" or sign in _SIGNS for kind, sign in zip(kinds, shown, strict=True)):
        return "Use letters and digits, with spaces and - _ . ' between them."
    if kinds[0][0] not in "LN" or not any(kind[0] == "L" for kind in kinds):
        return "Begin with a letter or a digit, and use at least one letter."
    if sum(kind[0] == "M" for kind in kinds) > len(shown) // 2:
        return "Use fewer accents and more letters."
    if shown.casefold() in NO_NAMES and not reserved:
        return "This name is reserved. Choose another one."
    return ""


def local(target: str | None, otherwise: str = "/account") -> str:
    """Where to go on: an address of this school, never of another.

    >>> local("/learn/tools#tiles"), local("//evil.example"), local("https://evil.example")
    ('/learn/tools#tiles', '/account', '/account')
    """
    return target if target and len(target) <= 500 and _LOCAL.fullmatch(target) else otherwise
