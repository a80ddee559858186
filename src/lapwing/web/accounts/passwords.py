"""Passwords and second factors: what is asked of them, and how they are checked without telling anything else."""

from __future__ import annotations

import hashlib
import hmac
import threading
from base64 import b32encode
from functools import cache
from importlib.resources import files

import pyotp
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lapwing.noise.entropy import SYSTEM

SHORTEST, LONGEST = 12, 256
PERIOD = 30
"""Seconds a time-based code lasts."""
_HASHER = PasswordHasher()
_AT_ONCE = threading.BoundedSemaphore(2)  # each takes 64 MiB: many at once would be an attack by themselves
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def complaint(password: str, name: str) -> str:
    """What is wrong with a new password, or nothing."""
    if len(password) < SHORTEST:
        return f"Take at least {SHORTEST} characters. Four unrelated words make a good password."
    if len(password) > LONGEST:
        return f"Take at most {LONGEST} characters."
    plain = password.casefold().replace(" ", "")
    own = name.casefold().replace(" ", "")
    if plain in _first_guesses() or len(set(plain)) < 4:
        return "This is one of the first passwords an attacker would try. Choose another one."
    if len(own) >= 3 and own in plain and len(plain) - len(own) < SHORTEST - 4:
        return "This is hardly more than your name. Choose another one."
    return ""


@cache
def _first_guesses() -> frozenset[str]:
    """Passwords of 12 characters or more that anybody would try first."""
    return frozenset((files("lapwing") / "web" / "accounts" / "first-guesses.txt").read_text(encoding="utf-8").split())


def hashed(password: str) -> str:
    """Argon2id, with a salt of its own."""
    with _AT_ONCE:
        return _HASHER.hash(password)


@cache
def _nobody() -> str:
    return hashed(one_time())


def matches(password: str, kept: str | None) -> bool:
    """Whether this is the password. Without one to compare with it takes just as long, and says no."""
    given = password[: LONGEST + 1]
    compared = kept if kept is not None else _nobody()
    with _AT_ONCE:
        try:
            return _HASHER.verify(compared, given) and kept is not None
        except (Argon2Error, InvalidHashError):
            return False


def outdated(kept: str) -> bool:
    """Whether it was hashed with weaker parameters than we use now."""
    return _HASHER.check_needs_rehash(kept)


def one_time(groups: int = 4, letters: str = _ALPHABET) -> str:
    """A password or code that can be read aloud; every group of four has almost 20 bits."""
    return "-".join("".join(_letter(letters) for _ in range(4)) for _ in range(groups))


def _letter(letters: str) -> str:
    while (drawn := SYSTEM.bits(5)) >= len(letters):
        pass
    return letters[drawn]


def recovery_hash(code: str) -> bytes:
    """What is kept of a recovery code: it has 60 bits of its own, so a fast hash does."""
    return hashlib.sha256(code.strip().casefold().replace("-", "").replace(" ", "").encode()).digest()


def new_secret() -> str:
    """A fresh secret for time-based codes, 160 bits."""
    return b32encode(SYSTEM.bits(160).to_bytes(20, "big")).decode()


def enrolment(secret: str, name: str) -> str:
    """What an authenticator reads."""
    return pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name="Lapwing")


def period_of(secret: str, code: str, now: int) -> int | None:
    """Which period a code belongs to, if it is of this one or a neighbour."""
    given, match = code.replace(" ", ""), None
    for period in (now // PERIOD + shift for shift in (-1, 0, 1)):
        if hmac.compare_digest(pyotp.TOTP(secret).at(period * PERIOD).encode(), given.encode()):
            match = period
    return match


def sealed(secret: str, key: bytes, user_id: int) -> bytes:
    """A secret as the database keeps it: for this account, and unreadable without the key."""
    nonce = SYSTEM.bits(96).to_bytes(12, "big")
    return nonce + AESGCM(key).encrypt(nonce, secret.encode(), str(user_id).encode())


def opened(kept: bytes, key: bytes, user_id: int) -> str | None:
    """The secret again; nothing if the key is another one."""
    try:
        return AESGCM(key).decrypt(kept[:12], kept[12:], str(user_id).encode()).decode()
    except (InvalidTag, ValueError):
        return None
