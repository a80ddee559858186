"""Pictures of levels and of tables that agree: what is drawn is what was released, and can be read."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lapwing as lw
from lapwing.charts import INK
from lapwing.curator.show import digits
from lapwing.curator.show.answer import Column
from lapwing.curator.show.level_axis import levels_of
from lapwing.errors import InvalidParameter

EXACT = 10**12
"""An epsilon so large that no noise is left."""
DAYS = [dt.date(2025, 1, 1) + dt.timedelta(days=7 * i) for i in range(52)]


def opened(frame: pd.DataFrame, **options: Any) -> lw.PrivateTable:
    return lw.open(frame, name="t", **{"unit": lw.EACH_ROW, **options})


def days() -> lw.PrivateTable:
    return opened(pd.DataFrame({"day": DAYS * 3, "paid": 2.0}), types={"day": "date"}, bounds={"paid": (0, 4)})


def shops(sizes: dict[str, int]) -> lw.PrivateTable:
    rows = pd.DataFrame({"shop": [name for name, size in sizes.items() for _ in range(size)], "paid": 1.0})
    rows["side"] = ["east" if name < "k" else "west" for name in rows["shop"]]
    return opened(rows, keys={"side": ["east", "west"], "shop": list(sizes)}, bounds={"paid": (0, 4)})


def drawn(answer: Any, tmp_path: Path, column: str | None = None) -> Any:
    figure = answer.plot(tmp_path / "picture.png", column)
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    return figure


def texts(figure: Any) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def titles(figure: Any) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def bars(axes: Any) -> list[tuple[float, float]]:
    """Where the bars of a panel begin, and how high they are."""
    corners = [path.vertices for path in axes.collections[0].get_paths()]
    return [(round(float(box[:, 0].min())), float(box[:, 1].max())) for box in corners]


def widths(axes: Any) -> list[tuple[float, float]]:
    corners = [path.vertices for path in axes.collections[0].get_paths()]
    return [(float(box[:, 0].min()), float(box[:, 0].max())) for box in corners]


def test_dates_are_bars_in_their_order_with_a_panel_for_each_level_that_has_two(tmp_path: Path) -> None:
    answer = days().release_hierarchy(lw.dates("day", "2025-01-01", "2025-12-31"), lw.count(), epsilon=EXACT)
    figure = drawn(answer, tmp_path)
    assert titles(figure) == ["count by quarter: 156 in all", "count by month", "count by day"]
    first = (dt.date(2025, 1, 1) - dt.date(1970, 1, 1)).days
    assert figure.axes[-1].get_xlim() == (first, first + 365)
    assert [height for _, height in bars(figure.axes[2])] == [3.0 if day % 7 == 0 else 0.0 for day in range(364)] + [0]
    months = [3.0 * sum(day.month == month for day in DAYS) for month in range(1, 13)]
    assert [height for _, height in bars(figure.axes[1])] == months
    assert texts(figure)[4:] == [str(int(month)) for month in months]


def test_a_period_that_is_there_in_part_is_drawn_in_part() -> None:
    ladder = lw.dates("day", "2025-03-05", "2025-03-20", by=("week", "day"))
    [weeks, each] = levels_of(days().release_hierarchy(ladder, lw.count(), epsilon=1))
    assert (weeks.name, each.name) == ("week", "day")
    assert weeks.ends[0][0] == each.ends[0][0]
    assert weeks.ends[-1][1] == each.ends[-1][1]
    assert [high - low for low, high in weeks.ends] == [5, 7, 4]


def test_bins_are_drawn_along_their_numbers_and_at_most_four_levels(tmp_path: Path) -> None:
    table = opened(pd.DataFrame({"age": [5.0, 15.0, 15.0, 95.0]}))
    answer = table.release_hierarchy(lw.bins("age", range(0, 101, 10), fan_out=5), lw.count(), epsilon=EXACT)
    figure = drawn(answer, tmp_path)
    assert titles(figure) == ["count by age, in steps of 50: 4 in all", "count by age, in steps of 10"]
    assert [height for _, height in bars(figure.axes[1])] == [1, 2, 0, 0, 0, 0, 0, 0, 0, 1]
    deep = table.release_hierarchy(lw.bins("age", range(0, 257)), lw.count(), epsilon=1)
    assert len(drawn(deep, tmp_path).axes) <= 4
    uneven = table.release_hierarchy(lw.bins("age", [0, 1, 10, 100, 1000]), lw.count(), epsilon=1)
    figure = drawn(uneven, tmp_path)
    assert [title.partition(":")[0] for title in titles(figure)] == ["count by age in groups of 2 bins", "count by age"]
    assert [round(right - left, 2) for left, right in widths(figure.axes[1])] == [0.92] * 4
    ticks = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert ticks == ["0", "1", "10", "100", "1,000"]


def test_labels_that_are_neither_dates_nor_bins_have_no_axis() -> None:
    years = opened(pd.DataFrame({"code": ["2024", "2025"], "part": ["a", "b"]}), keys={"code": ["2024", "2025"]})
    assert not levels_of(years.release_hierarchy(["code"], lw.count(), epsilon=1))
    answer = years.release_hierarchy(["code", "part"], lw.count(), keys={"part": ["2025-13", "2025-02"]}, epsilon=1)
    assert not levels_of(answer)


def test_areas_have_letters_that_can_be_read_and_say_what_is_left_out(tmp_path: Path) -> None:
    sizes = {letter: 3000 // (place + 1) for place, letter in enumerate("abcdefghijklmnopqrst")} | dict.fromkeys(
        "uvwx", 0
    )
    figure = drawn(shops(sizes).release_hierarchy(["side", "shop"], lw.count(), epsilon=1), tmp_path)
    assert titles(figure)[0].startswith("count by side and shop: ")
    letters = [text for axes in figure.axes for text in axes.texts]
    assert min(text.get_fontsize() for text in letters) >= 7
    assert "a" in texts(figure)
    assert re.search(r"not drawn: \d+\sgroups\sof\s0", figure.get_supxlabel())
    assert any(text.startswith("± ") for text in texts(figure))


def test_what_is_divided_too_finely_stays_whole(tmp_path: Path) -> None:
    sizes = {f"{place:03}": 5 for place in range(900)}
    answer = shops(sizes).release_hierarchy(["side", "shop"], lw.count(), epsilon=EXACT)
    figure = drawn(answer, tmp_path)
    assert set(texts(figure)) >= {"east", "4,500"}
    assert "not drawn: 900 groups inside these" in figure.get_supxlabel().replace("\n", " ")


@pytest.mark.parametrize("column", [None, "mean_paid"])
def test_groups_too_small_for_a_name_and_means_are_listed(tmp_path: Path, column: str | None) -> None:
    answer = shops({"a": 90_000, "b": 30, "p": 3, "q": 1}).release_hierarchy(
        ["side", "shop"], lw.count(), lw.mean("paid"), epsilon=EXACT
    )
    figure = drawn(answer, tmp_path, column)
    [axes] = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert [name.strip() for name in names] == ["total", "east", "a", "b", "p", "q", "west", "a", "b", "p", "q"]
    assert len(names[2]) - len(names[2].strip()) > len(names[1]) - len(names[1].strip()) > 0
    with pytest.raises(InvalidParameter, match="no numbers"):
        answer.plot(tmp_path / "no.png", "shop")


def test_a_half_width_reaches_the_farther_end() -> None:
    spans = ((90.0, 130.0), (99.0, 101.0), None, (100.0, 100.0))
    column = Column("n", "count", (100, 100, 100, 100), noise=spans)
    assert digits.half_widths(column) == ["± 30", "± 1", "", ""]


def test_numbers_that_add_up_are_shown_with_all_their_digits_beside_rounded_noise() -> None:
    spans = ((68_900.0, 69_561.0), (24_000.0, 25_000.0), (44_000.0, 45_000.0))
    column = Column("n", "count", (69_219, 24_824, 44_395), noise=spans, in_full=True)
    assert [cell.value for cell in digits.shown(column)] == ["69,219", "24,824", "44,395"]
    assert digits.shown(column)[0].noise == "68,900 to 69,570"
    assert digits.half_widths(column)[0] == "± 350"
    halves = Column("x", "sum", (69_219.5, 24_824.5, 44_395.0), noise=spans, in_full=True)
    assert digits.shown(halves)[0].value == "69,220", "what is not whole is rounded to its noise"


def test_a_printed_tree_adds_up() -> None:
    sizes = {letter: 3000 // (place + 1) for place, letter in enumerate("abcdefgh")}
    asked = lw.count(), lw.sum("paid")
    answer = shops(sizes).release_hierarchy(["side", "shop"], *asked, epsilon=0.02)
    for read in (answer, lw.Answer.from_json(answer.to_json())):
        lines = read.tree("count").splitlines()[1:]
        counts = {depth: [] for depth in (0, 3, 6)}  # type: dict[int, list[int]]
        for line in lines:
            name, number = re.match(r"(\W*\w+)\s+([\d,]+)", line).groups()  # type: ignore[union-attr]
            counts[len(name) - len(name.lstrip(" │├└─"))].append(int(number.replace(",", "")))
        [total] = counts[0]
        assert total == sum(counts[3]) == sum(counts[6])
    assert any(note.startswith("sum_paid: shown with as many digits") for note in answer.notes)
    assert "in_full" not in shops(sizes).agg(lw.count()).release(epsilon=1).to_json()


def rolled(having: str = "", select: str = "side, shop, COUNT(*) AS n") -> lw.Answer:
    sizes = {"a": 3000, "b": 500, "p": 2000, "q": 1800}
    text = f"SELECT {select} FROM t GROUP BY ROLLUP (side, shop) {having}"
    return shops(sizes).sql(text, epsilon=EXACT)


def test_levels_of_which_groups_were_left_out_are_a_list_and_say_so(tmp_path: Path) -> None:
    whole, cut = drawn(rolled(), tmp_path), drawn(rolled("HAVING COUNT(*) > 1900"), tmp_path)
    assert "areas are proportional" in whole.get_supxlabel()
    said = cut.get_supxlabel().replace("\n", " ")
    assert "areas" not in said
    assert "groups that HAVING or LIMIT left out are not shown" in said
    assert [label.get_text().strip() for label in cut.axes[0].get_yticklabels()] == ["total", "east", "a", "west", "p"]
    assert not titles(drawn(rolled("HAVING n > 3100 AND n < 3600"), tmp_path))[0].endswith("in all")


def test_levels_of_which_groups_were_left_out_are_called_by_their_whole_names() -> None:
    without_parents = rolled("HAVING n < 3000 AND n > 0")
    assert [line.split("  ")[0] for line in without_parents.tree().splitlines()[1:]] == [
        "east / b",
        "west / p",
        "west / q",
    ]
    largest = rolled("ORDER BY n DESC LIMIT 3")
    assert largest["n"] == (7300, 3800, 3500)
    assert largest.to_map_csv().splitlines() == ["code,side,shop,n,n_low,n_high"], "a side is no leaf"
    assert len(rolled("ORDER BY n DESC LIMIT 100").leaves()) == 8, "nothing was left out"


def test_only_levels_that_add_up_are_said_to() -> None:
    told = "of all levels add up"
    assert any(note == f"the numbers {told}: total → side → shop" for note in rolled().notes)
    for answer in (
        rolled("HAVING n > 10"),
        rolled("ORDER BY n DESC LIMIT 4"),
        rolled(select="side, shop, 1 - COUNT(*) AS n"),
    ):
        assert not any(told in note for note in answer.notes)
    assert any("HAVING or LIMIT may have left groups out" in note for note in rolled("HAVING n > 10").notes)
    both = rolled(select="side, shop, COUNT(*) AS n, 1 - COUNT(*) AS m")
    assert any(note == f"n {told}: total → side → shop" for note in both.notes)


def test_codes_of_a_map_are_unique() -> None:
    assert rolled().leaves()["code"][:5] == ("east / a", "east / b", "east / p", "east / q", "west / a")
    table = opened(pd.DataFrame({"side": ["x"] * 60 + ["y"] * 60, "town": ["u"] * 60 + ["v"] * 60}))
    secret = table.release_hierarchy(["side", "town"], lw.count(), epsilon=10, delta=1e-4)
    codes = secret.leaves()["code"]
    assert codes == ("u", "x / everything else", "v", "y / everything else", "everything else")
    plain = shops({"a": 400, "b": 30}).release_hierarchy(["shop"], lw.count(), epsilon=1)
    assert plain.leaves()["code"] == ("a", "b")


def test_marginals_are_drawn_table_by_table(tmp_path: Path) -> None:
    table = shops({"a": 40, "b": 30, "p": 3, "q": 1})
    released = table.marginals([["side", "shop"], ["shop"], []], lw.count(), lw.sum("paid")).release(epsilon=EXACT)
    figure = drawn(released, tmp_path)
    assert [title.partition(",")[0] for title in titles(figure)] == ["count by side and shop", "count by shop", "count"]
    cells = figure.axes[0]
    assert [label.get_text() for label in cells.get_xticklabels()] == ["a", "b", "p", "q"]
    assert [label.get_text() for label in cells.get_yticklabels()] == ["east", "west"]
    assert [round(float(text.get_text().replace("−", "-"))) for text in cells.texts] == [40, 30, 0, 0, 0, 0, 3, 1]
    assert titles(drawn(released, tmp_path, "sum_paid"))[0].startswith("sum_paid by side and shop")
    assert len(drawn(lw.Answer.from_json(released.answer.to_json()), tmp_path).axes) == 3
    assert len(drawn(released["shop"], tmp_path).axes) == 2
    with pytest.raises(InvalidParameter, match="column of values"):
        released.plot(tmp_path / "no.png", "shop")


def test_a_caption_explains_what_is_drawn_and_nothing_else(tmp_path: Path) -> None:
    table = shops({"a": 40, "b": 30, "p": 3, "q": 1})
    sets = [["side", "shop"], ["shop"]]
    exact = drawn(table.marginals([["shop"]], lw.count()).release(epsilon=EXACT), tmp_path)
    assert "grey" not in exact.get_supxlabel()
    noisy = drawn(table.marginals(sets, lw.sum("paid")).release(epsilon=0.01), tmp_path)
    assert "grey number: its interval contains 0" in noisy.get_supxlabel()
    assert "†: values outside the bounds" in noisy.get_supxlabel().replace("\n", " ")
    assert {text.get_color() for text in noisy.axes[1].texts} == {INK}, "labels of bars are not about 0"
    tree = {"east": ["a", "b"], "west": ["p"]}  # an empty node may be above 0, and then a list is drawn
    known = shops({"a": 500, "b": 400, "p": 300})
    areas = drawn(known.release_hierarchy(["side", "shop"], lw.count(), epsilon=1, tree=tree), tmp_path)
    said = areas.get_supxlabel().replace("\n", " ")
    assert "areas are proportional to the counts · ±: 95" in said
    assert "brown" not in said
    assert "†" not in said


def test_bins_say_where_their_edges_belong() -> None:
    table = opened(pd.DataFrame({"age": [5.0, 15.0, 15.0, 95.0]}))
    ladder = lw.bins("age", range(0, 101, 10), fan_out=5)
    assert ladder.names == ("age in steps of 50", "age")
    assert lw.bins("x", [0, 0.1, 0.2, 0.3, 0.4]).names == ("x in steps of 0.2", "x")
    assert lw.bins("x", [0, 1, 10, 100]).names == ("x in groups of 2 bins", "x")
    question = table.hierarchy(ladder, lw.count())
    told = "a bin includes its lower edge but not its upper edge; the last bin includes both"
    for notes in (question.quote(epsilon=1).notes, question.release(epsilon=1).notes):
        assert notes.count(told) == 1
        [about] = [note for note in notes if note.startswith("an interval says where the exact number lies")]
        assert about.endswith("the interval was widened to include it"), "as test_rollups.py sees of every node"
    assert table.agg(lw.cdf("age", edges=[0, 50, 100])).quote(epsilon=1).notes.count(told) == 1
    exact = table.hierarchy(lw.bins("age", [5, 15, 95], fan_out=2), lw.count()).unprotected()
    assert exact["count"] == (4, 1, 3), "15 is in the bin that begins with it, and 95 in the last"
