#!/usr/bin/env python3
"""Build the documentation as a site: `make docs`.

Pages live where they are kept: docs/, the proofs beside the code, the benchmarks. This script collects them into one
folder, turns links between them into links of the site, makes pages of the public names and of the glossary, turns
tutorials into notebooks, and calls MkDocs in strict mode. Afterwards it moves scripts and styles out of the pages into
files: the school forbids those inside a page, and serves the site without an exception.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from command_options import options_section
from docstring_examples import proof_anchor
from markdown.extensions.toc import slugify
from notebooks import as_notebook
from reference_pages import write_reference

from lapwing import __version__

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "src" / "lapwing" / "web" / "documentation" / "site"
"""Where the school looks for it."""
FRONTEND = ROOT / "src" / "lapwing" / "web" / "frontend"
FONTS = ROOT / "src" / "lapwing" / "web" / "static" / "fonts"
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)|!\[([^\]]*)\]\(([^)\s]+)\)")
_FONT = re.compile(r'url\("assets/fonts/([^"]+)"\)')
_FENCE = re.compile(r"^ *```")
_ITEM = re.compile(r"^ *([-*]|\d+\.) ")
_RULE = re.compile(r"^\|[-:| ]+\|$")
"""The line below the head of a table."""
_PROMPTS = re.compile(r"^```python(\n>>> )", re.MULTILINE)


def pages() -> dict[Path, str]:
    """Every page that is kept in the repository, and its place on the site."""
    places = {
        ROOT / "README.md": "at-a-glance.md",
        **{ROOT / f"{name}.md": f"{name.lower()}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")},
    }
    for page in sorted((ROOT / "docs").rglob("*.md")):
        places[page] = page.relative_to(ROOT / "docs").as_posix()
    library = ROOT / "src" / "lapwing"
    places[ROOT / "docs" / "site.css"] = "site.css"
    places[FRONTEND / "src" / "icon.svg"] = "icon.svg"
    for proof in sorted(library.rglob("*.md")):
        if not {"web", "node_modules"} & set(proof.relative_to(library).parts):
            places[proof] = f"proofs/{proof.relative_to(library).as_posix()}"
    for result in sorted((ROOT / "bench" / "results").glob("*.md")):
        places[result] = f"benchmarks/{result.name}"
    return {page: place for page, place in places.items() if page.exists()}


def collect(source: Path) -> None:
    """Write all pages into a folder, with links between them as the site has them."""
    places = pages()
    for page, place in places.items():
        target = source / place
        target.parent.mkdir(parents=True, exist_ok=True)
        text = page.read_text(encoding="utf-8")
        if page.suffix != ".md":
            target.write_text(text, encoding="utf-8")
            continue
        if place.startswith("proofs/"):
            text = _proof(page, text)
        if place.startswith("tutorials/"):
            notebook = target.with_suffix(".ipynb")
            cells = json.dumps(as_notebook(text, page.parent), ensure_ascii=False, indent=1)
            notebook.write_text(f"{cells}\n", encoding="utf-8")
            text += f"\n[Download this tutorial as a notebook]({notebook.name}).\n"
        if place == "command-line.md":
            text += f"\n{options_section()}\n"
        text = _PROMPTS.sub(r"```pycon\1", text)
        target.write_text(_front(place) + _listed(_linked(text, page, places, source)), encoding="utf-8")


def fonts(source: Path) -> None:
    """Bring the files that site.css names: letters of the school, which `make assets` puts under a longer name."""
    folder = source / "assets" / "fonts"
    folder.mkdir(parents=True)
    for file in _FONT.findall((ROOT / "docs" / "site.css").read_text(encoding="utf-8")):
        built = list(FONTS.glob(file.replace(".woff2", "-*.woff2")))
        if not built:
            raise SystemExit(f"the font {file} is not built: run `make assets` first.")
        shutil.copyfile(max(built, key=lambda path: path.stat().st_mtime), folder / file)


_WEIGHTS = {
    "changelog.md": 0.05,
    "contributing.md": 0.1,
    "upgrading.md": 0.3,
    "security.md": 0.3,
    "decisions/": 0.05,
    "benchmarks/": 0.05,
    "proofs/": 0.1,
    "attacks.md": 0.7,
    "survey.md": 0.7,
    "at-a-glance.md": 0.5,
    "glossary.md": 2,
}
"""How much a page counts in the search; a guide counts 1. Who searches wants a page that explains."""
_TERMS = {
    "privacy.md": ["Rényi differential privacy", "group privacy", "privacy amplification", "neighboring datasets"],
    "curator.md": [
        "clipping",
        "confidence interval",
        "error bars",
        "partition selection",
        "trusted curator",
        "central differential privacy",
    ],
    "crowd.md": ["shuffle model"],
    "collect.md": ["federated learning", "federated analytics"],
    "ledger.md": ["privacy filter", "privacy odometer"],
    "mechanisms.md": ["geometric mechanism", "discrete Laplace", "utility"],
    "platforms.md": ["how to install"],
    "statement.md": ["GDPR", "data protection"],
    "streams.md": ["row-level privacy"],
}
"""What else people call the subjects of a page. The search counts these words like a title."""


_WIDE = {"other-libraries.md"}
"""Pages that need the room of their table of contents, for blocks of code beside each other."""


def _front(place: str) -> str:
    """What the search and the theme are told of a page."""
    weight = next((weight for start, weight in _WEIGHTS.items() if place.startswith(start)), 1)
    tags = "".join(f"  - {term}\n" for term in _TERMS.get(place, []))
    hidden = "hide: [toc]\n" if place in _WIDE else ""
    return f"---\n{hidden}search:\n  boost: {weight}\n" + (f"tags:\n{tags}" if tags else "") + "---\n"


def _proof(page: Path, text: str) -> str:
    """A proof without its front matter, under a title of its own."""
    room = page.parent.relative_to(ROOT / "src").as_posix().replace("/", ".")
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    body = re.sub(r"^(#+ )", r"#\1", body, flags=re.MULTILINE)
    title = f"# Proof: {page.stem.replace('_', ' ')} {{#{proof_anchor(page)}}}"
    return f"{title}\n\nThis proof belongs to the code of `{room}.{page.stem}`.\n\n{body}"


def _linked(text: str, page: Path, places: dict[Path, str], source: Path) -> str:
    """The same text with links of the site. A link to a file that is not part of it becomes plain text."""
    here = Path(places[page]).parent

    def link(match: re.Match[str]) -> str:
        words, address, anchor, alternative, picture = match.groups()
        if re.match(r"[a-z]+:", address or picture or "") or not (address or picture):
            return match[0]
        target = (page.parent / (address or picture)).resolve()
        if address and target in places:
            return f"[{words}]({os.path.relpath(places[target], here)}{anchor or ''})"
        if address and page.suffix == ".md" and address.endswith(".ipynb"):
            return match[0]
        if target.is_file() and ROOT in target.parents and target.suffix in {".png", ".svg", ".csv", ".json"}:
            place = f"files/{target.relative_to(ROOT).as_posix()}"
            copy = source / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, copy)
            shown = f"[{words or alternative or ''}]({os.path.relpath(place, here)})"
            return f"[!{shown}]({os.path.relpath(place, here)})" if picture else shown  # leads to its full size
        return str(words or alternative or "")

    inside, lines = False, []
    for line in text.splitlines():
        inside ^= bool(_FENCE.match(line))
        lines.append(line if inside else _LINK.sub(link, line))
    return "\n".join(lines) + "\n"


def _listed(text: str) -> str:
    """An empty line before a list that follows a paragraph, and four spaces a level, as Python-Markdown wants it.

    An empty line before a table as well.
    """
    inside, lines = False, [""]
    for line in text.splitlines():
        fence = bool(_FENCE.match(line))
        inside ^= fence
        if not inside and not fence and _ITEM.match(line):
            before = lines[-1]
            if before.strip() and not _ITEM.match(before) and not before.startswith(" "):
                lines.append("")
            depth = len(line) - len(line.lstrip())
            line = " " * (4 * -(-depth // 4)) + line.lstrip()
        if not inside and _RULE.match(line) and lines[-2].strip():
            lines.insert(-1, "")
        lines.append(line)
    return "\n".join(lines[1:]) + "\n"


def glossary(source: Path) -> None:
    """A page of the words that the school explains in its tooltips."""
    words = yaml.safe_load((ROOT / "src/lapwing/web/nuggets/glossary.yaml").read_text(encoding="utf-8"))
    pages = yaml.safe_load((ROOT / "tools/glossary_pages.yaml").read_text(encoding="utf-8"))
    page_of = {word: page for page, explained in pages.items() for word in explained}
    lines = [_front("glossary.md"), "# Glossary", ""]
    lines += ["The usual terms of the field, in one or two sentences each.", ""]
    for word in sorted(words, key=str.lower):
        also = words[word].get("also", [])
        kinds = [other for other in sorted(words, key=str.lower) if other.endswith(f" {word}")]
        lines += [f"## {word}", "", *([f"*Also: {', '.join(map(str, also))}.*", ""] if also else [])]
        lines += [f"{words[word]['short']} [More about {word}]({page_of[word]})", ""]
        links = ", ".join(f"[{kind}](#{slugify(kind, '-')})" for kind in kinds)
        lines += [f"See also: {links}.", ""] if kinds else []
    (source / "glossary.md").write_text("\n".join(lines), encoding="utf-8")


def configuration(source: Path, site: Path, navigation: list[Any]) -> dict[str, Any]:
    """What MkDocs is told: mkdocs.yml with the whole navigation."""
    settings: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    sections = {name: section for part in settings["nav"] for name, section in part.items()}
    sections["Reference"] += [{"Glossary": "glossary.md"}, {"Python API": navigation}]
    named = set(_places(settings["nav"]))
    sections["Tutorials"] += _missing(source, "tutorials/*.md", named)
    sections["Reference"].append({"Proofs": _missing(source, "proofs/**/*.md", named)})
    sections["Reference"].append({"Benchmarks": _missing(source, "benchmarks/*.md", named)})
    sections["Explanation"].append({"Decisions": _missing(source, "decisions/*.md", named)})
    sections["How-to guides"] += _missing(source, "*.md", named)
    settings.update(docs_dir=str(source), site_dir=str(site), site_name=f"Lapwing {__version__}")
    handler = next(plugin["mkdocstrings"] for plugin in settings["plugins"] if "mkdocstrings" in plugin)
    python = handler["handlers"]["python"]
    python["paths"] = [str(ROOT / "src")]
    python["options"]["extensions"] = ["dataclasses", str(ROOT / "tools" / "docstring_examples.py")]
    return settings


def _missing(source: Path, pattern: str, named: set[str]) -> list[str]:
    places = [page.relative_to(source).as_posix() for page in sorted(source.glob(pattern))]
    return [place for place in places if place not in named]


def _places(navigation: Any) -> Iterator[str]:
    match navigation:
        case str():
            yield navigation
        case list():
            for part in navigation:
                yield from _places(part)
        case dict():
            yield from _places(list(navigation.values()))


_NAMED = ('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')
"""The theme forgets to name its search for who hears pages."""
_CODE = ("<pre><span></span><code>", '<pre><span></span><code tabindex="0">')
"""Long lines of code scroll, and whoever has no mouse scrolls what has the focus."""
_TITLE = re.compile(r'(?<= title=")[^"]*')
"""What a link says when a mouse stands on it. That of a class brings the line breaks of its template."""
_EMPTY = re.compile(r"<th([^>]*)></th>")
"""A cell without words heads nothing."""
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def move_inline(site: Path) -> None:
    """Put the scripts and styles inside pages into files, so that a policy without exceptions lets them run.

    On the way, four things are mended that make pages harder to hear or to read.
    """
    for page in sorted(site.rglob("*.html")):
        up = "../" * len(page.relative_to(site).parent.parts)

        def moved(match: re.Match[str], up: str = up) -> str:
            kind, content = match.groups()
            suffix = {"script": "js", "style": "css"}[kind]
            name = f"assets/moved/{hashlib.sha256(content.encode()).hexdigest()[:16]}.{suffix}"
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(content, encoding="utf-8")
            if kind == "script":
                return f'<script src="{up}{name}"></script>'
            return f'<link rel="stylesheet" href="{up}{name}">'

        text = _EMPTY.sub(r"<td\1></td>", page.read_text(encoding="utf-8").replace(*_NAMED).replace(*_CODE))
        text = _TITLE.sub(lambda title: " ".join(title[0].split()), text)
        page.write_text(_INLINE.sub(moved, text), encoding="utf-8")


_BOXES = {
    '"nav",{class:"md-code__nav"}': '"div",{class:"md-code__nav"}',
    '{class:"md-typeset__scrollwrap"}': '{class:"md-typeset__scrollwrap",tabindex:"0"}',
}


def quieten(site: Path) -> None:
    """The box around each copy button is no landmark, for a page would have many without a name.

    The box around each wide table takes the focus: whoever has no mouse scrolls it then.
    """
    for script in (site / "assets" / "javascripts").glob("bundle.*.js"):
        text = script.read_text(encoding="utf-8")
        for theirs, ours in _BOXES.items():
            assert theirs in text, f"the theme has changed: what is there instead of {theirs}?"
            text = text.replace(theirs, ours)
        script.write_text(text, encoding="utf-8")


def build(site: Path, work: Path) -> None:
    """Build everything into `site`; whatever MkDocs warns of is an error."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    source = work / "source"
    shutil.rmtree(work, ignore_errors=True)
    source.mkdir(parents=True)
    collect(source)
    glossary(source)
    fonts(source)
    file = work / "mkdocs.yml"
    file.write_text(
        yaml.safe_dump(configuration(source, site, write_reference(source)), sort_keys=False), encoding="utf-8"
    )
    settings = load_config(str(file), strict=True)
    settings.plugins.run_event("startup", command="build", dirty=False)
    try:
        build_site(settings)
    finally:
        settings.plugins.run_event("shutdown")
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):  # they name an address that we do not know
        (site / name).unlink(missing_ok=True)
    move_inline(site)
    quieten(site)


def main() -> int:
    """Build and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--site", type=Path, default=SITE, help="folder for the site")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "documentation", help="folder for collected pages"
    )
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    build(options.site, options.work)
    print(f"{len(list(options.site.rglob('*.html')))} pages. The school serves them at /docs: lapwing serve")
    return 0


if __name__ == "__main__":
    sys.exit(main())
