"""What to read next, and why: a function of what somebody told us, how far they are, and what clearly helped others.

Every nugget has points: for the role it is written for, for goals, for what one knows, for being begun or following
what is finished, and for votes. A nugget counts as much as the best one that needs it; what is needed comes first.
A newcomer starts with the first nugget of the course, whatever the role.

Votes count only where they differ clearly: X beats Y if the whole interval of X lies above that of Y, each reaching
three standard errors. The points are wins minus losses, at most two. So noise alone moves nothing, and a
nugget is not preferred for having few, lucky votes. Nuggets of which one needs the other are not compared: votes for a
nugget could otherwise take points from what leads to it, and so delay it.

The browser computes the same in `math/recommend.ts`, from what `told` gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lapwing.web.school import votes
from lapwing.web.school.nugget import ROLES
from lapwing.web.school.page import Page
from lapwing.web.school.store.learning import About
from lapwing.web.school.votes import Tallies, Tally

FINISHED = 0.8
"""Who has read four fifths and answered so much has finished."""
RULES: dict[str, Any] = {
    "finished": FINISHED,
    "role": 3,
    "only_some_roles": 1,
    "begun": 3,
    "start": 100,
    "newcomers": ["", "new"],
    "follows": 1,
    "all_roles": len(ROLES),
    "goal": 2,
    "reasons": 3,
    "votes": {
        "everybody": votes.EVERYBODY,
        "lie": float(1 - votes.TRUTH),
        "alpha": float(votes.PROTOCOL.coins.alpha),
        "errors": 3,
        "most": 2,
    },
    "knowledge": {
        "new": {"intuition": 2, "practice": 0, "theory": -2},
        "some": {"intuition": 0, "practice": 1, "theory": 0},
        "good": {"intuition": -2, "practice": 1, "theory": 2},
    },
    "goals": {
        "understand": {"categories": ["motivation", "definition"], "levels": []},
        "decide": {"categories": ["discussion", "outlook"], "levels": []},
        "build": {"categories": ["application"], "levels": []},
        "prove": {"categories": ["definition"], "levels": ["theory"]},
        "teach": {"categories": ["motivation"], "levels": ["intuition"]},
    },
    "words": {
        "roles": {
            "decision-maker": "you decide for others",
            "data-protection": "you look after data protection",
            "engineer": "you are a software engineer",
            "data-scientist": "you are a data scientist or analyst",
            "student": "you are a researcher or student",
        },
        "goals": {
            "understand": "you want to understand the promise",
            "decide": "you have to decide about it",
            "build": "you want to build something",
            "prove": "you want to follow the proofs",
            "teach": "you want to explain it to others",
        },
        "knowledge": {"new": "this is new to you", "some": "you know the idea", "good": "you have used it before"},
        "begun": "you have begun it",
        "needed": "you need it for “{}”",
        "follows": "you finished “{}”",
        "votes": "others found it clearly more helpful than most",
        "role_votes": "others in your role found it clearly more helpful than most",
        "start": "Start here: the course begins with this nugget for every role.",
        "first": "The course begins with this nugget.",
        "next": "It comes next in the course.",
        "again": "You have finished it.",
    },
}


@dataclass(frozen=True, slots=True)
class Offer:
    """What has to be known about a nugget to recommend it."""

    slug: str
    title: str
    category: str
    level: str
    minutes: int
    roles: tuple[str, ...]
    needs: tuple[str, ...]
    helps: tuple[str, ...]

    @classmethod
    def of(cls, page: Page) -> Offer:
        """From its page, which knows how long it takes."""
        named = (name for name in cls.__dataclass_fields__ if name != "minutes")
        return cls(minutes=page.pace.minutes, **{name: getattr(page.nugget, name) for name in named})


@dataclass(frozen=True, slots=True)
class Advice:
    """A nugget in its place, and why it is there."""

    slug: str
    points: int
    reason: str


def told(pages: Iterable[Page], published: Tallies) -> dict[str, Any]:
    """What a browser needs to recommend by itself: nothing in it is about the one who asks."""
    shares = {
        slug: {role: [tally.reports, tally.yes] for role, tally in by_role.items()}
        for slug, by_role in published.items()
    }
    return {"nuggets": [asdict(Offer.of(page)) for page in pages], "votes": shares, "rules": RULES}


def recommend(
    offers: Sequence[Offer], about: About, done: Mapping[str, float], published: Tallies | None = None
) -> list[Advice]:
    """All nuggets: those that are left in the order to read them, then those that are finished.

    `done` is the part that was read of each nugget, from 0 to 1.
    """
    return _Recommendation(offers, about, done, published or {}).made()


def stages(offers: Sequence[Offer]) -> list[list[Offer]]:
    """The path through the school: what needs nothing, then what needs only that, and so on.

    Of what a step needs, only the last is told: what leads there was named before.
    """
    known, depth = {offer.slug: offer for offer in offers}, dict[str, int]()
    order = _in_order(offers)
    for slug in order:
        depth[slug] = 1 + max((depth[need] for need in known[slug].needs if need in depth), default=-1)
    before = _before(known, {slug: place for place, slug in enumerate(order)})
    levels: list[list[Offer]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for offer in offers:
        earlier = {slug for need in offer.needs for slug in before.get(need, ())}
        levels[depth[offer.slug]].append(replace(offer, needs=tuple(x for x in offer.needs if x not in earlier)))
    return levels


def _in_order(offers: Sequence[Offer]) -> list[str]:
    """The order of the course, except that what is needed comes first."""
    left, placed = {offer.slug: offer for offer in offers}, list[str]()
    while left:
        ready = (slug for slug, offer in left.items() if not any(need in left for need in offer.needs))
        placed.append(next(ready, next(iter(left))))
        del left[placed[-1]]
    return placed


def _before(known: Mapping[str, Offer], places: Mapping[str, int]) -> dict[str, set[str]]:
    """All that leads to a nugget."""
    earlier: dict[str, set[str]] = {}
    for slug in sorted(known, key=lambda slug: places[slug]):
        needs = [need for need in known[slug].needs if need in earlier]
        earlier[slug] = {*needs, *(other for need in needs for other in earlier[need])}
    return earlier


def _tallies(about: About, published: Tallies) -> dict[str, Tally]:
    """The votes that count for somebody: of those who share a role, or everybody's if they named none."""
    by_slug = {}
    for slug, by_role in published.items():
        tallies = [by_role[role] for role in about.roles or (votes.EVERYBODY,) if role in by_role]
        if tallies:
            by_slug[slug] = sum(tallies, Tally())
    return by_slug


def interval(tally: Tally) -> tuple[float, float]:
    """Where the share of yes lies, all but certainly."""
    rule = RULES["votes"]
    share = (tally.yes / tally.reports - rule["lie"]) / rule["alpha"]
    reach = rule["errors"] / (2 * rule["alpha"] * math.sqrt(tally.reports))
    return share - reach, share + reach


def _clear_wins(
    known: Mapping[str, Offer], before: Mapping[str, set[str]], tallies: Mapping[str, Tally]
) -> dict[str, int]:
    """How many others a nugget clearly beats, minus how many clearly beat it; not more than a little."""
    most = RULES["votes"]["most"]
    ends = {slug: interval(tally) for slug, tally in tallies.items() if slug in known}
    wins = dict.fromkeys(known, 0)
    for slug, (low, high) in ends.items():
        for other, (its_low, its_high) in ends.items():
            if other not in before[slug] and slug not in before[other]:
                wins[slug] += (low > its_high) - (its_low > high)
    return {slug: max(-most, min(most, count)) for slug, count in wins.items()}


class _Recommendation:
    """What is worked out on the way to one."""

    def __init__(self, offers: Sequence[Offer], about: About, done: Mapping[str, float], published: Tallies) -> None:
        self.known, self.about, self.done = {offer.slug: offer for offer in offers}, about, done
        self.places = {slug: place for place, slug in enumerate(_in_order(offers))}
        self.before = _before(self.known, self.places)
        self.finished = {slug for slug in self.known if done.get(slug, 0) >= FINISHED}
        self.wins = _clear_wins(self.known, self.before, _tallies(about, published))
        self.own = {slug: self._points(offer) + self.wins[slug] for slug, offer in self.known.items()}
        self.best = {slug: self._best(slug) for slug in self.known}

    def made(self) -> list[Advice]:
        points = {slug: self.own[self.best[slug]] for slug in self.known}
        left = [slug for slug in self.places if slug not in self.finished]
        order = sorted(left, key=lambda slug: (-points[slug], self.places[slug]))
        order += [slug for slug in self.places if slug in self.finished]
        return [Advice(slug, points[slug], self._reason(self.known[slug])) for slug in order]

    def _points(self, offer: Offer) -> int:
        points = 0
        if any(role in offer.roles for role in self.about.roles):
            points += RULES["role"] + (RULES["only_some_roles"] if len(offer.roles) < RULES["all_roles"] else 0)
        for goal in self.about.goals:
            points += RULES["goal"] * _fits(goal, offer)
        points += RULES["start"] if self._starts(offer.slug) else 0
        points += RULES["begun"] if self.done.get(offer.slug, 0) > 0 else 0
        points += RULES["follows"] if self._followed(offer) else 0
        return points + self._known(offer)

    def _starts(self, slug: str) -> bool:
        """Whether a newcomer starts here: who has finished nothing starts with the first, whatever the role."""
        newcomer = self.about.knowledge in RULES["newcomers"] and not self.finished
        return newcomer and self.places[slug] == 0

    def _known(self, offer: Offer) -> int:
        points: int = RULES["knowledge"].get(self.about.knowledge, {}).get(offer.level, 0)
        return points

    def _followed(self, offer: Offer) -> str:
        """What is finished and leads here."""
        return next((slug for slug in (*offer.needs, *offer.helps) if slug in self.finished), "")

    def _best(self, slug: str) -> str:
        """The nugget with the most points among this one and those that are left and need it."""
        opens = [other for other in self.own if slug in self.before[other] and other not in self.finished]
        return min((slug, *opens), key=lambda other: (-self.own[other], self.places[other]))

    def _reason(self, offer: Offer) -> str:
        words, parts = RULES["words"], list[str]()
        if offer.slug in self.finished:
            return str(words["again"])
        if self._starts(offer.slug) and not self.done.get(offer.slug, 0) > 0:
            return str(words["start"])
        if self.done.get(offer.slug, 0) > 0:
            parts.append(words["begun"])
        if (opens := self.best[offer.slug]) != offer.slug:
            parts.append(words["needed"].format(self.known[opens].title))
        if len(offer.roles) < RULES["all_roles"]:
            parts += [words["roles"][role] for role in self.about.roles if role in offer.roles][:1]
        parts += [words["goals"][goal] for goal in self.about.goals if _fits(goal, offer)]
        if self.wins[offer.slug] > 0:
            parts.insert(1, words["role_votes" if self.about.roles else "votes"])
        if follows := self._followed(offer):
            parts.append(words["follows"].format(self.known[follows].title))
        if self._known(offer) > 0:
            parts.append(words["knowledge"][self.about.knowledge])
        if not parts:
            return str(words["next" if self.places[offer.slug] else "first"])
        *first, last = parts[: RULES["reasons"]]
        return f"Because {', '.join(first)} and {last}." if first else f"Because {last}."


def _fits(goal: str, offer: Offer) -> int:
    rule = RULES["goals"].get(goal, {"categories": [], "levels": []})
    return (offer.category in rule["categories"]) + (offer.level in rule["levels"])
