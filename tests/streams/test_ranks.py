"""The largest groups: now, at an earlier step, and after every step. All of it sorts what was published."""

from __future__ import annotations

from pathlib import Path

import pytest

import lapwing as lw
from lapwing.errors import InvalidCall, InvalidParameter


@pytest.fixture
def stream(tmp_path: Path) -> lw.Stream:
    (tmp_path / "visits.csv").write_text("region\nN\n")
    table = lw.open(tmp_path / "visits.csv", unit=lw.EACH_ROW, keys={"region": ["N", "S", "W"]})  # type: ignore[arg-type]
    opened = table.stream(lw.count(), by="region", every="step", steps=4).open(tmp_path / "state", epsilon=10_000)
    for regions in ("SSSN", "NNNNW", "WW"):
        opened.observe([{"region": region} for region in regions])
    return opened


pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.WeakPrivacyWarning")


def test_the_largest_groups_of_an_earlier_step_are_those_of_then(stream: lw.Stream) -> None:
    assert stream.top(1)["region"] == ("N",)
    assert stream.top(2, until=1)["region"] == ("S", "N")
    assert stream.top(1, until=1, window=1)["region"] == ("S",)
    assert stream.top(1, until=3, window=1)["region"] == ("W",)
    with pytest.raises(InvalidParameter, match="is not closed yet"):
        stream.top(1, until=4)


def test_ranks_have_a_line_for_each_step_and_rank(stream: lw.Stream) -> None:
    ranks = stream.top_history(2)
    assert [column.name for column in ranks.columns] == ["step", "rank", "region", "count"]
    assert ranks["step"] == (1, 1, 2, 2, 3, 3)
    assert ranks["rank"] == (1, 2, 1, 2, 1, 2)
    assert ranks["region"][:2] == ("S", "N")
    assert ranks["region"][4:] in (("N", "S"), ("N", "W"))
    assert stream.top_history(1, window=1)["region"] == ("S", "N", "W")
    assert any("a group left out may be larger" in note for note in ranks.notes)
    assert ranks.loss == stream.loss


def test_groups_are_sorted_by_numbers_only(stream: lw.Stream) -> None:
    for sort in (stream.top, stream.top_history):
        with pytest.raises(InvalidParameter, match=r"'region': is not a column of numbers. Name one of: count"):
            sort(1, "region")


def test_a_keyword_that_does_not_exist_closes_nothing(stream: lw.Stream) -> None:
    with pytest.raises(InvalidCall, match=r"no keyword tabel. Did you mean table="):
        stream.observe([], tabel="visits")
    with pytest.raises(InvalidCall, match="no keyword foo"):
        stream.add([], foo=1)
    assert stream.closed == 3


def test_what_cannot_be_shown_is_named_as_it_was_written(stream: lw.Stream) -> None:
    with pytest.raises(InvalidParameter, match=r"^window = 0: "):
        stream.top(1, window=0)
    with pytest.raises(InvalidParameter, match=r"^most = 0: "):
        stream.top(0, window=1)
