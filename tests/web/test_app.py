"""The pages as a browser asks for them."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient
from school_site import nuggets, open_school, visitor

from lapwing.web.service.assets import STATIC


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    if not (STATIC / "manifest.json").exists():
        pytest.skip("the browser's code is not built: run make assets")
    return visitor(open_school(tmp_path_factory.mktemp("school")))


def test_every_page_answers_and_forbids_whatever_comes_from_elsewhere(client: TestClient) -> None:
    for address in ("/", "/learn/the-laplace-mechanism", "/glossary", "/nothing", "/learn/nothing"):
        answer = client.get(address, headers={"accept": "text/html"})
        assert answer.status_code == (404 if "nothing" in address else 200)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "<main" in answer.text
        assert "http://" not in answer.text.replace("http://www.w3.org", "")


def test_a_page_that_a_browser_has_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/learn/the-laplace-mechanism")
    again = client.get("/learn/the-laplace-mechanism", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_files_keep_for_ever_because_their_names_change(client: TestClient) -> None:
    page = client.get("/").text
    address = page.split('href="/static/style')[1].split('"')[0]
    answer = client.get(f"/static/style{address}")
    assert "immutable" in answer.headers["cache-control"]
    for forbidden in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/katex.js", "/static/manifest.json"):
        assert client.get(forbidden).status_code == 404


def test_filters_work_without_scripts(client: TestClient) -> None:
    shown = client.get("/", params={"q": "laplace"}).text
    hidden = client.get("/", params={"q": "xyzzyx"}).text
    assert shown.count("<li data-tile") == hidden.count("<li data-tile")
    room = client.get("/", params={"category": "outlook"}).text
    assert room.count(" hidden>\n      <article") == len(nuggets().pages) - 7  # seven look out
    assert shown.count(" hidden>\n      <article") < hidden.count(" hidden>\n      <article")
    assert ('<p id="nothing" hidden>' in shown, '<p id="nothing">' in hidden) == (True, True)
    assert len(re.findall(r'<section class="category"[^>]* hidden>', room)) == 4, "rooms without tiles are not shown"


def test_the_words_of_a_search_are_explained_without_scripts(client: TestClient) -> None:
    words = re.compile(r'<div data-names="[^"]*"><dt><a href="(/glossary#[^"]+)">')
    assert words.findall(client.get("/", params={"q": "Sensitivity Local"}).text) == ["/glossary#local-sensitivity"]
    assert "/glossary#sensitivity" in words.findall(client.get("/", params={"q": "sensi"}).text)
    plain = client.get("/").text
    assert not words.search(plain)
    assert 'aria-labelledby="words-found" hidden' in plain


def test_errors_are_pages_for_people_and_documents_for_programs(client: TestClient) -> None:
    assert client.get("/nothing").json()["title"] == "There is nothing here"
    assert client.post("/").status_code == 405
