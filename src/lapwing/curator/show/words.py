"""An answer in words: what each column says, what the marks mean, what it cost, and what that means for one unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lapwing.curator.aggregates import BY_KIND
from lapwing.curator.plan.nodes import is_each_row
from lapwing.curator.show.digits import percent, visible
from lapwing.privacy.explanation import Explanation
from lapwing.privacy.quotes import cost as cost
from lapwing.privacy.quotes import remains as remains
from lapwing.privacy.quotes import risk as risk

if TYPE_CHECKING:
    from lapwing.curator.plan.nodes import Plan
    from lapwing.curator.plan.statistics import Bounding
    from lapwing.curator.show.answer import Answer, Column

CLIPPED = "†"
"""The mark of a column that bounds may bias."""
EACH_ROW_COUNTS = "every row counts as a different person"
"""Of a table in which every row is a unit of its own."""
EVENT_LEVEL = "event level: "
"""How the notes of a stream of such a table begin."""
_CLIPPED = "values outside the bounds count as the nearest bound, which may bias this"


def explain(answer: Answer) -> Explanation:
    """The guarantee of an answer and the meaning of its parts."""
    guarantee = answer.loss.explain()
    first = [f"{counted(answer)}."] if counted(answer) else []
    levels = answer.provenance.get("rollup", {}).get("keys", [])
    lines = [
        guarantee.text,
        *_whole_stream(answer),
        "",
        *_question(answer),
        *first,
        *(f"{visible(c.name)}: {meaning(c, answer.loss.unit, levels, used=bool(first))}." for c in answer.columns),
        *_above(levels),
        *_elsewhere(answer),
        "",
    ]
    lines += ["Notes:", *(f"· {visible(note)}" for note in (*beside(answer), *answer.notes)), ""]
    lines.append(_about_noise(answer))
    if answer.remaining is not None and not answer.repeated:
        lines.append(after_this(answer.provenance, remains(answer.remaining)))
    columns = [_data(column, answer.loss.unit, levels) for column in answer.columns]
    remaining = None if answer.remaining is None else str(answer.remaining)
    data = {
        "guarantee": dict(guarantee.data),
        "columns": columns,
        "confidence": answer.confidence,
        "notes": list(answer.notes),
        "remaining": remaining,
    }
    return Explanation("\n".join(lines), data)


def after_this(origin: Mapping[str, Any], left: str) -> str:
    """What is left after an answer, and whose it is."""
    joined = " for questions about all of these data sets" if len(origin.get("datasets", ())) > 1 else ""
    if origin.get("own_allowance"):
        return (
            f"After this answer, {left}{joined} for the analyst who asked. The data set as a whole may have more left."
        )
    shared = " for anybody who asks about the same data" if left.startswith("nothing") else ""
    return f"After this answer, {left}{joined}{shared}." + (
        "" if shared else " All who ask about the same data share it."
    )


def _question(answer: Answer) -> list[str]:
    """What was asked, for readers who have nothing but the explanation."""
    question = answer.provenance.get("question")
    return [f"Question: {visible(' '.join(str(question).split()))}"] if question else []


def meaning(column: Column, unit: str, levels: Sequence[str] = (), *, used: bool = False) -> str:
    """What a column says, with what is noted about it.

    `levels` are the keys of an answer whose levels add up. `used` is said where rows may have been left out.
    """
    aggregate = BY_KIND.get(column.kind)
    words = "" if aggregate is None else (used and aggregate.says_used) or aggregate.says
    says = words.format(unit=unit) if aggregate is not None else "" if column.note else column.kind
    if column.is_key and not column.note:
        says = (
            "how fine the group of this line is" if levels and column.name not in levels else "the group of this line"
        )
    if says and note(column).startswith(says):
        says = ""
    return "; ".join(part for part in (says, note(column)) if part)


def _whole_stream(answer: Answer) -> list[str]:
    """What the guarantee of one answer of a stream is about."""
    if "stream" not in answer.provenance:
        return []
    costs = f"All answers of this stream together cost {visible(str(answer.loss))}"
    some = " in any " in answer.loss.unit  # what happens in other steps is not protected together with these
    return [f"{costs}." if some else f"{costs}. The likelihood, the belief and the test hold for all of them together."]


def _above(levels: Sequence[str]) -> list[str]:
    """What an empty key of a row above the last level means."""
    where = " or ".join(map(visible, levels))
    adds = "the line is about all groups of that column together"
    return [f"If {where} is empty (NULL), {adds}."] if levels else []


def _elsewhere(answer: Answer) -> list[str]:
    """What an empty key means where an answer holds several tables."""
    keys = [visible(column.name) for column in answer.columns if column.is_key and not column.note]
    several = len(answer.provenance.get("marginals", [])) > 1 and any(c.is_key and c.note for c in answer.columns)
    return (
        [f"If {' or '.join(keys)} is empty (NULL), the table of this line does not have this column."]
        if several
        else []
    )


def together(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> together(["year", "month", "day"])
    'year, month and day'
    """
    *first, last = [visible(name) for name in names]
    return f"{', '.join(first)} and {last}" if first else last


def mark(column: Column) -> str:
    """What stands after the name of a column that bounds may bias."""
    return f" {CLIPPED}" if column.clipped else ""


def footnotes(*columns: Column) -> list[str]:
    """What that mark means, for the caption of a picture."""
    return (
        [f"{CLIPPED}: values outside the bounds count as the nearest bound"] if any(c.clipped for c in columns) else []
    )


def note(column: Column) -> str:
    """What a reader of the column should know."""
    return visible(column.note) or (_CLIPPED if column.clipped else "")


def notes(answer: Answer) -> list[tuple[str, str]]:
    """Everything a reader should know, each with its mark."""
    about = [(CLIPPED if c.clipped else "·", f"{visible(c.name)}: {note(c)}") for c in answer.columns if note(c)]
    return about + [("·", visible(text)) for text in (*beside(answer), *answer.notes)]


def beside(answer: Answer) -> list[str]:
    """What the marks beside the values mean."""
    remarks = []
    sure = percent(answer.confidence)
    known = [column for column in answer.columns if column.noise]
    if known:
        rows = " over the rows used" if counted(answer) else ""
        values = [column for column in answer.columns if column.kind in BY_KIND]
        where = "each value" if len(known) >= len(values) else together([column.name for column in known])
        remarks.append(f"beside {where}: {sure} interval for the exact answer{rows}")
        if any((0, 0) in column.noise for column in known if column.noise and column.adds_up):
            remarks.append(
                f"an interval from 0 to 0 is a {sure} interval as well: the noise made the number negative, which it "
                "cannot be. It does not prove that the number is 0"
            )
    if _in_ranks(answer):
        remarks.append(
            "a rank is a place among the sorted values. How far a rank is in values depends on the data. To see how "
            "close the values lie, ask also for quantiles nearby, which costs more"
        )
    if any(column.interval for column in answer.columns):
        sample = "if these rows are a random sample of that population"
        unit = visible(answer.loss.unit.partition(" in any ")[0])
        used = counted(answer)
        several = used and (": one per" not in used or re.search(r"in the first \d", used))
        alike = f". It also assumes that all rows of one {unit} are alike, which is the worst case" if several else ""
        wide = f"It uses the normal approximation with the largest variance that the bounds allow, so it is wide{alike}"
        remarks.append(f"in brackets: {sure} interval for the whole population, {sample}. {wide}")
    below = [column.name for column in answer.columns if is_below_its_cut(column)]
    if below:
        remarks.append(
            f"{together(below)}: a value may be below 0 because of the noise, although the exact number cannot be "
            "negative. Then its interval begins at that value. All other intervals begin at 0 or above"
        )
    return remarks


def _in_ranks(answer: Answer) -> bool:
    return any(" from the exact " in column.note for column in answer.columns)


def is_below_its_cut(column: Column) -> bool:
    """Whether intervals begin at 0, where no exact value is lower, and one begins at a value that is."""
    pairs = list(zip(column.values, column.noise or (), strict=False))
    known = [(value, span) for value, span in pairs if value is not None and span is not None]
    return (
        column.adds_up
        and any(span[0] == value < 0 <= span[1] for value, span in known)
        and all(span[0] >= min(value, 0) for value, span in known)
    )


def counted(answer: Answer) -> str:
    """The first line of an answer from which rows may have been left out."""
    rows = answer.provenance.get("counted")
    return f"Rows used: {visible(str(rows))}" if rows else ""


def spent(answer: Answer) -> str:
    """What an answer cost and what it left; of one that is asked again, that it costs nothing more."""
    if answer.repeated:
        when = "when the stream was opened" if "stream" in answer.provenance else "the first time"
        return f"cost {visible(str(answer.loss))} {when}; free this time"
    left = "" if answer.remaining is None else f" · {remains(answer.remaining)}"
    return cost(answer.loss) + left


def _about_noise(answer: Answer) -> str:
    """What the intervals cover, and what they do not."""
    if not any(column.noise for column in answer.columns):
        if _in_ranks(answer):
            return "Noise was added to protect everybody. The error is known only in ranks (see above)."
        return "Noise was added to protect everybody. No interval is known for these values."
    unit = visible(answer.loss.unit.partition(" in any ")[0])
    bounds = ["bounds"] if any(column.clipped for column in answer.columns) else []
    limits = [f"limits per {unit}"] if counted(answer) else []
    names = " and ".join([*bounds, *limits])
    applied = f", after the {names} were applied" if names else ""
    missing = f"the error from these {names}, nor " if names else ""
    return (
        f"The interval beside a value is for the exact answer on these rows{applied}. It covers the noise. It does not "
        f"cover {missing}how well these rows represent a larger population."
    )


def limits(plan: Plan, bounding: Bounding, unit: str) -> str:
    """How much of one unit of a table counts."""
    return EACH_ROW_COUNTS if is_each_row(plan) else bounding.by_rows().explain(unit, grouped=True)


def _data(column: Column, unit: str, levels: Sequence[str]) -> dict[str, Any]:
    says = meaning(column, unit, levels)
    return {"name": column.name, "kind": column.kind, "says": says, "clipped": column.clipped}
