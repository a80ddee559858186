"""The documentation at /docs: found, searched, and under the same policy as the school."""

from __future__ import annotations

import doctest
import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import documentation
import pytest
from axe import VIEWS, complaints
from fastapi.testclient import TestClient
from playwright.sync_api import expect
from reference_pages import ROOMS, anchor, pages_of, public_path
from school_site import PERSON, open_school

import lapwing
from lapwing.web.documentation import built
from lapwing.web.service.headers import POLICY

PHRASES = {
    "local differential privacy": "crowd/",
    "contribution bounding": "curator/",
    "Laplace mechanism": "mechanisms/",
    "Gaussian mechanism": "mechanisms/",
    "exponential mechanism": "mechanisms/",
    "epsilon": "tutorials/3-bounds-and-epsilon/",
    "choose epsilon": "tutorials/3-bounds-and-epsilon/",
    "lw.open": "reference/curator/open/",
    "lapwing.open": "reference/curator/open/",
    "PrivateTable.sql": "reference/curator/privatetable/",
    "lapwing.mechanisms.Mean": "reference/mechanisms/mean/",
    "InvalidParameter": "reference/errors/invalidparameter/",
    "privacy budget": "ledger/",
    "composition": "privacy/",
    "randomized response": "survey/",
    "RAPPOR": "crowd/",
    "k-anonymity": "anonymity/",
    "postgresql": "tutorials/2-sql-on-postgresql/",
    "spark": "curator/",
    "scikit-learn": "models/",
    "continual release": "streams/",
    "secure multi-party computation": "pair/",
    "audit": "audit/",
    "install": "",
    "group privacy": "privacy/",
    "privacy amplification": "privacy/",
    "Rényi differential privacy": "privacy/",
    "shuffle model": "crowd/",
    "clipping": "glossary/#clipping",
    "partition selection": "curator/",
    "tau-thresholding": "glossary/#partition-selection",
    "key selection": "glossary/#partition-selection",
    "privacy filter": "ledger/",
    "privacy odometer": "ledger/",
    "utility": "glossary/#utility",
    "geometric mechanism": "mechanisms/",
    "discrete Laplace": "mechanisms/",
    "central differential privacy": "curator/",
    "trusted curator": "curator/",
    "federated learning": "glossary/#federated-learning",
    "GDPR": "statement/",
    "neighboring": "glossary/#neighbouring-data-sets",
    "neighboring datasets": "privacy/",
    "row-level privacy": "glossary/#event-level-privacy",
    "report noisy max": "reference/mechanisms/noisymax/",
}
"""What people search for, and the page or the part of a page that must be among the first three."""
BEST = {
    "quantile": "reference/curator/quantile/",
    "logistic regression": "reference/models/logisticregression/",
    "confidence interval": "curator/",
    "randomized response": "glossary/#randomized-response",
    "sensitivity": "glossary/#sensitivity",
    "mean": "reference/curator/mean/",
    "error bars": "curator/",
    "how to install": "platforms/",
}
"""What must come first, since the next best is about something else."""
FIRST = 3


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return TestClient(open_school(tmp_path), follow_redirects=False)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site of two pages."""
    site = tmp_path / "site"
    for name, text in {
        "index.html": "<h1>Start</h1><script>let a = 1</script>",
        "curator/index.html": "<h1>Curator</h1><style>p {}</style><script>let a = 1</script>",
        "reference/index.html": '<a title="  lapwing.Relation\n\n   (a  type) " href="/">Relation</a>',
        "tutorials/first.ipynb": "{}",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (tmp_path / "secret.html").write_text("secret")
    documentation.move_inline(site)
    monkeypatch.setattr(built, "FOLDER", site)
    return site


def test_pages_are_served_under_the_policy_of_the_school(client: TestClient, small: Path) -> None:
    assert client.get("/docs").headers["location"] == "/docs/"
    assert client.get("/docs/curator").headers["location"] == "/docs/curator/"
    answer = client.get("/docs/curator/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    again = client.get("/docs/curator/", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    notebook = client.get("/docs/tutorials/first.ipynb")
    assert notebook.headers["content-disposition"] == 'attachment; filename="first.ipynb"'


def test_scripts_and_styles_move_from_pages_into_files(client: TestClient, small: Path) -> None:
    pages = [client.get(address).text for address in ("/docs/", "/docs/curator/")]
    assert not any("<script>" in page or "<style>" in page for page in pages)
    scripts = [re.findall(r'src="([^"]+)"', page)[0] for page in pages]
    assert scripts[1] == f"../{scripts[0]}"
    assert client.get(f"/docs/{scripts[0]}").text == "let a = 1"


def test_what_a_link_says_under_a_mouse_is_one_line(client: TestClient, small: Path) -> None:
    assert '<a title="lapwing.Relation (a type)"' in client.get("/docs/reference/").text


@pytest.mark.parametrize("address", ["../secret.html", "%2e%2e/secret.html", "a%00b", "no-such-page/", "x" * 5000])
def test_nothing_but_the_files_of_the_site_is_opened(client: TestClient, small: Path, address: str) -> None:
    answer = client.get(f"/docs/{address}")
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_without_a_site_a_page_says_how_to_build_it(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "FOLDER", tmp_path / "nothing")
    answer = client.get("/docs/", headers=PERSON)
    assert answer.status_code == 404
    assert "make docs" in answer.text


def test_a_site_that_is_built_anew_is_read_anew(client: TestClient, small: Path) -> None:
    assert "Start" in client.get("/docs/").text
    (small / "new").mkdir()
    (small / "new" / "index.html").write_text("A new page")
    (small / "index.html").write_text("Another start")
    assert client.get("/docs/").text == "Another start"
    assert client.get("/docs/new/").text == "A new page"


def test_a_table_has_an_empty_line_before_it_and_a_picture_leads_to_its_full_size(tmp_path: Path) -> None:
    documentation.collect(tmp_path)
    for page in tmp_path.rglob("*.md"):
        lines = page.read_text(encoding="utf-8").splitlines()
        rules = [place for place, line in enumerate(lines) if re.fullmatch(r"\|[-:| ]+\|", line)]
        assert [lines[place - 1] for place in rules if lines[place - 2].strip()] == [], page
    attacks = (tmp_path / "attacks.md").read_text(encoding="utf-8")
    picture = "files/docs/attacks/linkage.png"
    assert re.search(rf"^\[!\[Linkage[^\]]*\]\({picture}\)\]\({picture}\)$", attacks, re.MULTILINE)
    assert (tmp_path / picture).is_file()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole documentation, built as `make docs` builds it. Any warning ends it."""
    folder = tmp_path_factory.mktemp("documentation")
    documentation.build(folder / "site", folder / "work")
    return folder / "site"


@pytest.mark.sweep
def test_the_whole_site_loads_nothing_from_elsewhere_and_runs_nothing_inline(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    assert len(pages) > 150
    loads = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="((?:https?:)?//[^"]*)"')
    assert [found for text in pages.values() for found in loads.findall(text)] == []
    assert [page for page, text in pages.items() if re.search(r"<style|<script(?![^>]*(?:src=|json))", text)] == []
    assert not re.search(r"url\((?:https?:)?//", "".join(css.read_text() for css in site.rglob("*.css")))


@pytest.mark.sweep
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    from importlib import import_module

    for name in ROOMS:
        room = import_module(f"lapwing.{name}")
        overview = (site / "reference" / name / "index.html").read_text(encoding="utf-8")
        for address, names in pages_of(room).items():
            text = (site / "reference" / name / address / "index.html").read_text(encoding="utf-8")
            for each in names:
                assert public_path(room, each) in text
                assert f'id="{anchor(room, each)}"' in text, each
                assert f'#{anchor(room, each)}"' in overview, each


@pytest.mark.sweep
def test_the_page_of_a_class_shows_how_it_is_made_and_what_it_inherits(site: Path) -> None:
    def shown(address: str) -> str:
        return re.sub(r"<[^>]+>", "", (site / "reference" / address / "index.html").read_text(encoding="utf-8"))

    gaussian = shown("mechanisms/gaussian")
    assert re.search(r"Gaussian\(\s*\*,\s*sigma: Number,\s*sensitivity", gaussian)
    model = (site / "reference/models/linearregression/index.html").read_text(encoding="utf-8")
    inherited = [f'id="lapwing.models.LinearRegression.{name}"' for name in ("fit", "quote", "score")]
    assert [name for name in inherited if name not in model] == []
    assert 'LinearRegression.get_params"' not in model
    assert "field(" not in shown("datasets/town") + shown("curator/answer")


@pytest.mark.sweep
def test_no_signature_of_the_reference_has_a_private_parameter(site: Path) -> None:
    pages = {page: _text(page.read_text(encoding="utf-8")) for page in (site / "reference").rglob("index.html")}
    assert len(pages) > 300
    assert {page: found for page, text in pages.items() if (found := re.findall(r"^\s+_\w+:.*", text, re.M))} == {}


@pytest.mark.sweep
def test_every_example_of_the_reference_runs_with_what_its_page_shows(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = list[str](), 0
    for page in sorted((site / "reference").rglob("index.html")):
        blocks = re.findall(r'<div class="highlight">.*?<code[^>]*>(.*?)</code>', page.read_text(), re.DOTALL)
        text = "\n\n".join(map(_text, blocks))
        example = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page.parent.name, None, None)
        tried += doctest.DocTestRunner(verbose=False).run(example, out=failed.append).attempted
    assert not failed, "\n".join(failed)
    assert tried > 2500


def _text(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


@pytest.mark.sweep
def test_search_finds_the_page_that_people_want_among_the_first_three(site: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs Node: tools/system-packages")
    command = ["node", str(Path(__file__).parents[1] / "support" / "search.mjs"), str(site)]
    phrases = json.dumps([*PHRASES, *BEST])
    done = subprocess.run(command, input=phrases, capture_output=True, text=True, check=True)
    found = {phrase: places[:FIRST] for phrase, places in json.loads(done.stdout).items()}
    pages = {phrase: [*places, *(place.partition("#")[0] for place in places)] for phrase, places in found.items()}
    assert {phrase: found[phrase] for phrase, page in PHRASES.items() if page not in pages[phrase]} == {}
    assert {phrase: found[phrase] for phrase, page in BEST.items() if page != found[phrase][0]} == {}


@pytest.mark.sweep
def test_search_works_in_a_browser_under_the_policy_of_the_school(
    visit, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "FOLDER", site)
    page = visit().open("/docs/")
    page.locator(".md-search__input").fill("local differential privacy")
    results = page.locator(".md-search-result__item .md-search-result__link")
    expect(results.first).to_be_visible()
    results.first.click()
    expect(page.locator("article")).to_contain_text(re.compile("privacy", re.IGNORECASE))


@pytest.mark.sweep
def test_the_copy_button_copies_statements_without_prompts_and_results(
    visit, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "FOLDER", site)
    page = visit().open("/docs/mechanisms/")
    page.evaluate("document.addEventListener('copy', () => { window.copied = String(document.activeElement.value) })")
    page.locator(".md-code__button[data-clipboard-target], .md-clipboard").first.click()
    page.wait_for_function("window.copied")
    copied = page.evaluate("window.copied")
    assert "import lapwing as lw" in copied
    assert ">>>" not in copied
    assert "ε = 1 (add_remove" not in copied


@pytest.mark.sweep
def test_code_of_two_libraries_stands_side_by_side_where_there_is_room(
    visit, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "FOLDER", site)
    for size, media, beside in ((1300, "screen", True), (360, "screen", False), (720, "print", False)):
        page = visit(viewport={"width": size, "height": 900}).open("/docs/other-libraries/")
        page.emulate_media(media=media)
        pairs = [
            [block.bounding_box() for block in pair.locator("> *").all()] for pair in page.locator(".beside").all()
        ]
        assert [len(pair) for pair in pairs] == [2, 2, 2, 2]
        assert {pair[0]["y"] == pair[1]["y"] for pair in pairs} == {beside}
        assert {pair[0]["x"] == pair[1]["x"] for pair in pairs} == {not beside}
        assert page.evaluate("document.documentElement.scrollWidth") <= size


@pytest.mark.sweep
def test_a_page_names_the_version_links_to_the_school_and_to_the_proof(site: Path) -> None:
    text = (site / "reference" / "mechanisms" / "laplace" / "index.html").read_text(encoding="utf-8")
    assert f"Lapwing {lapwing.__version__}" in text
    assert re.search(r'<a href="/"[^>]*>\s*The school', text)
    assert re.search(r'href="\.\./\.\./\.\./proofs/mechanisms/laplace/[^"]*"[^>]*>laplace\.md', text)


@pytest.mark.sweep
def test_the_search_index_has_the_words_of_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {document["location"].partition("#")[0] for document in index["docs"]}
    assert {"curator/", "glossary/", "reference/mechanisms/", "proofs/mechanisms/laplace/"} <= places


@pytest.mark.sweep
@pytest.mark.parametrize(
    "address",
    [
        *("/docs/", "/docs/curator/", "/docs/attacks/", "/docs/tutorials/1-first-private-table/"),
        "/docs/other-libraries/",
        *("/docs/reference/curator/", "/docs/reference/models/linearregression/"),
    ],
)
def test_axe_finds_nothing_on_pages_of_the_documentation(
    visit, site: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(built, "FOLDER", site)
    assert complaints(visit(bypass_csp=True).open(address), VIEWS) == []
