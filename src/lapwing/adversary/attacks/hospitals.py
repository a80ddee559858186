"""The published tables that the textbooks attack."""

from __future__ import annotations

TWO_QUASI = ("gender", "age", "zip")
TWO_ANONYMOUS = {
    "gender": ["Female", "Male", "Female", "Male"],
    "age": ["70-80", "40-50", "70-80", "40-50"],
    "zip": ["0214*", "0213*", "0214*", "0213*"],
    "diagnosis": ["Parkinson's disease", "cancer", "stroke", "cancer"],
}
"""A hospital of four patients."""

THREE_ANONYMOUS = {
    "gender": ["Female"] * 3 + ["Male"] * 3,
    "age": [">= 70"] * 3 + ["< 70"] * 3,
    "zip": ["02141"] * 3 + ["0213*"] * 3,
    "diagnosis": ["Parkinson's disease", "arthritis", "heart disease", "flu", "viral infection", "tuberculosis"],
}
"""Another hospital; Mrs. Garcia, 78, was in both."""

FOUR_QUASI = ("zip", "age")
FOUR_ANONYMOUS = {
    "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
    "condition": [
        *("heart disease", "heart disease", "viral infection", "viral infection"),
        *("cancer", "heart disease", "viral infection", "viral infection"),
        *["cancer"] * 4,
    ],
}
"""The 4-anonymous inpatients of Machanavajjhala et al. 2007."""

THREE_DIVERSE = {
    "zip": ["1305*"] * 4 + ["1485*"] * 4 + ["1306*"] * 4,
    "age": ["<=40"] * 4 + [">40"] * 4 + ["<=40"] * 4,
    "condition": [
        *("heart disease", "viral infection", "cancer", "cancer"),
        *("cancer", "heart disease", "viral infection", "viral infection"),
        *("heart disease", "viral infection", "cancer", "cancer"),
    ],
}
"""The same patients, 3-diverse, from the same article."""
