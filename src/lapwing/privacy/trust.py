"""Against whom a guarantee holds, where that is not everybody who sees the releases.

A loss without a `Trust` holds against everybody who sees what was released. Where several parties compute a release
together, each sees more than that. The loss then holds only against some of them, only while they behave in some way,
and only if some problems are hard. A `Trust` says so, and goes wherever the loss goes: into sums, ledgers, answers and
words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.errors import InvalidParameter

Kind = TypeVar("Kind", bound=type[Any])
EVERYBODY = "everybody who sees the answers"
_TOLD = "with it, somebody who knows all others can tell whether a person takes part, and in which of these numbers"
_NOBODY, _ANY = "nobody", "whatever they do"
_SEEDED = "NOT PRIVATE: some of the noise came from a seed. Somebody who knows the seed can compute exact answers"
_HINT = 'Write Trust(towards="either server alone", not_towards="both together", behaviour="semi-honest").'


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust(metaclass=Helpful):
    """What must be true for a loss to hold, in words.

    Raises:
        InvalidParameter: If a part is not text, or `assumes` or `published` is not a list of texts.

    >>> trust = Trust(towards="either server alone", not_towards="both together", behaviour="semi-honest")
    >>> print(trust)
    this holds against either server alone (semi-honest), not against both together
    """

    towards: str
    """Against whom it holds."""
    not_towards: str
    """Against whom it does not."""
    behaviour: str
    """What those against whom it holds may do: "semi-honest" if they follow the protocol and are curious."""
    assumes: tuple[str, ...] = ()
    """What else: the problems that must be hard, in the order of the alphabet."""
    published: tuple[str, ...] = ()
    """What it does not cover, against anybody: exact numbers that were published, in the order of the alphabet."""
    seeded: bool = False
    """Whether some of the noise comes from a seed. Then nothing is promised, and such a loss cannot be explained."""

    def __post_init__(self) -> None:
        for name in ("towards", "not_towards", "behaviour"):
            _words(name, getattr(self, name))
        for name, example in (("assumes", "('AES-128',)"), ("published", "('count of total',)")):
            given: object = getattr(self, name)
            if not isinstance(given, tuple | list):
                raise InvalidParameter(name, given, "must be a list of texts", f"Write {name}={example}.")
            object.__setattr__(self, name, tuple(sorted({_words(name, text) for text in given})))
        checks.true_or_false(seeded=self.seeded)

    @classmethod
    def except_published(cls, *what: str) -> Trust:
        """A guarantee against everybody, except for numbers that were published exactly.

        Args:
            what: What was published, each in a few words.

        Returns:
            The trust of a loss that does not protect these numbers.

        >>> Trust.except_published("count of total").brief
        'not protected: count of total'
        """
        return cls(towards=EVERYBODY, not_towards=_NOBODY, behaviour=_ANY, published=what)

    def __str__(self) -> str:
        assumed = f", and assumes {' and '.join(self.assumes)}" if self.assumes else ""
        if self.seeded:
            return _SEEDED
        exact = f"does not protect what was published exactly ({', '.join(self.published)}): {_TOLD}"
        if self.towards == EVERYBODY:
            return f"this holds against everybody, but {exact}{assumed}"
        exception = f"; it {exact}" if self.published else ""
        return (
            f"this holds against {self.towards} ({self.behaviour}), not against {self.not_towards}{assumed}{exception}"
        )

    @property
    def brief(self) -> str:
        """The trust in a few words, to stand beside the relation and the unit."""
        exception = f"not protected: {', '.join(self.published)}" if self.published else ""
        towards = "" if self.towards == EVERYBODY else f"towards {self.towards}"
        return ", ".join(filter(None, ("NOT PRIVATE: noise from a seed" if self.seeded else "", towards, exception)))

    @property
    def parties(self) -> tuple[str, str, str]:
        """Against whom it holds, against whom it does not, and how they behave."""
        return self.towards, self.not_towards, self.behaviour

    def to_dict(self) -> dict[str, Any]:
        """The trust as plain data.

        Returns:
            A dictionary of texts and lists of texts, which `Trust.from_dict` reads back.

        >>> trust = Trust(towards="either server alone", not_towards="both together", behaviour="semi-honest")
        >>> trust.to_dict()["towards"]
        'either server alone'
        """
        return {
            "towards": self.towards,
            "not_towards": self.not_towards,
            "behaviour": self.behaviour,
            "assumes": list(self.assumes),
            **({"published": list(self.published)} if self.published else {}),
            **({"seeded": True} if self.seeded else {}),
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Trust:
        """The trust that `to_dict` wrote.

        Args:
            record: The plain data.

        Returns:
            The same trust.

        >>> trust = Trust.except_published("count of total")
        >>> Trust.from_dict(trust.to_dict()) == trust
        True
        """
        return Trust(**record)


def as_trust(trust: object) -> Trust | None:
    """A trust, or none."""
    if trust is None or isinstance(trust, Trust):
        return trust
    raise InvalidParameter("trust", f"<{type(trust).__name__}>", "is not a Trust", _HINT)


def readable(kind: Kind) -> Kind:
    """A type of losses that can also be read from pickles of the first version, whose losses knew no trust."""
    names = [field.name for field in fields(kind)]
    place = names.index("trust")

    def restored(self: object, state: Sequence[Any]) -> None:
        values = [*state[:place], None, *state[place:]] if len(state) < len(names) else state
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    kind.__setstate__ = restored
    return kind


def implied(given: Trust | None, promised: Trust | None) -> bool:
    """Whether a loss that holds under `given` also holds as `promised`.

    Proof: one that holds against everybody who sees the releases holds against the parties of any trust. Otherwise the
    parties must be the same, and everything that is needed must be among what is assumed.
    """
    if given is None:
        return True
    if promised is None or given.parties != promised.parties or given.seeded > promised.seeded:
        return False
    return set(given.assumes) <= set(promised.assumes) and set(given.published) <= set(promised.published)


def jointly(first: Trust | None, second: Trust | None) -> Trust | None:
    """Under what two losses hold together; an error if nothing is said about any party by both.

    Proof: each of them holds against the parties of the result, under the assumptions of both (`implied`).
    """
    if first is None or second is None:
        return first or second
    if first.parties != second.parties:
        why = f"{first}, and {second}: no party is in both"
        raise InvalidParameter("trust", second, why, "Count them in two ledgers, or state both against the same party.")
    published = (*first.published, *second.published)
    seeded = first.seeded or second.seeded
    return replace(first, assumes=(*first.assumes, *second.assumes), published=published, seeded=seeded)


def from_a_seed(trust: Trust | None) -> Trust:
    """What is left of a trust where some of the noise comes from a seed."""
    return replace(trust or Trust(towards=EVERYBODY, not_towards=_NOBODY, behaviour=_ANY), seeded=True)


def _words(name: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise InvalidParameter(name, text, "must be a few printable words", _HINT)
    return text
