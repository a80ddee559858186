"""How good private models are, beside diffprivlib's and without noise."""
