"""What a server tells somebody whom it does not answer."""

from __future__ import annotations

from lapwing.errors import LapwingError


class Refusal(LapwingError):
    """Why a server does not answer."""


class BeingAnswered(LapwingError):
    """Somebody asks twice at the same time."""

    def __init__(self) -> None:
        super().__init__("this question is being answered at this moment: ask again later, under the same key")


class Burnt(LapwingError):
    """A question was begun before, and did not end: it stays charged."""

    def __init__(self) -> None:
        super().__init__(
            "this question was begun before and did not end, so its noise may have been seen. It stays charged. "
            "Ask again under another key; that is charged anew"
        )


class RowsDiffer(LapwingError):
    """The servers do not have the same rows."""

    def __init__(self) -> None:
        super().__init__(
            "the two servers do not have the same rows: one of them may run on an old copy of its folder. "
            "Nothing was computed. Give that server its current folder back"
        )
