"""Markdown to HTML that is safe to show, whoever wrote it.

Raw HTML is not read at all; links may lead to http, https, mailto or within the site. What is left passes a sanitiser,
and only then are formulas put in, as KaTeX made them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from lapwing.web.school.formulas import rendered
from lapwing.web.school.glossary import Glossary
from lapwing.web.school.quotes import curly_quotes
from lapwing.web.school.sources import LEAVES, addresses, named

BLOCKS = {
    "proof": "Proof",
    "formula": "The formula",
    "example": "Example",
    "history": "A little history",
    "more": "More about this",
}
"""Blocks that are closed until somebody opens them: `::: proof Why the scale is right` … `:::`."""
BOXES = {"remember": "Remember", "takeaways": "What to take away", "warning": "Warning", "aside": "By the way"}
"""Blocks that are always open, each with its label."""
Fence = Callable[[str, str], str]
"""From what stands behind the name of a fence, and its text, to HTML."""
_LINK = re.compile(r"(https?:|mailto:|/(?!/)|#)", re.IGNORECASE)
_ELSEWHERE = re.compile(r"https?://", re.IGNORECASE)
_PICTURE = re.compile(r"/uploads/[0-9a-f]{64}\.(?:png|jpg|webp)|/static/[A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*")
_TAGS = {
    *(
        "a",
        "abbr",
        "b",
        "blockquote",
        "br",
        "button",
        "caption",
        "code",
        "dd",
        "del",
        "details",
        "dfn",
        "div",
        "dl",
        "dt",
    ),
    *("em", "figcaption", "figure", "h2", "h3", "h4", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s", "section"),
    *("small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {
    "*": {"class", "id"},
    "a": {"href", "title", "target"},
    "button": {"type", "popovertarget", "aria-describedby"},
    "div": {"role", "tabindex", "aria-label"},
    "pre": {"tabindex"},
    "span": {"role", "popover"},
    "img": {"src", "alt", "title", "width", "height", "loading"},
    "ol": {"start"},
    "td": {"align"},
    "th": {"align", "scope"},
}
_FORMULAS = {
    "math_inline": "formula",
    "math_inline_double": "formula-block",
    "math_block": "formula-block",
    "math_block_label": "formula-block",
}
_LINE = "data-line"
_PERCENT = re.compile(r"(?<=\d) (?=%)")
"""The space in "99 %", at which no line may break."""
SHORT = 24
"""Characters of a formula that fits into a line of a small screen."""
_MATH = re.compile(r'<span class="(formula|formula-block)" id="lw-math-(\d+)"></span>([,.;:!?)]*)')
_HOLE = re.compile(r'<div class="lw-hole" id="lw-hole-(\d+)"></div>')


class Markdown:
    """One way to write, with the fences that a page of its kind may have; a `plain` one has no pictures or headings."""

    def __init__(
        self,
        fences: Mapping[str, Fence] | None = None,
        *,
        blocks: bool = False,
        glossary: Glossary | None = None,
        plain: bool = False,
        first_line: int | None = None,
    ) -> None:
        self.fences, self.glossary, self.cites = dict(fences or {}), glossary, blocks
        self.first_line = first_line
        """The line on which the text begins, if its elements say where they were written: a preview follows by it."""
        parser = MarkdownIt(
            "commonmark", {"html": False, "linkify": False, "typographer": True}, renderer_cls=_Renderer
        )
        parser.enable(["table", "strikethrough", "replacements", "smartquotes"])
        parser.core.ruler.at("smartquotes", curly_quotes)
        parser.validateLink = lambda url: bool(_LINK.match(url.strip()))  # type: ignore[method-assign]
        dollarmath_plugin(parser, allow_space=False, allow_digits=False, double_inline=True)
        for written, kind in _FORMULAS.items():
            parser.add_render_rule(written, _math(kind))
        if blocks:
            for name in (*BLOCKS, *BOXES):
                container_plugin(parser, name, render=_container(name))
        if plain:
            parser.disable(["image", "heading", "lheading"])
        self._parser = parser

    def tokens(self, text: str) -> list[Token]:
        """The tokens of a text, to be cut into screens."""
        return self._parser.parse(text)

    def html(self, text: str | Sequence[Token]) -> str:
        """Safe HTML."""
        tokens = self.tokens(text) if isinstance(text, str) else list(text)
        env: dict[str, Any] = {"fences": self.fences, "math": [], "holes": [], "links": []}
        env |= {"cites": self.cites, "cell": "", "title": False}
        if self.glossary is not None:
            env |= {"glossary": self.glossary, "explained": set()}
        attributes = _ATTRIBUTES
        if self.first_line is not None:
            attributes = {**attributes, "*": {*attributes["*"], _LINE}}
            for token in tokens:
                if token.map and token.nesting == 1:
                    token.attrSet(_LINE, str(self.first_line + token.map[0]))
        raw = self._parser.renderer.render(tokens, self._parser.options, env)
        clean = nh3.clean(
            raw,
            tags=_TAGS,
            attributes=attributes,
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener nofollow",
        )
        clean = _HOLE.sub(lambda match: str(env["holes"][int(match[1])]), clean)
        return _MATH.sub(lambda match: _formula(env["math"], match), clean)


def _formula(formulas: list[str], match: re.Match[str]) -> str:
    formula = formulas[int(match[2])]
    drawn = rendered(formula, block=match[1] == "formula-block")
    if match[1] == "formula-block" or not match[3] or len(formula) > SHORT:  # a long one has to break somewhere
        return drawn + match[3]
    return f'<span class="together">{drawn}{match[3]}</span>'  # or the full stop may stand alone in the next line


class _Renderer(RendererHTML):
    """Formulas and fences leave a mark that the sanitiser lets pass; what they become is put in afterwards."""

    def text(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        written = _PERCENT.sub("\u00a0", html.escape(tokens[place].content))
        unmarked = env["links"] or env["title"] or env["cell"] == "th" or _lists_sources(tokens)
        if unmarked or "glossary" not in env:
            return written
        return str(env["glossary"].marked(written, env["explained"]))

    def link_open(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        elsewhere = bool(_ELSEWHERE.match(str(tokens[place].attrGet("href") or "")))
        env["links"].append(elsewhere)
        if elsewhere:
            tokens[place].attrSet("class", "elsewhere")
            tokens[place].attrSet("target", "_blank")
        return self.renderToken(tokens, place, options, env)

    def link_close(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        left = LEAVES if env["links"].pop() else ""
        return left + self.renderToken(tokens, place, options, env)

    def em_open(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        """A title among the sources leads to the paper, a name in bold in a table to the tool or the vendor."""
        opened = self.renderToken(tokens, place, options, env)
        address = _address(tokens, place, env)
        env.setdefault("cited", []).append(bool(address))
        if not address:
            return opened
        env["links"].append(True)
        return f'<a class="elsewhere" target="_blank" href="{html.escape(address)}">{opened}'

    def em_close(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        closed = self.renderToken(tokens, place, options, env)
        if not env["cited"].pop():
            return closed
        env["links"].pop()
        return f"{closed}{LEAVES}</a>"

    strong_open, strong_close = em_open, em_close

    def heading_open(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        env["title"] = True  # nothing is underlined in a title
        return self.renderToken(tokens, place, options, env)

    def heading_close(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        env["title"] = False
        return self.renderToken(tokens, place, options, env)

    def table_open(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        # Wide ones scroll, by keys too.
        return '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n'

    def table_close(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def td_open(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        token = tokens[place]
        env["cell"] = token.tag
        style = str(token.attrs.pop("style", ""))  # styles of elements are not let through, classes are
        if style.startswith("text-align:"):
            token.attrSet("class", style.removeprefix("text-align:"))
        if token.tag == "th" and not tokens[place + 1].content:  # a header that says nothing is none
            token.tag = tokens[place + 2].tag = "td"
        return self.renderToken(tokens, place, options, env)

    def td_close(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        env["cell"] = ""
        return self.renderToken(tokens, place, options, env)

    th_open, th_close = td_open, td_close

    def fence(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        token = tokens[place]
        name, _, rest = token.info.strip().partition(" ")
        if name in env["fences"]:
            env["holes"].append(env["fences"][name](rest.strip(), token.content))
            return f'<div class="lw-hole" id="lw-hole-{len(env["holes"]) - 1}"></div>\n'
        return f'<pre class="code" tabindex="0"><code>{html.escape(token.content)}</code></pre>\n'

    def image(self, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        token = tokens[place]
        source = str(token.attrGet("src") or "")
        alt = self.renderInlineAsText(token.children or [], options, env)
        if not _PICTURE.fullmatch(source):  # nothing is loaded from elsewhere, or asked for in the name of a reader
            return f'<a href="{html.escape(source)}">{html.escape(alt or source)}</a>'
        title = html.escape(str(token.attrGet("title") or ""))
        caption = f"<figcaption>{title}</figcaption>" if title else ""
        picture = f'<img src="{html.escape(source)}" alt="{html.escape(alt)}" loading="lazy">'
        return f"<figure>{picture}{caption}</figure>" if caption else picture


def _lists_sources(tokens: Sequence[Token]) -> bool:
    """Whether this is the paragraph that begins with **Sources.**"""
    return "".join(token.content for token in tokens[:4]).startswith("Sources")


def _address(tokens: Sequence[Token], place: int, env: Any) -> str:
    """Where the emphasised words are found, if they name a source, a tool or a vendor where those are named."""
    token = tokens[place]
    if not env["cites"] or env["links"]:
        return ""
    if token.type == "em_open" and _lists_sources(tokens):
        kind = "papers"
    elif token.type == "strong_open" and env["cell"] == "td":
        kind = "products"
    else:
        return ""
    words = []
    for other in tokens[place + 1 :]:
        if other.type == token.type.replace("open", "close") and other.level == token.level:
            break
        words.append(" " if other.type == "softbreak" else other.content)
    return addresses(kind).get(named("".join(words)), "")


def _math(kind: str) -> Callable[..., str]:
    def render(self: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        env["math"].append(tokens[place].content.strip())
        return f'<span class="{kind}" id="lw-math-{len(env["math"]) - 1}"></span>'

    return render


def _container(name: str) -> Callable[..., str]:
    def render(self: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
        token = tokens[place]
        closes = token.nesting != 1
        if name in BOXES:
            return "</div>\n" if closes else f'<div class="box {name}"><strong class="label">{BOXES[name]}</strong>\n'
        if closes:
            return "</div></details>\n"
        title = token.info.strip()[len(name) :].strip() or BLOCKS[name]
        summary = f'<span class="kind">{BLOCKS[name]}</span> {html.escape(title)}'
        return f'<details class="block {name}"><summary>{summary}</summary><div>\n'

    return render
