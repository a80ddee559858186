"""What the imaginary town is made of: how people live together, what they suffer from, what they are called.

The shares are published statistics of the United States, rounded; they make the town plausible, not a study of it.
"""

from __future__ import annotations

from typing import Final

GROWN_UP: Final = 18


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


HOUSEHOLDS: Final = {"alone": 29, "couple": 32, "family": 24, "one parent": 9, "shared": 6}
"""Households in per cent, near the American families tables of the Census Bureau for 2022."""

CHILDREN: Final = (40, 38, 15, 7)
"""Families with 1, 2, 3 and 4 children in per cent."""
TWINS: Final = 0.03
"""The share of births that are twins (National Vital Statistics Reports 72-1, 2023: 31 in 1,000)."""

AGES: Final = {
    "alone": ((20, 35, 17), (35, 50, 15), (50, 65, 28), (65, 80, 27), (80, 96, 13)),
    "couple": ((20, 35, 18), (35, 50, 11), (50, 65, 35), (65, 80, 29), (80, 92, 7)),
    "shared": ((18, 25, 50), (25, 35, 35), (35, 60, 15)),
}
"""How old the first person of a household without children is: from, up to, per cent."""

SCHOOLING: Final = ("school", "high school", "trade", "degree", "doctorate")
SCHOOLING_UP_TO: Final = (0.10, 0.52, 0.66, 0.97, 1.0)
"""Where one level ends, among adults sorted by schooling (educational attainment 2022, Census Bureau)."""
OCCUPATIONS: Final = {
    "school": ("cleaner", "driver", "farm hand", "kitchen help", "warehouse worker"),
    "high school": ("builder", "carer", "cook", "driver", "sales clerk", "warehouse worker"),
    "trade": ("electrician", "carpenter", "nurse", "mechanic", "bookkeeper", "police officer"),
    "degree": ("teacher", "engineer", "accountant", "manager", "programmer", "nurse", "social worker"),
    "doctorate": ("physician", "lawyer", "scientist", "dentist"),
}
PAY: Final = {"school": 27_000, "high school": 36_000, "trade": 43_000, "degree": 66_000, "doctorate": 98_000}
"""The middle income of a year at 45 years of age, in dollars."""
SMOKES: Final = {"school": 0.20, "high school": 0.17, "trade": 0.13, "degree": 0.05, "doctorate": 0.03}
"""Adults who smoke cigarettes (Cornelius et al., MMWR 72, 2023: 11.5 % of all in 2021)."""
REGISTERED: Final = ((18, 0.54), (25, 0.66), (45, 0.74), (65, 0.77))
"""Adults on the list of voters from this age on (Current Population Survey, November 2020): about 70 % of all."""

PREVALENCE: Final[dict[str, tuple[tuple[int, float, float], ...]]] = {
    "hypertension": ((18, 0.13, 0.31), (40, 0.50, 0.59), (60, 0.74, 0.75)),
    "diabetes": ((18, 0.03, 0.03), (45, 0.13, 0.16), (65, 0.23, 0.26)),
    "asthma": ((5, 0.06, 0.07), (18, 0.10, 0.06), (65, 0.08, 0.06)),
    "depression": ((12, 0.08, 0.03), (20, 0.10, 0.06), (40, 0.11, 0.06), (60, 0.10, 0.06)),
    "heart disease": ((18, 0.01, 0.01), (45, 0.04, 0.08), (65, 0.10, 0.18), (75, 0.18, 0.29)),
    "cancer": ((18, 0.02, 0.01), (45, 0.09, 0.06), (65, 0.19, 0.23)),
    "lung disease": ((18, 0.02, 0.02), (45, 0.06, 0.05), (65, 0.10, 0.09)),
    "HIV": ((18, 0.002, 0.006), (65, 0.001, 0.004)),
}
"""Who has a chronic illness, from this age on: the share of women and of men.

Hypertension: NCHS Data Brief 364 (2020). Diabetes: National Diabetes Statistics Report (CDC 2022), diagnosed. Asthma:
National Health Interview Survey 2021, current. Depression: NCHS Data Brief 303 (2018). Heart disease, cancer
and lung disease (COPD): National Health Interview Survey 2018, summary tables. HIV: some 1.2 million people (CDC 2022).
"""
SMOKERS_RISK: Final = {"heart disease": 1.8, "cancer": 1.5, "lung disease": 4.0}
"""How many times likelier smokers have it, roughly (The Health Consequences of Smoking, Surgeon General 2014)."""
COMES_FOR: Final = {"hypertension": 0.2}
"""How readily one comes to the hospital for an illness, 1 for the others."""
COMES_FOR_ELSE: Final = 0.3
"""The same for something acute."""
ACUTE: Final = {"injury": 42, "infection": 28, "appendicitis": 6, "kidney stones": 9, "migraine": 15}
"""What else people come to the hospital for, in per cent."""
VISITS: Final = (0.17, 0.38)
"""Seen at the hospital within the year, without and with a chronic illness: about one in four of all."""

WOMEN: Final = _words(
    "Ada Alice Amira Anna Bea Carla Celia Clara Dana Dora Edith Elena Ella Emma Eva Fatima Flora Grace Greta Hana "
    "Helen Ida Ines Iris Jana Julia Kira Lea Lena Lina Lucy Maria Mei Mila Mira Nadia Nina Nora Olga Paula Rosa Ruth "
    "Sara Selma Sofia Stella Tara Vera Yara Zoe"
)
MEN: Final = _words(
    "Adam Alan Ali Amir Andre Ben Boris Carl Chen Dario David Elias Emil Eric Felix Finn Frank George Hans Henry Hugo "
    "Ivan Jack Jan Joel John Jonas Karim Kofi Leo Liam Luis Marc Max Milo Nick Noah Omar Oscar Otto Paul Peter Ravi "
    "Robin Sam Simon Theo Tom Victor Yusuf"
)
BEGINNINGS: Final = _words(
    "Abel Ander Bal Bern Bram Brin Calder Corl Dal Dorn Elk Ems Fal Fenn Garl Gold Hal Harl Hest Ing Jarl Kelm Kest "
    "Lamb Lind Mal Marl Mor Nord Oster Pell Quil Rav Rund Sall Sand Tam Thorn Ulm Vand Wel West Wint Yar"
)
ENDINGS: Final = _words("bach berg bury by dale den ert feld ford gate ham ic ing ley low man mere over rud son")
"""Surnames are put together from two syllables: 880 of them, and nobody is meant."""
STREETS: Final = _words(
    "Acorn Alder Apple Barley Birch Bridge Canal Castle Cedar Cherry Church Clover Copper Elm Ferry Field Forge Garden "
    "Harbour Hazel Heath Hill Holly Ivy Juniper Lake Lark Linden Maple Market Meadow Mill Oak Orchard Park Pine Quarry "
    "Rose Spring Station"
)
WAYS: Final = ("Street", "Lane", "Road", "Way")
