"""The usual hierarchies for the census extract UCI Adult, as data.

Grouped as in the literature since Iyengar 2002, Transforming data to satisfy privacy constraints.
"""

from __future__ import annotations

from lapwing.anonymity.hierarchies import Flat, Ranges, Taxonomy

WORK = Taxonomy(
    {
        "for the state": ["Federal-gov", "Local-gov", "State-gov"],
        "for oneself": ["Self-emp-inc", "Self-emp-not-inc"],
        "for a company": ["Private"],
        "unpaid": ["Never-worked", "Without-pay"],
    }
)
EDUCATION = Taxonomy(
    {
        "school": {
            "primary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
            "secondary": ["9th", "10th", "11th", "12th", "HS-grad"],
        },
        "beyond school": {
            "some": ["Some-college", "Assoc-acdm", "Assoc-voc"],
            "first degree": ["Bachelors"],
            "further degree": ["Masters", "Prof-school", "Doctorate"],
        },
    }
)
MARRIAGE = Taxonomy(
    {
        "with a spouse": ["Married-AF-spouse", "Married-civ-spouse"],
        "without a spouse": ["Divorced", "Married-spouse-absent", "Never-married", "Separated", "Widowed"],
    }
)
OCCUPATION = Taxonomy(
    {
        "office": ["Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"],
        "manual": ["Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"],
        "service": ["Armed-Forces", "Other-service", "Priv-house-serv", "Protective-serv"],
    }
)
COUNTRY = Taxonomy(
    {
        "North America": ["Canada", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico", "United-States"],
        "Latin America": {
            "Caribbean": ["Cuba", "Dominican-Republic", "Haiti", "Jamaica", "Trinadad&Tobago"],
            "Central America": ["El-Salvador", "Guatemala", "Honduras", "Mexico", "Nicaragua"],
            "South America": ["Columbia", "Ecuador", "Peru"],
        },
        "Europe": {
            "Western Europe": ["England", "France", "Germany", "Holand-Netherlands", "Ireland", "Scotland"],
            "Southern Europe": ["Greece", "Italy", "Portugal"],
            "Eastern Europe": ["Hungary", "Poland", "Yugoslavia"],
        },
        "Asia": {
            "East Asia": ["China", "Hong", "Japan", "Taiwan"],
            "South and West Asia": ["India", "Iran"],
            "South-East Asia": ["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"],
        },
        "not told": ["South"],
    }
)

ADULT_HIERARCHIES = {
    "age": Ranges((5, 10, 20, 40)),
    "workclass": WORK,
    "education": EDUCATION,
    "marital_status": MARRIAGE,
    "occupation": OCCUPATION,
    "race": Flat(),
    "sex": Flat(),
    "native_country": COUNTRY,
}
"""The eight quasi-identifiers that are mostly used."""
