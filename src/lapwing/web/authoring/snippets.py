"""What an author can put into a nugget with one button, or copy from the list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WIDGETS = {
    "census-block": "Seven people, the tables about them, and all blocks that give the same tables",
    "checklist": "Questions to tick off, from a table that you write inside",
    "chooser": "Which mechanism for which question, and how far off its answers are",
    "clipping": "A sum with a bound: too low cuts off, too high needs noise",
    "crowd-size": "How little a shuffled report tells, by the number of people in the batch",
    "daily-total": "A total that is published every day: fresh noise, the tree, the square root, and the price",
    "differencing": "A curator answers about groups only; can you find out about one person?",
    "error-bands": "The error of the sample and the error of the noise, over the number of people",
    "exponential": "How likely each option is chosen, by the exponential mechanism and by permute-and-flip",
    "family-finder": "Which variant of the definition fits? Seven questions",
    "find-one": "Look for the answer of one person among reports with names, and without",
    "gaussian": "How wide Gaussian noise must be (view=one), or many answers beside Laplace (view=many)",
    "guessing-game": "Guess from a noisy answer whether somebody smokes, twenty times",
    "joint-noise": "Noise on a sum that two servers add up: who made it, and who could take it off again",
    "k-anonymity": "Columns made coarser, what k, l and t become, and who falls to attacks",
    "laplace": "Two neighbouring answers and the noise around each",
    "linkage": "Rows without names beside a list with names: which columns name whom?",
    "median-sensitivity": "How far one person can move a median",
    "narrowing": "Two curators, one secret: what an adversary believes after each answer",
    "one-server": "What one server sees of two secrets that were split, and what both servers see",
    "posterior": "What an adversary can make of an answer (view=belief, premium or test)",
    "randomized-response": "Surveys answered with coins, and how the estimate closes in on the truth",
    "rappor-steps": "RAPPOR on your own word, step by step",
    "regression-curves": "Private linear regressions over epsilon, on real data",
    "sketches": "A crowd of phones, each with one emoji, and what sketches make of their reports",
    "spending": "One budget, several questions: ways to spend it",
    "split-secret": "Split a bit or a number into two shares, add up on both sides, open the sum",
    "taking-part": "What it can cost to take part, in one study and in many",
    "three-models": "What it costs to trust nobody, a shuffler, or a curator",
    "timeline": "Events in order, from a table that you write inside",
    "tree-nodes": "Build a total up to a day out of the noisy nodes of a tree",
    "who-learns": "The parties of a collection, and what they learn if some work together",
}
"""What each shows, in a line. `graph` and `data` have buttons of their own."""
OWN = ("graph", "data")
WIDGET_WORDS = "Say in a sentence what is to be seen, for readers without scripts."


@dataclass(frozen=True, slots=True)
class Snippet:
    """Something to insert: the name of its button, what it is for, and the text. `inline` ones stand within a line."""

    name: str
    about: str
    text: str
    inline: bool = False
    formats: bool = False
    """Whether a button for formatting does the same."""
    holes: tuple[str, ...] = ()
    """What the author has to replace."""


SAMPLES = {
    "bold": "important words",
    "italic": "words to stress",
    "heading": "A heading",
    "list": "An item",
    "numbers": "A first step",
    "link": "where it leads",
    "formula": "\\text{a formula}",
    "table": "| a column | another column |\n|---|---|\n| a cell | another cell |",
    "picture": "what one sees",
    "video": "What one sees and hears.",
    "captions": "a .vtt file, or none",
}
"""What a button for formatting puts where nothing was selected. Nobody may publish these."""


SNIPPETS = (
    Snippet(
        "Screen",
        "What one sees at once, and which objective it serves; {serves=1 deeper} if it can be skipped",
        "## A new screen {serves=1}\n\nOne thought.",
        holes=("A new screen", "One thought."),
    ),
    Snippet("Formula", "Between dollars within a line", "$\\varepsilon = \\ln 3$", inline=True, formats=True),
    Snippet(
        "Formula block",
        "On lines of its own",
        "$$\n\\Pr[M(D) \\in S] \\le e^{\\varepsilon} \\Pr[M(D') \\in S]\n$$",
        formats=True,
    ),
    Snippet(
        "Table",
        "Columns of words and numbers",
        "| epsilon | at most |\n|---|--:|\n| 0.1 | 1.1 |\n| 1 | 2.7 |",
        formats=True,
    ),
    Snippet(
        "Closed block",
        "Closed until somebody opens it: proof, formula, example, history or more",
        "::: example What does that mean?\nA few sentences.\n:::",
        holes=("A few sentences.",),
    ),
    Snippet(
        "Box",
        "Always open: remember, takeaways, warning or aside",
        "::: remember\nThe sentence that should stay.\n:::",
        holes=("The sentence that should stay.",),
    ),
    Snippet(
        "Quiz",
        "A question with feedback on every answer",
        "```quiz\n- ask: Which of these is true?\n  options:\n    - text: The wrong one.\n"
        "      feedback: Say why somebody could think so, and what is wrong about it.\n    - text: The right one.\n"
        "      right: true\n      feedback: Say why.\n```",
        holes=(
            *("Which of these is true?", "The wrong one.", "The right one.", "Say why."),
            "Say why somebody could think so, and what is wrong about it.",
        ),
    ),
    Snippet(
        "Exercise",
        "Python to write, run and have checked; without starter and checks one to think about",
        "```exercise\nid: my-exercise\ntitle: A first step\ntask: |\n  Write `half(x)` that halves a number.\n"
        "starter: |\n  def half(x):\n      return x\nhint: Divide by two.\nsolution: |\n  def half(x):\n"
        "      return x / 2\nchecks: |\n"
        '  assert half(3) == 1.5, "Half of 3 is 1.5."\n```',
    ),
    Snippet(
        "Graph",
        "Curves of your own formula, with sliders",
        "```graph\ntitle: How wide is the noise?\nformula: exp(-abs(x)/b)/(2*b)\n"
        "x: {from: -10, to: 10, label: noise}\nsliders:\n  b: {from: 0.2, to: 5, start: 1, label: scale}\n"
        "sentence: Half of the noise lies within {ln(2)*b} of zero.\n```",
    ),
    Snippet(
        "Data",
        "A table that sorts and computes, with numbers that readers may change",
        "```data\ntitle: What does a count cost?\ncolumns: [Town, People]\nrows:\n"
        "  - [Basel, 120]\n  - [Bern, 9000]\n"
        "computed:\n  Noise per person: 1/(epsilon*People)\nparameters:\n  epsilon: [0.1, 10, 1]\n```",
    ),
    Snippet(
        "Video",
        "A short MP4 or WebM that you sent, with its captions; captions: none if nobody speaks in it",
        "```video\nfile: /uploads/….mp4\ncaptions: /uploads/….vtt\nabout: What one sees and hears.\n```",
        formats=True,
        holes=("What one sees and hears.",),
    ),
    Snippet(
        "Link", "To another nugget, or elsewhere", "[the definition](/learn/the-definition)", inline=True, formats=True
    ),
)


def widget_snippets(names: Iterable[str]) -> list[Snippet]:
    """One for each widget that is there."""
    known = sorted(name.removeprefix("lw-") for name in names)
    return [
        Snippet(
            name,
            WIDGETS.get(name, ""),
            f"```widget {name}\n{WIDGET_WORDS}\n```",
            holes=(WIDGET_WORDS,),
        )
        for name in known
        if name not in OWN
    ]
