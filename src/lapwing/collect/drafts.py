"""The draft of a new collection, as `lapwing collect new` writes it, and what is wrong with an edited one."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lapwing import checks
from lapwing.collect import reader
from lapwing.collect.clock import today
from lapwing.collect.collection import FORMAT, MORE_SHUFFLERS, ROUTES, Collection, Transport
from lapwing.collect.consents import consent_to
from lapwing.collect.shuffled_promises import consent_with_words
from lapwing.collect.string_drafts import drafted_strings
from lapwing.collect.string_protocol import StringProtocol
from lapwing.errors import InvalidParameter
from lapwing.privacy import PureDP

EPOCH_DAYS = 45
FIRST_PORT = 8101
PORTS = {"issuer": 8101, "ingestor": 8102, "aggregator": 8103, "analyzer": 8104}
SHUFFLER_PORTS = {"shuffler": 8105, "blinder": 8106, "thresholder": 8107}
SHUFFLER_PORTS |= {party: port for port, party in enumerate(MORE_SHUFFLERS, start=8108)}
LARGEST_PORT = 65_535
CROWD = {"from": "report", "threshold": 20, "mean_drop": 10, "sigma": 2, "delta": "0.000002"}
"""Of a new collection with shufflers."""
PUBLISHING = {"smallest_batch": 100, "every_hours": 24}
HERE = "127.0.0.1"
FOR_DEVICES = ("issuer", "ingestor")
"""What devices speak to; the others speak to each other."""
_NAMES = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")
_UNKNOWN = re.compile(r"(?P<where>.*?)(?P<key>[^.\s]+): is not known\. Known are: (?P<known>.+)")


def drafted(
    *,
    question: str,
    name: str,
    answers: Sequence[str] = (),
    epsilon: str = "1",
    strings: StringProtocol | None = None,
    host: str = HERE,
    port: int = FIRST_PORT,
    transport: Transport = "direct",
    fragments: Mapping[str, Any] | None = None,
    shufflers: int = 1,
    **changes: Any,
) -> dict[str, Any]:
    """What a new file says. At `host` devices reach this machine; `port` is the first of those that parties use."""
    if strings is not None and fragments is not None:
        why = "cannot be strings, which are sent whole"
        raise InvalidParameter("fragments", str(fragments.get("by")), why, "Leave out fragments, or list answers.")
    opens, batch = today(), changes.get("publishing", PUBLISHING)["smallest_batch"]
    transport = "blinded" if strings is not None else transport
    place, ports = _host(host), ports_of(transport, shufflers, port)
    protected = (
        _of_answers(answers, epsilon, transport, fragments, batch) if strings is None else drafted_strings(strings)
    )
    return {
        "format": FORMAT,
        "name": name,
        "version": 1,
        "question": question,
        **protected,
        "accounting": "lifetime",
        "transport": transport,
        "admission": "open",
        "publishing": dict(PUBLISHING),
        "opens": opens.isoformat(),
        "closes": (opens + timedelta(days=EPOCH_DAYS - 1)).isoformat(),
        "servers": {
            party: {"address": f"http://{place if party in FOR_DEVICES else HERE}:{number}"}
            for party, number in ports.items()
        },
        **changes,
    }


def ports_of(transport: Transport, shufflers: int = 1, first: int = FIRST_PORT) -> dict[str, int]:
    """Where the parties of a transport listen, unless the file says otherwise; fragments may have several shufflers."""
    hops = (*ROUTES[transport][1:-1], *MORE_SHUFFLERS[: shufflers - 1])
    usual = PORTS | {party: SHUFFLER_PORTS[party] for party in hops}
    moved = checks.whole(minimum=1, port=first) - FIRST_PORT
    ports = {party: port + moved for party, port in usual.items()}
    if max(ports.values()) > LARGEST_PORT:
        why = f"leaves no room for {max(usual.values()) - FIRST_PORT} ports after it; {LARGEST_PORT:,} is the last"
        raise InvalidParameter("port", first, why, "Write a smaller one, such as 8201.")
    return ports


def _host(host: str) -> str:
    """A name or a number of a machine, as it stands in an address."""
    try:
        return f"[{ipaddress.IPv6Address(host.strip('[]'))}]"
    except ValueError:
        pass
    if _NAMES.fullmatch(host) and len(host) <= 253:
        return host
    parts = urlsplit(host if "//" in host else f"//{host}")
    try:
        plain, port = parts.hostname or "", parts.port
    except ValueError:  # a port that is no number
        plain, port = "", None
    hint = "Write the name or the number of this machine alone, such as 192.168.1.20 or collect.example.org."
    if _NAMES.fullmatch(plain):
        hint = f"Write --host {plain}" + (f" --port {port}" if port else "") + "."
    why = "must be the name or the number of a machine, without http://, port or path"
    raise InvalidParameter("host", host, why, hint + " For https behind a proxy, edit servers in draft.yaml.")


def _of_answers(
    answers: Sequence[str], epsilon: str, transport: Transport, fragments: Mapping[str, Any] | None, batch: int
) -> dict[str, Any]:
    """What a new file says about answers from a list."""
    crowd, by, pieces = dict(CROWD), (fragments or {}).get("by"), 1
    if by == "attribute":  # half of what a position has in a batch, on average: that many bits hide each other
        crowd |= {"from": "position", "threshold": max(20, batch // (2 * max(1, len(answers))))}
    elif fragments is not None:
        pieces = int(fragments["count"])
    each = pieces * _positive(epsilon)
    lifetime = 8 * each
    short = f"{float(lifetime):g}"
    losses = [PureDP(epsilon, relation="replace") for epsilon in (each, lifetime)]
    limits = {"reports_per_day": 1, "lifetime_epsilon": short if Fraction(short) == lifetime else str(lifetime)}
    return {
        "consent": consent_with_words(consent_to(*losses), transport, str(crowd["from"]), by),
        "protocol": {"protocol": "UnaryEncoding", "epsilon": epsilon, "domain": list(answers)},
        "limits": limits,
        **({"crowd": crowd} if len(ROUTES[transport]) > 2 else {}),
        **({} if fragments is None else {"fragments": dict(fragments)}),
    }


def _positive(epsilon: str) -> Fraction:
    """An epsilon as somebody wrote it, such as 1/2 or 0.5."""
    try:
        number = Fraction(epsilon)
    except (ValueError, ZeroDivisionError):
        raise InvalidParameter("epsilon", epsilon, "is not a number", "Write 1, 0.5 or 1/2, for example.") from None
    if number <= 0:
        raise InvalidParameter("epsilon", epsilon, "must be greater than 0", "Write 1, for example.")
    return number


def slug(name: str) -> str:
    """A name for a collection, made of the name of a folder."""
    letters = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name.lower()).strip("-")
    return "-".join(filter(None, letters.split("-")))[:60] or "collection"


def draft_problems(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with a draft, one sentence each. A key that is not known is probably a slip of the pen."""
    return [_with_nearest(problem) for problem in reader.problems(document)]


def checked_draft(document: Mapping[str, Any], folder: Path) -> Collection:
    """The collection of the draft in a folder; an error lists everything that is wrong with it."""
    problems = draft_problems(document)
    if problems:
        why = "; ".join(problem.rstrip(".") for problem in problems)
        raise InvalidParameter(
            "draft", "draft.yaml", why, f"Correct it, then: lapwing collect check {shlex.quote(str(folder))}"
        )
    return reader.checked(document)


def _with_nearest(problem: str) -> str:
    unknown = _UNKNOWN.fullmatch(problem)
    nearest = get_close_matches(unknown["key"].lower(), unknown["known"].split(", "), n=1) if unknown else []
    return f"{problem.partition(' Known are: ')[0]} Did you mean {nearest[0]}?" if nearest else problem
