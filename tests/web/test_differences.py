"""Texts compared and merged."""

from __future__ import annotations

from lapwing.web.authoring.difference import MOST, compared, merged


def test_a_merge_keeps_what_both_changed() -> None:
    base = "".join(f"line {number}\n" for number in range(20))
    mine, theirs = base.replace("line 3\n", "mine\n"), base.replace("line 15\n", "theirs\nand more\n")
    both, conflicts = merged(base, mine, theirs)
    assert conflicts == 0
    assert both == base.replace("line 3\n", "mine\n").replace("line 15\n", "theirs\nand more\n")
    assert merged(base, mine, mine) == (mine, 0)
    assert merged(base, base, theirs) == (theirs, 0)
    clash, conflicts = merged(base, mine, base.replace("line 3\n", "theirs\n"))
    assert conflicts == 1
    assert "<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> the other one\n" in clash


def test_a_merge_without_the_text_both_began_with_loses_nothing() -> None:
    both, conflicts = merged(None, "a\nb\n", "a\nc\n")
    assert conflicts == 1
    assert {"a", "b", "c"} <= set(both.splitlines())


def test_a_comparison_shows_what_changed_and_a_little_around_it() -> None:
    old = "\n".join(str(number) for number in range(100))
    lines = compared(old, old.replace("\n50\n", "\nfifty\n"))
    assert [line.kind for line in lines] == ["gap", *["same"] * 3, "gone", "new", *["same"] * 3, "gap"]
    assert compared(old, old) == [compared(old, old)[0]]
    assert {line.kind for line in compared("", "a")} == {"new"}


def test_huge_texts_are_compared_in_bounded_time() -> None:
    old = "\n".join(f"a{number % 7}" for number in range(2 * MOST))
    new = "\n".join(f"b{number % 7}" for number in range(2 * MOST))
    assert len(compared(old, new)) == 4 * MOST
    assert len(compared("\n".join(["x", "y"] * 1200), "\n".join(["y", "x"] * 1200))) > 0
