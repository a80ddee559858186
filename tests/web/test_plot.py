"""Pictures from lists, for exercises."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from cases import together

from lapwing.web.school import plot
from lapwing.web.school.judge import _judged


def pictures(code: str, what: str = "run", **more: Any) -> list[Any]:
    lines, _ = _judged({"what": what, "code": f"import plot\n{code}", **more}, lambda text: None)
    assert not [text for kind, text in lines if kind == "wrong"]
    return [json.loads(text) for kind, text in lines if kind == "picture"]


def test_a_histogram_counts_each_value_once() -> None:
    values = [0.1 * step for step in range(101)]
    [picture] = pictures(f"plot.histogram({values}, bins=7)")
    [[_, counts]] = picture["series"]
    assert sum(counts) == len(values)
    bins = list(pairwise(picture["edges"]))[:-1]  # the last one has both its ends
    assert counts[:-1] == [sum(low <= value < high for value in values) for low, high in bins]


def test_few_whole_numbers_have_a_bin_each_and_lists_share_their_bins() -> None:
    [picture] = pictures('plot.histogram({"a": [1, 2, 2], "b": [4]})')
    assert picture["edges"] == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert picture["series"] == [["a", [1, 2, 0, 0]], ["b", [0, 0, 0, 1]]]


def test_equal_values_have_a_histogram_too() -> None:
    assert pictures("plot.histogram([2.5, 2.5])")[0]["edges"][0] == 2.0


def test_bars_and_lines_are_told_as_they_are() -> None:
    drawn = pictures('plot.bars({"tea": 4}, title="Drinks")\nplot.line([1, 2], {"y": [3, 4]})')
    assert drawn == [
        {"kind": "bars", "title": "Drinks", "names": ["tea"], "heights": [4]},
        {"kind": "line", "title": "", "xs": [1, 2], "series": [["y", [3, 4]]]},
    ]


@together(
    ("code", "why"),
    [
        ("plot.histogram([])", "is empty"),
        ("plot.histogram([1, float('nan')])", "finite numbers"),
        ("plot.histogram(['a'])", "finite numbers"),
        ("plot.histogram([1, 2], bins=0)", "from 1 to 200"),
        ("plot.histogram({str(i): [i] for i in range(9)})", "at most 4 lists"),
        ("plot.bars([1, 2])", "a dict from names to heights"),
        ("plot.line([1, 2], [1])", "as many ys as xs"),
    ],
)
def test_what_cannot_be_drawn_is_told_with_its_line(code: str, why: str) -> None:
    lines, passed = _judged({"what": "run", "code": f"import plot\n{code}"}, lambda text: None)
    assert not passed
    assert lines[-1][0] == "wrong"
    assert lines[-1][1].startswith("Line 2: ")
    assert why in lines[-1][1]


def test_a_program_that_is_checked_draws_nothing_and_a_loop_draws_few() -> None:
    code = "def f():\n    import plot\n    plot.histogram([1])\n    return 1\n"
    assert pictures(code, "check", checks="assert f() == 1") == []
    assert len(pictures("for _ in range(99):\n    plot.histogram([1])")) == plot.MOST_PICTURES
