"""The documentation at /docs: found, searched, and under the same policy as the school."""

from __future__ import annotations

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
}
"""What people search for, and the page that must be among the first three."""
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
def test_search_finds_the_page_that_people_want_among_the_first_three(site: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs Node: tools/system-packages")
    command = ["node", str(Path(__file__).parents[1] / "support" / "search.mjs"), str(site)]
    done = subprocess.run(command, input=json.dumps(list(PHRASES)), capture_output=True, text=True, check=True)
    found = {phrase: pages[:FIRST] for phrase, pages in json.loads(done.stdout).items()}
    assert {phrase: found[phrase] for phrase, page in PHRASES.items() if page not in found[phrase]} == {}


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
    "address", ["/docs/", "/docs/curator/", "/docs/tutorials/1-first-private-table/", "/docs/reference/curator/"]
)
def test_axe_finds_nothing_on_pages_of_the_documentation(
    visit, site: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(built, "FOLDER", site)
    assert complaints(visit(bypass_csp=True).open(address), VIEWS) == []
