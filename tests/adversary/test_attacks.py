"""The contract of all attacks: they break what they claim to break, and stay within the bound where privacy holds."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from lapwing.adversary import attacks
from lapwing.adversary.attacks import ATTACKS, Attack, attack, best_advantage, best_guess
from lapwing.adversary.attacks.attack import repeatable
from lapwing.adversary.attacks.bounds import limits
from lapwing.errors import InvalidParameter, NoiseWarning

FALSE_ALARM = 1e-6
DOCS = Path(__file__).resolve().parents[2] / "docs"
HOLD_ALONE = {"complementary cells hidden too"}
"""Methods that give nothing away to somebody who knows nothing else; what else is known is the next line there."""
every_attack = pytest.mark.parametrize("subject", ATTACKS.values(), ids=str)


@every_attack
def test_it_breaks_the_weak_method_and_stays_within_the_bound_of_the_private_one(subject: Attack) -> None:
    contest = subject.run(rounds=max(80, subject.rounds // 4), epsilons=[1], seed="contract")
    (private,) = contest.private
    assert private.bound == subject.bound(1)
    assert limits(private.success, private.rounds, FALSE_ALARM)[0] <= private.bound
    broken = [limits(score.success, score.rounds, FALSE_ALARM)[0] for score in contest.weak]
    assert max(broken) > private.bound, "the attack must do what no attacker can do at epsilon = 1"
    blind = [score.method for score in contest.weak if score.success <= subject.chance]
    assert set(blind) <= HOLD_ALONE, "a method called weak must give something away"


@every_attack
def test_the_bound_grows_with_epsilon_from_blind_guessing(subject: Attack) -> None:
    heights = [subject.bound(epsilon) for epsilon in subject.epsilons]
    if subject.name != "poisoning":  # there the curator's noise, cut at 0, adds to a count, less of it as epsilon grows
        assert heights == sorted(heights)
    assert heights[0] >= subject.chance - 1e-12


@every_attack
def test_the_story_says_what_was_learned_and_how_surely(subject: Attack) -> None:
    told = subject.tell(repeatable(subject.name, "story"))
    assert told
    assert all(0 <= one.sure <= 1 and one.about and one.because for one in told)
    surely = min(0.9, 5 * subject.chance)
    right = [one.truth in (None, one.guess) or subject.name == "poisoning" for one in told]  # which makes people err
    assert any(one.sure > surely and fine for one, fine in zip(told, right, strict=True)), "the weak method falls"


def test_a_private_model_that_noise_hides_warns_nobody_who_runs_the_attack() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        attack("membership-linear").tell(repeatable("story"))


@every_attack
def test_it_has_a_section_and_a_picture(subject: Attack) -> None:
    page = (DOCS / "attacks.md").read_text(encoding="utf-8")
    assert f"attacks/{subject.name}.png" in page
    assert f"`{subject.name}`" in page


@every_attack
def test_its_section_says_what_the_attack_says(subject: Attack) -> None:
    page = (DOCS / "attacks.md").read_text(encoding="utf-8")
    section = page.partition(f"\n### {subject.title}\n")[2].partition("\n#")[0]
    assert section.strip().splitlines() == [
        f"`{subject.name}`: {subject.lesson}",
        "",
        f"- **Secret:** {subject.secret}.",
        f"- **Breaks:** {'; '.join(subject.weak)}.",
        f"- **Source:** {subject.source}.",
        "",
        f"![{subject.title}](attacks/{subject.name}.png)",
    ]


@every_attack
def test_its_picture_was_drawn_of_the_methods_there_are(subject: Attack) -> None:
    with (DOCS / "attacks" / f"{subject.name}.csv").open(encoding="utf-8", newline="") as file:
        drawn = dict.fromkeys(row["method"] for row in csv.DictReader(file))
    assert list(drawn) == [*subject.weak, subject.answer]


def test_the_same_seed_gives_the_same_contest_and_another_one_another() -> None:
    first, again, other = (attack("differencing").run(rounds=50, epsilons=[1], seed=seed) for seed in (1, 1, 2))
    assert first.scores == again.scores != other.scores


def test_an_unknown_attack_is_told_from_those_there_are() -> None:
    with pytest.raises(InvalidParameter, match="differencing"):
        attack("diferencing")


def test_the_best_guess_is_reached_by_randomized_response() -> None:
    """Of m answers each is kept with e^ε/(e^ε + m − 1), the others are equally likely: believing the answer is best."""
    for epsilon, values in ((0.5, 2), (1.0, 5), (3.0, 10)):
        kept = math.exp(epsilon) / (math.exp(epsilon) + values - 1)
        assert best_guess(epsilon, prior=1 / values) == pytest.approx(kept)
    assert best_guess(1, delta=0.1) == pytest.approx((math.e + 0.1) / (math.e + 1))
    assert best_advantage(1, 0.1) == pytest.approx((math.e - 1 + 0.2) / (math.e + 1))
    assert best_guess(1000) == 1


def test_the_limits_cover_the_truth_as_often_as_they_say() -> None:
    from scipy.stats import binom

    n, p, alpha = 200, 0.3, 0.01
    low = sum(binom.pmf(k, n, p) for k in range(n + 1) if limits(k / n, n, alpha)[0] > p)
    high = sum(binom.pmf(k, n, p) for k in range(n + 1) if limits(k / n, n, alpha)[1] < p)
    assert alpha / 20 < low <= alpha
    assert alpha / 20 < high <= alpha


def test_the_command_line_tells_the_story_and_prints_the_numbers(tmp_path: Path) -> None:
    told = _lapwing("attack", "run", "differencing", "--rounds", "50", "--out", str(tmp_path))
    assert "whether Ada smokes" in told.stdout
    assert {file.name for file in tmp_path.iterdir()} == {"differencing.png", "differencing.csv"}
    numbers = _lapwing("attack", "run", "differencing", "--rounds", "50", "--epsilon", "1", "--json")
    rows = [json.loads(line) for line in numbers.stdout.splitlines()]
    assert rows[-1]["epsilon"] == 1
    assert rows[-1]["bound"] == pytest.approx(best_guess(1))
    assert "differencing" in _lapwing("attack", "list").stdout
    wrong = _lapwing("attack", "run", "nothing")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr


def test_a_share_above_its_bound_by_chance_is_explained_on_the_screen() -> None:
    (row,) = attack("tracker").run(rounds=200, epsilons=[0.5]).private
    assert row.bound is not None
    assert row.success > row.bound >= row.low, "choose another seed: this one shows nothing"
    told = " ".join(_lapwing("attack", "run", "tracker", "--rounds", "200", "--epsilon", "0.5").stdout.split())
    assert "A share above “at most” is still within chance here. With 200 rounds" in told


def _lapwing(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from lapwing.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_old_name_of_a_conclusion_still_works() -> None:
    with pytest.warns(DeprecationWarning, match="attacks.Conclusion"):
        assert attacks.Learned is attacks.Conclusion
