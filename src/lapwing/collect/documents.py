"""The text of a collection: YAML for people, and one line of JSON that is hashed and signed.

    YAML   what a person writes: comments, any order, "0.5" or 0.5
    JSON   what is hashed and signed: keys sorted, no spaces, ASCII; whole numbers, text, true, false, lists, maps

All readers must read the same. A number with a point is kept as the text that was written, so it stays exact. A key
that is written twice is refused: readers differ in which of the two they take.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lapwing.errors import InvalidParameter

LARGEST_WHOLE = (1 << 53) - 1
"""Beyond this, numbers of JSON are read differently by browsers."""
LONGEST = 1 << 20
"""Bytes of a collection, with a large domain."""


def parsed(text: str | bytes) -> dict[str, Any]:
    """What a file of YAML or JSON says."""
    import yaml

    if len(text) > LONGEST:
        raise _refused(f"is longer than {LONGEST:,} bytes", "Shorten the domain or the texts.")
    try:
        text = (text.decode() if isinstance(text, bytes) else text).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise _refused("is not a text file", "Pass the YAML file of a collection, in UTF-8.") from None
    if text.lstrip(" \t\r\n")[:1] == "{":  # YAML reads what JSON writes for characters beyond U+FFFF as two
        return _parsed_json(text)
    try:
        document = yaml.load(text, _loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise _refused(f"is not valid YAML{where}: {problem}", "Compare it with docs/collect.md.") from None
    except RecursionError:
        raise _refused("is not a text file", "Pass the YAML file of a collection.") from None
    if not isinstance(document, dict):
        raise _refused("must be a map of keys and values", "Compare it with docs/collect.md.")
    return document


def _parsed_json(text: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(pairs)
        if len(document) < len(pairs):
            raise _refused("has a key that appears twice", "Keep one of the two.")
        return document

    def refused(number: str) -> Any:
        raise _refused(f"holds {number}, which is not a number", "Write a number.")

    try:
        document = json.loads(text, object_pairs_hook=unique, parse_float=str, parse_constant=refused)
    except (json.JSONDecodeError, RecursionError):
        raise _refused("is not valid JSON", "Pass the file as it was written.") from None
    return document if isinstance(document, dict) else {}


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one line of JSON that is hashed and signed."""
    return json.dumps(_plain(document), sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def written(document: Mapping[str, Any]) -> str:
    """YAML that `parsed` reads back as it was."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=_style(value))

    Dumper.add_representer(str, text)
    return yaml.dump(_plain(document), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def _style(text: str) -> str | None:
    """Lines as lines; but what YAML would take for the end of a line, or change, in quotes and by its number."""
    strange = any(not sign.isprintable() and sign != "\n" for sign in text)
    return '"' if strange else "|" if "\n" in text else None


def _plain(value: Any) -> Any:
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int) and abs(value) <= LARGEST_WHOLE:
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    why = "holds a value that is neither text, a whole number up to 2^53, true, false, a list nor a map"
    raise _refused(why, 'Write numbers with a point as text: "0.5".')


def _loader() -> Any:
    """YAML without what readers disagree about: floats and dates stay text, keys are unique, nothing is aliased."""
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="aliases (*name) are not allowed", problem_mark=mark)
            return super().compose_node(parent, index)

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[str, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            name = loader.construct_scalar(key) if isinstance(key, yaml.ScalarNode) else None
            if not isinstance(name, str) or key.tag != "tag:yaml.org,2002:str":
                raise yaml.MarkedYAMLError(problem="a key must be text", problem_mark=key.start_mark)
            if name in keys:
                raise yaml.MarkedYAMLError(problem=f"the key {name!r} appears twice", problem_mark=key.start_mark)
            keys.add(name)
        return {loader.construct_scalar(key): loader.construct_object(value, deep=True) for key, value in node.value}

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    unsure = (
        "tag:yaml.org,2002:float",
        "tag:yaml.org,2002:timestamp",
        "tag:yaml.org,2002:int",
        "tag:yaml.org,2002:bool",
    )
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in unsure]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    # YAML 1.1 reads 0o17, 1_000, 12:30 as numbers and no, on, y as booleans; JSON knows none of them
    Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"-?(0|[1-9][0-9]*)$"), list("-0123456789"))
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(true|false)$"), list("tf"))
    return Loader


def _refused(why: str, hint: str) -> InvalidParameter:
    return InvalidParameter("collection", "<file>", why, hint)
