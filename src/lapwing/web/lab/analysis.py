"""The contract of a question in the lab.

An analysis is a frozen value of public parameters, made from a form by `of`. The data is an argument, as is how much
to spend. Three ways lead to it, and only the middle one looks at real data in normal use:

    preview   no data at all: how far off, at every epsilon
    release   charged to the ledger first, then the data is read
    exact, draws   teaching mode only: the caller makes sure of that (`Bench.teach`)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from lapwing.privacy import Ledger
from lapwing.web.lab.result import EPSILONS, Preview, Result
from lapwing.web.lab.statement import Statement

Progress = Callable[[float], None]
"""Called now and then with the share that is done; raises if the work was cancelled."""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing a form asks for. Without choices it is typed."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...] = ()
    """Values and what people read."""
    value: str = ""
    kind: str = "choice"
    """choice, many (several choices), number, or text."""
    hint: str = ""
    titled: bool = True
    """Whether what is chosen belongs into the title of the question."""


@dataclass(frozen=True, slots=True)
class Data:
    """Where the rows are, and who keeps count of what is asked of them."""

    path: Path
    statement: Statement
    ledger: Ledger | None


class Analysis(ABC):
    """A question with its parameters."""

    slug: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    """One sentence for those who do not know it."""

    @classmethod
    @abstractmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """What it needs to know; empty choices mean that the table has no column for it."""

    @classmethod
    @abstractmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From what was typed, or an `InvalidParameter` that says what to write instead."""

    @property
    def asked(self) -> str:
        """What is asked, for a title: of which columns, and what each is for. If empty, what was chosen is listed."""
        return ""

    @property
    def rows(self) -> str:
        """Which rows it is about, if not all: "only rows where sex is female"."""
        return ""

    def rows_of_each(self, statement: Statement) -> int:
        """How many rows of one unit count at most. Of a unit with more, a random sample counts."""
        return statement.max_rows_per_unit

    @abstractmethod
    def preview(self, statement: Statement, epsilons: Sequence[float] = EPSILONS) -> Preview:
        """How far off it would be, at every place of the slider or at these, without the data. Under a second."""

    @abstractmethod
    def release(self, data: Data, epsilon: float, progress: Progress) -> Result:
        """The private answer: charged before the data is read."""

    @abstractmethod
    def exact(self, data: Data, progress: Progress) -> Result:
        """The exact answer to the same question, in the same shape. Never in normal mode."""

    def draws(self, data: Data, epsilon: float, times: int, progress: Progress) -> Iterator[Result]:
        """Private answers again and again, uncharged, from the real data. Never in normal mode."""
        free = Data(data.path, data.statement, None)
        for turn in range(times):
            progress(turn / times)
            yield self.release(free, epsilon, lambda _: None)

    @abstractmethod
    def script(self, statement: Statement, epsilon: float) -> str:
        """Lines of Python that ask the same with `lapwing`, after `table` was opened as `scripts.opening` writes it."""
