"""One person's losses end, for ever, and silence tells nothing: what lifetime.md says, played through the real code."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from cases import together

from lapwing.crowd import (
    Answers,
    BinaryResponse,
    CategoryResponse,
    CountMeanSketch,
    Counts,
    Estimates,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Piecewise,
    Protocol,
    Rappor,
    Reports,
    StochasticRounding,
    UnaryEncoding,
)
from lapwing.crowd.lifetime import Lifetime, LifetimePolicy, QuestionGroup
from lapwing.crowd.reports import Column
from lapwing.errors import InvalidCall, InvalidParameter, LedgerDamaged
from lapwing.exact import ln_up
from lapwing.noise import Entropy, Recorded, uniform_below
from lapwing.privacy import PureDP

LN3 = ln_up(Fraction(3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coin(Protocol):
    """Randomized response from two bits: 0 turns the answer round. Small enough to enumerate."""

    name: str = "coin"

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column.bit("said"),)

    @property
    def shape(self) -> tuple[int, ...]:
        return (1,)

    def privacy_loss(self) -> PureDP:
        return self._loss(LN3)

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        raise NotImplementedError

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[Any, ...]:
        [answer] = [answers.labels[place] for place in answers.places]
        turned = uniform_below(4, entropy=entropy) == 0
        return (np.array([(answer == "yes") != turned], dtype=np.uint64),)

    def _tally(self, columns: Sequence[Any], n: int) -> Any:
        raise NotImplementedError


COIN = Coin()


def policy(allowance: Fraction | int = 2 * LN3, *groups: QuestionGroup) -> LifetimePolicy:
    return LifetimePolicy(
        allowance=PureDP(allowance, relation="replace"),
        period=timedelta(days=1),
        groups=groups or [QuestionGroup(name="all", questions=["q", "r"], charge=LN3)],
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lifetime.db"


Call = tuple[str, Protocol, int]
Strategy = Callable[[list[bytes]], Call | None]
"""What the observer asks next, having seen these reports; None ends the game."""


def laws(start: LifetimePolicy, histories: Sequence[Callable[[int], Any]], strategy: Strategy, folder: Path) -> Any:
    """For each history, the exact probability of all that the observer can see: every outcome of every coin is played.

    Of the four outcomes of two bits one turns the answer round, so 0 stands for one outcome and 1 for three.
    """
    found: list[dict[tuple[bytes, ...], Fraction]] = []
    for history in histories:
        law: dict[tuple[bytes, ...], Fraction] = defaultdict(Fraction)
        todo: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
        while todo:
            coins, weight = todo.pop()
            transcript, missing = play(start, history, strategy, coins, folder)
            if missing:
                todo += [((*coins, 0), weight / 4), ((*coins, 1), weight * 3 / 4)]
            else:
                law[transcript] += weight
        assert sum(law.values()) == 1
        found.append(law)
    return found


def play(
    start: LifetimePolicy, history: Callable[[int], Any], strategy: Strategy, coins: Sequence[int], folder: Path
) -> tuple[tuple[bytes, ...], bool]:
    """One game with these coins; whether they were too few."""
    file = folder / "game.db"
    file.unlink(missing_ok=True)
    device, seen = Lifetime(start, file), list[bytes]()
    entropy = Recorded(list(coins), 2)
    while (call := strategy(seen)) is not None:
        question, protocol, period = call
        try:
            seen.append(device.report(question, history(len(seen)), protocol, period=period, entropy=entropy))
        except InvalidParameter as error:
            if error.name != "words":
                raise
            return (), True
    return tuple(seen), False


def worst(one: dict[Any, Fraction], other: dict[Any, Fraction]) -> Fraction:
    assert set(one) == set(other), "what only one history can produce tells everything"
    return max(max(one[x] / other[x], other[x] / one[x]) for x in one)


def always(answer: str) -> Callable[[int], str]:
    return lambda step: answer


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: these tests play thousands of durable transactions."""
    memory = Path("/dev/shm")
    folder = memory / f"lapwing-{os.getpid()}" if os.access(memory, os.W_OK) else tmp_path / "games"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_two_opposite_lives_are_alike_within_the_allowance_and_exactly_so(fast: Path) -> None:
    """Six reports of six periods, three different ways to spread them; the allowance is that of two."""

    def every_day(seen: list[bytes]) -> Call | None:
        return ("q", COIN, len(seen)) if len(seen) < 5 else None

    yes, no, mixed = laws(
        policy(), [always("yes"), always("no"), lambda step: "yes" if step % 2 else None], every_day, fast
    )
    assert worst(yes, no) == 9  # e^allowance, reached: the first two answers are told, the rest is noise
    assert worst(yes, mixed) <= 9
    assert worst(no, mixed) <= 9


def test_an_observer_who_chooses_questions_by_earlier_reports_gains_nothing(fast: Path) -> None:
    others = [Coin(name=f"coin {i}") for i in range(2)]

    def curious(seen: list[bytes]) -> Call | None:
        """Asks the same again after a one, something else after a zero, and jumps to and fro in time."""
        if len(seen) == 6:
            return None
        ones = sum(report[-1] for report in seen)
        last = seen[-1][-1] if seen else 0
        return ("q" if last else "r", others[ones % 2], (3 * ones + len(seen) // 2) % 4)

    yes, no = laws(policy(), [always("yes"), always("no")], curious, fast)
    assert 3 < worst(yes, no) <= 9


def test_correlated_questions_share_one_budget_and_one_person_is_one_total(fast: Path) -> None:
    """Two groups of allowances ln 3 each and a total of ln 9: a fact behind one group costs ln 3, all facts ln 9."""
    groups = [
        QuestionGroup(name="banners", questions=["shown", "dismissed"], charge=LN3, allowance=LN3),
        QuestionGroup(name="health", questions=["steps"], charge=LN3, allowance=LN3),
    ]
    asked = ["shown", "dismissed", "steps", "shown", "steps", "dismissed"]

    def in_turn(seen: list[bytes]) -> Call | None:
        return (asked[len(seen)], COIN, len(seen) // 3) if len(seen) < len(asked) else None

    def banner_only(step: int) -> str:
        return "yes" if asked[step] in ("shown", "dismissed") else "no"

    yes, no, banner = laws(policy(2 * LN3, *groups), [always("yes"), always("no"), banner_only], in_turn, fast)
    assert worst(banner, no) == 3
    assert worst(yes, no) == 9


def test_a_ledger_that_charged_only_by_question_would_be_caught(fast: Path) -> None:
    """A policy that keeps correlated questions apart costs three times as much: the test can fail."""
    apart = [QuestionGroup(name=name, questions=[name], charge=LN3) for name in ("shown", "dismissed", "steps")]

    def in_turn(seen: list[bytes]) -> Call | None:
        return (apart[len(seen)].name, COIN, 0) if len(seen) < 3 else None

    yes, no = laws(policy(3 * LN3, *apart), [always("yes"), always("no")], in_turn, fast)
    assert worst(yes, no) == 27


STRANGE = [None, "yes", "no", float("nan"), "\ud800", b"\xff", [1], {}, np.array([[1, 2]]), 10**5000, object()]


def test_neither_silence_nor_length_nor_cost_depends_on_answers(tmp_path: Path) -> None:
    poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no", "perhaps"])
    traces = []
    for i, value in enumerate(STRANGE):
        device = Lifetime(policy(3), tmp_path / f"{i}.db")
        sent = [device.report(question, value, poll, period=day) for day in range(4) for question in ("q", "r")]
        for report in sent:
            assert len(Reports.from_bytes(poll, report)) == 1
        traces.append(([len(report) for report in sent], device.spent()))
    assert all(trace == traces[0] for trace in traces)
    assert traces[0][1] == PureDP(2 * LN3, relation="replace")


PROTOCOLS: list[Protocol] = [
    BinaryResponse.from_epsilon(1),
    CategoryResponse.from_epsilon(1, domain=3),
    CountMeanSketch(epsilon=1, functions=4, width=16),
    HadamardCountMeanSketch(epsilon=1, functions=4, width=16),
    HadamardResponse(epsilon=1, domain=5),
    LocalHashing(epsilon=1, salt="x"),
    Piecewise.from_epsilon(1, bounds=(0, 1)),
    Rappor(permanent_noise=0.9, one_if_unset=0.5, one_if_set=0.75),
    StochasticRounding.from_epsilon(1, bounds=(0, 1)),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
def test_every_protocol_takes_no_answer_and_strange_ones_alike(fast: Path, protocol: Protocol) -> None:
    every = QuestionGroup(name="all", questions=[f"q{i}" for i in range(len(STRANGE))], charge=LN3)
    start = policy(len(STRANGE) * LN3, every)  # enough to look at each of them
    device = Lifetime(start, fast / "device.db")
    sent = [device.report(f"q{i}", value, protocol, period=i) for i, value in enumerate(STRANGE)]
    assert len({len(report) for report in sent}) == 1
    for report in sent:
        assert len(Reports.from_bytes(protocol, report)) == 1


def test_what_is_sent_after_the_end_is_drawn_for_no_answer_and_is_no_mark_of_the_device(path: Path) -> None:
    device = Lifetime(policy(LN3), path)
    wide = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=256)
    first = device.report("q", 1, wide, period=0)
    later = [device.report("q", 1, wide, period=day) for day in range(1, 4)]
    assert len({first, *later}) == 4
    assert device.report("q", 2, wide, period=2) == later[1]


def test_asking_again_in_a_period_sends_the_same_and_costs_nothing(path: Path) -> None:
    device = Lifetime(policy(), path)
    wide = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=256)
    first = device.report("q", 7, wide, period=5)
    assert [device.report("q", value, wide, period=5) for value in (7, 8, None)] == [first] * 3
    assert device.spent() == PureDP(LN3, relation="replace")
    assert Lifetime(policy(), path).report("q", 9, wide, period=5) == first  # after a restart
    assert len({device.report("q", 7, wide, period=day) for day in (5, 6)}) == 2


def test_unused_periods_leave_nothing_to_later_ones(path: Path) -> None:
    device = Lifetime(policy(10 * LN3), path)
    for question, protocol in itertools.product(("q", "r"), (Coin(name=str(i)) for i in range(4))):
        device.report(question, "yes", protocol, period=1000)
    assert device.spent() == PureDP(LN3, relation="replace")


def test_spent_and_remaining_are_exact(path: Path) -> None:
    third = Fraction(1, 3)
    groups = [
        QuestionGroup(name="a", questions="a", charge=third, allowance=2 * third),
        QuestionGroup(name="b", questions="b", charge=third),
    ]
    device = Lifetime(policy(1, *groups), path)
    tiny = UnaryEncoding.from_epsilon(epsilon=third, symmetric=True, domain=2)
    for day in range(5):
        device.report("a", 0, tiny, period=day)
    assert device.spent("a").epsilon == 2 * third
    for day in range(5):
        device.report("b", 0, tiny, period=day)
    assert (device.spent().epsilon, device.spent("b").epsilon) == (1, third)
    assert device.remaining().epsilon == device.remaining("b").epsilon == 0
    assert policy(1, *groups).periods() == 1


def test_many_processes_and_threads_at_once_do_not_overspend_and_send_one_report(path: Path) -> None:
    Lifetime(policy(3 * LN3), path)
    script = """
        import sys
        from test_lifetime import COIN, Lifetime, UnaryEncoding, policy, LN3
        device = Lifetime(policy(3 * LN3), sys.argv[1])
        wide = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=128)
        for day in range(5):
            print(device.report("q", int(sys.argv[2]), wide, period=day).hex())
    """
    running = [run(script, str(path), str(i)) for i in range(2)]
    wide = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=128)
    device = Lifetime(policy(3 * LN3), path)
    with ThreadPoolExecutor(3) as threads:
        ours = list(threads.map(lambda day: device.report("q", 99, wide, period=day % 5).hex(), range(15)))
    theirs = [process.communicate(timeout=60)[0].split() for process in running]
    assert len(set(ours)) == 5
    for one in theirs:
        assert one == ours[:5]
    assert device.spent() == PureDP(3 * LN3, relation="replace")


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    here = Path(__file__).parent
    start = f"import sys; sys.path[:0] = {[str(here), str(here.parent / 'support')]}\n" + textwrap.dedent(script)
    return subprocess.Popen([sys.executable, "-c", start, *arguments], stdout=subprocess.PIPE, text=True)


def test_of_two_who_draw_at_once_the_first_to_finish_is_sent_by_both(path: Path) -> None:
    """The second draws while the first does, and finishes earlier."""
    device, inner = Lifetime(policy(), path), list[bytes]()

    class Slow(UnaryEncoding):
        def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[Any, ...]:
            if not inner:
                inner.append(b"")
                inner[0] = Lifetime(policy(), path).report("q", 8, self, period=0)
            return UnaryEncoding._randomized(self, answers, entropy)

    slow = Slow.from_epsilon(epsilon=1, symmetric=True, domain=256)
    assert device.report("q", 7, slow, period=0) == inner[0] == device.report("q", 9, slow, period=0)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
def test_a_process_that_is_killed_after_paying_has_paid_and_said_nothing(path: Path) -> None:
    """Killed amid the randomiser: the charge is burnt, and the next report is for no answer; nothing stays silent."""
    script = """
        import os, signal, sys
        from test_lifetime import Coin, Lifetime, policy
        class Deadly(Coin):
            def _randomized(self, answers, entropy):
                os.kill(os.getpid(), signal.SIGKILL)
        Deadly.__name__ = "Coin"
        print(Lifetime(policy(), sys.argv[1]).report("q", "yes", Deadly(), period=0))
    """
    for _ in range(3):
        process = run(script, str(path))
        assert process.communicate(timeout=60)[0] == ""
        assert process.returncode == -signal.SIGKILL
        assert Lifetime(policy(), path).spent() == PureDP(LN3, relation="replace")
    device = Lifetime(policy(), path)
    first = device.report("q", "yes", COIN, period=0, entropy=Recorded([1], 2))  # 1: the answer is not turned round
    assert first[-1] == 0
    assert device.report("q", "yes", COIN, period=0) == first
    assert device.spent() == PureDP(LN3, relation="replace")
    assert device.report("q", "yes", COIN, period=1, entropy=Recorded([1], 2))[-1] == 1


def test_an_answer_is_not_touched_before_the_charge_is_on_disk(path: Path) -> None:
    """An answer that looks at the file when somebody looks at it."""

    class Watching:
        spent: PureDP | None = None

        def __eq__(self, other: object) -> bool:
            Watching.spent = Watching.spent or Lifetime(policy(), path).spent()
            return False

        def __hash__(self) -> int:
            return 0

    device = Lifetime(policy(), path)
    device.report("q", Watching(), COIN, period=0)
    assert Watching.spent == PureDP(LN3, relation="replace")


def test_no_later_policy_gives_anything_back(path: Path) -> None:
    device = Lifetime(policy(2 * LN3), path)
    device.report("q", "yes", COIN, period=0)
    with pytest.raises(InvalidParameter, match="only be lowered"):
        Lifetime(policy(3 * LN3), path)
    moved = QuestionGroup(name="elsewhere", questions=["q"], charge=LN3)
    with pytest.raises(InvalidParameter, match="another group"):
        Lifetime(policy(2 * LN3, moved), path)
    less = Lifetime(policy(LN3), path)
    assert less.remaining() == PureDP(0, relation="replace")
    less.report("q", "yes", COIN, period=1)
    assert less.spent() == PureDP(LN3, relation="replace")
    more = [
        QuestionGroup(name="all", questions=["q", "r"], charge=LN3),
        QuestionGroup(name="new", questions=["s"], charge=LN3),
    ]
    Lifetime(policy(LN3, *more), path).report("s", "yes", COIN, period=1)
    assert less.spent() == PureDP(LN3, relation="replace")


def test_a_damaged_file_is_no_fresh_start(path: Path) -> None:
    Lifetime(policy(), path).report("q", "yes", COIN, period=0)
    path.write_bytes(path.read_bytes()[:4096] + os.urandom(4096))
    with pytest.raises(LedgerDamaged):
        Lifetime(policy(), path)


@together(
    ("wrong", "match"),
    [
        (lambda: policy(PureDP(1)), "finite|number"),
        (lambda: LifetimePolicy(allowance=PureDP(1), period=timedelta(1), groups=policy().groups), "replace"),
        (lambda: LifetimePolicy(allowance=policy().allowance, period=timedelta(0), groups=policy().groups), "second"),
        (lambda: policy(1, *policy().groups, *policy().groups), "each question once"),
        (lambda: QuestionGroup(name="a", questions=["a"], charge=0), "greater than 0"),
        (lambda: QuestionGroup(name="", questions=["a"], charge=1), "name"),
        (lambda: policy().group_of("x"), "in no group"),
        (lambda: policy(1, QuestionGroup(name="a", questions=["a"], charge=2)), "no answer could ever be sent"),
        (lambda: QuestionGroup(name="a", questions=["a"], charge=2, allowance=1), "no answer could ever be sent"),
        (lambda: QuestionGroup(name="a", questions=None, charge=2), "list"),  # type: ignore[arg-type]
        (lambda: policy(1, "a"), "groups of questions"),  # type: ignore[arg-type]
    ],
)
def test_a_policy_that_promises_nothing_definite_is_refused(wrong: Callable[[], object], match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        wrong()


def test_a_protocol_that_costs_more_than_a_period_is_refused_and_so_is_another_unit(path: Path) -> None:
    device = Lifetime(policy(), path)
    with pytest.raises(InvalidParameter, match="charge"):
        device.report("q", "yes", UnaryEncoding.from_epsilon(epsilon=4, symmetric=True, domain=2), period=0)
    with pytest.raises(InvalidParameter, match="not a local protocol"):
        device.report("q", "yes", None, period=0)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="unit"):
        device.report("q", "yes", Coin(unit="household"), period=0)
    assert device.spent() == PureDP(0, relation="replace")


def test_a_policy_lasts_until_its_first_allowance_ends() -> None:
    groups = [
        QuestionGroup(name="a", questions=["a"], charge=2, allowance=5),
        QuestionGroup(name="b", questions=["b"], charge=1),
    ]
    assert [policy(total, *groups).periods() for total in (5, 6, 100)] == [1, 2, 2]


def test_periods_are_counted_by_the_clock_alike_everywhere(path: Path) -> None:
    day = policy()
    assert [day.period_at(86400 * number + rest) for number, rest in ((0, 0), (0, 86399.9), (20000, 1))] == [
        0,
        0,
        20000,
    ]
    device = Lifetime(day, path)
    assert len(device.report("q", "yes", COIN)) == len(device.report("q", "no", COIN, period=3))


def test_a_ledger_without_a_policy_or_a_file_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="LifetimePolicy"):
        Lifetime(cast(Any, 8), tmp_path / "device.db")
    with pytest.raises(InvalidCall, match="Lifetime"):
        cast(Any, Lifetime)()
