"""The answers of many people: each different answer is stored once, and everybody's place in that list.

Populations repeat themselves, so an answer is hashed or looked up once, however many give it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.records import as_column, column_values, place_of, ratio_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers of many people. Each different answer is stored once; person i gave `labels[places[i]]`.

    Args:
        labels: The different answers.
        places: For each person, the place of their answer among the labels.

    >>> Answers.of(["cat", "dog", "cat"]).places.tolist()
    [0, 1, 0]
    """

    labels: Sequence[Any]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, values: Any) -> Answers:
        """The answers in a list, an array or a column. A missing value is an answer, too.

        Args:
            values: One answer for each person: a list, an array, a column of a data frame, or `Answers`.

        Returns:
            The answers, in the same order.

        Raises:
            InvalidParameter: If this is a single text or no list at all.
        """
        import numpy as np

        if isinstance(values, Answers):
            return values
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise InvalidParameter("values", "<one answer>", "must be the answers of many people", "Write [answer].")
        records = as_column(values)
        if not isinstance(records, list) and records.dtype.kind in "iu":
            return cls._of_whole_numbers(records.ravel())
        if not isinstance(records, list) and records.dtype.kind == "b":
            return cls((False, True), records.ravel().astype(np.intp))
        listed = records if isinstance(records, list) else column_values(records.ravel())
        known: dict[Any, int] = {}
        places = np.fromiter((_place(value, known) for value in listed), dtype=np.intp, count=len(listed))
        return cls([value for _, value in known], places)

    @classmethod
    def _of_whole_numbers(cls, array: NDArray[Any]) -> Answers:
        import numpy as np

        if len(array) and int(array.min()) >= 0 and int(array.max()) < 4 * len(array) + 1024:
            return cls(range(int(array.max()) + 1), array.astype(np.intp, copy=False))
        labels, places = np.unique(array, return_inverse=True)
        return cls(labels.tolist(), places.ravel())

    @classmethod
    def counted(cls, counts: Mapping[Any, int]) -> Answers:
        """A population, from how many people give each answer.

        Args:
            counts: The number of people for each answer.

        Returns:
            The answers. People with the same answer stand together, in the order of the counts.

        Raises:
            InvalidParameter: If a count is not a whole number from 0 on.

        >>> Answers.counted({"bus": 2, "bike": 1}).places.tolist()
        [0, 0, 1]
        """
        import numpy as np

        numbers = [checks.whole(minimum=0, count=count) for count in counts.values()]
        return cls(list(counts), np.repeat(np.arange(len(numbers)), numbers))

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, part: slice) -> Answers:
        return Answers(self.labels, self.places[part])

    def trimmed(self) -> Answers:
        """The same answers without labels that nobody gives, if there are many: a protocol may hash every label.

        Returns:
            The answers of the same people, in the same order.

        >>> answers = Answers.counted({code: int(code == 31401) for code in range(100_000)})
        >>> len(answers.labels), len(answers.trimmed().labels)
        (100000, 1)
        """
        import numpy as np

        if len(self.labels) <= len(self):
            return self
        given, places = np.unique(self.places, return_inverse=True)
        return Answers([self.labels[place] for place in given.tolist()], places.ravel())

    def counts(self) -> dict[Any, int]:
        """How many people gave each answer: the truth that an estimate is compared with.

        Returns:
            A number of people for each label, 0 where nobody gave it.

        >>> Answers.of(["cat", "dog", "cat"]).counts()
        {'cat': 2, 'dog': 1}
        """
        import numpy as np

        totals = np.bincount(self.places, minlength=len(self.labels))
        return dict(zip(self.labels, totals.tolist(), strict=True))

    def within(self, domain: Sequence[Any], index: Mapping[Any, int] | None) -> NDArray[np.int64]:
        """The place of everybody's answer in a public domain.

        Args:
            domain: The answers of the domain.
            index: The place of each of them; None if the domain is the range 0 … k − 1.

        Returns:
            One place for each person; −1 for an answer that is not in the domain.

        >>> Answers.of(["cat", "owl", "cat"]).within(["dog", "cat"], {"dog": 0, "cat": 1}).tolist()
        [1, -1, 1]
        """
        import numpy as np

        if index is None and isinstance(self.labels, range) and self.labels == range(len(self.labels)):
            known = np.arange(len(self.labels), dtype=np.int64)
            known[len(domain) :] = -1
        else:
            looked_up = (
                _number(label, len(domain)) if index is None else place_of(label, index) for label in self.labels
            )
            known = np.array([-1 if place is None else place for place in looked_up], dtype=np.int64)
        return known[self.places] if len(known) else np.empty(0, dtype=np.int64)


def _place(value: Any, known: dict[Any, int]) -> int:
    """The number of a value among those seen so far; what cannot be hashed, or differs from itself, is no answer."""
    try:
        if value == value:
            return known.setdefault((type(value), value), len(known))
    except Exception:  # an error would tell about the value
        pass
    return known.setdefault((type(None), None), len(known))


def _number(label: object, size: int) -> int | None:
    value, bottom = ratio_of(label) or (-1, 1)
    return value if bottom == 1 and 0 <= value < size else None
