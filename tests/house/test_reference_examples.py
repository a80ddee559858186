"""The reference as the site shows it: every method has an example, every example runs, every type has a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import example_setup
import griffe
import pytest
from docstring_examples import AGGREGATE, fenced, shown_members, target, without_examples
from reference_pages import ROOMS, anchor, pages_of
from reference_types import classes_in

ROOT = Path(__file__).resolve().parents[2]
PLUMBING = {
    "lapwing.Aggregate": (
        *("note", "keys", "bind", "error", "ends", "saved", "saved_options", "reread", "arguments", "read"),
        *("filtered", "asked"),
    ),
    "lapwing.Ladder": ("key",),
    "lapwing.Query": ("saved_parts", "shape", "output_columns", "items", "budget"),
    "lapwing.curator.MarginalsQuestion": (
        *("saved_parts", "shape", "output_columns", "items", "budget", "remarks", "priced"),
    ),
    "lapwing.crowd.CountMeanSketch": ("look_up", "estimates_from"),
    **dict.fromkeys(
        (f"lapwing.crowd.{name}" for name in ("Rappor", "BasicRappor", "OneTimeRappor", "BasicOneTimeRappor")),
        ("reported", "instantaneous"),
    ),
}
"""Methods that only the library calls: no example would help a reader."""
ELSEWHERE = {
    "lapwing.collect.Collection": ("donation",),
    "lapwing.collect.Participant": ("tick",),
    "lapwing.crowd.UnaryEncoding": ("optimized", "symmetric"),
    "lapwing.pair.Client": ("ask", "status"),
}
"""Methods that need servers, which docs/collect.md and docs/pair.md start, and two old names."""


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """Everything that has a page, by its anchor, as mkdocstrings gets it. Loading it completes all examples."""
    extensions = griffe.load_extensions("dataclasses", str(ROOT / "tools" / "docstring_examples.py"))
    package = griffe.load("lapwing", search_paths=[str(ROOT / "src")], extensions=extensions)
    assert isinstance(package, griffe.Module)
    rooms = [import_module(f"lapwing.{name}") for name in ROOMS]
    names = [(room, name) for room in rooms for page in pages_of(room).values() for name in page]
    return {anchor(room, name): target(package, anchor(room, name)) for room, name in names}


def methods(shown: dict[str, Any]) -> Iterator[tuple[str, griffe.Function]]:
    for place, top in shown.items():
        if top.is_class:
            functions = [each for each in shown_members(top) if isinstance(each, griffe.Function)]
            yield from ((place, each) for each in functions if each.docstring is not None)


def test_every_method_on_the_site_shows_an_example_or_leads_to_one(shown: dict[str, Any]) -> None:
    left: dict[str, list[str]] = {}
    for place, method in methods(shown):
        text = method.docstring.value if method.docstring else ""
        known = (*PLUMBING.get(place, ()), *ELSEWHERE.get(place, ()))
        if "```pycon" not in text and "see the example of" not in text and method.name not in known:
            left.setdefault(place, []).append(method.name)
    inner = {place for place, top in shown.items() if place == top.canonical_path}  # types of parts
    left = {place: names for place, names in left.items() if place not in inner}
    assert not left, f"Write examples, or call these methods in the example of their class: {left}"


def test_no_signature_on_the_site_has_a_private_parameter(shown: dict[str, Any]) -> None:
    made = {place: top.parameters for place, top in shown.items() if top.is_class or top.is_function}
    assert len(made["lapwing.Gaussian"]) > 5
    private = {place: [each.name for each in given if each.name[0] == "_"] for place, given in made.items()}
    assert {place: names for place, names in private.items() if names} == {}


def test_every_class_of_ours_in_a_public_result_has_a_page(shown: dict[str, Any]) -> None:
    paths = {top.canonical_path for top in shown.values()}
    functions = [each for _, each in methods(shown)] + [top for top in shown.values() if top.is_function]
    exported = {place for place, top in shown.items() if place != top.canonical_path}
    results = {
        f"{kind.__module__}.{kind.__qualname__}"
        for function in functions
        if function.parent is None or not function.parent.is_class or _anchor(function, shown) in exported
        for kind in classes_in(str(function.returns or ""), function.module.path)
    }
    assert {"lapwing.curator.tables.table.Grouped", "lapwing.privacy.ledger.Charge", AGGREGATE} <= results
    assert sorted(results - paths) == []


def _anchor(function: griffe.Function, shown: dict[str, Any]) -> str:
    return next((place for place, top in shown.items() if top is function.parent), "")


def test_signatures_show_what_must_be_given_first_and_values_instead_of_fields(shown: dict[str, Any]) -> None:
    given = [each.name for each in shown["lapwing.Gaussian"].parameters if each.name != "self"]
    assert given[:2] == ["sigma", "sensitivity"]
    assert given[-2:] == ["relation", "unit"]
    answer = shown["lapwing.Answer"]
    assert str(answer.members["repeated"].value) == "False"
    assert answer.labels == answer.members["repeated"].labels == set()


def test_claims_have_paragraphs_and_link_to_proofs_wherever_these_are(shown: dict[str, Any]) -> None:
    assert "\n\n**Proof:** [gaussian.md][proofs.mechanisms.gaussian]" in shown["lapwing.Gaussian"].docstring.value
    assert "\n\n**Proof:** [curator.md][proofs.curator.curator]" in shown["lapwing.Query"].docstring.value


def test_errors_of_docstrings_lead_to_their_pages_from_every_module(shown: dict[str, Any]) -> None:
    assert shown["lapwing.Query"].resolve("MissingBounds") == "lapwing.errors.MissingBounds"


def test_an_example_has_what_it_needs_before_it_once_on_a_page() -> None:
    known = set[str]()
    first = example_setup.setup("Gaussian(sigma=1, sensitivity=1)", known, "lapwing.mechanisms.gaussian")
    assert first == ["from lapwing import Gaussian"]
    assert example_setup.setup("print(Gaussian)", known, "lapwing.mechanisms.gaussian") == []
    table = example_setup.setup("patients.agg(lw.count())", set(), "lapwing.curator.ask.query")
    assert table == ["import lapwing as lw", *example_setup.PATIENTS.splitlines()]
    assert example_setup.prompted(table)[3:5] == [">>> patients = lw.open(", "...     clinic_csv(),"]
    rows = example_setup.setup("KMeans(2).fit(np.zeros(3))", set(), "lapwing.models.kmeans")
    assert rows == ["import numpy as np", "from lapwing.models import KMeans"]


def test_names_that_an_example_binds_itself_are_not_imported() -> None:
    source = """
import math
total = sum(each for each in range(3))
def twice(number):
    return number * math.pi * missing
"""
    assert example_setup.free_names(source) == ["missing"]
    assert example_setup.bound_names(source) == {"math", "total", "twice"}


def test_an_example_with_a_name_that_no_reader_can_import_is_refused() -> None:
    with pytest.raises(example_setup.NotForReaders, match="type_of"):
        example_setup.setup("type_of('key', ())", set(), "lapwing.curator.show.answer")


def test_examples_become_blocks_with_a_heading_and_their_imports() -> None:
    text = "Add.\n\nReturns:\n    A sum.\n\n>>> add(1)\n2\n\nAnd:\n\n>>> add(2)\n3"
    lines = fenced(text, ["from lapwing import add"], "lapwing.add").splitlines()
    heading = '<p id="lapwing.add--example"><span class="doc-section-title">Example:</span></p>'
    assert lines.count(heading) == 1
    assert lines.count("```pycon") == lines.count("```") == 2
    assert lines[lines.index("```pycon") + 1 :][:3] == [">>> from lapwing import add", ">>> add(1)", "2"]
    assert re.sub(r"\n+", "\n", without_examples(text)) == "Add.\nReturns:\n    A sum.\nAnd:"
