"""The protocol `SecretStrings` in the file of a collection: answers are strings that nobody can list.

    device       one message a slot: of a string, or of one that nobody else has, which looks the same
    crowd        everybody with the same string (blinded): the shufflers pass it on only if it is large enough
    aggregator   a crowd that was passed on has t messages or more, so its string opens; everything else stays closed

A message is not randomised, so it has no local epsilon. What protects a person is the shufflers' threshold, with its
(ε, δ) under replace; against shufflers who break their promise it is that fewer than t messages of a string do not
open, unless somebody guesses the string. With `randomness: issuer` a guess is a question to the issuer.
Proof: string_protocol.md
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from lapwing.collect.secret_strings import CROWD_BYTES, SecretStrings
from lapwing.crowd.catalogue import protocol_from
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.reports import HEADER_BYTES, MAGIC
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.neighbours import as_unit

NAME = "SecretStrings"
"""What the file calls it."""
Randomness = Literal["issuer", "none"]
"""Who makes seeds: an oblivious function of the issuer, or a public hash."""
CROWD_NAME = b"string\n"
NAME_BYTES = len(CROWD_NAME) + CROWD_BYTES
_CONTEXT = b"lapwing strings 1"
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class StringProtocol:
    """The public parameters of a collection of strings.

    >>> protocol = StringProtocol(threshold=20, length=32, randomness="none")
    >>> protocol.text("https://example.org"), protocol.text("far too long " * 9), protocol.text(None)
    (b'https://example.org', None, None)
    """

    version: ClassVar[int] = 1
    threshold: int
    """So many messages open a string."""
    length: int
    """Bytes of the longest string."""
    randomness: Randomness
    unit: str = "person"

    def __post_init__(self) -> None:
        SecretStrings(threshold=self.threshold, length=self.length, context=b"")  # checks both
        if self.randomness not in get_args(Randomness):
            hint = "Write issuer, or none if the strings cannot be guessed."
            raise InvalidParameter("randomness", self.randomness, "must be issuer or none", hint)
        as_unit(self.unit)

    @property
    def oblivious(self) -> bool:
        """Whether a device asks the issuer for the seed of its string."""
        return self.randomness == "issuer"

    @property
    def message_bytes(self) -> int:
        """How long every message is."""
        return self.in_epoch(b"", 0).message_bytes

    @property
    def report_bytes(self) -> int:
        """How long a report is: a message with a head like that of all reports."""
        return HEADER_BYTES + self.message_bytes

    @property
    def header(self) -> bytes:
        """How every report begins."""
        return MAGIC + self.fingerprint + (1).to_bytes(8, "little")

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that differ wherever any parameter does."""
        stated = json.dumps(self.document(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(stated.encode()).digest()[:16]

    def document(self) -> dict[str, Any]:
        """As a file has it, without the fingerprint."""
        values = {"threshold": self.threshold, "length": self.length, "randomness": self.randomness, "unit": self.unit}
        return {"protocol": NAME, "version": self.version, **values}

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> StringProtocol:
        """What a file says; anything else is refused."""
        named = {name: value for name, value in values.items() if name not in ("protocol", "version")}
        if values.get("version", cls.version) != cls.version:
            why = f"is a version of {NAME} that this Lapwing does not have (it has {cls.version})"
            hint = "Use the version of Lapwing that the file was made with."
            raise InvalidParameter("version", values["version"], why, hint)
        missing = {"threshold", "length", "randomness"} - named.keys()
        surplus = named.keys() - {"threshold", "length", "randomness", "unit"}
        if missing or surplus:
            what = f"needs {', '.join(sorted(missing))}" if missing else f"has no {', '.join(sorted(surplus))}"
            hint = "Write threshold: 20, length: 32 and randomness: issuer, for example."
            raise InvalidParameter("protocol", NAME, what, hint)
        return cls(**named)

    def in_epoch(self, digest: bytes, epoch: int) -> SecretStrings:
        """The messages of one collection in one epoch: none opens together with one of another."""
        context = _CONTEXT + digest + epoch.to_bytes(4, "little")
        return SecretStrings(threshold=self.threshold, length=self.length, context=context)

    def text(self, answer: Any) -> bytes | None:
        """An answer as it is sent; None for no answer, and for what is no text of 1 to `length` bytes on one line."""
        if not isinstance(answer, str) or not answer or _UNPRINTABLE.search(answer):
            return None
        text = answer.encode()
        return text if len(text) <= self.length else None

    def is_text(self, text: bytes) -> bool:
        """Whether an honest device could have sent this."""
        try:
            return self.text(text.decode()) == text
        except UnicodeDecodeError:
            return False

    def report(
        self, digest: bytes, epoch: int, text: bytes | None, seed: bytes | None, entropy: Entropy = SYSTEM
    ) -> tuple[bytes, bytes]:
        """One device's report, and the name of its crowd; both have one length.

        A string that should have a seed and has none is not sent: its message could be guessed.
        """
        if self.oblivious and seed is None:
            text = None
        message, crowd = self.in_epoch(digest, epoch).sent(text, seed if self.oblivious else None, entropy)
        return self.header + message, CROWD_NAME + crowd


def string_problems(protocol: StringProtocol, document: Mapping[str, Any]) -> list[str]:
    """What else a file must say so that strings are protected, one sentence for each thing that it does not."""
    crowd: Any = document.get("crowd")
    crowd = crowd if isinstance(crowd, Mapping) else {}
    problems = []
    if document.get("transport") != "blinded":
        problems.append("transport: strings need two shufflers, whose threshold hides a rare one; write blinded")
    elif crowd.get("from") != "answer":
        problems.append("crowd.from: a crowd of strings is everybody with the same one; write answer")
    if "prefix" in crowd:
        problems.append("crowd.prefix: a string opens as a whole, so its crowd is made of all of it; delete it")
    least = crowd.get("threshold")
    if type(least) is int and least < protocol.threshold:
        why = f"is below protocol.threshold, so strings would be passed on that cannot open; write {protocol.threshold}"
        problems.append(f"crowd.threshold: {why} or more")
    if document.get("admission") == "sign-in":
        problems.append("admission: browsers cannot send strings, and nobody else can sign in; write codes or open")
    if protocol.oblivious and document.get("admission") == "nobody-asked":
        why = "there is no issuer to answer guesses and to count them"
        problems.append(f"protocol.randomness: {why}; write admission: codes, or randomness: none")
    return problems


def any_protocol(parameters: Mapping[str, Any]) -> Protocol | StringProtocol:
    """The protocol that a file names: a local one of `crowd`, or strings."""
    if parameters.get("protocol") == NAME:
        return StringProtocol.from_document(parameters)
    return protocol_from(parameters)
