"""`lapwing secure-sum`: the Boston wage study with separate processes. It shows who saw what, and the wage gap."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from lapwing.anonymity.parties import run_apart
from lapwing.anonymity.secure_sum import FEWEST, Outcome, SecureSum, server_name
from lapwing.charts import PRIVATE
from lapwing.cli import theme
from lapwing.cli.progress import waiting
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, uniform_below

LARGEST_WAGE = 500_000
"""A public limit: companies count nobody with more."""
MOST = 100
"""Processes that a laptop starts within seconds."""
GENDERS = ("women", "men")
# Of a thousand employees, and the average pay of women and of men: made up so that the gap is that of the study.
_JOBS = {
    "executives": (13, 37, 210_000, 234_000),
    "professionals": (230, 240, 96_000, 110_000),
    "office and sales": (170, 70, 58_000, 63_000),
    "service and crafts": (110, 130, 48_000, 57_000),
}
CELLS = [f"{what}, {gender}, {job}" for job in _JOBS for gender in GENDERS for what in ("people", "pay")]


def play(
    companies: int, servers: int, threshold: int | None, epsilon: float | None, timeout: float, silent: str | None
) -> None:
    """The study, on the terminal."""
    study = study_of(companies, servers, threshold, epsilon)
    show(theme.console(), study, payrolls(study), timeout, {silent: "silent"} if silent else {})


def study_of(companies: int, servers: int = 2, threshold: int | None = None, epsilon: float | None = None) -> SecureSum:
    """People and pay by job and gender. An employee is in one job: in two cells."""
    if companies > MOST:
        why = "each company is a process of its own, and so many processes are slow to start"
        raise InvalidParameter("companies", companies, why, f"Write --companies {MOST}, or fewer.")
    if companies < FEWEST:
        why = "in a sum of two, each company can subtract its own number and learn the other"
        raise InvalidParameter("companies", companies, why, f"Write --companies {FEWEST}, or more.")
    return SecureSum(
        cells=CELLS,
        companies=[f"company {number}" for number in range(1, companies + 1)],
        servers=servers,
        threshold=threshold,
        epsilon=epsilon,
        sensitivity={cell: LARGEST_WAGE if cell.startswith("pay") else 1 for cell in CELLS} if epsilon else {},
        cells_per_person=2,
    )


def payrolls(study: SecureSum, entropy: Entropy = SYSTEM) -> dict[str, dict[str, int]]:
    """Made-up companies of 200 to 3,000 people, each paying everybody within a third of the average of the job."""
    tables: dict[str, dict[str, int]] = {}
    for company in study.companies:
        size = 200 + uniform_below(2801, entropy=entropy)
        table: dict[str, int] = {}
        for job, facts in _JOBS.items():
            for gender, share, average in zip(GENDERS, facts[:2], facts[2:], strict=True):
                people = size * share // 1000
                pay = average * 2 // 3 + uniform_below(average * 2 // 3, people, entropy)
                table |= {f"people, {gender}, {job}": people, f"pay, {gender}, {job}": int(pay.sum())}
        tables[company] = table
    return tables


def show(
    console: Console,
    study: SecureSum,
    tables: Mapping[str, Mapping[str, int]],
    timeout: float = 30,
    faults: Mapping[str, str] | None = None,
) -> None:
    """Play it, and tell who saw what."""
    parties = len(study.companies) + study.servers + 1
    console.print(_title(study, parties))
    done: set[str] = set()

    with waiting(f"{parties} processes", console) as progress:

        def heard(name: str, did: str) -> None:
            if did != "is listening":
                done.add(name)
                progress(len(done), parties)

        outcome = run_apart(study, tables, timeout=timeout, faults=faults, heard=heard)
    truth = {cell: sum(table[cell] for table in tables.values()) for cell in study.cells}
    console.print(Padding(_views(study, tables, outcome, most=3 if console.width >= 100 else 2), (1, 2, 0, 2)))
    console.print(Padding(_gap(outcome.totals, truth), (1, 2, 0, 2)))
    console.print(Padding(_words(study, tables, outcome.totals == truth), (1, 2)))


def _title(study: SecureSum, parties: int) -> Panel:
    text = Text.assemble(
        f"{len(study.companies)} companies, {study.servers} servers and an analyst: {parties} processes.\n",
        ("exact", "exact"), (" never leaves its company · ", "quiet"),
        ("masked", "noise"), (" is what servers see · ", "quiet"),
        ("totals", "private"), (" are what everybody learns", "quiet"),
    )  # fmt: skip
    title = "[bold]lapwing secure-sum[/]"
    return Panel(text, title=title, title_align="left", box=box.ROUNDED, border_style=PRIVATE, padding=(0, 2))


def _views(study: SecureSum, tables: Mapping[str, Mapping[str, int]], outcome: Outcome, most: int) -> Table:
    """What each company has in one cell, and what arrived of it at the first servers."""
    cell = next(cell for cell in study.cells if cell.startswith("pay"))
    place = study.cells.index(cell)
    names = [server_name(number) for number in range(1, study.servers + 1)]
    respondents = [name for name in names if name in outcome.seen["analyst"]]
    servers = sorted((respondents + [name for name in names if name not in respondents])[:most], key=names.index)
    views = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"Who sees what: {cell}", title_justify="left")
    views.caption = f"The analyst gets the last row of {_how_many(study)}, and nothing else."
    views.caption_justify = "left"
    views.add_column("")
    views.add_column("the company", justify="right", style="exact", header_style="exact")
    for server in servers:
        views.add_column(server, justify="right", style="noise", header_style="noise")
    for company in study.companies:
        arrived = (f"{outcome.seen[server][company][place]}" for server in servers)
        views.add_row(company, f"{tables[company][cell]:,}", *arrived)
    sums = outcome.seen["analyst"]
    heard = (f"{sums[server][place]}" if server in sums else "not needed" for server in servers)
    views.add_section()
    views.add_row("all", Text(f"{outcome.totals[cell]:,}", style="private"), *heard)
    return views


def _how_many(study: SecureSum) -> str:
    needed = study.sharing.needed
    return "every server" if needed == study.servers else f"the first {needed} servers to answer"


def _gap(totals: Mapping[str, int], truth: Mapping[str, int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="What everybody learns", title_justify="left")
    table.add_column("average pay")
    for name, style in (("women", "private"), ("men", "private"), ("cents per dollar", "private"), ("exact", "exact")):
        table.add_column(name, justify="right", style=style, header_style=style)
    for job in (*_JOBS, "all"):
        if job == "all":
            table.add_section()
        women, men = (average(totals, gender, job) for gender in GENDERS)
        exact = cents(truth, job)
        ratio = f"{100 * women / men:.1f}" if women and men else "?"
        table.add_row(job, f"${women:,.0f}", f"${men:,.0f}", ratio, f"{exact:.1f}")
    return table


def average(totals: Mapping[str, int], gender: str, job: str = "all") -> float:
    """The average pay of a gender, in one job or in all of them; 0 if noise leaves nobody."""
    jobs = list(_JOBS) if job == "all" else [job]
    people, pay = (sum(totals[f"{what}, {gender}, {job}"] for job in jobs) for what in ("people", "pay"))
    return max(pay, 0) / people if people > 0 else 0.0


def cents(totals: Mapping[str, int], job: str = "all") -> float:
    """What women earn for each dollar that men earn, in cents."""
    women, men = (average(totals, gender, job) for gender in GENDERS)
    return 100 * women / men if men else 0.0


def _words(study: SecureSum, tables: Mapping[str, Mapping[str, int]], exact: bool) -> Text:
    last = study.companies[-1]
    pay = sum(value for cell, value in tables[last].items() if cell.startswith("pay"))
    few = study.sharing.needed - 1
    words = Text.assemble(
        ("What is protected. ", "bold"),
        "A single server sees" if few == 1 else f"{few} servers together see",
        " only uniform random numbers, which say nothing about what companies pay. ",
    )
    if study.epsilon is None:
        words.append("The totals are exact, to the dollar. " if exact else "The totals are wrong! ", style="private")
        words.append("\n\nWhat is not protected. ", style="bold")
        words.append(
            f"Ask again without {last}, subtract, and you know that it pays {pay:,} dollars. A secure sum hides the "
            "parts of a total, not what the total itself reveals. With --epsilon, noise protects every employee."
        )
    else:
        words.append(f"Every server added noise of its own: the totals are private with ε = {study.epsilon:g} for ")
        words.append("every employee, even if one server and the analyst work together. ")
        words.append("\n\nWhat is not protected. ", style="bold")
        words.append(f"The ε holds for one employee. It does not protect {last} as a whole company.")
    words.append("\n\nThe study of 2016, with 112,600 employees, found 77 cents per dollar.", style="quiet")
    return words
