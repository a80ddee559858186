"""The school as the issuer of tokens: with `admission: sign-in`, whoever has an account gets theirs, once.

The signed file names {origin}/take-part/{name} as the address of the issuer, so the tokens are asked for at the school
itself, where the cookie of somebody who is signed in goes along, and nowhere else does.

Privacy: the issuer's file says which accounts got how many tokens, under hashes with the key of the epoch, until that
key is destroyed. A token is blind, so no report leads back to an account.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from starlette.requests import cookie_parser

from lapwing.collect.clock import Certainty, over, today
from lapwing.collect.workspace import Workspace
from lapwing.errors import LapwingError
from lapwing.web.accounts.sessions import cookie_name, person_of
from lapwing.web.collections.registry import Registration, registered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapwing.collect.collection import Collection
    from lapwing.collect.http import Request
    from lapwing.collect.issuer import Admit, Issuer
    from lapwing.web.service.settings import Settings
    from lapwing.web.site import Site

SIGN_IN = "sign-in"
TIDIED_EVERY = 3600.0
"""Seconds between two looks for keys whose time is over."""

_log = logging.getLogger("lapwing.collect")


def signs_in_here(collection: Collection, origin: str) -> bool:
    """Whether this school is the issuer of a collection where people sign in."""
    if collection.admission != SIGN_IN:
        return False
    return collection.servers["issuer"].address.startswith(f"{origin}/take-part/")


def signs_in_elsewhere(collection: Collection, origin: str) -> bool:
    """Whether people sign in at another place, so that nobody can take part on a page of this school."""
    return collection.admission == SIGN_IN and not signs_in_here(collection, origin)


def admit_by(site: Site) -> Admit:
    """Let in whoever is fully signed in; the name of an account is its number, which is never given twice."""

    def admit(request: Request) -> str | None:
        cookies = cookie_parser(request.headers.get(b"cookie", b"").decode("latin-1"))
        person = person_of(site, cookies.get(cookie_name(site.settings)))
        return _name_of(person.id) if person is not None and person.stage == "full" else None

    return admit


def issuer_at(site: Site, name: str) -> Issuer | None:
    """The issuer whose address in a signed file ends with this name; None if there is none here."""
    address = f"{site.settings.origin}/take-part/{name}"
    for entry in _issued_here(site.settings):
        if entry.collection.servers["issuer"].address == address:
            return Workspace(entry.folder).issuer(admit_by(site))
    return None


def destroy_old_keys(site: Site, sure: Mapping[str, Certainty]) -> None:
    """Destroy the keys with which tokens of past epochs were issued, and the lines about who got them.

    `sure` knows of each collection which epochs are over. A fault in one folder keeps no key of another.
    """
    for entry in _issued_here(site.settings):
        try:
            workspace, certainty = Workspace(entry.folder), sure[entry.collection.id]
            workspace.destroy_keys("issuer", ["token"], certainty.of(over(entry.collection, today())))
            workspace.issuer(admit_by(site), certainty).retire()
        except (LapwingError, OSError) as error:
            _log.error("old keys of the collection in %s stay: %s", entry.folder.name, error)


def kept_about(site: Site, account: int) -> list[dict[str, Any]]:
    """Of which collections an account has tokens, and how many. What is kept is deleted when the epoch is over."""
    kept: list[dict[str, Any]] = []
    for entry in _issued_here(site.settings):
        name, days = entry.collection.name, {epoch.number: epoch.end for epoch in entry.collection.epochs}
        try:
            held = Workspace(entry.folder).issuer(admit_by(site)).held(_name_of(account))
        except (LapwingError, OSError):
            kept.append({"collection": name, "tokens": "cannot be read now"})
            continue
        kept += [{"collection": name, "until": days[n].isoformat(), "tokens": count} for n, count in held.items()]
    return kept


def forget(site: Site, account: int) -> None:
    """Delete which collections an account took part in, when the account is gone for good."""
    for entry in _issued_here(site.settings):
        try:
            Workspace(entry.folder).issuer(admit_by(site)).forget(_name_of(account))
        except (LapwingError, OSError) as error:
            _log.error("who got tokens in %s stays until the epoch is over: %s", entry.folder.name, error)


async def keep_tidy(site: Site) -> None:
    """Destroy old keys now and then, as long as the school is open."""
    sure = defaultdict[str, Certainty](Certainty)
    while True:
        try:
            await asyncio.to_thread(destroy_old_keys, site, sure)
        except Exception as error:  # whatever it was: the next round may do it, and must be tried
            _log.error("old keys of collections were not looked for: %s", type(error).__name__)
        await asyncio.sleep(TIDIED_EVERY)


def _name_of(account: int) -> str:
    return f"account {account}"


def _issued_here(settings: Settings) -> list[Registration]:
    entries = registered(settings.collections)
    return [entry for entry in entries if signs_in_here(entry.collection, settings.origin)]
