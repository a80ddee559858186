"""How the school is used, week by week, with noise."""
