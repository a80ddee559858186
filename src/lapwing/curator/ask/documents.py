"""YAML and JSON without surprises: plain data comes out, and nothing is ever executed.

YAML is read as people write it by hand: mappings with text for names, lists, text, numbers, truth values, dates. NO is
a country and 01234 a postal code here, not a truth value and a number. Names given twice, tags, anchors and aliases are
refused: each of them makes a document mean something else than it seems to.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from lapwing.errors import InvalidParameter

LONGEST = 10_000_000
"""Characters; descriptions and questions are written by people."""
_WORDS = (  # how text without quotes is understood; the first that fits
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("timestamp", r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?", "0123456789"),
)


def read_file(path: str | os.PathLike[str]) -> Any:
    """The data in a .json or .yaml file."""
    place = Path(path)
    try:
        if place.stat().st_size > 4 * LONGEST:
            raise _wrong(place.name, "", "is too long", "Write less, or keep it in a table.")
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        raise _wrong("file", str(path), f"cannot be read ({error.strerror})", "Check its name and place.") from None
    except UnicodeError:
        raise _wrong("file", str(path), "is not text in UTF-8", "Save it as UTF-8.") from None
    return (read_json if place.suffix.lower() == ".json" else read_yaml)(text, name=place.name)


def read_yaml(text: str, *, name: str = "YAML") -> Any:
    """The data in a text of YAML."""
    import yaml

    _must_be_text(text, name)
    try:
        return _loader()(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = "" if mark is None else f"line {mark.line + 1}"
        raise _wrong(name, line, error.problem or "cannot be read", error.note or _HINT) from None
    except yaml.YAMLError:
        raise _wrong(name, "", "has characters that YAML does not know", _HINT) from None
    except RecursionError:
        raise _wrong(name, "", "is nested too deeply", _HINT) from None


def read_json(text: str, *, name: str = "JSON") -> Any:
    """The data in a text of JSON."""
    _must_be_text(text, name)
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_finite)
    except json.JSONDecodeError as error:
        raise _wrong(name, f"line {error.lineno}", "is not JSON", "Write it as Query.to_json does.") from None
    except (ValueError, RecursionError) as error:
        raise _wrong(name, "", str(error), "Write it as Query.to_json does.") from None


def write_yaml(data: Any) -> str:
    """Data as YAML that `read_yaml` gives back."""
    return _dumped(data, width=120, default_flow_style=None)


def write_json(data: Any) -> str:
    """Data as JSON that `read_json` gives back."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def word(text: str) -> str:
    """Text as one word of YAML, in quotes where it needs them."""
    return _dumped([text], width=math.inf, default_flow_style=True)[1:-2]


def _dumped(data: Any, **options: Any) -> str:
    import yaml

    text: str = yaml.dump(data, Dumper=_dumper(), sort_keys=False, allow_unicode=True, **options)
    return text


_HINT = "Write it as lapwing describe does."


def _wrong(name: str, where: str, why: str, hint: str) -> InvalidParameter:
    return InvalidParameter(name, where, why, hint)


def _must_be_text(text: object, name: str) -> None:
    if not isinstance(text, str):
        raise _wrong(name, type(text).__name__, "must be text", "Read the file first.")
    if len(text) > LONGEST:
        raise _wrong(name, f"{len(text)} characters", "is too long", "Write less, or keep it in a table.")


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for name, value in pairs:
        if name in mapping:
            raise ValueError(f"{name!r} is there twice")
        mapping[name] = value
    return mapping


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


@lru_cache(maxsize=1)
def _loader() -> Any:
    """The safe loader of PyYAML with fewer meanings."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {}  # noqa: RUF012 – ours instead of those of YAML 1.1

        def compose_node(self, parent: Any, index: Any) -> Any:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent) or event.anchor is not None or event.tag is not None:
                why = "tags (!), anchors (&) and aliases (*) are not read"
                raise yaml.MarkedYAMLError(None, None, why, event.start_mark, "Write it out, or in quotes.")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            mapping: dict[Any, Any] = {}
            for key, value in node.value:
                name = self.construct_object(key, deep=True)
                mark = key.start_mark
                if not isinstance(name, str):
                    why = f"the name {name} is not text"
                    raise yaml.MarkedYAMLError(None, None, why, mark, "Put it in quotes.")
                if name in mapping:
                    raise yaml.MarkedYAMLError(None, None, f"{name!r} is there twice", mark, "Leave one out.")
                mapping[name] = self.construct_object(value, deep=deep)
            return mapping

        def construct_plain(self, node: Any) -> Any:
            try:
                return _READERS[node.tag.rpartition(":")[2]](node.value)
            except ValueError:
                why = f"{node.value[:40]} cannot be read as a number or a date"
                raise yaml.MarkedYAMLError(None, None, why, node.start_mark, "Put text in quotes.") from None

    _teach(Loader)
    for kind in _READERS:
        Loader.add_constructor(_TAG + kind, Loader.construct_plain)
    return Loader


def _teach(reader_or_writer: Any) -> None:
    """What text without quotes means: to read it so, and to know which text needs quotes."""
    for kind, pattern, starts in _WORDS:
        first = [start.strip("\0") for start in starts]
        reader_or_writer.add_implicit_resolver(_TAG + kind, re.compile(f"(?:{pattern})$"), first)


_TAG = "tag:yaml.org,2002:"
_READERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": _finite,
    "timestamp": lambda text: dt.date.fromisoformat(text) if len(text) == 10 else dt.datetime.fromisoformat(text),
}


@lru_cache(maxsize=1)
def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_text(self, data: str) -> Any:
            return self.represent_scalar(_TAG + "str", data, style=None if data.isprintable() else '"')

    _teach(Dumper)
    Dumper.add_representer(str, Dumper.represent_text)
    return Dumper
