"""Counts before nouns, as people write them."""

from __future__ import annotations


def counted(number: int, noun: str, many: str = "") -> str:
    """A number and its noun: in the singular for one, else in the plural.

    >>> counted(1, "minute"), counted(0, "minute"), counted(1200, "more answer"), counted(2, "person", "people")
    ('1 minute', '0 minutes', '1,200 more answers', '2 people')
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
