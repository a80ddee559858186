"""The documentation at /docs: found, searched, and under the same policy as the school."""

from __future__ import annotations

import json
import re
from pathlib import Path

import documentation
import pytest
from axe import VIEWS, complaints
from fastapi.testclient import TestClient
from playwright.sync_api import expect
from school_site import PERSON, open_school

from lapwing.web.documentation import built
from lapwing.web.service.headers import POLICY

PHRASES = {
    "local differential privacy": "crowd",
    "contribution bounding": "curator",
    "Laplace mechanism": "mechanisms",
}
"""What people search for, and a word in the address of a page that must be among the first."""
FIRST = 4
"""So many pages are seen without scrolling far."""


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

    for name in documentation.ROOMS:
        text = (site / "reference" / name / "index.html").read_text(encoding="utf-8")
        for path in documentation.public_paths(import_module(f"lapwing.{name}")):
            assert f'id="{path}"' in text, path


@pytest.mark.sweep
@pytest.mark.parametrize("phrase", PHRASES)
def test_search_in_a_browser_finds_what_people_search_for(
    visit, site: Path, monkeypatch: pytest.MonkeyPatch, phrase: str
) -> None:
    monkeypatch.setattr(built, "FOLDER", site)
    page = visit().open("/docs/")
    page.locator(".md-search__input").fill(phrase)
    results = page.locator(".md-search-result__item .md-search-result__link")
    expect(results.first).to_be_visible()
    pages = page.locator(".md-search-result__item").all()[:FIRST]
    addresses = [str(shown.locator(".md-search-result__link").first.get_attribute("href")) for shown in pages]
    assert any(PHRASES[phrase] in address for address in addresses), addresses
    results.first.click()
    expect(page.locator("article")).to_contain_text(re.compile(phrase.split()[-1], re.IGNORECASE))


@pytest.mark.sweep
def test_the_search_index_has_the_words_of_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {document["location"].partition("#")[0] for document in index["docs"]}
    assert {"curator/", "glossary/", "reference/mechanisms/", "proofs/mechanisms/laplace/"} <= places


@pytest.mark.sweep
@pytest.mark.parametrize("address", ["/docs/", "/docs/curator/", "/docs/tutorials/1-first-private-table/"])
def test_axe_finds_nothing_on_pages_of_the_documentation(
    visit, site: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(built, "FOLDER", site)
    assert complaints(visit(bypass_csp=True).open(address), VIEWS) == []
