"""Addresses and what answers them: thin functions that hand over to the rest.

A module here makes a `router = personal()` and stands in ROUTERS. Its functions are plain `def` if they ask the
database (they then run beside each other), take what they need as arguments, and answer with `page`, `redirect` or
JSON; what is refused is a `Problem`:

    @router.post("/learn/{slug}/comments", dependencies=[limited("comment")])
    def say(slug: str, site: TheSite, person: Learner, text: Annotated[str, Form(max_length=5000)]) -> Response:
        with site.database.writing() as db:
            comments.add(db, slug, person.id, text)
        return redirect(site, f"/learn/{slug}#comments", "Your comment is there.")

`Learner`, `Instructor` and `Admin` let in those who may do what the role may; `Asking` is somebody or nobody.
Forms have `{{ fields.csrf(user) }}`; scripts send what /me told them as `x-csrf-token`.
"""

from __future__ import annotations

from lapwing.web.routes import (
    accounts,
    admin,
    authoring,
    discussion,
    guide,
    lab,
    lab_asking,
    lab_failures,
    me,
    moderation,
    reading,
    recommendation,
    second_factor,
    statistics,
    survey,
    survey_moderation,
    uploads,
    versions,
    votes,
)

ROUTERS = (
    *(reading.router, accounts.router, me.router, second_factor.router, admin.router),
    *(votes.router, recommendation.router, survey.router),
    *(discussion.router, moderation.router, survey_moderation.router, statistics.router),
    *(authoring.router, versions.router, uploads.router),
    guide.router,
    lab.router,
    lab_asking.router,
    lab_failures.router,
)
"""All of them, in the order in which they are asked."""
