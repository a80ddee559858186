"""The wrappers of docs/recipes.md, run as they stand there, with small stand-ins for Airflow, Dagster and dbt."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import lapwing as lw
from lapwing.datasets import clinic_csv

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
LEDGER = "ledger.db"
DAY = "2026-11-18"


def block(kind: str, section: str) -> str:
    """The first block of this kind below a heading, which is no session."""
    [_, below] = re.split(rf"^## {section}$", PAGE, maxsplit=1, flags=re.MULTILINE)
    return next(
        code for code in re.findall(rf"^```{kind}\n(.*?)^```$", below, re.DOTALL | re.MULTILINE) if code[0] != ">"
    )


def module(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(names)
    monkeypatch.setitem(sys.modules, name, made)
    return made


def run(code: str, **names: Any) -> dict[str, Any]:
    exec(compile(code, "recipes.md", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the rows, the functions of the page as `recipes.py`, and a ledger in a file instead of a server."""
    monkeypatch.chdir(tmp_path)
    pd.read_csv(clinic_csv()).to_parquet("visits.parquet")
    task = run(block("python", "The task"))
    recipes = module(monkeypatch, "recipes", **task)
    vars(recipes).update(run(block("python", "dbt"), **task))
    ledger = lw.Ledger
    monkeypatch.setattr(lw, "Ledger", lambda place: ledger(LEDGER if "://" in str(place) else place))


def spent() -> str:
    return str(lw.Ledger(LEDGER).spent("visits"))


def assert_charged_once_a_day(publish: Callable[[str | None], str]) -> None:
    path = Path(publish(DAY))
    first = lw.Answer.from_json(path.read_text(encoding="utf-8"))
    again = lw.Answer.from_json(Path(publish(DAY)).read_text(encoding="utf-8"))
    assert first["count"] == again["count"]
    assert spent() == "ε = 0.1 (add_remove, per patient)"
    assert {file.name for file in path.parent.iterdir()} == {
        f"visits-{DAY}{end}" for end in (".json", ".md", ".quote.txt")
    }
    quote = (path.parent / f"visits-{DAY}.quote.txt").read_text(encoding="utf-8")
    assert "costs ε = 0.1" in quote
    assert re.search(r"count\s+± 30", quote), "as the page says"
    publish("2026-11-19")
    assert spent() == "ε = 0.2 (add_remove, per patient)"


def test_a_task_of_airflow_is_charged_once_a_day_and_refused_without_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[Any] = []

    def task(*, retries: int) -> Any:
        assert retries == 3
        return lambda function: lambda: tasks.append(function)

    module(monkeypatch, "airflow")
    module(monkeypatch, "airflow.sdk", dag=lambda **_: lambda function: function, task=task)
    module(monkeypatch, "pendulum", datetime=lambda *day: day)
    run(block("py", "Airflow"))
    [release] = tasks
    assert_charged_once_a_day(lambda day: release(ds=day))
    with pytest.raises(ValueError, match="this run has no day"):
        release()


def test_an_asset_of_dagster_is_charged_once_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"DailyPartitionsDefinition": SimpleNamespace, "AssetExecutionContext": SimpleNamespace}
    module(monkeypatch, "dagster", asset=lambda **_: lambda function: function, **names)
    asset = run(block("py", "Dagster"))["private_visits"]
    assert_charged_once_a_day(lambda day: asset(SimpleNamespace(partition_key=day)))


class Dbt:
    """As much of dbt as a model of Python sees of it."""

    def __init__(self, day: str | None) -> None:
        self.config = Config({"day": day} if day else {})

    def ref(self, name: str) -> Any:
        return SimpleNamespace(df=lambda: pd.read_parquet(f"{name}.parquet"))


class Config(dict[str, Any]):
    def __call__(self, *, materialized: str) -> None:
        assert materialized == "table"


def test_a_model_of_dbt_is_charged_once_a_day_and_refused_without_a_day() -> None:
    model = run(block("py", "dbt"))["model"]
    first, again = model(Dbt(DAY), None), model(Dbt(DAY), None)
    assert first.equals(again)
    assert spent() == "ε = 0.1 (add_remove, per patient)"
    model(Dbt("2026-11-19"), None)
    assert spent() == "ε = 0.2 (add_remove, per patient)"
    with pytest.raises(ValueError, match="this run has no day"):
        model(Dbt(None), None)
    assert spent() == "ε = 0.2 (add_remove, per patient)"


def test_a_day_that_is_stored_is_published_again_when_the_budget_is_used_up() -> None:
    publish = sys.modules["recipes"].publish
    ledger, folder = lw.Ledger(LEDGER), Path("published")
    publish("visits.parquet", ledger, DAY, folder)
    ledger.charge("visits", lw.PureDP(4.9, unit="patient"))
    publish("visits.parquet", ledger, DAY, folder)
    quote = " ".join((folder / f"visits-{DAY}.quote.txt").read_text(encoding="utf-8").split())
    assert "nothing remains, so this would be refused" in quote
    with pytest.raises(lw.errors.BudgetExceeded):
        publish("visits.parquet", ledger, "2026-11-19", folder)
