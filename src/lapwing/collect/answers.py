"""Which answers a collection can count. The device checks this, and no server learns of a mistake."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lapwing.collect.participant_file import written_answer
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import BinaryResponse
from lapwing.crowd.domains import domain_of
from lapwing.crowd.items import Answers
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

YES_NO = {"yes": True, "true": True, "no": False, "false": False}


def choices(collection: Collection) -> Sequence[Any]:
    """The answers to choose from; none where nobody can list them."""
    if isinstance(collection.protocol, BinaryResponse):
        return (True, False)
    domain = getattr(collection.protocol, "domain", None)
    return () if domain is None else domain_of(domain)[0]


def countable(collection: Collection, answer: Any) -> bool:
    """Whether reports can stand for this answer. Any other would be sent as no answer at all."""
    value, protocol = json.loads(written_answer(answer)), collection.protocol
    if value is None:
        return False
    if isinstance(protocol, StringProtocol):
        return protocol.text(value) is not None
    if hasattr(protocol, "bounds"):  # of numbers; one beyond them is brought back
        return not isinstance(value, str)
    known = choices(collection)
    return not known or bool(Answers.of([value]).within(*domain_of(known))[0] >= 0)


def spoken(collection: Collection, text: str) -> Any:
    """The answer that somebody wrote on a command line; what cannot be counted is refused."""
    labels = {str(label): label for label in choices(collection)}
    answer: Any = labels.get(text, text)
    if isinstance(collection.protocol, BinaryResponse):
        answer = YES_NO.get(text.lower(), text)
    elif hasattr(collection.protocol, "bounds"):
        try:
            answer = float(text)
        except ValueError:
            answer = text
    if countable(collection, answer):
        return answer
    names = ["yes", "no"] if isinstance(collection.protocol, BinaryResponse) else list(labels)[:20]
    hint = f"Write one of: {', '.join(names)}{' …' if len(labels) > 20 else ''}." if names else "Write a number."
    if isinstance(collection.protocol, StringProtocol):
        hint = f"Write a text of one line and {collection.protocol.length} bytes at most."
    raise InvalidParameter("answer", text, "is not an answer that this collection can count", hint)
