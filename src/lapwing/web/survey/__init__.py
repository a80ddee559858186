"""A sensitive question, asked safely: answers are randomised in the browsers of those who give them.

    browser   math/survey.ts   turns the true answer into a report by exact coins, and sends that
    school    tallies          how many reports of a batch say what; nothing about who, when or from where
    maker     `results`        an unbiased estimate with its interval, whole batches at a time

Privacy: the unit is the person who sends one report, the relation is replace: that somebody took part is not hidden.
One report costs the loss of the protocol of `lapwing.crowd` that the question has, whoever sees it.
"""
