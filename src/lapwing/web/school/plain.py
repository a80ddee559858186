"""YAML as people write it: no anchors, no tags, not too deep and not too long."""

from __future__ import annotations

from typing import Any

import yaml

LONGEST, DEEPEST, MOST = 40_000, 12, 8_000
"""Characters, levels, and values of one piece."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str) -> Any:
    """The value, or a `YAMLError` that says in which line it went wrong.

    >>> load("a: [1, two]")
    {'a': [1, 'two']}
    """
    if len(text) > LONGEST:
        raise yaml.YAMLError(f"it has more than {LONGEST:,} characters")
    depth = count = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            count += 1
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST or count > MOST:
                raise yaml.YAMLError("it has too many levels or values")
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                problem = "&, * and ! at the beginning of a value have a meaning. Put the value in quotes"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        return yaml.load(text, Loader=_LOADER)
    except (ValueError, OverflowError, RecursionError) as error:  # a date that is none, a number without end
        raise yaml.YAMLError(f"it has a value that cannot be read ({type(error).__name__})") from None


def line_of(error: yaml.YAMLError) -> int | None:
    """In which line it went wrong, counted from 1."""
    mark = getattr(error, "problem_mark", None)
    return None if mark is None else int(mark.line) + 1
